"""``pk lds``: banks, phases and conflicts of LDS accesses, swizzles for them, and phases from conflict counters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pykittens.errors import InputError

if TYPE_CHECKING:
    from pykittens.arch import Arch
    from pykittens.report.lds_text import PhaseRow

ELEMENT_BYTES = (1, 2, 4)


def lds(
    arch: Annotated[str, typer.Option("--arch", help="The chip: gfx942 or gfx950.")] = "gfx950",
    instruction: Annotated[str, typer.Option("--instruction", help="Banks and phases of this instruction alone.")] = "",
    shape: Annotated[str, typer.Option("--shape", help="A shared shape: what each register shape costs on it.")] = "",
    register: Annotated[str, typer.Option("--register", help="With --shape: one register shape, lane by lane.")] = "",
    layout: Annotated[str, typer.Option("--layout", help="Of the register shape: row or col.")] = "row",
    write: Annotated[bool, typer.Option("--write", help="The register shape is written to LDS, not read.")] = False,
    size: Annotated[int, typer.Option("--bytes", help="Bytes of an element: 1, 2 or 4.")] = 2,
    solve: Annotated[str, typer.Option("--solve", help="Find a swizzle for subtiles of ROWSxCOLS; see --access.")] = "",
    access: Annotated[
        list[str] | None,
        typer.Option(
            "--access",
            help="With --solve, once each: 'read SHAPE LAYOUT [BYTES]', 'write SHAPE LAYOUT [BYTES]', 'copy BYTES'.",
        ),
    ] = None,
    derive: Annotated[
        str, typer.Option("--derive", help="Phases from conflicts: 'virtual', or a CSV file of counters.")
    ] = "",
    png: Annotated[Path | None, typer.Option("--png", help="Draw it into this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """LDS banks, phases and bank conflicts; conflict-free swizzles; phases from conflict counters.

    Alone it prints the phases of every instruction and the conflict degree of every pair of register and shared shape.
    Exit status 1: counters given to --derive contradict the tables.
    """
    from pykittens import arch as chips
    from pykittens.cli import lds_pairs, lds_phases, lds_solve

    chip = chips.get(arch)
    if size not in ELEMENT_BYTES:
        raise InputError("element-bytes", f"elements of {size} bytes", fix="use 1, 2 or 4")
    _refuse_mixed({"--solve": bool(solve), "--derive": bool(derive), "--shape": bool(shape)})
    _refuse_alone({"--access": bool(access)}, "--solve", bool(solve))
    _refuse_alone({"--register": bool(register)}, "--shape", bool(shape))
    if solve:
        lds_solve.show(chip, solve, access or [], size, png, as_json)
    elif derive:
        lds_phases.show_derived(chip, derive, instruction, png, as_json)
    elif shape and register:
        lds_pairs.show_pair(chip, shape, register, layout, write, size, png, as_json)
    elif shape:
        lds_pairs.show_shape(chip, shape, size, png, as_json)
    elif instruction:
        lds_phases.show([lds_phases.row_of(chip, instruction)], chip, png, as_json)
    else:
        _overview(chip, size, png, as_json)


def _overview(chip: Arch, size: int, png: Path | None, as_json: bool) -> None:
    """Table 5, and the degrees of all pairs."""
    from pykittens.cli import lds_pairs, lds_phases, output
    from pykittens.report.lds_text import phase_rows

    rows: list[PhaseRow] = phase_rows(chip)
    pairs = lds_pairs.all_pairs(chip, size)
    if as_json:
        whole: dict[str, Any] = {
            "arch": chip.name,
            "phases": [row.to_json() for row in rows],
            "pairs": [lds_pairs.to_json(pair) for pair in pairs],
        }
        lds_phases.draw(rows, chip, png)
        output.print_json(whole)
        return
    lds_phases.show(rows, chip, png, False)
    lds_pairs.print_matrix(pairs, size)


def _refuse_mixed(given: dict[str, bool]) -> None:
    both = [name for name, there in given.items() if there]
    if len(both) > 1:
        raise InputError("lds-options", f"{' and '.join(both)} are given", fix="use one of them")


def _refuse_alone(given: dict[str, bool], needed: str, there: bool) -> None:
    for name, used in given.items():
        if used and not there:
            raise InputError("lds-options", f"{name} without {needed}", fix=f"add {needed}")
