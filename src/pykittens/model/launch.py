"""From traces to a `Prediction`: the model's one way through, chip around compute unit around instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykittens.arch import Arch
from pykittens.arch.facts import Device
from pykittens.asm.code_object import CodeObject, Kernel
from pykittens.asm.execution import Survey, WorkgroupTrace
from pykittens.asm.phases import Phases
from pykittens.asm.source_lines import SourceLines
from pykittens.isa.instruction import Instruction
from pykittens.isa.text import text

from .caches import CacheRates, Panels, cache_rates
from .chip import Dispatch, Occupancy, dispatch, occupancy
from .costs import LINE, Costs, costs_of
from .cu import REASONS, SIMDS, Engine, Stream, UnitRun
from .flags import Flags
from .guesses import guesses_of
from .loops import hot_loop
from .matrix_work import matrix_work
from .panels import panels_of
from .prediction import InstructionTimes, Prediction, WaveTimes
from .timing import Timing, timed
from .timing_table import timing_table


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
    """The prediction from some workgroups' traces and a survey of where all of them load.

    Raises InputError for a workgroup that does not fit a compute unit.
    """
    arch = launch.arch
    fitting = occupancy(arch, launch.waves, launch.kernel.descriptor.vgprs, launch.lds_bytes, launch.kernel.name)
    spread = dispatch(launch.device, launch.workgroups, fitting.workgroups)
    table = timing_table(traces[0].instructions, arch)
    flags = Flags.of(traces, table["issue"])
    flags.mark(table)
    traces = _different([flags.settled(trace) for trace in traces])
    costs = [costs_of(trace, arch, flags) for trace in traces]
    panels = panels_of(survey, traces, costs)
    rates = _rates(launch, spread, panels, survey.workgroups)
    streams = [
        [Stream(wave.ops, cost) for wave, cost in zip(trace.waves, each.waves, strict=True)]
        for trace, each in zip(traces, costs, strict=True)
    ]
    time = timed(engine, arch, launch.device, table, streams, spread, rates, matrix_work(_executed(traces)))
    return _prediction(launch, traces, costs, panels, rates, time, table, fitting, spread)


def _different(traces: list[WorkgroupTrace]) -> list[WorkgroupTrace]:
    """The first one alone if all do the same, as far as the lengths of their waves' ways tell."""
    lengths = [[len(wave.ops) for wave in trace.waves] for trace in traces]
    return traces[:1] if all(each == lengths[0] for each in lengths) else traces


def _rates(launch: Launch, spread: Dispatch, panels: Sequence[Panels], surveyed: int) -> CacheRates:
    memory, device = launch.arch.memory, launch.device
    slots = spread.slots * device.cus_per_xcd
    found = cache_rates(panels, surveyed, slots, device.xcds, memory.l2_bytes, memory.mall_bytes)
    return found.scaled(launch.workgroups / surveyed)


def _written_bytes(costs: Sequence[Costs]) -> float:
    """Of a workgroup, the mean of the traced ones: lines that it stores to, once each."""
    return LINE * float(np.mean([sum(float(a.fresh.sum()) for a in each.accesses) for each in costs]))


def _executed(traces: Sequence[WorkgroupTrace]) -> list[tuple[Instruction, float]]:
    """Every instruction and how often a workgroup executes it, the mean of the traced ones."""
    counts = np.zeros(len(traces[0].instructions))
    for trace in traces:
        for wave in trace.waves:
            counts += np.bincount(wave.ops, minlength=len(counts)) / len(traces)
    return [(each, float(counts[i])) for i, each in enumerate(traces[0].instructions) if each is not None]


def _prediction(
    launch: Launch, traces: Sequence[WorkgroupTrace], costs: Sequence[Costs], panels: Sequence[Panels],
    rates: CacheRates, time: Timing, table: np.ndarray[Any, Any], fitting: Occupancy, spread: Dispatch,
) -> Prediction:  # fmt: skip
    run, at = time.run, time.clock
    loop = hot_loop(traces[0], run, table, spread.slots * launch.waves / SIMDS)
    flops = time.activity.work.flops * launch.workgroups
    written = _written_bytes(costs)
    phases = sum(each.lds_phases for each in costs)
    waves = run.stall.sum() + run.held.sum()
    stalls = {"issuing": float(run.held.sum() / waves)} if waves else {}
    stalls |= {name: float(run.stall[:, i].sum() / waves) for i, name in enumerate(REASONS) if waves}
    return Prediction(
        kernel=launch.kernel.name, arch=launch.arch.name, device=launch.device.name, grid=launch.grid,
        block=launch.block, cycles=time.cycles, seconds=time.seconds, clock=at,
        mfma_utilisation=time.utilisation * spread.fill, loop=loop, flops=flops,
        l2_hit=rates.l2_hit, llc_hit=rates.llc_hit, requested_bytes=rates.requested_bytes,
        hbm_read_bytes=rates.hbm_bytes, hbm_written_bytes=written * launch.workgroups,
        lds_conflict=sum(each.lds_passes - each.lds_phases for each in costs) / phases if phases else 0.0,
        stalls=dict(sorted(stalls.items(), key=lambda item: -item[1])), occupancy=fitting, dispatch=spread,
        guesses=guesses_of(launch.arch, launch.device, table, run.executed, at, len(traces)),
        instructions=_instruction_times(launch, traces[0], run),
        waves=tuple(
            WaveTimes(i % SIMDS, wave.ops, run.issued[i], run.reason[i]) for i, wave in enumerate(traces[0].waves)
        ),
        lds=costs[0].lds, panels=tuple(panels),
    )  # fmt: skip


def _instruction_times(launch: Launch, trace: WorkgroupTrace, run: UnitRun) -> InstructionTimes:
    phases, lines = Phases(launch.code), SourceLines(launch.code)
    pcs = np.array([0 if i is None else i.pc - trace.load_address for i in trace.instructions], np.int64)
    words = tuple("" if i is None else text(i) for i in trace.instructions)
    places = [lines.at(int(pc)) for pc in pcs]
    return InstructionTimes(
        trace.instructions, pcs, words, tuple(phases.at(int(pc)) for pc in pcs),
        tuple(str(p) if p else None for p in places), run.executed.astype(np.int64), run.held.astype(np.int64),
        run.stall.astype(np.int64),
    )  # fmt: skip
