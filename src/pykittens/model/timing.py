"""Time of a grid of workgroups: the compute unit at the clock that its own utilisation brings about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykittens.arch import Arch
from pykittens.arch.facts import Device

from .caches import CacheRates
from .chip import Dispatch, machine
from .clock import Activity, Clock, clock, seconds_at
from .costs import LINE
from .cu import Engine, Stream, UnitRun, run_unit
from .matrix_work import MatrixWork

_CLOCK_ROUNDS = 3
_MAX_GROUPS = 64
_MAX_INSTRUCTIONS = 6_000_000


@dataclass(frozen=True)
class Timing:
    """The busiest unit's run, cycles of the whole launch, its clock, and seconds with the launch itself.

    utilisation: of the busiest unit's matrix cores, 0 to 1. activity: of the whole device, which draws one power.
    """

    run: UnitRun
    cycles: float
    clock: Clock
    utilisation: float
    activity: Activity
    seconds: float


def timed(
    engine: Engine, arch: Arch, device: Device, table: np.ndarray[Any, Any], streams: Sequence[Sequence[Stream]],
    spread: Dispatch, rates: CacheRates, work: MatrixWork,
) -> Timing:  # fmt: skip
    """The time of a launch whose workgroups do what ``streams`` do in turn; ``work``: of its matrix instructions."""
    unlike = _unlike(streams)
    groups = _groups_to_run(streams, spread)
    if unlike:
        groups = max(groups, len(streams))
    activity = Activity(0.9 if work.flops else 0.0, 0.0, work)
    share = spread.fill * spread.active_cus / device.cus
    for _ in range(_CLOCK_ROUNDS):
        at = clock(device, activity)
        constants = machine(arch, device, at.mhz, spread.active_cus, rates)
        run = run_unit(engine, table, streams, constants, spread.slots, groups)
        matrix = float(run.matrix_busy.mean()) / run.clk
        loads = run.counts["l2_lines"] * LINE / arch.memory.l1_to_cu_bytes_per_clk / run.clk
        activity = Activity(matrix * share, loads * share, work)
    cycles = _shared_cycles(run, spread) if unlike else _all_cycles(run, spread)
    return Timing(run, cycles, at, matrix, activity, seconds_at(cycles, at, arch))


def _groups_to_run(streams: Sequence[Sequence[Stream]], spread: Dispatch) -> int:
    """Workgroups of the busiest unit to simulate; the rest is extrapolated."""
    size = sum(len(wave.ops) for group in streams for wave in group) / len(streams)
    affordable = max(2 * spread.slots + len(streams), min(_MAX_GROUPS, int(_MAX_INSTRUCTIONS / max(1.0, size))))
    return min(spread.on_busiest, affordable)


def _unlike(streams: Sequence[Sequence[Stream]]) -> bool:
    """Whether workgroups differ in how much they execute, by a tenth or more."""
    sizes = [sum(len(wave.ops) for wave in group) for group in streams]
    return max(sizes) > 1.1 * min(sizes)


def _shared_cycles(run: UnitRun, spread: Dispatch) -> float:
    """Of unlike workgroups, of which a free unit takes the next: all units' average, or the longest one's own time."""
    lives = run.ended.astype(np.int64) - run.started.astype(np.int64)
    each = run.clk / len(lives)
    return max(float(lives.max()), each * spread.workgroups / spread.active_cus)


def _all_cycles(run: UnitRun, spread: Dispatch) -> float:
    """Of the busiest unit: what was simulated, and more of the same pace."""
    ended = np.sort(run.ended.astype(np.int64))
    missing = spread.on_busiest - len(ended)
    if missing <= 0:
        return float(run.clk)
    first = min(len(ended) - 2, spread.slots)
    pace = float(ended[-1] - ended[first]) / (len(ended) - 1 - first)
    return run.clk + missing * pace
