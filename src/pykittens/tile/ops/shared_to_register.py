"""Reads of LDS into register tiles: the widest access that every lane's elements allow, transposing ones on gfx950."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.arch import get as arch_of
from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from ..element_loads import join
from ..op import Op, Touches
from ..shared_pieces import Piece, SharedLayout, read_pieces
from ..tiles import SharedView, rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference


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
                pieces = read_pieces(tile.shape, tile.layout, shared, row, col, transposing)
                if pieces[0].access.lane_bytes >= 4:
                    for piece in pieces:
                        _read(emit, view, piece, piece.access.registers(tile.base(i, j)))
                else:
                    _read_singly(emit, view, pieces, tile.base(i, j))

    def reference(self, run: Reference, tile: rt, view: SharedView) -> None:
        registers = run.registers(tile)
        for wave in range(run.waves):
            registers[wave] = run.window(view, wave)


def _read_singly(emit: Lowering, view: SharedView, pieces: list[Piece], regs: Reg) -> None:
    """Element by element; they are joined in VGPRs."""

    def load(index: int, reg: Reg) -> None:
        _read(emit, view, pieces[index], reg)

    if regs.file == "v":
        join(emit, regs, view.tile.dtype.bytes, load)
        return
    with emit.temporary("v", regs.count) as words:
        join(emit, words, view.tile.dtype.bytes, load)
        for n in range(regs.count):
            emit.ins("v_accvgpr_write_b32", regs[n], words[n])


def _read(emit: Lowering, view: SharedView, piece: Piece, reg: Reg) -> None:
    address, offset = piece.split(view.tile.offset)
    emit.ins(piece.access.mnemonic, reg, emit.lane(address), offset=offset, lds_reads=(view.tile.name,))


shared_to_register = SharedToRegister()
