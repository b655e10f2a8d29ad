"""Loads of f32 register tiles and vectors from global memory, converted from the tensor's dtype; what lies beyond the
tensor is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from ..dtypes import DType, bf16, f16, f32
from ..global_elements import elements, in_pieces, pieces
from ..global_tensor import GlobalTile
from ..global_window import descriptor
from ..op import Op, Touches
from ..program_inputs import LANE
from ..register_vector import rv
from ..tiles import rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference


class GlobalToRegister(Op):
    """``load(tile, gl.tile(i, j))``, ``load(vector, gl.part(i))``: each wave its own window."""

    name = "load"

    def check(self, tile: rt | rv, source: GlobalTile) -> None:
        tensor = source.tensor
        if tensor.dtype not in (f32, bf16, f16) or tile.dtype is not f32:
            raise BuildError(
                "load-dtype", f"{tile.name} holds {tile.dtype}, {tensor.name} {tensor.dtype}; f32 tiles are loaded "
                "from f32, bf16 or f16", where=user_line(),
            )  # fmt: skip
        if tile.file != "vgpr":
            raise BuildError("load-file", f"{tile.name} is in AGPRs, VALU converts in VGPRs", where=user_line())
        if (tensor.rank == 1) != isinstance(tile, rv):
            raise BuildError(
                "load-rank", f"{tensor.name} has rank {tensor.rank}, {tile.name} is a {type(tile).__name__}",
                where=user_line(), fix="load vectors from rank 1 and tiles from rank 2",
            )  # fmt: skip

    def touches(self, tile: rt | rv, source: GlobalTile) -> Touches:
        return Touches(writes=[tile])

    def lower(self, emit: Lowering, tile: rt | rv, source: GlobalTile) -> None:
        dtype = source.tensor.dtype
        base = descriptor(emit, source, tile.rows if isinstance(tile, rt) else 1, 0)
        if isinstance(tile, rv):
            _one_by_one(emit, dtype, base, _vector_elements(emit, tile, source))
            return
        whole = in_pieces(source, tile)
        if isinstance(whole, int):
            _one_by_one(emit, dtype, base, elements(emit, source, tile))
            return
        with emit.either(whole) as otherwise:
            _in_pieces(emit, tile, source, base)
            otherwise()
            _one_by_one(emit, dtype, base, elements(emit, source, tile))

    def reference(self, run: Reference, tile: rt | rv, source: GlobalTile) -> None:
        registers = run.registers(tile)
        for wave in range(run.waves):
            rows, cols = (tile.rows, tile.cols) if isinstance(tile, rt) else (1, tile.length)
            window = run.global_window(source, rows, cols, wave)
            if isinstance(tile, rv) and tile.axis == "rows":
                window = window.T
            registers[wave] = 0
            registers[wave, : window.shape[0], : window.shape[1]] = window


def _vector_elements(emit: Lowering, vector: rv, source: GlobalTile) -> Iterator[tuple[Reg, int, Reg]]:
    """(byte offset, 0, register) of each value that a lane holds; the descriptor's range ends with the vector."""
    shape, size = vector.shape, source.tensor.dtype.bytes
    rows = vector.axis == "rows"
    for block in range(vector.grid[0] if rows else vector.grid[1]):
        for e in range(vector.registers_per_base):
            row, col = shape.element(vector.layout, LANE, e)
            inside = row + block * shape.rows if rows else col + block * shape.cols
            index = source.col * vector.length + inside
            with emit.computed(index * size) as offset:
                yield offset, 0, vector.element(block, block, e)


def _in_pieces(emit: Lowering, tile: rt, source: GlobalTile, base: Reg) -> None:
    """Four columns of a lane at a time. 16-bit pieces arrive in the last two of their four registers."""
    dtype = source.tensor.dtype
    name = "buffer_load_dwordx4" if dtype.bytes == 4 else "buffer_load_dwordx2"
    loaded = []
    for offset, parts in pieces(source, tile):
        with emit.computed(offset) as address:
            for place, regs in parts:
                target = regs if dtype.bytes == 4 else regs[2:3]
                emit.ins(name, target, address, base, 0, offen=True, offset=place)
                loaded.append(regs)
    if dtype.bytes == 4:
        return
    for regs in loaded:
        for pair in range(2):
            _halves(emit, dtype, regs[2 * pair], regs[2 * pair + 1], regs[2 + pair])


def _halves(emit: Lowering, dtype: DType, low: Reg, high: Reg, both: Reg) -> None:
    """f32 of the two 16-bit floats in ``both``, which may be ``low`` or ``high``."""
    if both == low:
        emit.ins("v_and_b32" if dtype is bf16 else "v_lshrrev_b32", high, 0xFFFF0000 if dtype is bf16 else 16, both)
        _widen(emit, dtype, low)
        if dtype is f16:
            _widen(emit, dtype, high)
        return
    emit.ins("v_lshlrev_b32" if dtype is bf16 else "v_and_b32", low, 16 if dtype is bf16 else 0xFFFF, both)
    emit.ins("v_and_b32" if dtype is bf16 else "v_lshrrev_b32", high, 0xFFFF0000 if dtype is bf16 else 16, both)
    if dtype is f16:
        _widen(emit, dtype, low)
        _widen(emit, dtype, high)


def _one_by_one(emit: Lowering, dtype: DType, base: Reg, places: Iterator[tuple[Reg, int, Reg]]) -> None:
    """Each element by itself; all are on their way before the first is waited for."""
    name, loaded = "buffer_load_dword" if dtype.bytes == 4 else "buffer_load_ushort", []
    for offset, further, reg in places:
        emit.ins(name, reg, offset, base, 0, offen=True, offset=further)
        loaded.append(reg)
    for reg in reversed(loaded):  # one wait, for the last, is enough
        _widen(emit, dtype, reg)


def _widen(emit: Lowering, dtype: DType, reg: Reg) -> None:
    """The f32 of the dtype's element in the low bits."""
    if dtype is bf16:
        emit.ins("v_lshlrev_b32", reg, 16, reg)
    elif dtype is f16:
        emit.ins("v_cvt_f32_f16", reg, reg)


global_to_register = GlobalToRegister()
