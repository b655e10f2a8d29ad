"""A published launch on a chip: a schedule's workgroups timed by the model, and the figures that follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pykittens import arch as chips
from pykittens.arch import Arch
from pykittens.arch.facts import Device
from pykittens.model.caches import CacheRates
from pykittens.model.chip import Dispatch, dispatch, machine
from pykittens.model.clock import FITTED, Activity, Fitted, clock, seconds_at
from pykittens.model.cu import Engine, Stream, run_unit
from pykittens.model.matrix_work import matrix_work
from pykittens.model.timing import Timing, timed
from pykittens.sim.native_build import symbol

from .streams import Program, Wave

Schedule = Callable[[], tuple[Program, list[Wave]]]
NOTHING_READ = CacheRates(1.0, 1.0, 0.0, 0.0, 0.0, 1)
_SLOWER = 0.85
"""Of its clock and of the HBM's writes: a second and a third point for `Pace`."""


@dataclass(frozen=True)
class Pace:
    """How a launch's cycles depend on constants: ``clk``, ``us`` whatever the clock, and ``written`` MB to the HBM."""

    clk: float
    us: float
    written: float

    def cycles(self, mhz: float, fitted: Fitted) -> float:
        return self.clk + mhz * (self.us + 1000 * self.written / fitted.hbm_write_gbps)


@dataclass(frozen=True)
class Launched:
    """A timed launch, from which seconds can be had again under other constants: ``unit`` is ``work`` in a second."""

    chip: Chip
    time: Timing
    pace: Pace
    rates: CacheRates
    work: float
    unit: str

    def figure(self, fitted: Fitted = FITTED) -> float:
        """In its unit: TFLOPS, GB/s, or us of the launch itself."""
        seconds = self.time.seconds if fitted == FITTED else self._seconds(fitted)
        return {"tflops": self.work / seconds / 1e12, "GB/s": self.work / seconds / 1e9, "us": seconds * 1e6}[self.unit]

    def _seconds(self, fitted: Fitted) -> float:
        device, time, activity = self.chip.device, self.time, self.time.activity
        cycles = time.cycles
        for _ in range(3):
            at = clock(device, activity, fitted)
            cycles = self.pace.cycles(at.mhz, fitted)
            share = time.cycles / cycles
            done = time.activity
            activity = Activity(done.matrix * share, done.loads * share, done.work)
        return seconds_at(cycles, at, self.chip.arch)


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

    def launched(
        self, schedule: Schedule, workgroups: int, rates: CacheRates, work: float, unit: str = "tflops", per_cu: int = 1
    ) -> tuple[Launched, list[Wave]]:
        """So many workgroups of a schedule, ``per_cu`` of which fit a unit; they do ``work``."""
        program, waves = schedule()
        streams = [wave.stream() for wave in waves]
        spread = dispatch(self.device, workgroups, per_cu)
        counts = sum(np.bincount(stream.ops, minlength=len(program.instructions)) for stream in streams)
        executed = zip(program.instructions, map(float, counts), strict=True)
        time = timed(
            self.engine, self.arch, self.device, program.table, [streams], spread, rates, matrix_work(executed)
        )  # fmt: skip
        return Launched(self, time, self._pace(program, streams, spread, rates, time), rates, work, unit), waves

    def _pace(
        self, program: Program, streams: list[Stream], spread: Dispatch, rates: CacheRates, time: Timing
    ) -> Pace:  # fmt: skip
        groups, mhz = len(time.run.started), time.clock.mhz

        def clk(share: float, fitted: Fitted) -> float:
            constants = machine(self.arch, self.device, mhz * share, spread.active_cus, rates, fitted)
            return run_unit(self.engine, program.table, [streams], constants, spread.slots, groups).clk

        scale = time.cycles / time.run.clk
        here = float(time.run.clk)
        slower = clk(_SLOWER, FITTED)
        writes = clk(1.0, replace(FITTED, hbm_write_gbps=_SLOWER * FITTED.hbm_write_gbps))
        us = scale * (here - slower) / (mhz * (1 - _SLOWER))
        written = scale * (writes - here) / mhz * FITTED.hbm_write_gbps / 1000 * _SLOWER / (1 - _SLOWER)
        rest = us - 1000 * written / FITTED.hbm_write_gbps
        return Pace(time.cycles - mhz * us, rest, written)


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
