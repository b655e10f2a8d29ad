"""The part of ``pk lds`` about instructions: their banks and phases from the tables, and from conflict counters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from pykittens.arch import Arch
from pykittens.check.phase_solver import Counter, VirtualDevice, derive, measure, read_counters
from pykittens.cli import output
from pykittens.cli.one_line_errors import WRONG_RESULT
from pykittens.errors import InputError
from pykittens.isa import lookup
from pykittens.isa.lds_requests import request_kind
from pykittens.report.lds_text import PhaseRow, lanes_text, phase_rows, phases_text, plain_name

VIRTUAL = "virtual"


def row_of(chip: Arch, instruction: str) -> PhaseRow:
    """The row of one instruction. InputError for what is no LDS access, or not one of the chip's."""
    definition = lookup(instruction)
    kind = request_kind(definition)
    if kind is None:
        raise InputError(
            "no-lds-access", f"{instruction} reads and writes no LDS", fix="name a ds_ load, store or atomic"
        )
    if chip.name not in definition.archs:
        raise InputError("arch-instruction", f"{instruction} does not exist on {chip.name}", fix="use --arch gfx950")
    return next(row for row in phase_rows(chip) if row.access is chip.lds_access(*kind))


def show(rows: list[PhaseRow], chip: Arch, png: Path | None, as_json: bool) -> None:
    """The rows as table 5, or as JSON; drawn into ``png``."""
    draw(rows, chip, png)
    if as_json:
        output.print_json({"arch": chip.name, "phases": [row.to_json() for row in rows]})
        return
    table = [
        (plain_name(row), row.access.banks, len(row.access.phases), phases_text(row.access), row.known, row.note)
        for row in rows
    ]
    columns = ("instruction", "banks", "phases", "lanes of each phase", "known", "source")
    output.print_table(f"LDS banks and phases of {chip.name}", columns, table)


def draw(rows: list[PhaseRow], chip: Arch, png: Path | None) -> None:
    """Table 5 as a picture, if one is asked for."""
    if png is not None:
        from pykittens.report.lds_figures import draw_phases

        draw_phases(rows, f"LDS phases of {chip.name}: which lanes an instruction serves together", png)


def show_derived(chip: Arch, source: str, instruction: str, png: Path | None, as_json: bool) -> None:
    """Banks and phases from conflicts alone, beside the tables; exit status 1 where they differ."""
    if png is not None:
        raise InputError("lds-options", "--derive draws nothing", fix="leave out --png")
    results = [
        _derived(chip, row_of(chip, name), name, counters)
        for name, counters in _counters(chip, source, instruction).items()
    ]
    if as_json:
        output.print_json({"arch": chip.name, "source": source, "instructions": results})
    else:
        table = [
            (r["instruction"], r["banks"], " / ".join(map(lanes_text, r["phases"])), r["agrees"], r["known"])
            for r in results
        ]
        columns = ("instruction", "banks", "lanes of each phase", "as the table", "table is")
        output.print_table(f"LDS banks and phases of {chip.name} from conflicts ({source})", columns, table)
    if not all(r["agrees"] for r in results):
        raise typer.Exit(WRONG_RESULT)


def _counters(chip: Arch, source: str, instruction: str) -> dict[str, list[Counter]]:
    if source != VIRTUAL:
        counters = read_counters(source)
        if instruction and instruction not in counters:
            raise InputError(
                "missing-counter", f"{source} has no counters of {instruction}", fix=f"it has {', '.join(counters)}"
            )
        return {instruction: counters[instruction]} if instruction else counters
    rows = [row_of(chip, instruction)] if instruction else phase_rows(chip)
    device = VirtualDevice(chip)
    return {
        instruction or plain_name(row): measure(device, row.access.direction, row.access.lane_bytes) for row in rows
    }


def _derived(chip: Arch, row: PhaseRow, name: str, counters: list[Counter]) -> dict[str, Any]:
    found = derive(counters, row.access.lane_bytes)
    return {
        "instruction": name,
        "banks": found.banks,
        "phases": [list(phase) for phase in found.phases],
        "agrees": found.agrees(row.access),
        "known": row.known,
    }
