"""How good the checks are: each wait, barrier and s_nop of each kernel changed, one at a time, and what is said of it.

    python -m bench.mutants [--kernels gemm] [--archs gfx942,gfx950] [--cases N] [--launches DIR --code-objects DIR]
                            [--foreign DIR] [--every N] [--jobs N]

A mutant is reported (by the static checks or by a checked run on the virtual GPU), redundant (proved to be as good as
the original, or: a checked run finds no race and no undefined data, and the results are the same under the most adverse
orders of waves and completions), missed (its results are wrong and nobody said so), or undecided (nobody can tell
without a run, and how to launch it is not known). --cases takes so many code objects of AITER and Triton each, from
bench/foreign. --launches has directories with a meta.json
(see sim/launch_description.py) whose code objects lie below --code-objects; files below --foreign are not run.
--every N takes every Nth mutant. Writes out/mutants.json. Exit status 1: some were missed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from bench.foreign import case as cases
from bench.foreign.case import Case

from pykittens.asm.code_object import CodeObject, read
from pykittens.check.dynamic import findings_of
from pykittens.check.mutant_verdicts import StaticJudge
from pykittens.check.mutants import Mutant, mutants
from pykittens.errors import Error, Fault
from pykittens.sim import Kernel, Order

FOREIGN = ("aiter_gemm", "aiter_forward", "aiter_backward", "aiter_rows", "triton_cases")
OUTCOMES = ("reported", "redundant", "undecided", "missed")
ORDERS = (
    Order(1 << 20, "late"), Order(1, "late"), Order(64, "late", seed=1), Order(16, "late", seed=2),
    Order(1 << 20, "issue"), Order(1, "issue"), Order(64, "issue", seed=3), Order(300, "issue", seed=4),
)  # fmt: skip
"""The most adverse orders first: a wave runs to its next barrier, and nothing lands before it has to, or at once."""
_CHUNK = 24
_TIMEOUT = 60.0
"""Seconds that a mutant may run."""

Results = list[np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Ready:
    """A kernel of the virtual GPU with its arguments, and the memory that its results are in."""

    kernel: Kernel
    arguments: dict[str, Any]
    results: Results


Prepare = Callable[[bytes], Ready]
"""From a code object's bytes to a fresh launch of it."""


@dataclass(frozen=True)
class Subject:
    """What is mutated: ``ours`` (name, arch), ``case`` (name, module), ``launch`` (folder, code object) or ``file``."""

    kind: str
    name: str
    detail: str

    def load(self) -> tuple[CodeObject, str | None, Prepare | None]:
        """The code object, the kernel's name and how to run a changed copy."""
        if self.kind == "ours":
            return _ours(self.name, self.detail)
        if self.kind == "case":
            return _case(self.name, self.detail)
        if self.kind == "launch":
            return _described(Path(self.name), Path(self.detail))
        return read(self.name), None, None

    @property
    def title(self) -> str:
        return {"ours": f"{self.name} {self.detail}", "case": self.name}.get(self.kind, Path(self.name).name)


def _ours(name: str, arch: str) -> tuple[CodeObject, str | None, Prepare]:
    from pykittens.executable import Executable, compile
    from pykittens.kernels.problems import PROBLEMS

    problem = PROBLEMS[name]
    options = problem.defaults()
    exe = compile(problem.kernel, arch, **options)
    sizes = {size.name: size.default for size in problem.sizes}

    def prepare(code: bytes) -> Ready:
        tensors = problem.tensors(sizes, options, np.random.default_rng(0))
        changed = Executable(replace(exe.built, code_object=code))
        arguments = changed.launch_arguments(*tensors.values())
        assert arguments is not None
        return Ready(changed.sim_kernel, arguments, list(tensors.values()))

    return read(exe.code_object), exe.name, prepare


def _cases(module: str) -> dict[str, Case]:
    """The first launch of each code object of a module, by names for people."""
    found: dict[str, Case] = {}
    for case in import_module(f"bench.foreign.{module}").cases():
        found.setdefault(f"{case.group} {case.arch} {case.name} {case.kernel or ''}".strip(), case)
    return found


def _case(name: str, module: str) -> tuple[CodeObject, str | None, Prepare]:
    case = _cases(module)[name]

    def prepare(code: bytes) -> Ready:
        found = cases.prepare(case, code)
        return Ready(found.kernel, found.arguments, [data for _, data in found.guarded.values()])

    return read(case.code()), case.kernel, prepare


def _described(directory: Path, path: Path) -> tuple[CodeObject, str | None, Prepare]:
    from pykittens.sim.launch_description import LaunchDescription

    description = LaunchDescription(directory)

    def prepare(code: bytes) -> Ready:
        found = description.prepare(code)
        return Ready(found.kernel, found.arguments, [found.guarded[name] for name in sorted(found.guarded)])

    return read(path), description.symbol, prepare


