"""`wait_for`, `barrier`, `priority`: when copies into LDS have landed, when every wave knows it, and who goes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.asm.program import user_line
from pykittens.errors import BuildError

from ..op import Op, Touches
from ..tiles import Registers, st

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference


class WaitForTiles(Op):
    """``wait_for(As, b)``: this wave's copies into shared tiles and its loads into register tiles have landed.

    The counter values are derived and stand in the assembly with the names of the tiles.
    """

    name = "wait_for"

    def check(self, *tiles: st | Registers) -> None:
        for tile in tiles:
            if not isinstance(tile, (st, Registers)):
                raise BuildError("op-arguments", f"wait_for takes tiles, not {type(tile).__name__}", where=user_line())

    def touches(self, *tiles: st | Registers) -> Touches:
        return Touches(reads=[tile for tile in tiles if isinstance(tile, Registers)])

    def lower(self, emit: Lowering, *tiles: st | Registers) -> None:
        registers = tuple(reg for tile in tiles if isinstance(tile, Registers) for reg in tile.regs or ())
        emit.wait_for(tuple(tile.name for tile in tiles if isinstance(tile, st)), registers)

    def reference(self, run: Reference, *tiles: st | Registers) -> None:
        """Copies land at once in the reference."""


class Barrier(Op):
    """``barrier()``: every wave of the workgroup arrives before any goes on."""

    name = "barrier"

    def check(self) -> None:
        """Takes nothing."""

    def touches(self) -> Touches:
        return Touches()

    def lower(self, emit: Lowering) -> None:
        emit.ins("s_barrier")

    def reference(self, run: Reference) -> None:
        """The reference runs all waves op by op, so they are always together."""


class Priority(Op):
    """``priority(n)``: 0 (the start) to 3; a SIMD issues from its waves of higher priority first."""

    name = "priority"

    def check(self, level: int) -> None:
        if level not in range(4):
            raise BuildError("priority", f"priority {level} is outside 0 to 3", where=user_line())

    def touches(self, level: int) -> Touches:
        return Touches()

    def lower(self, emit: Lowering, level: int) -> None:
        emit.ins("s_setprio", simm16=level)

    def reference(self, run: Reference, level: int) -> None:
        """Priorities change when things happen, not what."""


class BarriersApart(Op):
    """``barriers_apart(n)``: from here on some waves run n barriers behind the others, as schedules arrange it.

    LDS accesses of different waves must then be n + 1 barriers apart, which the build checks.
    """

    name = "barriers_apart"

    def check(self, count: int) -> None:
        if count not in (0, 1):
            raise BuildError("barriers-apart", f"waves run 0 or 1 barriers apart, not {count}", where=user_line())

    def touches(self, count: int) -> Touches:
        return Touches()

    def lower(self, emit: Lowering, count: int) -> None:
        emit.barriers_apart(count)

    def reference(self, run: Reference, count: int) -> None:
        """The reference runs all waves op by op, so they are always together."""


barriers_apart = BarriersApart()
priority = Priority()
wait_for = WaitForTiles()
barrier = Barrier()
