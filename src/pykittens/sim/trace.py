"""Traces: runs chosen workgroups and records what their waves execute, for whoever times or studies the code."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from ctypes import c_uint64
from dataclasses import replace
from typing import Any

import numpy as np

from pykittens.asm.execution import MEMORY_RECORD, Survey, WaveTrace, WorkgroupTrace
from pykittens.errors import InputError
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Reg
from pykittens.sim.bind import FIELDS, NONE, split
from pykittens.sim.launch import Plan, native_launch, raise_faults
from pykittens.sim.native_build import symbol
from pykittens.sim.native_types import MAX_WAVES, OP_BYTES
from pykittens.sim.program import Operations, Program
from pykittens.sim.runner import Job, Runner

MAX_TRACED = 4_000_000
"""Instructions of a wave that are recorded, by default."""
MAX_SURVEYED = 4096
"""Workgroups that a survey looks at, by default."""
_MEMORY_SHARE = 8
"""Room for one memory instruction in so many; arrays take memory only as they fill."""
_SURVEY_LENGTH = 8192
_BASES = {"srsrc", "saddr", "sbase"}


class _Recorder(ctypes.Structure):
    """`Recorder` of native/trace.c."""

    _fields_ = (
        ("ops", c_uint64), ("memory", c_uint64), ("capacity", c_uint64), ("count", c_uint64),
        ("memory_capacity", c_uint64), ("memory_count", c_uint64), ("limit", c_uint64), ("order", c_uint64),
        ("one_loop", c_uint64), ("last", c_uint64),
    )  # fmt: skip


class _Recording:
    """Room for what the waves of one workgroup at a time execute."""

    def __init__(self, limit: int, one_loop: bool) -> None:
        self.recorders = (_Recorder * MAX_WAVES)()
        self.ops = np.empty((MAX_WAVES, limit), np.uint32)
        self.memory = np.empty((MAX_WAVES, max(1024, limit // _MEMORY_SHARE)), MEMORY_RECORD)
        for each, ops, memory in zip(self.recorders, self.ops, self.memory, strict=True):
            each.ops, each.capacity = ops.ctypes.data, len(ops)
            each.memory, each.memory_capacity = memory.ctypes.data, len(memory)
            each.limit, each.one_loop = limit, one_loop

    def clear(self) -> None:
        for each in self.recorders:
            each.count = each.memory_count = each.order = each.last = 0

    def memory_of(self, wave: int) -> np.ndarray[Any, Any]:
        """The records of a wave; a view that the next workgroup overwrites."""
        return self.memory[wave, : self.recorders[wave].memory_count]


class _TracedProgram:
    """A program whose operations record themselves; everything else is the program's own."""

    def __init__(self, program: Program, recording: _Recording) -> None:
        self._program, self._recording = program, recording
        self._made: dict[tuple[int, bool], Operations] = {}
        self._kept: list[Operations] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._program, name)

    def variant(self, key: int, late: bool) -> Operations:
        """The variant's operations, each with a recording one around it."""
        inner = self._program.variant(key, late)
        known = self._made.get((key, late))
        if known is not None and len(known) == len(inner):
            return known
        made = self._made[key, late] = inner.copy()
        recorders = split(ctypes.addressof(self._recording.recorders))
        for i in range(len(inner)):
            slot = self._program.slot(i)
            if isinstance(slot, Instruction):
                fields = (*split(inner.ctypes.data + i * OP_BYTES), *recorders, i, *_addressing(slot, self._program))
                made["handler"][i] = symbol("traced")
                made["f"][i] = (*fields, *(0,) * (FIELDS - len(fields)))
        self._kept += [inner, made]
        return made


def _addressing(instruction: Instruction, program: Program) -> tuple[int, ...]:
    """Fields MEMORY to SOFFSET of native/trace.c."""
    access = instruction.definition.access
    if access is None:
        return (0, NONE, 0, NONE, 0, NONE)
    roles = dict(zip(access.roles, instruction.srcs, strict=True))
    vector = next((roles[role] for role in ("addr", "vaddr") if isinstance(roles.get(role), Reg)), None)
    base = next((roles[role] for role in roles if role in _BASES and isinstance(roles[role], Reg)), None)
    offset = roles.get("soffset")
    row, rows = NONE, 0
    if isinstance(vector, Reg):
        row = vector.index + (program.accum_offset if vector.file == "a" else 0)
        rows = min(2, vector.count)
    first, bases = (base.index, min(4, base.count)) if isinstance(base, Reg) and base.file == "s" else (NONE, 0)
    return (
        1 if access.space == "scalar" else 2,
        row,
        rows,
        first,
        bases,
        offset.index if isinstance(offset, Reg) else NONE,
    )


