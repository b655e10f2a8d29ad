"""How good the checks are: each wait, barrier and s_nop of each kernel changed, one at a time, and what is said of it.

    python bench/mutants.py [--kernels gemm] [--archs gfx942,gfx950] [--launches DIR --code-objects DIR]
                            [--foreign DIR] [--every N] [--jobs N]

A mutant is reported (by the static checks, or by the virtual GPU that runs it), redundant (proved to be as good as the
original), missed (its results are wrong and nobody said so), or undecided: its results are right under every order of
waves and completions that was tried, which proves nothing about races. --launches has directories with a meta.json
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
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pykittens.asm.code_object import CodeObject, read
from pykittens.check.mutant_verdicts import StaticJudge
from pykittens.check.mutants import Mutant, mutants
from pykittens.errors import Error, Fault
from pykittens.sim import Order

OUTCOMES = ("reported", "redundant", "undecided", "missed")
ORDERS = (
    Order(1 << 20, "late"), Order(1, "late"), Order(64, "late", seed=1), Order(16, "late", seed=2),
    Order(1 << 20, "issue"), Order(1, "issue"), Order(64, "issue", seed=3), Order(300, "issue", seed=4),
)  # fmt: skip
"""The most adverse orders first: a wave runs to its next barrier, and nothing lands before it has to, or at once."""
_CHUNK = 24

Results = list[np.ndarray[Any, Any]]
Launch = Callable[[bytes, Order], Results]


@dataclass(frozen=True)
class Subject:
    """What is mutated: ``ours`` (name, arch), ``launch`` (directory, code object) or ``file`` (path)."""

    kind: str
    name: str
    detail: str

    def load(self) -> tuple[CodeObject, str | None, Launch | None]:
        """The code object, the kernel's name and how to run a changed copy."""
        if self.kind == "ours":
            return _ours(self.name, self.detail)
        if self.kind == "launch":
            return _described(Path(self.name), Path(self.detail))
        return read(self.name), None, None

    @property
    def title(self) -> str:
        return f"{self.name} {self.detail}" if self.kind == "ours" else Path(self.name).name


def _ours(name: str, arch: str) -> tuple[CodeObject, str | None, Launch]:
    from pykittens.executable import Executable, compile
    from pykittens.kernels.problems import PROBLEMS

    problem = PROBLEMS[name]
    options = problem.defaults()
    exe = compile(problem.kernel, arch, **options)
    sizes = {size.name: size.default for size in problem.sizes}

    def launch(code: bytes, order: Order) -> Results:
        tensors = problem.tensors(sizes, options, np.random.default_rng(0))
        Executable(replace(exe.built, code_object=code))(*tensors.values(), order=order, timeout=60.0)
        return list(tensors.values())

    return read(exe.code_object), exe.name, launch


def _described(directory: Path, path: Path) -> tuple[CodeObject, str | None, Launch]:
    from pykittens.sim.launch_description import LaunchDescription

    description = LaunchDescription(directory)

    def launch(code: bytes, order: Order) -> Results:
        found = description.launch(code, order=order, timeout=60.0)
        return [found.buffers[name] for name in sorted(found.buffers)]

    return read(path), description.symbol, launch


class Trial:
    """One subject: its mutants, and what becomes of each."""

    def __init__(self, subject: Subject) -> None:
        self.code_object, name, self.launch = subject.load()
        kernel = self.code_object.kernel(name)
        self.judge = StaticJudge(self.code_object, kernel)
        self.mutants = list(mutants(self.judge.code, self.code_object))
        self._expected: dict[Order, Results] = {}

    def verdict(self, mutant: Mutant) -> tuple[str, str]:
        """The outcome, and what was said."""
        static = self.judge.verdict(mutant)
        if static.outcome != "undecided" or self.launch is None:
            return static.outcome, static.why
        code = mutant.applied(self.code_object).data
        for order in self._sound_orders():
            try:
                results = self.launch(code, order)
            except Fault as fault:
                return "reported", str(fault)
            if not all(np.array_equal(_bits(a), _bits(b)) for a, b in zip(results, self._expected[order], strict=True)):
                return "missed", f"wrong results under {order}"
        return "undecided", f"equal results under {len(self._expected)} orders"

    def _sound_orders(self) -> list[Order]:
        """The orders under which the original runs, and gives what it gives under the first of them."""
        assert self.launch is not None
        if not self._expected:
            for order in ORDERS:
                try:
                    self._expected[order] = self.launch(self.code_object.data, order)
                except Fault:
                    continue
        return list(self._expected)


def _bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


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

    names = PROBLEMS if arguments.kernels is None else [name for name in arguments.kernels.split(",") if name]
    found = [Subject("ours", name, arch) for name in names for arch in arguments.archs.split(",")]
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
