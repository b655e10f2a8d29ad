"""The part of ``pk lds`` about shapes: what pairs of register and shared shapes cost, and one pair lane by lane."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pykittens.arch import Arch
from pykittens.cli import output
from pykittens.errors import BuildError, InputError
from pykittens.report.lds_text import conflict_rows, lds_map
from pykittens.tile import register_shape, shared_shape
from pykittens.tile.shared_degrees import Move, PairCost, pair_cost
from pykittens.tile.shared_pieces import SharedLayout
from pykittens.tile.shared_shape import SharedShape

Direction = Literal["read", "write"]
MOVES: tuple[tuple[Direction, str], ...] = (("read", "row"), ("read", "col"), ("write", "row"), ("write", "col"))


def all_pairs(chip: Arch, size: int, shapes: Collection[SharedShape] = shared_shape.SHAPES.values()) -> list[PairCost]:
    """Every pair with one of the shared ``shapes`` that can be moved: reads and writes, rows and columns."""
    found = []
    for direction, layout in MOVES:
        for register in register_shape.SHAPES.values():
            for shared in shapes:
                pair = _try_pair(chip, direction, register, layout, shared, size)
                if pair is not None:
                    found.append(pair)
    return found


def _try_pair(
    chip: Arch,
    direction: Direction,
    register: register_shape.RegisterShape,
    layout: str,
    shared: SharedShape,
    size: int,
) -> PairCost | None:
    """The pair, or None where the shapes cannot be moved: that is what a kernel would be told."""
    try:
        return pair_cost(chip, direction, register, layout, shared, size)
    except BuildError:
        return None


def to_json(pair: PairCost) -> dict[str, Any]:
    """A pair for ``--json``."""
    return {
        "direction": pair.direction,
        "register": pair.register.name,
        "layout": pair.layout,
        "shared": pair.shared.name,
        "element_bytes": pair.size,
        "instructions": list(pair.mnemonics),
        "degree": pair.degree,
        "passes_per_base_tile": pair.passes_per_base,
        "known": pair.known,
    }


def print_matrix(pairs: list[PairCost], size: int) -> None:
    """Degrees of all pairs: register shapes down, shared shapes across, one table for each way to move them."""
    names = list(shared_shape.SHAPES)
    for direction, layout in MOVES:
        rows = []
        for register in register_shape.SHAPES:
            mine = {
                pair.shared.name: pair
                for pair in pairs
                if (pair.direction, pair.layout, pair.register.name) == (direction, layout, register)
            }
            if mine:
                rows.append([f"rt_{register}", *(_short(mine[name]) if name in mine else "-" for name in names)])
        title = f"{direction}s in {layout} layout, elements of {size} bytes: passes of a phase (1: no conflict), access"
        if rows:
            output.print_table(title, ["", *(f"st_{name}" for name in names)], rows)


def _short(pair: PairCost) -> str:
    """``1 b128``, ``2 tr``; ``?`` where phases are assumed."""
    access = pair.moves[0].report.access
    kind = "tr" if access.direction == "transpose" else f"b{8 * pair.moves[0].lane_bytes}"
    return f"{pair.degree} {kind}{'?' if pair.known == 'assumed' else ''}"


def show_shape(chip: Arch, name: str, size: int, png: Path | None, as_json: bool) -> None:
    """Every register shape on one shared shape, with its swizzle and without."""
    if png is not None:
        raise InputError("lds-options", "a picture is of one pair", fix="add --register")
    shared = shared_shape.get(name.removeprefix("st_"))
    found = all_pairs(chip, size, [shared])
    plain = [pair_cost(chip, p.direction, p.register, p.layout, _plain(shared), size) for p in found]
    if as_json:
        rows = [
            {**to_json(pair), "degree_without_swizzle": other.degree} for pair, other in zip(found, plain, strict=True)
        ]
        output.print_json({"arch": chip.name, "shape": shared.name, "pairs": rows})
        return
    moves = [f"{pair.direction} rt_{pair.register.name} {pair.layout}" for pair in found]
    table = [
        (move, ", ".join(pair.mnemonics), pair.degree, other.degree, pair.passes_per_base, pair.known)
        for move, pair, other in zip(moves, found, plain, strict=True)
    ]
    columns = ("move", "instructions", "passes of a phase", "without swizzle", "passes a base tile", "known")
    output.print_table(f"st_{shared.name} on {chip.name}, elements of {size} bytes", columns, table)


def show_pair(
    chip: Arch, shape: str, register: str, layout: str, write: bool, size: int, png: Path | None, as_json: bool
) -> None:
    """One pair: each instruction's conflicts, the LDS with its lanes, and figure 4 into ``png``."""
    shared = shared_shape.get(shape.removeprefix("st_"))
    base = register_shape.get(register.removeprefix("rt_"))
    if layout not in ("row", "col"):
        raise InputError("layout", f"layout {layout!r} is neither 'row' nor 'col'")
    direction: Direction = "write" if write else "read"
    show(
        chip, [pair_cost(chip, direction, base, layout, each, size) for each in (_plain(shared), shared)], png, as_json
    )


