"""Reads of LDS into register tiles: the widest access that every lane's elements allow, transposing ones on gfx950."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.arch import get as arch_of
from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from ..op import Op, Touches
from ..shared_pieces import Piece, SharedLayout, read_pieces
from ..tiles import SharedView, rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

_READS = {16: "ds_read_b128", 8: "ds_read_b64", 4: "ds_read_b32"}
_TRANSPOSING = {2: "ds_read_b64_tr_b16"}


class SharedToRegister(Op):
    """Every wave reads the view it names (``subtile(..., wave.row, ...)``) into its registers."""

    name = "load"

    def check(self, tile: rt, view: SharedView) -> None:
        where = user_line()
        if (tile.rows, tile.cols) != (view.rows, view.cols):
            raise BuildError(
                "load-shape",
                f"{tile.name} is {tile.rows}x{tile.cols}, the shared tile is {view.rows}x{view.cols}",
                where=where,
            )
        if tile.dtype is not view.tile.dtype:
            raise BuildError(
                "load-dtype", f"{tile.name} holds {tile.dtype}, {view.tile.name} holds {view.tile.dtype}", where=where
            )

    def touches(self, tile: rt, view: SharedView) -> Touches:
        return Touches(reads=[view.tile], writes=[tile])

    def lower(self, emit: Lowering, tile: rt, view: SharedView) -> None:
        shared, transposing = SharedLayout.of(view.tile), arch_of(emit.arch).transposing_lds_reads
        for i in range(tile.grid[0]):
            for j in range(tile.grid[1]):
                row, col = view.row + i * tile.shape.rows, view.col + j * tile.shape.cols
                for piece in read_pieces(tile.shape, tile.layout, shared, row, col, transposing):
                    _read(emit, view, tile.base(i, j), piece)

    def reference(self, run: Reference, tile: rt, view: SharedView) -> None:
        registers = run.registers(tile)
        for wave in range(run.waves):
            registers[wave] = run.window(view, wave)


def _read(emit: Lowering, view: SharedView, base: Reg, piece: Piece) -> None:
    """One DS read into the registers that hold the piece's elements."""
    access, size = piece.access, view.tile.dtype.bytes
    address, offset = piece.split(view.tile.offset)
    regs = base[access.first * size // 4 : (access.first * size + access.lane_bytes - 1) // 4]
    if access.direction == "transpose":
        name = _TRANSPOSING[size]
    elif access.lane_bytes < 4:
        name = "ds_read_u16_d16_hi" if access.first % 2 else "ds_read_u16"
    else:
        name = _READS[access.lane_bytes]
    emit.ins(name, regs, emit.lane(address), offset=offset, lds_reads=(view.tile.name,))


shared_to_register = SharedToRegister()
