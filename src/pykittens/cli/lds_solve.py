"""The part of ``pk lds`` that solves for swizzles: accesses from words, the answer or the proof."""

from __future__ import annotations

import re
from pathlib import Path

from pykittens.arch import Arch
from pykittens.cli import lds_pairs, output
from pykittens.errors import InputError
from pykittens.tile import register_shape
from pykittens.tile.shared_degrees import pair_cost
from pykittens.tile.swizzle_patterns import Pattern, lane_order_copy, register_read, register_write
from pykittens.tile.swizzle_solver import Problem, solve

FORMS = "'read SHAPE LAYOUT [BYTES]', 'write SHAPE LAYOUT [BYTES]' or 'copy BYTES'"
_MOVE = re.compile(r"(read|write) (?:rt_)?(\w+) (row|col)(?: (\d+))?")
_COPY = re.compile(r"copy (\d+)")


def show(chip: Arch, subtile: str, accesses: list[str], size: int, png: Path | None, as_json: bool) -> None:
    """Solve and print: the swizzle and what each access then costs, or why there is none and the best."""
    rows, cols = _subtile(subtile)
    patterns = tuple(_pattern(chip, words, (rows, cols), size) for words in accesses)
    solution = solve(Problem(rows, cols, size, patterns))
    if png is not None:
        _draw(chip, accesses, size, [Problem(rows, cols, size, patterns).swizzled(()), solution.shape], png)
    if as_json:
        output.print_json({
            "arch": chip.name,
            "subtile": [rows, cols],
            "element_bytes": size,
            "conflict_free": solution.conflict_free,
            "xors": [list(term) for term in solution.shape.xors],
            "passes": solution.passes,
            "known": {pattern.what: pattern.known for pattern in patterns},
            "cannot_share": list(solution.together),
            "proof": solution.proof,
        })  # fmt: skip
        return
    word = "swizzle without conflicts" if solution.conflict_free else "no swizzle without conflicts; the best"
    table = [(pattern.what, solution.passes[pattern.what], pattern.known) for pattern in patterns]
    title = f"{chip.name}, subtiles of {lds_pairs.swizzle_words(solution.shape)}: {word}"
    output.print_table(title, ("access", "passes of a phase", "known"), table)
    if solution.proof:
        print(f"{' and '.join(solution.together)} cannot share a tile: {solution.proof}.")


def _subtile(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)x(\d+)", text)
    if found is None:
        raise InputError("subtile", f"--solve {text}", fix="give rows and columns, such as 16x32")
    return int(found[1]), int(found[2])


def _pattern(chip: Arch, words: str, subtile: tuple[int, int], size: int) -> Pattern:
    """An access from its words."""
    text = " ".join(words.split())
    copy, move = _COPY.fullmatch(text), _MOVE.fullmatch(text)
    if copy:
        return lane_order_copy(chip, int(copy[1]))
    if not move:
        raise InputError("lds-access", f"--access {words!r}", fix=f"use {FORMS}")
    make = register_read if move[1] == "read" else register_write
    return make(chip, move[2], move[3], subtile, size, int(move[4]) if move[4] else None)


def _draw(chip: Arch, accesses: list[str], size: int, shapes: list, png: Path) -> None:
    """Figure 4 of the first register access, without a swizzle and with the one found."""
    from pykittens.report.lds_figures import draw_banks

    move = next(filter(None, (_MOVE.fullmatch(" ".join(words.split())) for words in accesses)), None)
    if move is None:
        raise InputError("lds-options", "a picture is of a register shape's access", fix="add a read or a write")
    register = register_shape.get(move[2])
    pairs = [pair_cost(chip, move[1], register, move[3], shape, size) for shape in shapes]  # type: ignore[arg-type]
    draw_banks([lds_pairs.panel(pair) for pair in pairs], f"{chip.name}: {move[0]}", png)
