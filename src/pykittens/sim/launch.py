"""A launch: from a dispatch to a finished `Run`: memory map, initial state, threads, faults."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from pykittens.errors import InputError
from pykittens.isa.define import Unit
from pykittens.isa.instruction import Instruction
from pykittens.sim import faults, native_types
from pykittens.sim.dispatch import Dispatch
from pykittens.sim.memory import POISON, SCRATCH, Array, RegionTable
from pykittens.sim.native_types import Counter
from pykittens.sim.program import Program, variant_key
from pykittens.sim.runner import Job, Runner

_NOWHERE = (1 << 64) - 1
_PATIENCE_SECONDS = 0.1
_SLICE = 500_000
"""Instructions after which Python looks at the clock and at signals: some 20 ms."""

_ACCUMULATION = "D starts as C; then for k ascending one fused multiply-add each, rounded to nearest even"
"""The order of matrix instructions' sums, which no manual publishes (isa/mfma_numpy.py)."""

MAX_INSTRUCTIONS = 200_000_000
"""Instructions that a wave may execute, by default; more than any kernel needs that ends within hours."""
TIMEOUT = 3600.0
"""Seconds that a launch may take, by default."""


@dataclass(frozen=True)
class Order:
    """How the waves of a workgroup take turns; a program without races gives the same bits under every order.

    turn: instructions of one wave before the next has its turn; few by default, since kernels exist that order waves by
    timing alone and go wrong with more than 4. landing: ``issue``: results of loads are there at once;
    ``late``: they become visible only where a wait forces them. seed: if given, waves and lengths of turns (up to
    ``turn``) are picked at random, the same in every run. turns: pairs of wave and instructions, with which every
    workgroup begins, such as the cycle model's order (`pykittens.modelled_launch.modelled_order`); a wave that waits
    at a barrier or has ended loses its turn, and after the list the order is as without it.
    """

    turn: int = 4
    landing: Literal["issue", "late"] = "issue"
    seed: int | None = None
    turns: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.turn, int) or not 1 <= self.turn < 1 << 31:
            raise InputError("order", f"turn is {self.turn!r}, expected at least 1 instruction")
        if self.landing not in ("issue", "late"):
            raise InputError("order", f"landing is {self.landing!r}, expected 'issue' or 'late'")
        if self.seed is not None and (not isinstance(self.seed, int) or not 0 <= self.seed < 1 << 64):
            raise InputError("order", f"seed is {self.seed!r}, expected a number of 64 bits")
        for wave, count in self.turns:
            if not 0 <= wave < 16 or not 1 <= count < 1 << 31:
                raise InputError(
                    "order", f"a turn of wave {wave} has {count} instructions, expected at least 1 of waves 0 to 15"
                )


@dataclass(frozen=True)
class Run:
    """What a launch did.

    instructions: executed by all waves together. seconds: wall time of running. workgroups, waves: how many. exact,
    approximate: mnemonics that were executed, by whether their results are silicon's to the last bit; accumulation: the
    order in which matrix instructions add, where some were executed. counts: what is not a fault and may still be a
    mistake: LDS accesses out of range or misaligned, buffer accesses out of range, barriers at which waves met from
    different places or which ended waves never reached (instructions, not lanes).
    """

    instructions: int
    seconds: float
    workgroups: int
    waves: int
    threads: int
    exact: tuple[str, ...]
    approximate: tuple[str, ...]
    accumulation: str
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Everything that a launch needs, made by `device.Kernel.launch`."""

    program: Program
    dispatch: Dispatch
    regions: RegionTable
    sgprs: list[int]
    group_id_sgprs: list[int]
    mode: int
    id_dimensions: int
    vgprs: int
    order: Order
    threads: int
    max_instructions: int
    timeout: float
    load_address: int
    line: Callable[[int], str | None]
    where: str

    @cached_property
    def turns(self) -> np.ndarray:
        """The order's turns as the native core reads them: pairs of wave and instructions."""
        return np.array(self.order.turns, np.uint32).reshape(-1, 2)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(plan: Plan) -> Run:
    """Run a launch to its end. Raises Fault for what stops it; KeyboardInterrupt leaves everything usable."""
    start = time.monotonic()
    launch = native_launch(plan)
    late = plan.order.landing == "late"
    job = Job(launch, plan.program, late, start + plan.timeout, [launch.variant], plan)
    plan.program.variant(launch.variant, late)
    runners = [Runner(job) for _ in range(min(plan.threads, plan.dispatch.groups))]
    try:
        _run_all(runners, launch)
        raise_faults(plan, job, runners)
        return result(plan, runners, time.monotonic() - start)
    finally:
        for runner in runners:
            runner.release()


