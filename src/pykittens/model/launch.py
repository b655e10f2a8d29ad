"""From traces to a `Prediction`: the model's one way through, chip around compute unit around instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykittens.arch import Arch
from pykittens.arch.facts import Device
from pykittens.asm.code_object import CodeObject, Kernel
from pykittens.asm.execution import WorkgroupTrace
from pykittens.asm.phases import Phases
from pykittens.asm.source_lines import SourceLines
from pykittens.isa.define import Mfma
from pykittens.isa.text import text

from .caches import CacheRates, cache_rates
from .chip import Dispatch, dispatch, machine, occupancy
from .clock import Clock, clock, seconds_at
from .costs import LINE, Costs, costs_of
from .cu import REASONS, SIMDS, Engine, Stream, UnitRun, run_unit
from .guesses import guesses_of
from .loops import hot_loop
from .panels import Survey, panels_of
from .prediction import InstructionTimes, Prediction, WaveTimes
from .timing_table import timing_table

LAUNCH_US = 8.0
"""Of an event-timed launch, beyond what the compute units work: fitted (see guesses.py)."""
_CLOCK_ROUNDS = 3
_MAX_GROUPS = 64
_MAX_INSTRUCTIONS = 6_000_000


@dataclass(frozen=True)
class Launch:
    """What is launched: grid in workgroups, block in work-items, LDS of a workgroup in bytes as allocated."""

    arch: Arch
    device: Device
    code: CodeObject
    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lds_bytes: int

    @property
    def workgroups(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def waves(self) -> int:
        return -(-self.block[0] * self.block[1] * self.block[2] // self.arch.wave_size)


def predict_launch(engine: Engine, launch: Launch, traces: Sequence[WorkgroupTrace], survey: Survey) -> Prediction:
    """The prediction from traced workgroups and a survey of where all of them load.

    Raises InputError for a workgroup that does not fit a compute unit.
    """
    arch = launch.arch
    fitting = occupancy(arch, launch.waves, launch.kernel.descriptor.vgprs, launch.lds_bytes, launch.kernel.name)
    spread = dispatch(launch.device, launch.workgroups, fitting.workgroups)
    table = timing_table(traces[0].instructions, arch)
    costs = [costs_of(trace, arch) for trace in traces]
    rates = _rates(launch, spread, survey, traces[0], costs[0])
    streams = [
        [Stream(wave.ops, cost) for wave, cost in zip(trace.waves, each.waves, strict=True)]
        for trace, each in zip(traces, costs, strict=True)
    ]
    groups = _groups_to_run(streams, spread)
    side = _side(traces)
    utilisation, at, run, cycles = 0.9, None, None, 0.0
    for _ in range(_CLOCK_ROUNDS):
        at = clock(launch.device, utilisation, side)
        run = run_unit(engine, table, streams, machine(arch, launch.device, at.mhz, spread.active_cus, rates),
                       spread.slots, groups)  # fmt: skip
        cycles = _all_cycles(run, spread)
        utilisation = float(run.matrix_busy.mean()) / run.clk
    assert at is not None and run is not None
    return _prediction(launch, traces, costs, rates, run, cycles, at, table, fitting, spread)


def _rates(launch: Launch, spread: Dispatch, survey: Survey, trace: WorkgroupTrace, costs: Costs) -> CacheRates:
    memory, device = launch.arch.memory, launch.device
    slots = spread.slots * device.cus_per_xcd
    panels = panels_of(survey, trace, costs)
    found = cache_rates(panels, survey.workgroups, slots, device.xcds, memory.l2_bytes, memory.mall_bytes)
    return found.scaled(launch.workgroups / survey.workgroups)


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


def _side(traces: Sequence[WorkgroupTrace]) -> int:
    """16 or 32: the MFMA tile side that most matrix FLOP use."""
    flops = {16: 0.0, 32: 0.0}
    for shape, count in _matrix(traces):
        flops[32 if shape.m == 32 else 16] += shape.m * shape.n * shape.k * shape.blocks * count
    return 32 if flops[32] > flops[16] else 16


def _matrix(traces: Sequence[WorkgroupTrace]) -> list[tuple[Mfma, float]]:
    """Every matrix instruction's shape and how often a workgroup executes it, the mean of the traced ones."""
    counts = np.zeros(len(traces[0].instructions))
    for trace in traces:
        for wave in trace.waves:
            counts += np.bincount(wave.ops, minlength=len(counts)) / len(traces)
    return [
        (each.definition.mfma, float(counts[i]))
        for i, each in enumerate(traces[0].instructions)
        if each is not None and each.definition.mfma is not None and counts[i]
    ]


def _prediction(
    launch: Launch, traces: Sequence[WorkgroupTrace], costs: Sequence[Costs], rates: CacheRates, run: UnitRun,
    cycles: float, at: Clock, table: np.ndarray[Any, Any], fitting: Any, spread: Dispatch,
) -> Prediction:  # fmt: skip
    loop = hot_loop(traces[0], run, table, spread.slots * launch.waves / SIMDS)
    flops = sum(2.0 * s.m * s.n * s.k * s.blocks * count for s, count in _matrix(traces)) * launch.workgroups
    written = float(np.mean([sum(float(a.fresh.sum()) for a in each.accesses) for each in costs])) * LINE
    phases = sum(each.lds_phases for each in costs)
    waves = run.stall.sum() + run.held.sum()
    stalls = {"issuing": float(run.held.sum() / waves)} if waves else {}
    stalls |= {name: float(run.stall[:, i].sum() / waves) for i, name in enumerate(REASONS) if waves}
    utilisation = float(run.matrix_busy.mean()) / run.clk
    seconds = seconds_at(launch.device, launch.arch, cycles, at, utilisation, rates)
    return Prediction(
        kernel=launch.kernel.name, arch=launch.arch.name, device=launch.device.name, grid=launch.grid,
        block=launch.block, cycles=cycles, seconds=seconds + LAUNCH_US * 1e-6, clock=at,
        mfma_utilisation=utilisation * spread.fill, loop=loop, flops=flops,
        l2_hit=rates.l2_hit, llc_hit=rates.llc_hit, requested_bytes=rates.requested_bytes,
        hbm_read_bytes=rates.hbm_bytes, hbm_written_bytes=written * launch.workgroups,
        lds_conflict=sum(each.lds_passes - each.lds_phases for each in costs) / phases if phases else 0.0,
        stalls=dict(sorted(stalls.items(), key=lambda item: -item[1])), occupancy=fitting, dispatch=spread,
        guesses=guesses_of(launch.arch, launch.device, table, run.executed, at, LAUNCH_US),
        instructions=_instruction_times(launch, traces[0], run),
        waves=tuple(
            WaveTimes(i % SIMDS, wave.ops, run.issued[i], run.reason[i]) for i, wave in enumerate(traces[0].waves)
        ),
    )  # fmt: skip


def _instruction_times(launch: Launch, trace: WorkgroupTrace, run: UnitRun) -> InstructionTimes:
    phases, lines = Phases(launch.code), SourceLines(launch.code)
    pcs = np.array([0 if i is None else i.pc - trace.load_address for i in trace.instructions], np.int64)
    words = tuple("" if i is None else text(i) for i in trace.instructions)
    places = [lines.at(int(pc)) for pc in pcs]
    return InstructionTimes(
        pcs, words, tuple(phases.at(int(pc)) for pc in pcs), tuple(str(p) if p else None for p in places),
        run.executed.astype(np.int64), run.held.astype(np.int64), run.stall.astype(np.int64),
    )  # fmt: skip
