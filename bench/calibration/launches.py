"""A published launch on a chip: a schedule's workgroups timed by the model, and the figures that follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pykittens import arch as chips
from pykittens.arch import Arch
from pykittens.arch.facts import Device
from pykittens.model.caches import CacheRates
from pykittens.model.chip import dispatch
from pykittens.model.clock import FITTED, Fitted, clock, seconds_at
from pykittens.model.cu import Engine
from pykittens.model.timing import Timing, timed
from pykittens.sim.native_build import symbol

from .streams import Program, Wave

Schedule = Callable[[], tuple[Program, list[Wave]]]
NOTHING_READ = CacheRates(1.0, 1.0, 0.0, 0.0, 0.0, 1)


@dataclass(frozen=True)
class Launched:
    """A timed launch, from which seconds can be had again under other constants: ``unit`` is ``work`` in a second."""

    chip: Chip
    time: Timing
    rates: CacheRates
    work: float
    unit: str

    def figure(self, fitted: Fitted = FITTED) -> float:
        """In its unit: TFLOPS, GB/s, or us of the launch itself."""
        device, time = self.chip.device, self.time
        at = clock(device, time.utilisation, time.side, fitted)
        seconds = seconds_at(device, self.chip.arch, time.cycles, at, time.utilisation, self.rates, fitted)
        return {"tflops": self.work / seconds / 1e12, "GB/s": self.work / seconds / 1e9, "us": seconds * 1e6}[self.unit]


@dataclass(frozen=True)
class Case:
    """A published launch by the names that published.csv gives it, and what the model says of it, by metric."""

    kernel: str
    shape: str
    config: str
    figures: dict[str, float]
    launched: Launched | None = None


@dataclass(frozen=True)
class Chip:
    """A device with the model's engine."""

    arch: Arch
    device: Device
    engine: Engine

    @staticmethod
    def of(arch: str, device: str) -> Chip:
        chip = chips.get(arch)
        return Chip(chip, chip.device(device), Engine.find(symbol))

    def time(
        self, schedule: Schedule, workgroups: int, rates: CacheRates, side: int = 16, per_cu: int = 1
    ) -> tuple[Timing, list[Wave]]:
        """So many workgroups of a schedule."""
        program, waves = schedule()
        streams = [wave.stream() for wave in waves]
        spread = dispatch(self.device, workgroups, per_cu)
        time = timed(self.engine, self.arch, self.device, program.table, [streams], spread, rates, side)
        return time, waves


def loop_cycles(time: Timing, waves: list[Wave]) -> float:
    """Clk an iteration in the middle half of the loop, over the waves."""
    each = []
    for wave, issued in zip(waves, time.run.issued, strict=True):
        a, b = len(wave.marks) // 4, len(wave.marks) * 3 // 4
        each.append((int(issued[wave.marks[b]]) - int(issued[wave.marks[a]])) / (b - a))
    return float(np.mean(each))


def matrix_clk(time: Timing, waves: list[Wave]) -> float:
    """Matrix core clk an iteration, of the waves of one SIMD."""
    groups = len(time.run.started)
    return float(time.run.matrix_busy.mean()) / groups / max(len(wave.marks) for wave in waves)
