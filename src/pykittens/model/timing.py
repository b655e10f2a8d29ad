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
from .clock import Clock, clock, seconds_at
from .cu import Engine, Stream, UnitRun, run_unit

_CLOCK_ROUNDS = 3
_MAX_GROUPS = 64
_MAX_INSTRUCTIONS = 6_000_000


@dataclass(frozen=True)
class Timing:
    """The busiest unit's run, cycles of the whole launch, its clock, and seconds with the launch itself.

    utilisation: of the busiest unit's matrix cores, 0 to 1. side: of most MFMAs' tiles.
    """

    run: UnitRun
    cycles: float
    clock: Clock
    utilisation: float
    seconds: float
    side: int


def timed(
    engine: Engine, arch: Arch, device: Device, table: np.ndarray[Any, Any], streams: Sequence[Sequence[Stream]],
    spread: Dispatch, rates: CacheRates, side: int,
) -> Timing:  # fmt: skip
    """The time of a launch whose workgroups do what ``streams`` do in turn; ``side``: of most MFMAs' tiles."""
    groups = _groups_to_run(streams, spread)
    utilisation = 0.9
    for _ in range(_CLOCK_ROUNDS):
        at = clock(device, utilisation, side)
        constants = machine(arch, device, at.mhz, spread.active_cus, rates)
        run = run_unit(engine, table, streams, constants, spread.slots, groups)
        utilisation = float(run.matrix_busy.mean()) / run.clk
    cycles = _all_cycles(run, spread)
    seconds = seconds_at(device, arch, cycles, at, utilisation, rates)
    return Timing(run, cycles, at, utilisation, seconds, side)


def _groups_to_run(streams: Sequence[Sequence[Stream]], spread: Dispatch) -> int:
    """Workgroups of the busiest unit to simulate; the rest is extrapolated."""
    size = sum(len(wave.ops) for group in streams for wave in group) / len(streams)
    affordable = max(2 * spread.slots + len(streams), min(_MAX_GROUPS, int(_MAX_INSTRUCTIONS / max(1.0, size))))
    return min(spread.on_busiest, affordable)


def _all_cycles(run: UnitRun, spread: Dispatch) -> float:
    """Of the busiest unit: what was simulated, and more of the same pace."""
    ended = np.sort(run.ended.astype(np.int64))
    missing = spread.on_busiest - len(ended)
    if missing <= 0:
        return float(run.clk)
    first = min(len(ended) - 2, spread.slots)
    pace = float(ended[-1] - ended[first]) / (len(ended) - 1 - first)
    return run.clk + missing * pace
