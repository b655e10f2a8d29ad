"""Writes of register tiles to LDS: the widest access that every lane's elements allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.asm.program import user_line
from pykittens.errors import BuildError

from ..op import Op, Touches
from ..shared_pieces import SharedLayout, write_pieces
from ..tiles import SharedView, rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference


class RegisterToShared(Op):
    """Every wave writes its registers to the view it names (``subtile(..., wave.row, ...)``).

    Other waves may read the view once this wave has waited for its writes and all have met at a `barrier`.
    """

    name = "store"

    def check(self, view: SharedView, tile: rt) -> None:
        where = user_line()
        if (tile.rows, tile.cols) != (view.rows, view.cols):
            raise BuildError(
                "store-shape", f"{tile.name} is {tile.rows}x{tile.cols}, the shared tile is {view.rows}x{view.cols}",
                where=where,
            )  # fmt: skip
        if tile.dtype is not view.tile.dtype:
            raise BuildError(
                "store-dtype", f"{tile.name} holds {tile.dtype}, {view.tile.name} holds {view.tile.dtype}", where=where
            )

    def touches(self, view: SharedView, tile: rt) -> Touches:
        return Touches(reads=[tile], writes=[view.tile])

    def lower(self, emit: Lowering, view: SharedView, tile: rt) -> None:
        shared = SharedLayout.of(view.tile)
        for i in range(tile.grid[0]):
            for j in range(tile.grid[1]):
                row, col = view.row + i * tile.shape.rows, view.col + j * tile.shape.cols
                for piece in write_pieces(tile.shape, tile.layout, shared, row, col):
                    address, offset = piece.split(view.tile.offset)
                    regs = piece.access.registers(tile.base(i, j))
                    emit.ins(
                        piece.access.mnemonic, emit.lane(address), regs, offset=offset, lds_writes=(view.tile.name,)
                    )

    def reference(self, run: Reference, view: SharedView, tile: rt) -> None:
        registers = run.registers(tile)
        for wave in range(run.waves):
            run.window(view, wave)[:] = registers[wave]


register_to_shared = RegisterToShared()
