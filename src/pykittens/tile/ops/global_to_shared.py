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

from ..element_loads import load_row
from ..expression import Int, below, constant_part
from ..global_tensor import GlobalTile
from ..global_window import descriptor
from ..op import Op, Touches
from ..program_inputs import LANE, WAVE
from ..team import Team
from ..tiles import st

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

LANE_BYTES = 16
WAVE_BYTES = 64 * LANE_BYTES
DS_OFFSET_LIMIT = 65536


class GlobalToShared(Op):
    """The copy of one tile by all waves of the workgroup, or of a team; ``edges`` as in `load`."""

    name = "load"

    def check(self, tile: st, source: GlobalTile, edges: str = "zero", team: Team | None = None) -> None:
        check_copy(tile, source, edges)
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

    def touches(self, tile: st, source: GlobalTile, edges: str = "zero", team: Team | None = None) -> Touches:
        return Touches(writes=[tile])

    def lower(
        self, emit: Lowering, tile: st, source: GlobalTile, edges: str = "zero", team: Team | None = None
    ) -> None:  # fmt: skip
        column = source.col * (tile.cols * tile.dtype.bytes)
        # "inside" may move along the row by the scalar offset, which no range check sees: nothing lies beyond.
        base = descriptor(emit, source, tile.rows, column if edges == "any" else 0)
        scalar = emit.uniform(column) if edges == "inside" else 0
        if isinstance(scalar, int) and not -16 <= scalar <= 64:
            scalar = emit.uniform_register(scalar)
        team = team or Team(0, emit.waves)
        step, start = team.count * WAVE_BYTES, team.member * WAVE_BYTES
        whole, left = divmod(tile.bytes, step)
        if edges == "zero":
            # One piece after the other: this path is long and taken once, at a ragged edge.
            emit.repeat(whole, lambda turn: self._by_element(emit, tile, source, base, start + turn * step))
        else:
            for turn in range(whole):
                self._piece(emit, tile, source, base, scalar, start + turn * step)
        if left:
            # Fewer pieces than waves are left: the other waves skip them.
            end, place = emit.program.new_label("skip"), start + whole * step
            with emit.inner():
                emit.branch_unless(below(team.member, left // WAVE_BYTES), end)  # type: ignore[arg-type]
                if edges == "zero":
                    self._by_element(emit, tile, source, base, place)
                else:
                    self._piece(emit, tile, source, base, scalar, place)
                emit.program.label(end)

    def _piece(
        self, emit: Lowering, tile: st, source: GlobalTile, base: Reg, scalar: Reg | int, place: Int
    ) -> None:  # fmt: skip
        """16 bytes per lane, which lie together in global memory, to LDS address tile.offset + place + 16 * lane."""
        offset = self._offset(emit, tile, source, place)
        place = constant_part(place) + tile.offset
        if LANE_BYTES in arch_of(emit.arch).load_to_lds_bytes:
            emit.ins("s_add_u32", m0, emit.uniform(WAVE * WAVE_BYTES), place)
            emit.ins(
                "buffer_load_dwordx4", None, offset, base, scalar, offen=True, lds=True, lds_writes=(tile.name,)
            )  # fmt: skip
            return
        with emit.temporary("v", 4) as data:
            emit.ins("buffer_load_dwordx4", data, offset, base, scalar, offen=True)
            # The instruction's offset has 16 bits; what lies beyond goes into the address.
            address = emit.lane(WAVE * WAVE_BYTES + LANE * LANE_BYTES + place // DS_OFFSET_LIMIT * DS_OFFSET_LIMIT)
            emit.ins("ds_write_b128", address, data, offset=place % DS_OFFSET_LIMIT, lds_writes=(tile.name,))

    def _offset(self, emit: Lowering, tile: st, source: GlobalTile, place: Int) -> Reg:
        """Each lane's byte offset in the window of what belongs at ``place``: the first piece's, and from there what is
        the same for all lanes.
        """
        stride, size = source.tensor.stride, tile.dtype.bytes
        row, col = source_element(tile, place + LANE * LANE_BYTES)
        down, across = constant_part(row), constant_part(col)
        first = (row - down) * stride + (col - across) * size
        return emit.lane_beside(first, stride * down + across * size)

    def _by_element(self, emit: Lowering, tile: st, source: GlobalTile, base: Reg, place: Int) -> None:
        """The same bytes element by element, so that columns beyond the tensor become 0 and nothing need be aligned."""
        row, col = source_element(tile, place + LANE * LANE_BYTES)
        tensor = source.tensor
        with emit.temporary("v", 4) as data:
            load_row(emit, tensor, base, row * tensor.stride, source.col * tile.cols + col, data)
            with emit.computed(place + LANE * LANE_BYTES + tile.offset) as address:
                emit.ins("ds_write_b128", address, data, lds_writes=(tile.name,))

    def reference(
        self, run: Reference, tile: st, source: GlobalTile, edges: str = "zero", team: Team | None = None
    ) -> None:  # fmt: skip
        window = run.global_window(source, tile.rows, tile.cols, 0)
        shared = run.shared(tile)
        shared[:] = 0
        shared[: window.shape[0], : window.shape[1]] = window


def check_copy(tile: st, source: GlobalTile, edges: str) -> None:
    """`BuildError` for a way to treat edges that there is not, and for a window of another dtype than the tile's."""
    if edges not in ("zero", "any", "inside"):
        raise BuildError("edges", f"edges is {edges!r}", where=user_line(), fix="use 'zero', 'any' or 'inside'")
    if tile.dtype is not source.tensor.dtype:
        raise BuildError(
            "load-dtype", f"{tile.name} holds {tile.dtype}, {source.tensor.name} holds {source.tensor.dtype}",
            where=user_line(),
        )  # fmt: skip


def source_element(tile: st, place: Int) -> tuple[Int, Int]:
    """(row, column) of the element that belongs at this byte of the tile in LDS."""
    shape, size = tile.shape, tile.dtype.bytes
    subtile_bytes = shape.rows * shape.cols * size
    subtile, inside = place // subtile_bytes, shape.swizzle(place % subtile_bytes)
    across = tile.cols // shape.cols
    row = subtile // across * shape.rows + inside // (shape.cols * size)
    return row, subtile % across * shape.cols + inside % (shape.cols * size) // size


global_to_shared = GlobalToShared()
