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

from ..dtypes import bf16, f16, f32
from ..global_elements import elements, in_pieces, pieces
from ..global_tensor import GlobalTile
from ..global_window import descriptor
from ..op import Op, Touches
from ..rounding import pack_pair
from ..tiles import rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

_STORES = {4: "buffer_store_dword", 8: "buffer_store_dwordx2", 16: "buffer_store_dwordx4"}


class RegisterToGlobal(Op):
    """One wave's tile to the window of the tensor at (row, col) in tiles of its shape."""

    name = "store"

    def check(self, target: GlobalTile, tile: rt) -> None:
        if tile.dtype is not f32 or target.tensor.dtype not in (f32, bf16, f16):
            raise BuildError(
                "store-dtype", f"{tile.name} holds {tile.dtype}, {target.tensor.name} {target.tensor.dtype}; f32 tiles "
                "are stored as f32, bf16 or f16", where=user_line(),
            )  # fmt: skip

    def touches(self, target: GlobalTile, tile: rt) -> Touches:
        return Touches(reads=[tile])

    def lower(self, emit: Lowering, target: GlobalTile, tile: rt) -> None:
        base = descriptor(emit, target, tile.rows, 0)
        whole = in_pieces(target, tile)
        if isinstance(whole, int):
            _elements(emit, target, tile, base)
            return
        with emit.either(whole) as otherwise:
            _pieces(emit, target, tile, base)
            otherwise()
            _elements(emit, target, tile, base)

    def reference(self, run: Reference, target: GlobalTile, tile: rt) -> None:
        registers = run.registers(tile)
        for wave in range(run.waves):
            window = run.global_window(target, tile.rows, tile.cols, wave)
            window[:] = registers[wave, : window.shape[0], : window.shape[1]]


def _pieces(emit: Lowering, target: GlobalTile, tile: rt, base: Reg) -> None:
    """Four columns of a lane at a time."""
    dtype = target.tensor.dtype
    for offset, parts in pieces(target, tile):
        with emit.computed(offset) as address, emit.temporary("v", dtype.bytes) as data:
            for place, regs in parts:
                _convert(emit, dtype.name, data, [regs[e] for e in range(4)])
                emit.ins(_STORES[4 * dtype.bytes], data, address, base, 0, offen=True, offset=place)


def _elements(emit: Lowering, target: GlobalTile, tile: rt, base: Reg) -> None:
    """Each element by itself, those beyond the tensor's columns out of range."""
    dtype = target.tensor.dtype
    name = "buffer_store_dword" if dtype.bytes == 4 else "buffer_store_short"
    for offset, further, reg in elements(emit, target, tile):
        with emit.vector_copies([reg]) as (value,), emit.temporary("v") as rounded:
            if dtype.bytes == 2:
                pack_pair(emit, dtype.name, rounded, value, value)
            data = rounded if dtype.bytes == 2 else value
            emit.ins(name, data, offset, base, 0, offen=True, offset=further)


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