def native_launch(plan: Plan) -> native_types.Launch:
    """The launch as the native core reads it."""
    dispatch, program, order = plan.dispatch, plan.program, plan.order
    launch = native_types.Launch()
    launch.regions, launch.region_count = plan.regions.address, plan.regions.count
    launch.groups, launch.limit = dispatch.groups, _NOWHERE
    launch.max_count = plan.max_instructions
    waves = {wave for wave, _ in order.turns}
    if waves and max(waves) >= dispatch.waves:
        raise InputError("order", f"turns name wave {max(waves)}, the workgroup has {dispatch.waves} waves")
    launch.turns, launch.turn_count = plan.turns.ctypes.data, len(order.turns)
    launch.random, launch.seed = order.seed is not None, order.seed or 0
    launch.code_base, launch.code_bytes = program.base, len(program.code)
    launch.index_of, launch.scratch_base = program.index_of.ctypes.data, SCRATCH
    launch.grid[:], launch.block[:] = dispatch.grid, dispatch.block
    launch.waves, launch.turn, launch.late = dispatch.waves, order.turn, order.landing == "late"
    launch.slice = max(1, _SLICE // (order.turn * (1 if launch.random else dispatch.waves)))
    launch.lds_bytes, launch.private_bytes = dispatch.lds_bytes, dispatch.private_bytes
    launch.entry, launch.rows = program.index(program.entry), max(plan.vgprs, program.rows)
    launch.fill, launch.mode, launch.variant = POISON, plan.mode, variant_key(plan.mode, 0)
    launch.id_dimensions = plan.id_dimensions
    launch.group_id_sgpr[:], launch.sgpr[:] = plan.group_id_sgprs, plan.sgprs
    return launch


def _run_all(runners: list[Runner], launch: native_types.Launch) -> None:
    """The first runner on this thread, so that signals reach it between its slices; the others on their own."""
    problems: list[BaseException] = []

    def run_one(runner: Runner) -> None:
        try:
            runner.run()
        except BaseException as problem:
            problems.append(problem)
            launch.stop = 1

    others = [threading.Thread(target=run_one, args=(runner,), daemon=True) for runner in runners[1:]]
    try:
        for thread in others:
            thread.start()
        runners[0].run()
        for thread in others:
            while thread.is_alive():  # not for ever: signals get through on every system
                thread.join(_PATIENCE_SECONDS)
    finally:
        launch.stop = 1
        for thread in others:
            if thread.ident is not None:
                thread.join()
    if problems:
        raise problems[0]


def raise_faults(plan: Plan, job: Job, runners: list[Runner]) -> None:
    """The lowest workgroup that failed decides, so that the same fault is reported however many threads there are."""
    scene = faults.Scene(
        plan.program, plan.regions, plan.load_address, plan.line, plan.where, plan.dispatch.lds_bytes,
        plan.dispatch.private_bytes, plan.max_instructions,
    )  # fmt: skip
    failed = min(job.failed, key=lambda memory: memory.group.id, default=None)
    if failed is not None:
        waves = [failed.wave(i) for i in range(plan.dispatch.waves)]
        raise faults.fault_of(scene, failed.group.fault, failed.group, waves)
    if job.timed_out:
        running = [m for runner in runners for m in runner.memories if m.group.running]
        memory = min(running, key=lambda memory: memory.group.id)
        waves = [memory.wave(i) for i in range(plan.dispatch.waves)]
        raise faults.timeout(scene, plan.timeout, memory.group, waves)


def result(plan: Plan, runners: list[Runner], seconds: float) -> Run:
    """What a launch did that came to its end."""
    exact: set[str] = set()
    approximate: set[str] = set()
    matrix = False
    for index in _executed(plan.program, runners):
        slot = plan.program.slot(index)
        if isinstance(slot, Instruction):
            is_matrix = slot.definition.unit is Unit.MFMA
            matrix |= is_matrix
            (approximate if is_matrix or slot.definition.has("approximate") else exact).add(slot.name)
    counts = {i.name.lower(): sum(runner.counters[i] for runner in runners) for i in Counter}
    return Run(
        instructions=sum(runner.executed for runner in runners),
        seconds=seconds,
        workgroups=plan.dispatch.groups,
        waves=plan.dispatch.groups * plan.dispatch.waves,
        threads=len(runners),
        exact=tuple(sorted(exact)),
        approximate=tuple(sorted(approximate)),
        accumulation=_ACCUMULATION if matrix else "",
        counts=counts,
    )


def _executed(program: Program, runners: list[Runner]) -> list[int]:
    """The operations that at least one wave executed."""
    seen: Array = np.zeros(len(program.slots), np.bool_)
    for runner in runners:
        count = min(len(seen), len(runner.seen))
        seen[:count] |= runner.seen[:count].astype(np.bool_)
    return [int(i) for i in np.flatnonzero(seen)]
