"""What the mutation sweep changes: kernels of ours with every choice that they have, and other people's code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from bench.foreign import aiter_backward, aiter_gemm
from bench.foreign import case as cases
from bench.foreign.case import Case

from pykittens.asm.code_object import CodeObject, read
from pykittens.checking import call_arguments
from pykittens.errors import Error, InputError
from pykittens.kernels.problem import Problem
from pykittens.kernels.problems import PROBLEMS
from pykittens.sim import Kernel

FOREIGN = ("aiter_gemm", "aiter_forward", "aiter_backward", "aiter_rows", "triton_cases")
_ROUNDINGS = (1, 8, 64, 128)
_LAUNCHES = 2
"""Launches of other people's kernels that each mutant is tried with, where bench/foreign has so many."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Ready:
    """A kernel of the virtual GPU with its arguments, what a checked run is told beside them, and its results."""

    kernel: Kernel
    arguments: dict[str, Any]
    results: list[Array]
    checks: dict[str, Any] = field(default_factory=dict)
    keep: object = None
    """What the device's buffers live in."""


Prepare = Callable[[bytes], Ready]
"""From a code object's bytes to a fresh launch of it."""


@dataclass(frozen=True)
class Subject:
    """What is mutated: ``ours`` (name, arch and options), ``case`` (name, module), ``launch`` (folder, code object) or
    ``file``."""

    kind: str
    name: str
    detail: str

    def load(self) -> tuple[CodeObject, str | None, list[Prepare]]:
        """The code object, the kernel's name, and how to run a changed copy, on different inputs."""
        if self.kind == "ours":
            return _ours(PROBLEMS[self.name], json.loads(self.detail))
        if self.kind == "case":
            return _case(self.name, self.detail)
        if self.kind == "launch":
            return _described(Path(self.name), Path(self.detail))
        return read(self.name), None, []

    @property
    def title(self) -> str:
        if self.kind == "ours":
            chosen = json.loads(self.detail)
            return " ".join([self.name, chosen.pop("arch"), *(f"{name}={value}" for name, value in chosen.items())])
        return self.name if self.kind == "case" else Path(self.name).name


# -- ours --------------------------------------------------------------------------------------------------------
def our_subjects(names: list[str], archs: list[str], defaults_only: bool) -> Iterator[Subject]:
    """Every kernel with its defaults and, if not those alone, with every other value of each option, on the chips that
    have it; code that was met already is left out."""
    from pykittens.executable import compile

    for name in names:
        problem, known = PROBLEMS[name], set()
        defaults = problem.defaults()
        others = [{o.name: v} for o in problem.options for v in o.values if v != defaults[o.name]]
        choices: list[dict[str, str]] = [{}, *(() if defaults_only else others)]
        for arch in archs:
            for chosen in choices:
                try:
                    code = compile(problem.kernel, arch, **(defaults | chosen)).code_object
                except Error:
                    continue  # a type or tile that this chip or this kernel does not have
                if code not in known:
                    known.add(code)
                    yield Subject("ours", name, json.dumps({"arch": arch, **chosen}))


def _ours(problem: Problem, chosen: dict[str, str]) -> tuple[CodeObject, str | None, list[Prepare]]:
    from pykittens.executable import Executable, compile

    arch = chosen.pop("arch")
    options = problem.defaults() | chosen
    exe = compile(problem.kernel, arch, **options)

    @lru_cache(2)
    def executable(code: bytes) -> Executable:
        return Executable(replace(exe.built, code_object=code))

    def preparing(sizes: dict[str, int]) -> Prepare:
        def prepare(code: bytes) -> Ready:
            tensors = problem.tensors(sizes, options, np.random.default_rng(0))
            changed = executable(code)
            arguments = call_arguments(changed, *tensors.values())
            assert arguments is not None, "sizes of trials are not empty"
            checks = {name: arguments.pop(name) for name in ("outputs", "undefined", "tiles")}
            return Ready(changed.sim_kernel, arguments, [t for n, t in tensors.items() if n in exe.written], checks)

        return prepare

    def fits(sizes: dict[str, int]) -> bool:
        try:
            return exe.launch_arguments(*problem.tensors(sizes, options, np.random.default_rng(0)).values()) is not None
        except InputError:
            return False

    trials = [sizes for each in _sizes(problem) if (sizes := next(filter(fits, each), None))]
    return read(exe.code_object), exe.name, [preparing(sizes) for sizes in trials]


