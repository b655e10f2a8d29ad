"""Where a lane's elements of a register tile lie in the window of a tensor: in pieces of four, or one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from typing import TYPE_CHECKING

from pykittens.isa.registers import Reg

from .expression import Int, below, binary, leaf
from .expression_code import lane_code
from .global_tensor import GlobalTile
from .global_window import in_columns
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


def elements(emit: Lowering, window: GlobalTile, tile: rt) -> Iterator[tuple[Reg, Reg]]:
    """(byte offset in the window, out of range beyond the tensor's columns; register) of each of a lane's elements.

    The offset's register is the caller's for one step: each column is compared once for all the rows it has.
    """
    shape, grid = tile.shape, tile.grid
    by_row = tile.layout == "row"
    # The first column stays in a register, so that each of the others costs one addition.
    first = leaf("column", window.tensor.name, uniform=False)
    with ExitStack() as stack:
        start = window.col * tile.cols + shape.element(tile.layout, LANE, 0)[1]
        emit.inputs[first] = stack.enter_context(emit.computed(start))
        stack.callback(emit.inputs.pop, first)
        rows: dict[int, Reg] = {}
        for j, e in product(range(grid[1]), range(shape.elements if by_row else 1)):
            further = shape.element(tile.layout, 0, e)[1]
            assert isinstance(further, int)
            with emit.computed(in_columns(window.tensor, first + (j * shape.cols + further))) as along:
                for i, inner in product(range(grid[0]), [e] if by_row else range(shape.elements)):
                    down = (shape.element(tile.layout, LANE, inner)[0] + i * shape.rows) * window.tensor.stride
                    if by_row and i not in rows:
                        rows[i] = stack.enter_context(emit.computed(down))
                    with emit.temporary("v") as offset:
                        if by_row:
                            emit.ins("v_add_u32", offset, rows[i], along)
                        else:
                            lane_code(emit, down, offset)
                            emit.ins("v_add_u32", offset, offset, along)
                        yield offset, tile.base(i, j)[inner]
