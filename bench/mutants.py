"""How good the checks are: each wait, barrier and s_nop of each kernel changed, one at a time, and what is said of it.

    python -m bench.mutants [--all | --every N] [--kernels gemm] [--archs gfx942,gfx950] [--defaults] [--cases N]
                            [--launches DIR --code-objects DIR] [--foreign DIR] [--jobs N]

A mutant is reported (by the static checks or by a checked run on the virtual GPU), redundant (proved to be as good as
the original, of nops by the table of hazards, or: checked runs on the inputs that get to the instruction find no race
and no undefined data, and the results are the same under the most adverse orders of waves and completions), missed (its
results are wrong and nobody said so), or undecided (nobody can tell without a run, and how to launch it is not known,
or no input gets to the instruction). What is reported by a note alone, as of wait states that not all sources ask for,
is counted too.

Kernels of ours are taken with every value of every option, with --defaults with their defaults alone. --cases takes so
many code objects of each file of bench/foreign (AITER and Triton; 0: none). --launches has directories with a meta.json
(see sim/launch_description.py) whose code objects lie below --code-objects; files below --foreign are not run. Every
10th mutant is taken, with --every N every Nth, with --all each. Writes out/mutants.json. Exit status 1: some were
missed, or the checks complain of a kernel of ours as it is.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from bench.mutant_subjects import Prepare, Subject, described_subjects, file_subjects, foreign_subjects, our_subjects

from pykittens.asm.code_object import CodeObject
from pykittens.check.mutant_verdicts import StaticJudge
from pykittens.check.mutants import Mutant, mutants
from pykittens.checking import check_launch
from pykittens.errors import Error, Fault
from pykittens.sim import Order

OUTCOMES = ("reported", "redundant", "undecided", "missed")
_TRAP = (0xBF920001).to_bytes(4, "little")
"""``s_trap 1``."""
_ALONE = 1 << 20
"""Instructions of a turn that ends at a barrier only."""
_BACKWARDS = tuple((wave, _ALONE) for wave in reversed(range(16)))
_ROUNDS = 256
_TIMEOUT = 60.0
"""Seconds that a mutant may run."""
_PATIENCE = 20
"""How many times as long as the original's a mutant's waves may run."""


def orders(waves: int) -> tuple[Order, ...]:
    """The most adverse orders first: a wave runs to its next barrier, from the first on or from the last, and nothing
    lands before it has to, or at once; then mixtures."""
    backwards = _BACKWARDS[-waves:] * _ROUNDS
    return (
        Order(_ALONE, "late"), Order(_ALONE, "late", turns=backwards), Order(1, "late"), Order(64, "late", seed=1),
        Order(16, "late", seed=2), Order(_ALONE, "issue"), Order(_ALONE, "issue", turns=backwards), Order(1, "issue"),
        Order(64, "issue", seed=3), Order(300, "issue", seed=4),
    )  # fmt: skip


class Trial:
    """One subject: its mutants, and what becomes of each."""

    def __init__(self, subject: Subject) -> None:
        self.code_object, name, self.inputs = subject.load()
        self.kernel = self.code_object.kernel(name)
        self.judge = StaticJudge(self.code_object, self.kernel)
        self.mutants = list(mutants(self.judge.code, self.code_object))

    def verdict(self, mutant: Mutant) -> tuple[str, str]:
        """The outcome, and what was said."""
        static = self.judge.verdict(mutant)
        if static.outcome != "undecided" or not self.inputs:
            return static.outcome, static.why
        # On the others nothing is different.
        inputs = {number: prepare for number, prepare in enumerate(self.inputs) if self._gets_to(mutant.pc, prepare)}
        if not inputs:
            return "undecided", f"none of {len(self.inputs)} inputs gets to the instruction"
        changed = mutant.applied(self.code_object)
        for number, prepare in inputs.items():
            said = self._checked(changed, prepare)
            new = Counter(map(_key, said)) - self._known[number]
            if new:
                return "reported", next(why for why in said if _key(why) in new)
        runs = 0
        for number, prepare in inputs.items():
            for order, expected in self._expected[number].items():
                try:
                    results = self._launched(changed.data, prepare, order)
                except Fault as fault:
                    return "reported", str(fault)
                if results != expected:
                    return "missed", f"wrong results on input {number} under {order}"
                runs += 1
        return "redundant", f"no race in {len(inputs)} checked runs, and equal results in {runs}"

    def _gets_to(self, pc: int, prepare: Prepare) -> bool:
        """Whether an instruction is executed on an input: with a trap in its place the launch stops there."""
        ready = prepare(Mutant("trap", pc, "s_trap 1", pc, _TRAP).applied(self.code_object).data)
        try:
            ready.kernel.launch(**ready.arguments, timeout=_TIMEOUT, max_instructions=self._limit)
        except Fault as fault:
            return fault.code == "trap" and fault.pc == pc
        return False

    @cached_property
    def _known(self) -> list[Counter[str]]:
        """What checked runs say of the original."""
        return [Counter(map(_key, self._checked(self.code_object, prepare))) for prepare in self.inputs]

    @cached_property
    def complaints(self) -> int:
        """How much that is."""
        return sum(sum(said.values()) for said in self._known)

    @cached_property
    def _limit(self) -> int:
        """The most instructions that a wave of a mutant may execute."""
        ready = (prepare(self.code_object.data) for prepare in self.inputs)
        return _PATIENCE * max(each.kernel.launch(**each.arguments).instructions for each in ready)

    @cached_property
    def _expected(self) -> list[dict[Order, list[bytes]]]:
        """Results of the original on each input, under the orders that it can stand."""
        return [dict(self._stood(prepare)) for prepare in self.inputs]

    def _stood(self, prepare: Prepare) -> Iterator[tuple[Order, list[bytes]]]:
        first = None
        block = prepare(self.code_object.data).arguments["block"]
        for order in orders(-(-int(np.prod(block)) // 64)):
            try:
                results = self._launched(self.code_object.data, prepare, order)
            except Fault:
                continue
            first = results if first is None else first
            if results == first:
                yield order, results

    def _checked(self, code_object: CodeObject, prepare: Prepare) -> list[str]:
        """The errors and warnings of a checked run in words, and the fault that ended it."""
        ready = prepare(code_object.data)
        report = check_launch(
            ready.kernel, **ready.arguments, **ready.checks, timeout=_TIMEOUT, max_instructions=self._limit
        )
        return [
            f"{f.code}: {f.instruction} | {f.producer.instruction if f.producer else ''} | {f.why}"
            for f in report.findings
            if f.severity != "note" or f.code == "not-checked"
        ]

    def _launched(self, code: bytes, prepare: Prepare, order: Order) -> list[bytes]:
        ready = prepare(code)
        ready.kernel.launch(**ready.arguments, order=order, timeout=_TIMEOUT, max_instructions=self._limit)
        return [np.ascontiguousarray(each).tobytes() for each in ready.results]


def _key(said: str) -> str:
    """What was said but for addresses and numbers, which a change nearby may shift."""
    return said.rpartition(" | ")[0]


def _work(task: tuple[Subject, int]) -> dict[str, Any]:
    """What becomes of every so many mutants of a subject; ``skipped`` where it cannot be had or run."""
    subject, every = task
    start = time.perf_counter()
    try:
        trial = Trial(subject)
        complaints = trial.complaints
        verdicts = [(mutant, *trial.verdict(mutant)) for mutant in trial.mutants[::every]]
    except Error as error:
        return {"subject": subject.title, "skipped": str(error)}
    records: list[dict[str, Any]] = [
        {"kind": m.kind, "pc": m.pc, "change": m.change, "outcome": outcome, "why": why.split("\n")[0]}
        for m, outcome, why in verdicts
    ]
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        kinds[record["kind"]][record["outcome"]] += 1
    totals = Counter(record["outcome"] for record in records)
    return {
        "subject": subject.title, "ours": subject.kind == "ours", "inputs": len(trial.inputs),
        "findings_of_original": complaints, "mutants": len(records),
        **{name: totals[name] for name in OUTCOMES}, "kinds": {kind: dict(kinds[kind]) for kind in sorted(kinds)},
        "open": [r for r in records if r["outcome"] in ("missed", "undecided")],
        "notes": sum(r["outcome"] == "reported" and r["why"].startswith("note: ") for r in records),
        "redundant_by": Counter(r["why"] for r in records if r["outcome"] == "redundant"),
        "seconds": round(time.perf_counter() - start, 1),
    }  # fmt: skip


def _line(found: dict[str, Any]) -> str:
    if "skipped" in found:
        return f"skipped {found['subject']}: {found['skipped']}"
    words = [f"{found['subject']}: {found['mutants']} mutants", *(f"{found[name]} {name}" for name in OUTCOMES)]
    if found["notes"]:
        words.append(f"{found['notes']} of those reported as notes")
    if found["findings_of_original"]:
        words.append(f"{found['findings_of_original']} findings of the original")
    return "  ".join(words)


def _subjects(arguments: argparse.Namespace) -> Iterator[Subject]:
    from pykittens.kernels.problems import PROBLEMS

    ours = list(PROBLEMS) if arguments.kernels is None else [name for name in arguments.kernels.split(",") if name]
    unknown = [name for name in ours if name not in PROBLEMS]
    if unknown:
        raise SystemExit(f"there is no kernel {unknown[0]}; choose of {', '.join(PROBLEMS)}")
    return chain(
        our_subjects(ours, arguments.archs.split(","), arguments.defaults), foreign_subjects(arguments.cases),
        described_subjects(arguments.launches, arguments.code_objects), file_subjects(arguments.foreign),
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", help="ours, by comma; all by default")
    parser.add_argument("--archs", default="gfx942,gfx950")
    parser.add_argument("--defaults", action="store_true", help="no other values of options")
    parser.add_argument("--cases", type=int, default=3, help="code objects of each file of bench/foreign")
    parser.add_argument("--launches", type=Path)
    parser.add_argument("--code-objects", type=Path, default=Path())
    parser.add_argument("--foreign", type=Path)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    every = 1 if arguments.all else arguments.every
    found = []
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        for each in pool.imap(_work, ((subject, every) for subject in _subjects(arguments))):
            print(_line(each), flush=True)
            if "skipped" not in each:
                found.append(each)
    totals = {name: sum(each[name] for each in found) for name in ("mutants", *OUTCOMES, "notes")}
    unclean = [each["subject"] for each in found if each["ours"] and each["findings_of_original"]]
    words = (f"{count} {'reported as notes' if name == 'notes' else name}" for name, count in totals.items())
    print(f"all {len(found)}: " + "  ".join(words))
    out = Path("out")
    out.mkdir(exist_ok=True)
    (out / "mutants.json").write_text(json.dumps({"totals": totals, "subjects": found}, indent=1) + "\n")
    return 1 if totals["missed"] or unclean else 0


if __name__ == "__main__":
    sys.exit(main())
