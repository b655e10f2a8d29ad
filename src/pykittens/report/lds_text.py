"""LDS banks, phases and conflicts as rows and text: the paper's table 5, and its figure 4 for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pykittens.arch import Arch
from pykittens.arch.lds_banks import BankReport, known_word, source_of
from pykittens.arch.lds_phases import LdsAccess
from pykittens.isa import DEFINITIONS
from pykittens.isa.lds_requests import request_kind


@dataclass(frozen=True)
class PhaseRow:
    """One line of table 5: a kind of access with the instructions that make it."""

    instructions: tuple[str, ...]
    access: LdsAccess

    @property
    def known(self) -> str:
        """How well the banks and phases are known."""
        return known_word(source_of(self.access))

    @property
    def note(self) -> str:
        """Who says so."""
        return self.access.fact("phases").note

    def to_json(self) -> dict[str, object]:
        """Names, banks, lanes of each phase and the source."""
        return {
            "access": self.access.name,
            "instructions": list(self.instructions),
            "lane_bytes": self.access.lane_bytes,
            "banks": self.access.banks,
            "phases": [list(phase) for phase in self.access.phases],
            "known": self.known,
            "note": self.note,
        }


def phase_rows(arch: Arch) -> list[PhaseRow]:
    """Every kind of access of a chip, with the DS instructions that make it (atomics and narrow forms included)."""
    names: dict[str, list[str]] = {}
    for definition in DEFINITIONS.values():
        kind = request_kind(definition)
        if kind is not None and arch.name in definition.archs:
            names.setdefault(arch.lds_access(*kind).name, []).append(definition.name)
    return [PhaseRow(tuple(names.get(access.name, ())), access) for access in arch.lds_accesses]


def plain_name(row: PhaseRow) -> str:
    """The instruction that a kind of access is known by: the plain load or store, or the widest elements' transpose."""
    return row.instructions[-1 if row.access.direction == "transpose" else 0]


def lanes_text(lanes: Sequence[int]) -> str:
    """Lanes as ranges: ``0-3,12-15,20-27``."""
    spans: list[list[int]] = []
    for lane in lanes:
        if spans and lane == spans[-1][1] + 1:
            spans[-1][1] = lane
        else:
            spans.append([lane, lane])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def phases_text(access: LdsAccess) -> str:
    """All phases: ``0-31 / 32-63``."""
    return " / ".join(map(lanes_text, access.phases))


def conflict_rows(report: BankReport) -> list[tuple[int, str, int, int, int]]:
    """For each phase of an access: number, active lanes, dwords asked for, banks asked, passes."""
    return [
        (number, lanes_text(phase.lanes), sum(map(len, phase.dwords.values())), len(phase.dwords), phase.passes)
        for number, phase in enumerate(report.phases)
    ]


def lds_map(addresses: np.ndarray, lane_bytes: int, report: BankReport) -> list[str]:
    """The LDS as lines of one dword a bank: for each piece the lane that asks for it and its phase as a letter.

    A ``*`` marks conflicts: in the piece's phase another dword is asked of one of its banks.
    """
    line = 4 * report.access.banks
    phase_of = {lane: number for number, phase in enumerate(report.phases) for lane in phase.lanes}
    step = max(lane_bytes, 4)
    cells: dict[int, list[str]] = {}
    for lane, address in enumerate(int(each) for each in addresses):
        if lane not in phase_of:
            continue
        phase = report.phases[phase_of[lane]]
        crowded = any(
            len(phase.dwords[dword % report.access.banks]) > 1
            for dword in range(address // 4, (address + lane_bytes - 1) // 4 + 1)
        )
        cells.setdefault(address // step, []).append(f"{lane}{chr(97 + phase_of[lane])}{'*' if crowded else ''}")
    width = max((len(_cell(names)) for names in cells.values()), default=0)
    rows = []
    for start in sorted({piece * step // line * line for piece in cells}):
        pieces = range(start // step, (start + line) // step)
        shown = " ".join(f"{_cell(cells.get(piece, [])):<{width}}" for piece in pieces)
        rows.append(f"{start:>6}  {shown}".rstrip())
    return rows


def _cell(names: list[str]) -> str:
    """Who asks for a piece: a lane, or the first of several and how many more."""
    if not names:
        return "."
    return names[0] if len(names) == 1 else f"{names[0]}+{len(names) - 1}"
