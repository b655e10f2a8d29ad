"""What the static checks say of a mutant: found, proved as good as the original, or left to a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pykittens.asm.code_object import CodeObject, Kernel
from pykittens.asm.pending import CAPS
from pykittens.check.code import KernelCode, Places, follow
from pykittens.check.findings import Finding
from pykittens.check.hazards import check_hazards
from pykittens.check.lds_waits import check_lds_waits
from pykittens.check.loose_waits import loosest_counts
from pykittens.check.mutants import Mutant
from pykittens.check.waits import WaitModel, check_waits

Outcome = Literal["reported", "redundant", "undecided"]


@dataclass(frozen=True)
class Verdict:
    """outcome: ``reported``, ``redundant`` (proved) or ``undecided``. why: the finding, or what proves it."""

    outcome: Outcome
    why: str


class StaticJudge:
    """Judges the mutants of one kernel against the unmodified one."""

    def __init__(self, code_object: CodeObject, kernel: Kernel) -> None:
        self.code_object, self.kernel = code_object, kernel
        self.code = follow(code_object, kernel, Places(code_object))
        model = WaitModel(self.code)
        self._loosest = {
            (self.code.instructions[n].pc, name): count for (n, name), count in loosest_counts(model).items()
        }
        self._known = _counted(self._findings(self.code, "wait") + self._findings(self.code, "nop"))

    def verdict(self, mutant: Mutant) -> Verdict:
        """The mutant is checked from its bytes; only what the original does not have counts as found."""
        changed = mutant.applied(self.code_object)
        code = follow(changed, self.kernel, Places(changed))
        findings = [*code.findings, *self._findings(code, mutant.kind)]
        new = _counted(findings) - self._known
        said = [f for f in findings if _key(f) in new]
        if said:
            return Verdict("reported", str(next((f for f in said if f.severity != "note"), said[0])))
        if mutant.kind.endswith("nop"):
            return Verdict("redundant", "no row of the hazard table needs it")
        if mutant.counts and all(self._is_loose(mutant.pc, name, n) for name, n in mutant.counts.items()):
            return Verdict("redundant", "nothing depends on what is no longer waited for")
        return Verdict("undecided", "whether other waves depend on it shows only in a run")

    def _is_loose(self, pc: int, name: str, count: int) -> bool:
        return self._loosest.get((pc, name), 0) >= min(count, CAPS[name])

    @staticmethod
    def _findings(code: KernelCode, kind: str) -> list[Finding]:
        if kind.endswith("nop"):
            return check_hazards(code)
        model = WaitModel(code)
        return [*(check_waits(model) if kind.endswith("wait") else ()), *check_lds_waits(model)]


def _counted(findings: Iterable[Finding]) -> Counter[tuple[str, ...]]:
    """How often each is seen: one finding stands for all pairs of accesses of two blocks."""
    seen: Counter[tuple[str, ...]] = Counter()
    for finding in findings:
        seen[_key(finding)] += finding.times
    return seen


def _key(finding: Finding) -> tuple[str, ...]:
    """A finding but for its addresses and numbers, which a change nearby may shift."""
    places = [p.instruction if p else "" for p in (finding.place, finding.producer)]
    return (finding.code, *places, finding.severity)
