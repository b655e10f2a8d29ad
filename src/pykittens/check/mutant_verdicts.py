"""What the static checks say of a mutant: found, proved as good as the original, or left to a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from pykittens.asm.code_object import CodeObject, Kernel
from pykittens.asm.pending import CAPS
from pykittens.check.code import KernelCode, Places, follow
from pykittens.check.findings import Finding
from pykittens.check.hazards import check_hazards
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
        known = self._findings(self.code, "wait") + self._findings(self.code, "nop")
        self._known = Counter(map(_key, known))

    def verdict(self, mutant: Mutant) -> Verdict:
        """The mutant is checked from its bytes; only what the original does not have counts as found."""
        changed = mutant.applied(self.code_object)
        code = follow(changed, self.kernel, Places(changed))
        findings = [*code.findings, *self._findings(code, mutant.kind)]
        found = {_key(f): f for f in findings}
        new = Counter(map(_key, findings)) - self._known
        if new:
            return Verdict("reported", str(found[next(iter(new))]))
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
        return check_waits(WaitModel(code)) if kind.endswith("wait") else []


def _key(finding: Finding) -> tuple[str, ...]:
    """A finding but for its addresses and numbers, which a change nearby may shift."""
    places = [p.instruction if p else "" for p in (finding.place, finding.producer)]
    return (finding.code, *places, finding.severity)
