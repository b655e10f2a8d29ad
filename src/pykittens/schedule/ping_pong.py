"""8-wave ping-pong: two waves on each SIMD take turns, one on the matrix cores while the other moves data (paper,
section 3.3).

Every phase is [memory part] barrier [compute part] barrier. Half of the waves run one barrier behind the others, so
when one half computes, the other half loads, and each has its unit to itself.
"""

from __future__ import annotations

from pykittens.tile.expression import Int, equal
from pykittens.tile.ops import barrier, barriers_apart, priority, wait_for
from pykittens.tile.tiles import Registers, st
from pykittens.tile.trace import OpCall, current, when
from pykittens.tile.trace import phase as named

from .interleave import interleaved

COMPUTE_PRIORITY = 1


class PingPong:
    """The schedule of one kernel; ``late`` is the condition of the waves that run one barrier behind (half of a
    SIMD's).
    """

    def __init__(self, late: Int) -> None:
        self.late = late

    def begin(self) -> None:
        """Before the first phase: the late waves let the others go one barrier ahead."""
        with when(self.late):
            barrier()
        barriers_apart(1)

    def end(self) -> None:
        """After the last phase: the early waves wait for the others to catch up."""
        with when(equal(self.late, 0)):
            barrier()
        barriers_apart(0)

    def phase(self, name: str, *ops: OpCall | tuple[OpCall, ...] | None, wait: tuple[st | Registers, ...] = ()) -> None:
        """One phase of the ops written as its arguments: LDS reads and copies first, then, at raised priority, the
        MFMAs.

        ``wait`` names tiles whose copies (or register tiles whose loads) must have landed when the memory part ends.
        The barriers at its end and at the phase's end make that known to every wave, also to those one barrier ahead.
        """
        calls = [call for op in ops if op is not None for call in (op if isinstance(op, tuple) else (op,))]
        trace = current()
        trace.take_back(calls)
        with named(name):
            # Reads and copies by turns: between the M0 of a copy and the copy something else has to come.
            memory = [call for call in calls if not call.op.computes]
            if memory:
                interleaved(1.0, None, *memory)
            # One wait for everything, before the barrier: the other half computes meanwhile, and nothing but the MFMAs
            # stands between the barriers, so that one half's MFMAs follow the other's without a gap.
            wait_for(*wait, *(tile for call in memory if _reads_lds(call) for tile in call.written))
            priority(COMPUTE_PRIORITY)
            barrier()
            for call in calls:
                if call.op.computes:
                    trace.place(call)
            barrier()
            priority(0)


def _reads_lds(call: OpCall) -> bool:
    return any(isinstance(tile, st) for tile in call.op.touches(*call.args, **call.options).reads)
