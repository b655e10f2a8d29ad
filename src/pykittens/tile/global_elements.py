"""Where a lane's elements of a register tile lie in the window of a tensor: in pieces of four, or one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from typing import TYPE_CHECKING

from pykittens.isa.registers import Reg

from .expression import Int, below, binary, leaf
from .global_tensor import GlobalTile
from .global_window import columns_left, guard, past_columns
from .program_inputs import LANE
from .tiles import rt

if TYPE_CHECKING:
    from .lowering import Lowering

PIECE = 4
"""Neighbouring columns of a lane that move at once."""


def in_pieces(window: GlobalTile, tile: rt) -> Int:
    """1 where all of the tile's columns exist and rows are 4-byte aligned, so that pieces may move at once.

    0 for tiles whose lanes hold no four neighbouring columns.
    """
    if tile.layout != "row" or tile.shape.stride != PIECE:
        return 0
    last = window.col * tile.cols + (tile.cols - 1)
    return binary("and", window.tensor.aligned(4), below(last, window.tensor.cols))


def pieces(window: GlobalTile, tile: rt) -> Iterator[tuple[Int, list[tuple[int, Reg]]]]:
    """For each row of base tiles: a lane's byte offset in the window, and its pieces as (bytes from there, four
    registers).
    """
    tensor, shape, size = window.tensor, tile.shape, window.tensor.dtype.bytes
    across = 64 // shape.rows * PIECE
    column = LANE // shape.rows * PIECE + window.col * tile.cols
    for i in range(tile.grid[0]):
        row = LANE % shape.rows + i * shape.rows
        found = []
        for j in range(tile.grid[1]):
            regs = tile.base(i, j)
            for step in range(shape.elements // PIECE):
                place = (j * shape.cols + step * across) * size
                found.append((place, regs[step * PIECE : step * PIECE + PIECE - 1]))
        yield row * tensor.stride + column * size, found


def elements(emit: Lowering, window: GlobalTile, tile: rt) -> Iterator[tuple[Reg, int, Reg]]:
    """(byte offset in the window, out of range beyond the tensor's columns; bytes further on; register) of each of a
    lane's elements. The offset's register is the caller's for one step.
    """
    tensor, shape, size = window.tensor, tile.shape, window.tensor.dtype.bytes
    row, col = shape.element(tile.layout, LANE, 0)
    first = leaf("column", tensor.name, uniform=False)
    with emit.computed(window.col * tile.cols + col) as column, columns_left(emit, tensor, column) as left:
        emit.inputs[first] = column
        places = _in_rows if tile.layout == "row" else _in_columns
        yield from places(emit, tile, row, tensor.stride, first * size, left, size)
        del emit.inputs[first]


def _in_rows(
    emit: Lowering, tile: rt, row: Int, stride: Int, along: Int, left: Reg, size: int
) -> Iterator[tuple[Reg, int, Reg]]:
    """`elements` of row layout: a lane's rows are those of the base tiles, its columns are compared one by one."""
    shape = tile.shape
    with ExitStack() as stack:
        rows = [
            stack.enter_context(emit.computed((row + i * shape.rows) * stride + along)) for i in range(tile.grid[0])
        ]
        past, offset = (stack.enter_context(emit.temporary("v")) for _ in range(2))
        for j, e in product(range(tile.grid[1]), range(shape.elements)):
            further = j * shape.cols + _number(shape.element("row", 0, e)[1])
            past_columns(emit, past, left, further)
            for i, start in enumerate(rows):
                guard(emit, offset, past, start)
                yield offset, further * size, tile.base(i, j)[e]


def _in_columns(
    emit: Lowering, tile: rt, row: Int, stride: Int, along: Int, left: Reg, size: int
) -> Iterator[tuple[Reg, int, Reg]]:
    """`elements` of column layout: a lane has one column of each base tile, and many rows."""
    shape = tile.shape
    with emit.computed(row * stride + along) as start, emit.temporary("v") as top, emit.temporary("v") as offset:
        for j in range(tile.grid[1]):
            past_columns(emit, top, left, j * shape.cols)
            guard(emit, top, top, start)
            for i, e in product(range(tile.grid[0]), range(shape.elements)):
                down = i * shape.rows + _number(shape.element("col", 0, e)[0])
                with emit.temporary("s") as rows:
                    emit.ins("s_mul_i32", rows, emit.uniform_register(stride), down)
                    emit.ins("v_add_u32", offset, rows, top)
                yield offset, j * shape.cols * size, tile.base(i, j)[e]


def _number(value: Int) -> int:
    assert isinstance(value, int)
    return value
