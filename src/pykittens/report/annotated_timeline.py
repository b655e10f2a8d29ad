"""What each wave of a modelled workgroup did when: slices of work and of waiting, for timelines of any kind.

An instruction's slice lasts from its issue to the wave's next chance to issue; an MFMA's as long as the matrix core
works on it, but at most until the wave's next instruction. What is left between two slices is waiting, and has the
reason that the model gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pykittens.arch import get
from pykittens.model.cu import NOT_STALLED, REASONS
from pykittens.model.prediction import Prediction
from pykittens.model.timing_table import Kind, timing_table

Array = np.ndarray

WORK = ("MFMA", "VALU", "LDS", "VMEM", "scalar", "s_waitcnt", "s_barrier")
"""What an instruction's slice shows, by `work_of`."""
_WORK_OF = {
    Kind.MATRIX: 0, Kind.VECTOR: 1, Kind.TRANSCENDENTAL: 1, Kind.PACKED: 1, Kind.LDS: 2, Kind.LOAD: 3, Kind.STORE: 3,
    Kind.SCALAR: 4, Kind.SCALAR_LOAD: 4, Kind.BRANCH: 4, Kind.IDLE: 4, Kind.PRIORITY: 4, Kind.END: 4, Kind.WAIT: 5,
    Kind.BARRIER: 6,
}  # fmt: skip
BARRIER_REASON = REASONS.index("s_barrier")
_FIRST_CLK = 16384
"""How much of a run without a hot loop is shown."""


@dataclass(frozen=True)
class WaveSlices:
    """One wave's slices in order of time: parallel int arrays.

    start, length: clk. op: index into the program; of waiting, the instruction that is waited at. work: index into
    `WORK`, -1 where the wave waits. reason: index into `cu.REASONS`, -1 where it works.
    """

    wave: int
    simd: int
    start: Array
    length: Array
    op: Array
    work: Array
    reason: Array

    def within(self, first: int, last: int) -> WaveSlices:
        """The slices from ``first`` to ``last``, cut off there."""
        begin, end = np.maximum(self.start, first), np.minimum(self.start + self.length, last)
        kept = end > begin
        return WaveSlices(
            self.wave, self.simd, begin[kept], (end - begin)[kept], self.op[kept], self.work[kept], self.reason[kept],
        )  # fmt: skip


@dataclass(frozen=True)
class Window:
    """The part of the run that a timeline shows, in clk; ``words`` say which it is."""

    first: int
    last: int
    words: str


def work_of(prediction: Prediction) -> Array:
    """Index into `WORK` of every instruction of the program."""
    kinds = timing_table(prediction.instructions.program, get(prediction.arch))["kind"]
    return np.array([_WORK_OF[Kind(int(kind))] for kind in kinds], np.int64)


def wave_slices(prediction: Prediction) -> list[WaveSlices]:
    """The slices of every wave of the first workgroup."""
    table = timing_table(prediction.instructions.program, get(prediction.arch))
    work = work_of(prediction)
    found = []
    for number, wave in enumerate(prediction.waves):
        ops, issued = wave.ops.astype(np.int64), wave.issued.astype(np.int64)
        free = issued + table["issue"][ops]
        after = np.append(issued[1:], free[-1:])
        # A wave that has not waited was held by the instruction before, such as a write to LDS with conflicts.
        held = np.append(wave.reason[1:] == NOT_STALLED, False) & (work[ops] != WORK.index("s_barrier"))
        busy = np.where(held, after, np.maximum(free, issued + table["pipe_clk"][ops]))
        end = np.minimum(busy, np.maximum(after, issued))
        gap = after - end  # before the next instruction
        waits = np.flatnonzero(gap > 0)
        reason = wave.reason[np.minimum(waits + 1, len(ops) - 1)].astype(np.int64)
        reason = np.where(work[ops[waits]] == WORK.index("s_barrier"), BARRIER_REASON, reason)
        at = np.where(reason == BARRIER_REASON, waits, np.minimum(waits + 1, len(ops) - 1))
        start = np.concatenate([issued, end[waits]])
        order = np.argsort(start, kind="stable")
        columns = (
            start, np.concatenate([end - issued, gap[waits]]), np.concatenate([ops, ops[at]]),
            np.concatenate([work[ops], np.full(len(waits), -1)]), np.concatenate([np.full(len(ops), -1), reason]),
        )  # fmt: skip
        found.append(WaveSlices(number, wave.simd, *(each[order] for each in columns)))
    return found


def matrix_core(prediction: Prediction, simd: int) -> tuple[Array, Array, Array]:
    """(start clk, clk, wave) of every MFMA on a SIMD's matrix core, in order of time."""
    table = timing_table(prediction.instructions.program, get(prediction.arch))
    parts = []
    for number, wave in enumerate(prediction.waves):
        if wave.simd == simd:
            ops = wave.ops.astype(np.int64)
            mine = table["kind"][ops] == Kind.MATRIX
            start = wave.issued[mine].astype(np.int64)
            parts.append((start, table["pipe_clk"][ops[mine]].astype(np.int64), np.full(len(start), number)))
    start, length, which = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(start, kind="stable")
    return start[order], length[order], which[order]


def steady_window(prediction: Prediction) -> Window:
    """One iteration of the hot loop from the middle of the run, as the first wave in it sees it; without such a loop,
    the run's beginning.
    """
    loop = prediction.loop
    if loop is not None:
        for number, wave in enumerate(prediction.waves):
            times = wave.issued[wave.ops == loop.first].astype(np.int64)
            if len(times) > 1:
                middle = (len(times) - 1) // 2
                words = f"iteration {middle + 1} of {loop.iterations} of the hot loop, as wave {number} runs it"
                return Window(int(times[middle]), int(times[middle + 1]), words)
    end = max((int(wave.issued[-1]) for wave in prediction.waves if len(wave.issued)), default=0) + 4
    words = "the whole run" if end <= _FIRST_CLK else f"the first {_FIRST_CLK:,} clk"
    return Window(0, min(end, _FIRST_CLK), words)


def phase_runs(prediction: Prediction, slices: WaveSlices) -> list[tuple[int, int, str]]:
    """(start, end, phase) of each stretch in which the wave is in one phase of the schedule."""
    found: list[tuple[int, int, str]] = []
    phases = prediction.instructions.phase
    last: str | None = None
    for start, length, op in zip(slices.start.tolist(), slices.length.tolist(), slices.op.tolist(), strict=True):
        phase = phases[op]
        if phase is not None and phase == last:
            found[-1] = found[-1][0], start + length, phase
        elif phase is not None:
            found.append((start, start + length, phase))
        last = phase
    return found