class Trial:
    """One subject: its mutants, and what becomes of each."""

    def __init__(self, subject: Subject) -> None:
        self.code_object, name, self.prepare = subject.load()
        self.kernel = self.code_object.kernel(name)
        self.judge = StaticJudge(self.code_object, self.kernel)
        self.mutants = list(mutants(self.judge.code, self.code_object))

    def verdict(self, mutant: Mutant) -> tuple[str, str]:
        """The outcome, and what was said."""
        static = self.judge.verdict(mutant)
        if static.outcome != "undecided" or self.prepare is None:
            return static.outcome, static.why
        changed = mutant.applied(self.code_object)
        said = self._checked(changed)
        new = Counter(map(_key, said)) - self._known
        if new:
            return "reported", next(why for why in said if _key(why) in new)
        for order, expected in self._expected.items():
            try:
                results = self._launched(changed.data, order)
            except Fault as fault:
                return "reported", str(fault)
            if results != expected:
                return "missed", f"wrong results under {order}"
        return "redundant", f"no race in a checked run, and equal results under {len(self._expected)} orders"

    @cached_property
    def _known(self) -> Counter[str]:
        """What a checked run says of the original."""
        return Counter(map(_key, self._checked(self.code_object)))

    @cached_property
    def _expected(self) -> dict[Order, list[bytes]]:
        """Results of the original under the orders that it can stand."""
        found = {}
        for order in ORDERS:
            try:
                found[order] = self._launched(self.code_object.data, order)
            except Fault:
                continue
        first = next(iter(found.values()), None)
        return {order: results for order, results in found.items() if results == first}

    def _checked(self, code_object: CodeObject) -> list[str]:
        """The errors and warnings of a checked run in words, and the fault that ended it."""
        assert self.prepare is not None
        ready = self.prepare(code_object.data)
        run = ready.kernel.launch_checked(**ready.arguments, timeout=_TIMEOUT)
        found = findings_of(run.events, code_object, self.kernel.name, run.load_address)
        said = [
            f"{f.code}: {f.instruction} | {f.producer.instruction if f.producer else ''} | {f.why}"
            for f in found
            if f.severity != "note"
        ]
        if run.fault is not None:
            said.append(f"{run.fault.code}: | {run.fault}")
        return said

    def _launched(self, code: bytes, order: Order) -> list[bytes]:
        assert self.prepare is not None
        ready = self.prepare(code)
        ready.kernel.launch(**ready.arguments, order=order, timeout=_TIMEOUT)
        return [np.ascontiguousarray(each).tobytes() for each in ready.results]


def _key(said: str) -> str:
    """What was said but for addresses and numbers, which a change nearby may shift."""
    return said.rpartition(" | ")[0]


_trial = cache(Trial)


def _work(task: tuple[Subject, int, int, int]) -> list[dict[str, Any]]:
    subject, first, last, every = task
    trial = _trial(subject)
    found = []
    for mutant in trial.mutants[::every][first:last]:
        outcome, why = trial.verdict(mutant)
        found.append(
            {
                "kind": mutant.kind,
                "pc": mutant.pc,
                "change": mutant.change,
                "outcome": outcome,
                "why": why.split("\n")[0],
            }
        )
    return found


def _subjects(arguments: argparse.Namespace) -> list[Subject]:
    from pykittens.kernels.problems import PROBLEMS

    ours = PROBLEMS if arguments.kernels is None else [name for name in arguments.kernels.split(",") if name]
    unknown = [name for name in ours if name not in PROBLEMS]
    if unknown:
        raise SystemExit(f"there is no kernel {unknown[0]}; choose of {', '.join(PROBLEMS)}")
    found = [Subject("ours", name, arch) for name in ours for arch in arguments.archs.split(",")]
    for module in FOREIGN if arguments.cases else ():
        names = list(_cases(module))
        spread = names[:: max(1, len(names) // arguments.cases)][: arguments.cases]
        found += [Subject("case", name, module) for name in spread]
    for meta in sorted(arguments.launches.rglob("meta.json")) if arguments.launches else ():
        path = arguments.code_objects / json.loads(meta.read_text())["co"]
        if path.exists():
            found.append(Subject("launch", str(meta.parent), str(path)))
        else:
            print(f"skipped {meta.parent.name}: no {path}")
    files = (
        sorted(p for p in arguments.foreign.rglob("*") if p.suffix in (".co", ".hsaco")) if arguments.foreign else []
    )
    return found + [Subject("file", str(path), "") for path in files]


def _run(subject: Subject, pool: Any, every: int) -> dict[str, Any]:
    start = time.perf_counter()
    count = len(Trial(subject).mutants[::every])
    tasks = [(subject, first, first + _CHUNK, every) for first in range(0, count, _CHUNK)]
    records = [record for part in pool.imap(_work, tasks) for record in part]
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        kinds[record["kind"]][record["outcome"]] += 1
    totals = Counter(record["outcome"] for record in records)
    summary = {
        "subject": subject.title, "mutants": len(records), **{name: totals[name] for name in OUTCOMES},
        "kinds": {kind: dict(kinds[kind]) for kind in sorted(kinds)}, "seconds": round(time.perf_counter() - start, 1),
    }  # fmt: skip
    print(
        "  ".join([f"{subject.title}: {len(records)} mutants", *(f"{totals[name]} {name}" for name in OUTCOMES)]),
        flush=True,
    )
    open_ones = [r for r in records if r["outcome"] in ("missed", "undecided")]
    return {**summary, "open": open_ones}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", help="ours, by comma; all by default")
    parser.add_argument("--archs", default="gfx942,gfx950")
    parser.add_argument("--cases", type=int, default=0, help="code objects of each file of bench/foreign")
    parser.add_argument("--launches", type=Path)
    parser.add_argument("--code-objects", type=Path, default=Path())
    parser.add_argument("--foreign", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    found = []
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        for subject in _subjects(arguments):
            try:
                found.append(_run(subject, pool, arguments.every))
            except Error as error:
                print(f"skipped {subject.title}: {error}")
    totals = {name: sum(each[name] for each in found) for name in ("mutants", *OUTCOMES)}
    print("all: " + "  ".join(f"{count} {name}" for name, count in totals.items()))
    out = Path("out")
    out.mkdir(exist_ok=True)
    (out / "mutants.json").write_text(json.dumps({"totals": totals, "subjects": found}, indent=1) + "\n")
    return 1 if totals["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