def _sizes(problem: Problem) -> Iterator[list[dict[str, int]]]:
    """Sizes to try a kernel with, so that its loops run never, once, twice and often, with tails and without: each as a
    list of which the first that the kernel takes counts."""
    sizes = {size.name: size.default for size in problem.sizes}
    for change in (lambda n: n, lambda n: n // 4, lambda n: n // 2, lambda n: n // 4 + 7, lambda n: 2 * n + 5):
        yield [{name: -(-max(1, change(n)) // r) * r for name, n in sizes.items()} for r in _ROUNDINGS]


# -- others' -----------------------------------------------------------------------------------------------------
def further_launches(case: Case) -> Iterator[Case]:
    """Launches of a case's code object that get to what the cases of bench/foreign leave out.

    bf16gemm: one tile of K, so that nothing is fetched ahead, and so many that the whole loop is gone through.
    Attention backward: so many rows and keys that tiles are full and loops turn again.
    """
    if "/bf16gemm/" in case.name:
        tile = int(case.name.partition("_tn_")[2].partition("x")[0])
        for k in (64, 512):
            yield aiter_gemm.bf16gemm(case.arch, tile, tile, 64, k)
    elif "/fmha_v3_bwd/" in case.name and "dq_shuffle" not in case.name:
        yield aiter_backward.attention_backward(case.name, 1, 1, [(192, 192)])


def _cases(module: str) -> dict[str, list[Case]]:
    """The launches of each code object of a module, by names for people, small ones first."""
    found: dict[str, list[Case]] = {}
    for case in import_module(f"bench.foreign.{module}").cases():
        found.setdefault(f"{case.group} {case.arch} {case.name} {case.kernel or ''}".strip(), []).append(case)
    return {
        name: sorted(each, key=lambda c: sum(data.nbytes for data in c.buffers.values()))
        for name, each in found.items()
    }


def foreign_subjects(count: int) -> Iterator[Subject]:
    """So many code objects of each module, spread over all that it has."""
    for module in FOREIGN if count else ():
        names = list(_cases(module))
        for name in names[:: max(1, len(names) // count)][:count]:
            yield Subject("case", name, module)


def _case(name: str, module: str) -> tuple[CodeObject, str | None, list[Prepare]]:
    launches = _cases(module)[name][:_LAUNCHES]
    launches += further_launches(launches[0])

    def preparing(case: Case) -> Prepare:
        def prepare(code: bytes) -> Ready:
            found = cases.prepare(case, code)
            return Ready(found.kernel, found.arguments, [data for _, data in found.guarded.values()], keep=found)

        return prepare

    return read(launches[0].code()), launches[0].kernel, [preparing(case) for case in launches]


def described_subjects(launches: Path | None, code_objects: Path) -> Iterator[Subject]:
    """Launches by their meta.json."""
    for meta in sorted(launches.rglob("meta.json")) if launches else ():
        path = code_objects / json.loads(meta.read_text())["co"]
        if path.exists():
            yield Subject("launch", str(meta.parent), str(path))
        else:
            print(f"skipped {meta.parent.name}: no {path}")


def _described(directory: Path, path: Path) -> tuple[CodeObject, str | None, list[Prepare]]:
    from pykittens.sim.launch_description import LaunchDescription

    description = LaunchDescription(directory)

    def prepare(code: bytes) -> Ready:
        found = description.prepare(code)
        results = [found.guarded[name] for name in sorted(found.guarded)]
        return Ready(found.kernel, found.arguments, results, keep=found)

    return read(path), description.symbol, [prepare]


def file_subjects(folder: Path | None) -> Iterator[Subject]:
    """Code objects that are not run."""
    for path in sorted(folder.rglob("*")) if folder else ():
        if path.suffix in (".co", ".hsaco"):
            yield Subject("file", str(path), "")
