"""`zero`: all elements of a register tile become 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from ..op import Op, Touches
from ..tiles import rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference


class Zero(Op):
    """``zero(tile)``: tile = 0, any dtype and layout."""

    name = "zero"

    def check(self, tile: rt) -> None:
        if not isinstance(tile, rt):
            raise BuildError("op-arguments", f"zero takes a register tile, not {type(tile).__name__}")

    def touches(self, tile: rt) -> Touches:
        return Touches(writes=[tile])

    def lower(self, emit: Lowering, tile: rt) -> None:
        for part in tile.regs or ():
            for i in range(part.count):
                reg = Reg(part.file, part.index + i)
                emit.ins("v_accvgpr_write_b32" if part.file == "a" else "v_mov_b32", reg, 0)

    def reference(self, run: Reference, tile: rt) -> None:
        run.registers(tile)[:] = 0


zero = Zero()
