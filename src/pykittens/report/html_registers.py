"""The register map: what each vector register of a wave holds, by tile names where they are known, and by its use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from pykittens.isa.effects import VECTOR_ROWS, mask_of, reads, writes
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Reg
from pykittens.model.prediction import Prediction
from pykittens.model.timing_table import MEMORY_KINDS, Kind, kind_of

from .html_elements import legend, table

USES = {
    "not used": "var(--unused)", "MFMA results": "#8fc1e8", "MFMA inputs": "#8fd3b4", "addresses": "#f4cf8c",
    "data of memory instructions": "#cbb3e6", "other": "#c3cad2",
}  # fmt: skip
_COLUMNS = 32
_ADDRESS = frozenset(("addr", "vaddr"))


@dataclass(frozen=True)
class TileRegisters:
    """A tile and where it lives: ``ranges`` of (file, first, count), ``description`` its shape and type."""

    name: str
    ranges: tuple[tuple[str, int, int], ...]
    description: str


@dataclass(frozen=True)
class RegisterFile:
    """The vector registers of a kernel: ``total`` of a lane, of which those from ``accum_offset`` on are AGPRs."""

    total: int
    accum_offset: int
    tiles: tuple[TileRegisters, ...] = ()


def register_uses(program: Sequence[Instruction | None], accum_offset: int) -> list[str]:
    """The use, one of `USES`, of each of the 512 rows of the register file, AGPRs from ``accum_offset`` on."""
    masks = dict.fromkeys(USES, 0)
    for each in program:
        if each is None:
            continue
        read, written = (mask_of(found, accum_offset) for found in (reads(each), writes(each)))
        kind = kind_of(each)
        if kind is Kind.MATRIX:
            masks["MFMA results"] |= written
            masks["MFMA inputs"] |= read
        elif kind in MEMORY_KINDS:
            addresses = _addresses(each, accum_offset)
            masks["addresses"] |= addresses
            masks["data of memory instructions"] |= (read | written) & ~addresses
        else:
            masks["other"] |= read | written
    order = ("MFMA results", "MFMA inputs", "addresses", "data of memory instructions", "other")
    return [next((use for use in order if masks[use] >> row & 1), "not used") for row in range(VECTOR_ROWS)]


def _addresses(instruction: Instruction, accum_offset: int) -> int:
    access = instruction.definition.access
    assert access is not None
    named = zip(access.roles, instruction.srcs, strict=True)
    return mask_of([each for role, each in named if role in _ADDRESS and isinstance(each, Reg)], accum_offset)


def register_section(prediction: Prediction, registers: RegisterFile) -> str:
    """The map as HTML: both files as rows of 32 cells, and the table of tiles."""
    uses = register_uses(prediction.instructions.program, registers.accum_offset)
    rows = min(VECTOR_ROWS, max(registers.total, 1 + max(np.flatnonzero([u != "not used" for u in uses]), default=0)))
    split = min(registers.accum_offset, rows)
    owners = _owners(registers)
    parts = [
        _cells("v", "VGPRs", uses[:split], owners),
        _cells("a", "AGPRs", uses[split:rows], owners) if rows > split else "",
        legend({name: colour for name, colour in USES.items() if name in uses[:rows]}),
    ]
    if registers.tiles:
        listed = [
            (tile.name, " ".join(_range(*each) for each in tile.ranges), tile.description)
            for tile in sorted(registers.tiles, key=lambda tile: tile.ranges)
        ]
        parts.append(table(("tile", "registers", "holds"), listed, caption="Tiles in registers"))
    used = sum(use != "not used" for use in uses[:rows])
    words = f"<p>{registers.total} registers a lane are allocated, {used} are used.</p>"
    tiles = f"<div>{parts[3]}</div>" if len(parts) > 3 else ""
    return f'{words}<div class="two"><div>{"".join(parts[:3])}</div>{tiles}</div>'


def _owners(registers: RegisterFile) -> dict[str, str]:
    owners: dict[str, list[str]] = {}
    for tile in registers.tiles:
        for file, first, count in tile.ranges:
            for i in range(first, first + count):
                owners.setdefault(f"{file}{i}", []).append(tile.name)
    return {register: ", ".join(names) for register, names in owners.items()}


def _cells(file: str, title: str, uses: Sequence[str], owners: dict[str, str]) -> str:
    cells = []
    for row in range(0, len(uses), _COLUMNS):
        cells.append(f'<span class="at">{file}{row}</span>')
        for i in range(row, min(row + _COLUMNS, len(uses))):
            owner = owners.get(f"{file}{i}")
            begins = owner != owners.get(f"{file}{i - 1}")
            edge = " edge" if begins and i else ""
            name = f' data-tile="{escape(owner)}"' if owner and (begins or i == row) else ""
            words = f"{file}{i}: {f'{owner}, ' if owner else ''}{uses[i]}"
            style = f"background:{USES[uses[i]]}"
            cells.append(f'<i class="cell{edge}"{name} style="{style}" title="{escape(words)}"></i>')
    return f'<h3>{title}</h3><div class="cells" role="img" aria-label="{title} by use">{"".join(cells)}</div>'


def _range(file: str, first: int, count: int) -> str:
    return f"{file}[{first}:{first + count - 1}]" if count > 1 else f"{file}{first}"
