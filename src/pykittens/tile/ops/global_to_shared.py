"""Copies from global memory into LDS: direct where the chip can, else through registers; element by element at ragged
edges.

LDS is filled in address order, so the swizzle is applied to the global source: each lane computes which 16 bytes
of the tile belong at its LDS address (the swizzle is its own inverse).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.arch import get as arch_of
from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg, m0

from ..expression import Int, below, constant_part
from ..global_tensor import GlobalTile
from ..global_window import descriptor, in_columns
from ..op import Op, Touches
from ..program_inputs import LANE, WAVE
from ..tiles import st

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

LANE_BYTES = 16
WAVE_BYTES = 64 * LANE_BYTES
DS_OFFSET_LIMIT = 65536
_ELEMENT_LOADS = {
    4: ("buffer_load_dword",),
    2: ("buffer_load_ushort", "buffer_load_short_d16_hi"),
    1: ("buffer_load_ubyte", "buffer_load_ubyte", "buffer_load_ubyte_d16_hi", "buffer_load_ubyte_d16_hi"),
}
"""Loads of the elements of one register, by their size; odd bytes are loaded apart and shifted in."""


class GlobalToShared(Op):
    """The copy of one tile by all waves of the workgroup; ``edges`` as in `load`."""

    name = "load"

    def check(self, tile: st, source: GlobalTile, edges: str = "zero") -> None:
        if edges not in ("zero", "any", "inside"):
            raise BuildError("edges", f"edges is {edges!r}", where=user_line(), fix="use 'zero', 'any' or 'inside'")
        if tile.dtype is not source.tensor.dtype:
            raise BuildError(
                "load-dtype", f"{tile.name} holds {tile.dtype}, {source.tensor.name} holds {source.tensor.dtype}",
                where=user_line(),
            )  # fmt: skip
        if tile.shape.run_bytes(tile.dtype.bytes) < LANE_BYTES:
            raise BuildError(
                "load-swizzle", f"{tile.name} keeps {tile.shape.run_bytes(tile.dtype.bytes)} bytes of a row together "
                f"({tile.shape.name}), a lane copies {LANE_BYTES}", where=user_line(),
                fix="use another shared shape, or store it from registers",
            )  # fmt: skip
        if tile.bytes % WAVE_BYTES:
            raise BuildError(
                "load-size",
                f"{tile.name} has {tile.bytes} bytes, a wave copies {WAVE_BYTES} at a time",
                where=user_line(),
            )

    def touches(self, tile: st, source: GlobalTile, edges: str = "zero") -> Touches:
        return Touches(writes=[tile])

    def lower(self, emit: Lowering, tile: st, source: GlobalTile, edges: str = "zero") -> None:
        size = tile.dtype.bytes
        column = source.col * (tile.cols * size)
        # "inside" may move along the row by the scalar offset, which no range check sees: nothing lies beyond.
        base = descriptor(emit, source, tile.rows, column if edges == "any" else 0)
        scalar = emit.uniform(column) if edges == "inside" else 0
        if isinstance(scalar, int) and not -16 <= scalar <= 64:
            scalar = emit.uniform_register(scalar)
        direct = LANE_BYTES in arch_of(emit.arch).load_to_lds_bytes and edges != "zero"
        step = emit.waves * WAVE_BYTES
        for start in range(0, tile.bytes, step):
            place = WAVE * WAVE_BYTES + start
            row, col = _source_element(tile, place + LANE * LANE_BYTES)
            left = tile.bytes - start
            if left >= step:
                self._piece(emit, tile, source, base, scalar, place, row, col, edges, direct)
                continue
            # Fewer pieces than waves are left: the other waves skip them.
            end = emit.program.new_label("skip")
            with emit.inner():
                emit.branch_unless(below(WAVE, left // WAVE_BYTES), end)  # type: ignore[arg-type]
                self._piece(emit, tile, source, base, scalar, place, row, col, edges, direct)
                emit.program.label(end)

    def _piece(
        self, emit: Lowering, tile: st, source: GlobalTile, base: Reg, scalar: Reg | int, place: Int,
        row: Int, col: Int, edges: str, direct: bool,
    ) -> None:  # fmt: skip
        """16 bytes per lane: to LDS address ``tile.offset + place + 16 * lane`` from element (row, col)."""
        offset = row * source.tensor.stride + col * tile.dtype.bytes
        if direct:
            emit.ins("s_add_u32", m0, emit.uniform(WAVE * WAVE_BYTES), constant_part(place) + tile.offset)
            emit.ins(
                "buffer_load_dwordx4",
                None,
                emit.lane(offset),
                base,
                scalar,
                offen=True,
                lds=True,
                lds_writes=(tile.name,),
            )
            return
        place = constant_part(place) + tile.offset
        # The instruction's offset has 16 bits; what lies beyond goes into the address.
        address = emit.lane(WAVE * WAVE_BYTES + LANE * LANE_BYTES + place // DS_OFFSET_LIMIT * DS_OFFSET_LIMIT)
        with emit.temporary("v", 4) as data:
            if edges == "zero":
                self._elements(emit, tile, source, base, row, col, data)
            else:
                emit.ins("buffer_load_dwordx4", data, emit.lane(offset), base, scalar, offen=True)
            emit.ins("ds_write_b128", address, data, offset=place % DS_OFFSET_LIMIT, lds_writes=(tile.name,))

    def _elements(self, emit: Lowering, tile: st, source: GlobalTile, base: Reg, row: Int, col: Int, data: Reg) -> None:
        """Load each element by itself, so that columns beyond the tensor become 0 and nothing need be aligned."""
        size = tile.dtype.bytes
        first = source.col * tile.cols
        names = _ELEMENT_LOADS[size]
        with emit.temporary("v") as odd:
            for i in range(LANE_BYTES // size):
                column, part = first + col + i, i % len(names)
                offset = in_columns(source.tensor, column, row * source.tensor.stride + column * size)
                word = data[i * size // 4]
                with emit.computed(offset) as address:
                    emit.ins(names[part], odd if size == 1 and part % 2 else word, address, base, 0, offen=True)
                if size == 1 and part == 3:
                    emit.ins("v_lshl_or_b32", word, odd, 8, word)

    def reference(self, run: Reference, tile: st, source: GlobalTile, edges: str = "zero") -> None:
        window = run.global_window(source, tile.rows, tile.cols, 0)
        shared = run.shared(tile)
        shared[:] = 0
        shared[: window.shape[0], : window.shape[1]] = window


def _source_element(tile: st, place: Int) -> tuple[Int, Int]:
    """(row, column) of the element that belongs at this byte of the tile in LDS."""
    shape, size = tile.shape, tile.dtype.bytes
    subtile_bytes = shape.rows * shape.cols * size
    subtile, inside = place // subtile_bytes, shape.swizzle(place % subtile_bytes)
    across = tile.cols // shape.cols
    row = subtile // across * shape.rows + inside // (shape.cols * size)
    return row, subtile % across * shape.cols + inside % (shape.cols * size) // size


global_to_shared = GlobalToShared()
