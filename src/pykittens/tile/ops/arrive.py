"""`arrive`: waves of several workgroups meet at a counter in global memory; the last one sees what all have stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.asm.program import user_line
from pykittens.errors import BuildError

from ..dtypes import i32
from ..expression import Expr, Int, below, equal, evaluate, leaf, select
from ..global_tensor import gl
from ..global_window import OUT_OF_RANGE, descriptor
from ..op import Op, Touches
from ..program_inputs import LANE
from ..trace import current

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference


class Arrive(Op):
    """The record of an `arrive`; ``value`` becomes how many waves came before."""

    name = "arrive"

    def check(self, value: Expr, counters: gl, index: Int, count: Int) -> None:
        where = user_line()
        if counters.rank != 1 or counters.dtype is not i32:
            raise BuildError(
                "arrive", f"{counters.name} is {counters.dtype} of rank {counters.rank}, waves arrive at i32 vectors",
                where=where, fix="make it with pk.workspace(name, 'i32', (n,))",
            )  # fmt: skip
        if isinstance(count, int) and count < 1:
            raise BuildError("arrive", f"{count} waves are to arrive, at least 1 does", where=where)

    def touches(self, value: Expr, counters: gl, index: Int, count: Int) -> Touches:
        return Touches()

    def lower(self, emit: Lowering, value: Expr, counters: gl, index: Int, count: Int) -> None:
        out = emit.hold("s", 1)
        emit.inputs[value] = out
        emit.ins("s_mov_b32", out, 0)
        several = below(1, count)
        if not isinstance(several, int):
            end = emit.program.new_label("alone")
            with emit.inner():
                emit.branch_unless(several, end)
                self._meet(emit, out, counters, index, count)
                emit.program.label(end)
        elif several:
            self._meet(emit, out, counters, index, count)

    @staticmethod
    def _meet(emit: Lowering, out: object, counters: gl, index: Int, count: Int) -> None:
        base = descriptor(emit, counters.part(0), 1, 0)
        offset = select(equal(LANE, 0), index * 4, OUT_OF_RANGE)  # one lane counts for the wave
        with emit.computed(offset) as address, emit.computed(count - 1) as before:
            # Device scope as in LLVM's memory model for these chips: L2 gives out what was stored before the counter
            # changes, and what L1 and L2 hold of others' memory is dropped after it.
            emit.ins("buffer_wbl2", sc1=True)
            emit.ins("s_waitcnt", vmcnt=0)
            # Counts up to ``count - 1`` and then back to 0, as the next launch needs it.
            emit.ins("buffer_atomic_inc", before, address, base, 0, offen=True, sc0=True)
            emit.ins("v_readfirstlane_b32", out, before)
            emit.ins("buffer_inv", sc1=True)

    def reference(self, run: Reference, value: Expr, counters: gl, index: Int, count: Int) -> None:
        array, place = run.tensor(counters), int(evaluate(index, run.inputs))
        run.inputs[value] = int(array[place])
        array[place] = (int(array[place]) + 1) % int(evaluate(count, run.inputs))


_arrive = Arrive()


def arrive(counters: gl, index: Int, count: Int) -> Int:
    """Arrive at ``counters[index]``, one of ``count`` waves: how many have arrived before, 0 to ``count - 1``.

    What a wave stored before it arrives, the ones that arrive later can load. The last one, with ``count - 1`` before
    it, leaves 0 in the counter. A wave waits for nobody. With one wave alone nothing is touched.
    """
    trace = current()
    trace.loaded += 1
    value = leaf("arrived", trace.loaded, scope=trace.depth)
    _arrive(value, counters, index, count)
    return value
