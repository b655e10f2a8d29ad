"""`wait_for` and `barrier`: when copies into LDS have landed, and when every wave of the workgroup knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.asm.program import WaitFor
from pykittens.errors import BuildError

from ..op import Op, Touches
from ..tiles import st

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference


class WaitForTiles(Op):
    """``wait_for(As, Bs)``: this wave's copies into these shared tiles have landed; the counter value is derived."""

    name = "wait_for"

    def check(self, *tiles: st) -> None:  # type: ignore[override]
        for tile in tiles:
            if not isinstance(tile, st):
                raise BuildError("op-arguments", f"wait_for takes shared tiles, not {type(tile).__name__}")

    def touches(self, *tiles: st) -> Touches:  # type: ignore[override]
        return Touches()

    def lower(self, emit: Lowering, *tiles: st) -> None:  # type: ignore[override]
        emit.program.items.append(WaitFor(tuple(tile.name for tile in tiles)))

    def reference(self, run: Reference, *tiles: st) -> None:  # type: ignore[override]
        """Copies land at once in the reference."""


class Barrier(Op):
    """``barrier()``: every wave of the workgroup arrives before any goes on."""

    name = "barrier"

    def check(self) -> None:  # type: ignore[override]
        """Takes nothing."""

    def touches(self) -> Touches:  # type: ignore[override]
        return Touches()

    def lower(self, emit: Lowering) -> None:  # type: ignore[override]
        emit.ins("s_barrier")

    def reference(self, run: Reference) -> None:  # type: ignore[override]
        """The reference runs all waves op by op, so they are always together."""


wait_for = WaitForTiles()
barrier = Barrier()
