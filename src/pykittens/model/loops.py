"""The hot loop of a run: where it is, how long its iterations take, and how busy the matrix cores are in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pykittens.asm.execution import WorkgroupTrace

from .cu import UnitRun
from .timing_table import Kind

Array = np.ndarray


@dataclass(frozen=True)
class HotLoop:
    """The loop that most wave-time goes to; ``first`` and ``last`` are its instructions (indices into the program).

    iterations: of one wave. cycles: clk an iteration, mean of the steady ones. mfma_clk: matrix core clk an iteration
    of all waves of one SIMD. utilisation: mfma_clk / cycles, 0 to 1.
    """

    first: int
    last: int
    iterations: int
    cycles: float
    mfma_clk: float

    @property
    def utilisation(self) -> float:
        return self.mfma_clk / self.cycles if self.cycles else 0.0


def hot_loop(trace: WorkgroupTrace, run: UnitRun, table: np.ndarray[Any, Any], waves_per_simd: float) -> HotLoop | None:
    """The hot loop of the first workgroup on the unit; None if no wave branches backwards three times."""
    spent: dict[tuple[int, int], float] = {}
    for number, wave in enumerate(trace.waves):
        for first, last, times in _loops(wave.ops):
            issued = run.issued[number][times].astype(np.int64)
            spent[first, last] = spent.get((first, last), 0.0) + float(issued[-1] - issued[0])
    if not spent:
        return None
    first, last = max(spent, key=lambda loop: spent[loop])
    steady = (_steady(run.issued[i], wave.ops, first, last) for i, wave in enumerate(trace.waves))
    ran = [each for each in steady if each is not None]
    cycles = float(np.mean([each.cycles for each in ran]))
    start, end = min(each.start for each in ran), max(each.end for each in ran)
    # Waves beside those that run this loop may be in another one, with MFMAs of their own.
    busy = sum(_matrix_clk(run.issued[i], wave.ops, start, end, table) for i, wave in enumerate(trace.waves))
    matrix = busy / len(trace.waves) * waves_per_simd * cycles / (end - start)
    return HotLoop(first, last, max(each.iterations for each in ran), cycles, matrix)


@dataclass(frozen=True)
class _Steady:
    """One wave's loop without its first and last quarter: clk an iteration, from when to when, iterations in all."""

    cycles: float
    start: int
    end: int
    iterations: int


def _matrix_clk(issued: Array, ops: Array, start: int, end: int, table: np.ndarray[Any, Any]) -> float:
    """Matrix core clk of what one wave issues in a stretch of time."""
    first, last = np.searchsorted(issued, (start, end))
    inside = table[ops[first:last].astype(np.int64)]
    return float(inside["pipe_clk"][inside["kind"] == Kind.MATRIX].sum())


def _loops(ops: Array) -> list[tuple[int, int, Array]]:
    """(first instruction, last instruction, places of the last one) of every backward branch taken three times."""
    signed = ops.astype(np.int64)
    back = np.flatnonzero(signed[1:] < signed[:-1])
    found = []
    for last in map(int, np.unique(signed[back])):
        places = back[signed[back] == last]
        if len(places) >= 3:
            found.append((int(signed[places[0] + 1]), last, places))
    return found


def _steady(issued: Array, ops: Array, first: int, last: int) -> _Steady | None:
    """None if the wave does not run the loop."""
    places = np.flatnonzero(ops == last)
    places = places[:-1] if len(places) and ops[min(places[-1] + 1, len(ops) - 1)] != first else places
    if len(places) < 2:
        return None
    skip = len(places) // 4 if len(places) > 4 else 0
    a, b = places[skip], places[len(places) - 1 - skip]
    if a == b:
        a, b = places[0], places[-1]
    count = int(np.searchsorted(places, b) - np.searchsorted(places, a))
    start, end = int(issued[a]), int(issued[b])
    return _Steady((end - start) / count, start, end, len(places) + 1)
