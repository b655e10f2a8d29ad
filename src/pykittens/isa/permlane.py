"""Swaps of lanes between two vector registers (gfx950)."""

from __future__ import annotations

from functools import partial

from .define import Definition
from .value import Value


def swap_rows(dst: Value, src: Value, row: int) -> tuple[Value, Value]:
    """Exchange the odd rows of ``row`` lanes of the destination with the even rows of the source."""
    to_dst = tuple(64 + lane - row if lane & row else lane for lane in range(64))
    to_src = tuple(lane if lane & row else 64 + lane + row for lane in range(64))
    return dst.shuffle(to_dst, src), src.shuffle(to_src, dst)


def swapped_rows(definition: Definition) -> int:
    """The rows' length if the instruction is such a swap, in which lanes get the value of lane ``id ^ row``; or 0."""
    meaning = definition.meaning
    return int(meaning.keywords["row"]) if isinstance(meaning, partial) and meaning.func is swap_rows else 0
