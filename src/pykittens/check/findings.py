"""Findings about a code object and the report that holds them: every check makes these, static or while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pykittens.check.codes import CODES, SEVERITIES, Severity
from pykittens.errors import InputError

if TYPE_CHECKING:
    from pykittens.check.banks import BankTable

OPEN = ("not-followed", "not-checked")
"""Codes that say that something was left open."""


@dataclass(frozen=True)
class Place:
    """An instruction that a finding is about: byte address from the load address, LLVM's text, Python line, phase, and
    the tile that it accesses and how, such as ``Bs read``."""

    pc: int
    instruction: str
    where: str | None = None
    phase: str | None = None
    tile: str | None = None

    def __str__(self) -> str:
        line = ", ".join(part for part in (self.where, self.phase and f"phase {self.phase}", self.tile) if part)
        return f"{self.pc:#x} `{self.instruction}`{f' ({line})' * bool(line)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "pc": self.pc, "instruction": self.instruction, "where": self.where, "phase": self.phase,
            "access": self.tile,
        }  # fmt: skip


_NOWHERE = Place(-1, "")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or worth knowing, at one instruction.

    code: one of `codes.CODES`. why: what is wrong, with both numbers. fix: what to do. place: the instruction; None
    where the finding is about the kernel as a whole. producer: the earlier instruction that it conflicts with.
    tile: the tile or registers in question, by name. kernel: the kernel's name. times: how often it was seen (1 for
    static checks). level: the severity, where it is not the code's own.
    """

    code: str
    why: str
    fix: str = ""
    place: Place | None = None
    producer: Place | None = None
    tile: str | None = None
    kernel: str | None = None
    times: int = 1
    level: Severity | None = None

    def __post_init__(self) -> None:
        assert self.code in CODES, f"{self.code} is no code of findings"

    @property
    def severity(self) -> Severity:
        return self.level or CODES[self.code].severity

    @property
    def pc(self) -> int | None:
        """Byte address of the instruction from the load address."""
        return self.place.pc if self.place else None

    @property
    def instruction(self) -> str:
        """The instruction's text as llvm-objdump prints it; empty where the finding has no place."""
        return self.place.instruction if self.place else ""

    @property
    def where(self) -> str | None:
        """The Python (or C) line as ``file.py:12``."""
        return self.place.where if self.place else None

    @property
    def phase(self) -> str | None:
        return self.place.phase if self.place else None

    def __str__(self) -> str:
        lines = [f"{self.severity}: {self.why} [{self.code}]"]
        lines += [f"    at    {self.place}"] if self.place else []
        lines += [f"    after {self.producer}"] if self.producer else []
        lines += [f"    tile  {self.tile}"] if self.tile else []
        lines += [f"    seen  {self.times} times"] if self.times > 1 else []
        lines += [f"    fix   {self.fix}"] if self.fix else []
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code, "severity": self.severity, "why": self.why, "fix": self.fix, "kernel": self.kernel,
            **(self.place or _NOWHERE).to_json(), "pc": self.pc,
            "producer": self.producer.to_json() if self.producer else None, "tile": self.tile, "times": self.times,
        }  # fmt: skip


@dataclass(frozen=True)
class Report:
    """All findings about a code object, worst first and then in the order of the code.

    arch: ``gfx942`` or ``gfx950``. source: the file or kernel that was checked. kernels: their names. instructions:
    how many were looked at. lds: bank conflicts of the LDS instructions by name, where the code was run.
    """

    arch: str
    source: str
    kernels: tuple[str, ...]
    findings: tuple[Finding, ...]
    instructions: int = 0
    lds: BankTable | None = None

    @classmethod
    def of(
        cls, arch: str, source: str, kernels: Iterable[str], findings: Iterable[Finding], instructions: int = 0,
        lds: BankTable | None = None,
    ) -> Report:  # fmt: skip
        """A report with the findings in their order; equal ones once."""
        ranked = sorted(
            dict.fromkeys(findings), key=lambda f: (SEVERITIES.index(f.severity), f.kernel or "", f.pc or 0)
        )
        return cls(arch, source, tuple(kernels), tuple(ranked), instructions, lds)

    def merged(self, findings: Iterable[Finding], lds: BankTable | None = None) -> Report:
        """This report with more findings (of a run on the virtual GPU)."""
        return Report.of(
            self.arch, self.source, self.kernels, (*self.findings, *findings), self.instructions, lds or self.lds
        )

    @property
    def clean(self) -> bool:
        """No errors and no warnings."""
        return all(f.severity == "note" for f in self.findings)

    @property
    def complete(self) -> bool:
        """Whether all reachable code could be followed, and all that a run did could be checked."""
        return not any(self.by_code(code) for code in OPEN)

    @property
    def status(self) -> int:
        """The exit status: 0 clean, 1 findings, 2 no findings, but some code could not be checked."""
        return 1 if not self.clean else 0 if self.complete else 2

    def by_code(self, code: str) -> tuple[Finding, ...]:
        """The findings of one code. Raises InputError for a code that does not exist."""
        if code not in CODES:
            raise InputError("finding-code", f"no finding has the code {code!r}", fix=f"one of {', '.join(CODES)}")
        return tuple(f for f in self.findings if f.code == code)

    def counts(self) -> dict[str, int]:
        """Findings by code, of those codes that occur, in the order of `CODES`."""
        found = Counter(f.code for f in self.findings)
        return {code: found[code] for code in CODES if code in found}

    def text(self, notes: bool = True) -> str:
        """The report for people; ``notes`` says whether each note is printed or only their number."""
        shown = [f for f in self.findings if notes or f.severity != "note"]
        several = len(self.kernels) > 1
        lines = [f"{f.kernel}: {f}" if several and f.kernel else str(f) for f in shown]
        numbers = ", ".join(f"{count} {code}" for code, count in self.counts().items()) or "nothing found"
        kernels = f"{len(self.kernels)} kernel{'s' * (len(self.kernels) != 1)}"
        verdict = ("clean" if self.complete else "clean as far as it could be checked") if self.clean else "not clean"
        return "\n".join(
            [
                *lines,
                f"{self.source} for {self.arch}: {verdict}: {self.instructions:,} instructions of {kernels}: {numbers}",
            ]
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source, "arch": self.arch, "kernels": list(self.kernels), "instructions": self.instructions,
            "clean": self.clean, "complete": self.complete, "counts": self.counts(),
            "findings": [f.to_json() for f in self.findings],
        }  # fmt: skip
