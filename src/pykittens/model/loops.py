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
    measured = [
        _steady(run.issued[i], wave.ops, first, last, table) for i, wave in enumerate(trace.waves)
    ]  # fmt: skip
    ran = [each for each in measured if each is not None]
    busiest = max(ran, key=lambda each: each[2])
    matrix = sum(each[1] for each in ran) / len(trace.waves) * waves_per_simd
    return HotLoop(first, last, busiest[2], float(np.mean([each[0] for each in ran])), matrix)


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


def _steady(
    issued: Array, ops: Array, first: int, last: int, table: np.ndarray[Any, Any]
) -> tuple[float, float, int] | None:
    """(clk an iteration, matrix clk an iteration, iterations) of one wave, without its first and last quarter."""
    places = np.flatnonzero(ops == last)
    places = places[:-1] if len(places) and ops[min(places[-1] + 1, len(ops) - 1)] != first else places
    if len(places) < 2:
        return None
    skip = len(places) // 4 if len(places) > 4 else 0
    a, b = places[skip], places[len(places) - 1 - skip]
    if a == b:
        a, b = places[0], places[-1]
    count = int(np.searchsorted(places, b) - np.searchsorted(places, a))
    inside = table[ops[a:b].astype(np.int64)]
    matrix = float(inside["pipe_clk"][inside["kind"] == Kind.MATRIX].sum()) / count
    return float(int(issued[b]) - int(issued[a])) / count, matrix, len(places) + 1