def trace_workgroups(plan: Plan, workgroups: Sequence[int], limit: int) -> list[WorkgroupTrace]:
    """Run these workgroups of a launch one after the other and record them whole."""
    recording = _Recording(limit, one_loop=False)
    regions = tuple((r.base, r.size, r.name) for r in plan.regions.regions)
    session = _Session(plan, recording)
    found = []
    for number in workgroups:
        session.run(number)
        waves = tuple(_wave(recording, i, limit) for i in range(plan.dispatch.waves))
        found.append(WorkgroupTrace(number, _instructions(plan.program), waves, plan.load_address, regions))
    return found


def survey_workgroups(plan: Plan, most: int) -> Survey:
    """Run workgroups up to the end of their first loop that accesses memory and keep where they load from."""
    recording = _Recording(_SURVEY_LENGTH, one_loop=True)
    count = min(most, plan.dispatch.groups)
    session = _Session(plan, recording)
    loads = np.zeros(0, np.bool_)
    parts: list[tuple[np.ndarray, ...]] = []
    for number in range(count):
        session.run(number)
        if len(loads) != len(plan.program.slots):  # a computed jump may have found more code
            loads = np.array([_is_vector_load(slot) for slot in plan.program.slots])
        parts += [_first_lanes(recording, loads, number, wave) for wave in range(plan.dispatch.waves)]
    columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
    return Survey(count, _instructions(plan.program), *columns)


def _first_lanes(
    recording: _Recording, loads: np.ndarray[Any, np.dtype[np.bool_]], number: int, wave: int
) -> tuple[np.ndarray, ...]:
    records = recording.memory_of(wave)
    ops = recording.ops[wave][records["step"].astype(np.int64)]
    wanted = loads[ops] & (records["active"] != 0)
    records, ops = records[wanted], ops[wanted]
    active = records["active"]
    lane = np.log2((active & (~active + np.uint64(1))).astype(np.float64)).astype(np.int64)
    rows = records["rows"][np.arange(len(records)), :, lane]
    whole = np.full(len(records), number), np.full(len(records), wave)
    return (*whole, ops, records["soffset"].copy(), records["base"].copy(), rows)


def _is_vector_load(slot: object) -> bool:
    access = slot.definition.access if isinstance(slot, Instruction) else None
    return access is not None and access.space in ("buffer", "global", "flat") and access.kind in ("load", "atomic")


def _instructions(program: Program) -> tuple[Instruction | None, ...]:
    return tuple(slot if isinstance(slot, Instruction) else None for slot in program.slots)


def _wave(recording: _Recording, wave: int, limit: int) -> WaveTrace:
    count = recording.recorders[wave].count
    return WaveTrace(recording.ops[wave, :count].copy(), recording.memory_of(wave).copy(), count < limit)


class _Session:
    """Runs single workgroups of a launch with recording."""

    def __init__(self, plan: Plan, recording: _Recording) -> None:
        program: Any = _TracedProgram(plan.program, recording)
        self.plan, self.recording = replace(plan, program=program), recording
        self.launch = native_launch(self.plan)

    def run(self, number: int) -> None:
        """Raises Fault for what the workgroup does wrong."""
        plan, launch = self.plan, self.launch
        if not 0 <= number < plan.dispatch.groups:
            raise InputError("workgroup", f"workgroup {number} is none of the {plan.dispatch.groups} of the grid")
        self.recording.clear()
        launch.next, launch.groups, launch.stop = number, number + 1, 0
        job = Job(launch, plan.program, False, time.monotonic() + plan.timeout, [launch.variant])
        runner = Runner(job)
        try:
            runner.run()
            raise_faults(plan, job, [runner])
        finally:
            runner.release()