def show(chip: Arch, pairs: list[PairCost], png: Path | None, as_json: bool) -> None:
    """A pair without and with its swizzle."""
    last = pairs[-1]
    title = f"{chip.name}: {last.direction} rt_{last.register.name} {last.layout}, elements of {last.size} bytes"
    if png is not None:
        from pykittens.report.lds_figures import draw_banks

        several = f", the first of {len(last.moves)} instructions" * (len(last.moves) > 1)
        draw_banks([panel(pair) for pair in pairs], title + several, png)
    if as_json:
        output.print_json(
            {"arch": chip.name, "pairs": [{**to_json(p), "accesses": list(map(_move_json, p.moves))} for p in pairs]}
        )
        return
    for pair in pairs:
        move = pair.moves[0]
        words = f"{move.mnemonic}, {move.report.degree}-way ({move.report.known})"
        columns = ("phase", "lanes", "dwords", "banks", "passes")
        output.print_table(f"{title}, st_{swizzle_words(pair.shared)}: {words}", columns, conflict_rows(move.report))
        print(
            "\n".join(
                [
                    "  byte  lane and phase of each piece, * conflict",
                    *lds_map(move.addresses, move.lane_bytes, move.report),
                ]
            )
        )


def panel(pair: PairCost) -> Any:
    """The first access of a pair for the picture."""
    from pykittens.report.lds_figures import LdsPanel

    move, (rows, cols) = pair.moves[0], pair.tile
    layout = SharedLayout(pair.shared, cols, pair.size)
    places = layout.address(*np.mgrid[0:rows, 0:cols])
    lanes = np.full((rows, cols), -1)
    for lane, address in enumerate(move.addresses):
        lanes[(places >= address) & (places < address + move.lane_bytes)] = lane
    banks = places // 4 % move.report.access.banks
    return LdsPanel(
        f"st_{swizzle_words(pair.shared)}: {move.mnemonic}", move.addresses, move.lane_bytes, move.report, banks, lanes
    )


def _move_json(move: Move) -> dict[str, Any]:
    report = move.report
    return {
        "instruction": move.mnemonic,
        "addresses": move.addresses.tolist(),
        "degree": report.degree,
        "phases": [{"lanes": list(phase.lanes), "passes": phase.passes} for phase in report.phases],
        "known": report.known,
    }


def _plain(shared: SharedShape) -> SharedShape:
    return SharedShape(shared.name, shared.rows, shared.cols)


def swizzle_words(shared: SharedShape) -> str:
    """``16x32, o ^ (((o % 1024) >> 9) << 5)``."""
    terms = [f"(((o % {modulus}) >> {right}) << {left})" for modulus, right, left in shared.xors]
    return f"{shared.name}, {' ^ '.join(['o', *terms]) if terms else 'no swizzle'}"
