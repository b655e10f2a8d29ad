"""Where a lane's elements of a register tile lie in the window of a tensor: in pieces of four, or one by one."""

from __future__ import annotations

from collections.abc import Iterator

from pykittens.isa.registers import Reg

from .expression import Int, below, binary
from .global_tensor import GlobalTile
from .global_window import in_columns
from .program_inputs import LANE
from .tiles import rt

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


def elements(window: GlobalTile, tile: rt) -> Iterator[tuple[Int, Reg]]:
    """(byte offset in the window, out of range beyond the tensor's columns; register) of each of a lane's elements."""
    tensor, shape, size = window.tensor, tile.shape, window.tensor.dtype.bytes
    for i in range(tile.grid[0]):
        for j in range(tile.grid[1]):
            regs = tile.base(i, j)
            for e in range(shape.elements):
                row, col = shape.element(tile.layout, LANE, e)
                column = window.col * tile.cols + j * shape.cols + col
                offset = (row + i * shape.rows) * tensor.stride + column * size
                yield in_columns(tensor, column, offset), regs[e]
