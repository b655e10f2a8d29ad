"""Stores of register tiles to global memory, rounded to the tensor's dtype (nearest even), tails included.

Where a lane holds four neighbouring columns (row layout) of a tile that lies inside the tensor, they are stored in
one piece. Where lanes can swap registers (gfx950), two 8-byte pieces of two lanes become 16 neighbouring bytes of each,
which halves the stores and fills the 64 bytes of a row that the L2 takes at a time. A tile at the right edge, rows that
are not 4-byte aligned and column layout are stored element by element. Which path is taken is decided on the GPU, once
per tile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.arch import get as arch_of
from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from ..dtypes import bf16, f16, f32
from ..expression import Int
from ..global_elements import PIECE, elements, in_pieces, pieces
from ..global_tensor import GlobalTile
from ..global_window import descriptor
from ..op import Op, Touches
from ..program_inputs import LANE
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
    """Four columns of a lane at a time, or eight."""
    dtype = target.tensor.dtype
    swaps = arch_of(emit.arch).permlane_swap and dtype.bytes == 2
    for offset, parts in pieces(target, tile):
        paired = len(parts) // 2 * 2 if swaps else 0
        if paired:
            _pairs(emit, tile.shape.rows, dtype.name, offset, parts[:paired], base)
        if parts[paired:]:
            with emit.computed(offset) as address, emit.temporary("v", dtype.bytes) as data:
                for place, regs in parts[paired:]:
                    _convert(emit, dtype.name, data, [regs[e] for e in range(PIECE)])
                    emit.ins(_STORES[PIECE * dtype.bytes], data, address, base, 0, offen=True, offset=place)


def _pairs(
    emit: Lowering, rows: int, dtype: str, offset: Int, parts: list[tuple[int, Reg]], base: Reg
) -> None:  # fmt: skip
    """Two pieces at a time: of each two groups of ``rows`` lanes, one stores both groups' halves of the first piece,
    the other those of the second.
    """
    second = LANE // rows % 2
    apart = parts[1][0] - parts[0][0] - 2 * PIECE  # bytes from a lane's first columns to those that it stores
    swap = f"v_permlane{rows}_swap_b32"
    with emit.computed(offset + second * apart) as address, emit.temporary("v", 4) as data:
        for (place, first), (_, other) in zip(parts[::2], parts[1::2], strict=True):
            for half, regs in enumerate((first, other)):
                _convert(emit, dtype, data[2 * half : 2 * half + 1], [regs[e] for e in range(PIECE)])
            for i in range(2):
                emit.ins(swap, data[i], data[2 + i])
            emit.ins(_STORES[16], data, address, base, 0, offen=True, offset=place)


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
