"""Stores of register tiles to global memory, rounded to the tensor's dtype (nearest even), tails included.

Where a lane holds four neighbouring columns (row layout) of a tile that lies inside the tensor, they are stored in
one piece; a tile at the right edge, rows that are not 4-byte aligned and column layout are stored element by element.
Which path is taken is decided on the GPU, once per tile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from ..dtypes import f32
from ..expression import Int, below, binary
from ..global_window import descriptor, in_columns
from ..op import Op, Touches
from ..program_inputs import LANE
from ..rounding import pack_pair
from ..tiles import GlobalTile, rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

_STORES = {4: "buffer_store_dword", 8: "buffer_store_dwordx2", 16: "buffer_store_dwordx4"}


class RegisterToGlobal(Op):
    """One wave's tile to the window of the tensor at (row, col) in tiles of its shape."""

    name = "store"

    def check(self, target: GlobalTile, tile: rt) -> None:
        if tile.dtype is not f32:
            raise BuildError(
                "store-dtype", f"{tile.name} holds {tile.dtype}, only f32 tiles are stored", where=user_line()
            )

    def touches(self, target: GlobalTile, tile: rt) -> Touches:
        return Touches(reads=[tile])

    def lower(self, emit: Lowering, target: GlobalTile, tile: rt) -> None:
        tensor = target.tensor
        base = descriptor(emit, target, tile.rows, 0)
        if tile.layout != "row" or tile.shape.stride != 4:
            _elements(emit, target, tile, base)
            return
        first = target.col * tile.cols
        fits = below(first + (tile.cols - 1), tensor.cols)
        with emit.either(binary("and", tensor.aligned(4), fits)) as otherwise:
            _pieces(emit, target, tile, base)
            otherwise()
            _elements(emit, target, tile, base)

    def reference(self, run: Reference, target: GlobalTile, tile: rt) -> None:
        array = run.tensor(target.tensor)
        registers = run.registers(tile)
        for wave in range(run.waves):
            row, col = run.value(target.row, wave) * tile.rows, run.value(target.col, wave) * tile.cols
            window = array[row : row + tile.rows, col : col + tile.cols]
            window[:] = registers[wave, : window.shape[0], : window.shape[1]]


def _pieces(emit: Lowering, target: GlobalTile, tile: rt, base: Reg) -> None:
    """Four columns of a lane at a time."""
    tensor, shape, size = target.tensor, tile.shape, target.tensor.dtype.bytes
    piece = 4 * size
    across = 64 // shape.rows * 4
    column = LANE // shape.rows * 4 + target.col * tile.cols
    for i in range(tile.grid[0]):
        row = LANE % shape.rows + i * shape.rows
        with emit.computed(row * tensor.stride + column * size) as address, emit.temporary("v", piece // 4) as data:
            for j in range(tile.grid[1]):
                regs = tile.base(i, j)
                for step in range(shape.elements // 4):
                    _convert(emit, tensor.dtype.name, data, [regs[step * 4 + e] for e in range(4)])
                    place = (j * shape.cols + step * across) * size
                    emit.ins(_STORES[piece], data, address, base, 0, offen=True, offset=place)


def _elements(emit: Lowering, target: GlobalTile, tile: rt, base: Reg) -> None:
    """Each element by itself, those beyond the tensor's columns out of range."""
    tensor, shape, size = target.tensor, tile.shape, target.tensor.dtype.bytes
    for i in range(tile.grid[0]):
        for j in range(tile.grid[1]):
            regs = tile.base(i, j)
            for e in range(0, shape.elements, 2):
                with emit.temporary("v", 2) as data:
                    _convert(emit, tensor.dtype.name, data if size == 4 else data[0], [regs[e], regs[e + 1]])
                    for half in range(2):
                        row, col = _element(tile, i, j, e + half)
                        column = target.col * tile.cols + col
                        offset = in_columns(tensor, column, row * tensor.stride + column * size)
                        with emit.computed(offset) as address:
                            source = data[half] if size == 4 else data[0]
                            name = "buffer_store_dword"
                            if size == 2:
                                name = "buffer_store_short_d16_hi" if half else "buffer_store_short"
                            emit.ins(name, source, address, base, 0, offen=True)


def _element(tile: rt, i: int, j: int, index: int) -> tuple[Int, Int]:
    """(row, column) in the tile of a lane's element of base tile (i, j)."""
    shape = tile.shape
    step, rest = divmod(index, shape.stride)
    across = shape.rows if tile.layout == "row" else shape.cols
    along = LANE // across * shape.stride + (step * (64 // across) * shape.stride + rest)
    row, col = (LANE % across, along) if tile.layout == "row" else (along, LANE % across)
    return row + i * shape.rows, col + j * shape.cols


def _convert(emit: Lowering, dtype: str, out: Reg, values: list[Reg]) -> None:
    """f32 registers (v or a) to the tensor's elements in ``out``."""
    with emit.vector_copies(values) as sources:
        if dtype == "f32":
            for i, source in enumerate(sources):
                emit.ins("v_mov_b32", out[i], source)
        else:
            for i in range(0, len(sources), 2):
                pack_pair(emit, dtype, out[i // 2], sources[i], sources[i + 1])


register_to_global = RegisterToGlobal()
