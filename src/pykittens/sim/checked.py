"""Checked launches: a kernel's run with a memory of who accessed what, and what no order of its waves may hide.

What is found are plain events; `pykittens.check` words them.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pykittens.asm.observed import Access, Event, Kind
from pykittens.errors import Fault, InputError
from pykittens.isa.instruction import Instruction
from pykittens.sim.bind import NONE, SCALARS
from pykittens.sim.checked_program import checked_program
from pykittens.sim.checked_types import EVENT, EVENTS, VECTOR_UNDEFINED_BYTES, Checker, Shadow
from pykittens.sim.launch import Plan, Run, native_launch, raise_faults, result
from pykittens.sim.memory import Array, RegionTable
from pykittens.sim.native_types import MAX_WAVES
from pykittens.sim.program import Program
from pykittens.sim.runner import GroupMemory, Job, Runner

_LDS_WORD = _GROUP_BYTES = 4
_BLOCK = 16
_SET_UP = (102, 103, 126, 127)
"""FLAT_SCRATCH and EXEC, which every wave starts with."""
_SEVERAL = (1 << 64) - 1
POISON_DWORD = 0xFFFFFFFF


@dataclass(frozen=True)
class CheckedRun:
    """A checked launch: ``run`` as of an ordinary one (None if a fault ended it), what was seen, and the fault."""

    run: Run | None
    events: tuple[Event, ...]
    fault: Fault | None
    load_address: int
    shadows: _Shadows = field(repr=False)

    def written(self, array: Array) -> Array:
        """Which bytes of an array among the arguments were written: bool, for each byte of its elements in order.

        Raises InputError for an array that the launch did not have as writable memory.
        """
        return self.shadows.written(array)


class _Memory:
    """What the checker remembers about the workgroups that run in one `GroupMemory`."""

    def __init__(self, lds_bytes: int, waves: int, undefined_scalars: Array) -> None:
        words = max(1, lds_bytes // _LDS_WORD)
        self.arrays: dict[str, Array] = {
            "writer": np.zeros(words + 4, np.uint64),
            "reader": np.zeros(words * waves + 4, np.uint64),
            "byte_writer": np.zeros(_LDS_WORD * words, np.uint64),
            "byte_reader": np.zeros(_LDS_WORD * words * waves, np.uint64),
            "atomic": np.zeros(words * waves, np.uint64),
            "split": np.zeros(words + 4, np.uint8),
            "lds_undefined": np.zeros(_LDS_WORD * words + 16, np.uint8),
            "vector_undefined": np.zeros(MAX_WAVES * VECTOR_UNDEFINED_BYTES, np.uint8),
            "undefined_scalar": undefined_scalars,
            "event": np.zeros(EVENTS, EVENT),
        }
        self.checker = Checker()
        self.checker.lds_dwords = words
        for name, array in self.arrays.items():
            setattr(self.checker, name, array.ctypes.data)


class _Shadows:
    """What the checker remembers about device memory, for each byte of it that kernels can write."""

    def __init__(self, table: RegionTable) -> None:
        self.keep = table
        entries = sorted(_merged(table), key=lambda entry: entry[0])
        self.table = (Shadow * max(1, len(entries)))()
        self.arrays: list[Array] = []
        self._written: list[tuple[int, Array]] = []
        self.count = len(entries)
        for shadow, (host, size, base, writable, beside) in zip(self.table, entries, strict=False):
            shadow.host, shadow.size, shadow.base, shadow.beside = host, size, base, beside
            if writable:
                writer, reader, group = (np.zeros(size, dtype) for dtype in (np.uint64, np.uint64, np.uint32))
                blocks = np.zeros(size // _BLOCK + 1, np.uint64)
                self.arrays += [writer, reader, blocks]
                self._written.append((host, group))
                shadow.writer, shadow.reader = writer.ctypes.data, reader.ctypes.data
                shadow.writer_group, shadow.block_reader = group.ctypes.data, blocks.ctypes.data

    def written(self, array: Array) -> Array:
        """Which bytes of an array a kernel wrote: bool, one for each byte of its elements in their order."""
        first, last = byte_bounds(array)
        for host, groups in self._written:
            if host <= first and last <= host + len(groups):
                shape, strides = (*array.shape, array.itemsize), (*array.strides, 1)
                start = array.ctypes.data - host
                groups = np.lib.stride_tricks.as_strided(
                    groups[start:], shape, [_GROUP_BYTES * step for step in strides], writeable=False
                )
                return np.asarray(groups != 0).reshape(-1)
        raise InputError("not-launched", "the array is none that this launch could write")


def _merged(table: RegionTable) -> Iterator[tuple[int, int, int, bool, bool]]:
    """Host address, bytes, device address of memory, whether it can be written, whether it is beside the buffers.

    Regions over the same host memory, as of a tensor that is passed twice, are one.
    """
    spans: list[tuple[int, int, int, bool]] = []
    for region in sorted(table.regions, key=lambda r: r.host):
        span = (region.host, region.size, region.base, not region.read_only)
        if spans and spans[-1][0] + spans[-1][1] > region.host:
            host, size, base, writable = spans[-1]
            span = (host, max(size, region.host + region.size - host), base, writable or not region.read_only)
            spans.pop()
        spans.append(span)
    yield from ((*span, False) for span in spans)
    yield from ((r.host, r.size, r.base, False, True) for r in table.margins[:1])


class _Session:
    """One checked launch."""

    def __init__(self, plan: Plan) -> None:
        program: Any = checked_program(plan.program)
        self.program, self.plan = plan.program, replace(plan, program=program)
        self.memories: list[_Memory] = []
        self.shadows = _Shadows(plan.regions)
        self.undefined_scalars = np.zeros(SCALARS, np.uint8)
        self.undefined_scalars[_undefined_scalars(plan)] = 1

    def attach(self, memory: GroupMemory) -> None:
        dispatch = self.plan.dispatch
        kept = _Memory(dispatch.lds_bytes, dispatch.waves, self.undefined_scalars)
        kept.checker.shadow, kept.checker.shadows = ctypes.addressof(self.shadows.table), self.shadows.count
        self.memories.append(kept)
        memory.group.checker = ctypes.addressof(kept.checker)

    def run(self) -> CheckedRun:
        plan = self.plan
        start = time.monotonic()
        launch = native_launch(plan)
        late = plan.order.landing == "late"
        job = Job(launch, plan.program, late, start + plan.timeout, [launch.variant], plan, attach=self.attach)
        plan.program.variant(launch.variant, late)
        runner = Runner(job)
        fault = done = None
        try:
            runner.run()
            raise_faults(plan, job, [runner])
            done = result(plan, [runner], time.monotonic() - start)
        except Fault as stopped:
            fault = stopped
        finally:
            runner.release()
        records = np.concatenate([memory.arrays["event"] for memory in self.memories])
        events = tuple(_event(record, plan.program) for record in records[records["kind"] != 0])
        return CheckedRun(done, events, fault, plan.load_address, self.shadows)


def _undefined_scalars(plan: Plan) -> list[int]:
    """The SGPRs in which waves find nothing: those that neither the descriptor nor the dispatch sets up."""
    given = {*plan.group_id_sgprs, *_SET_UP}
    return [i for i, value in enumerate(plan.sgprs) if value == POISON_DWORD and i not in given]


def run_checked(plan: Plan) -> CheckedRun:
    """Run a launch to its end, or to the fault that stops it, on one thread, and tell what was seen."""
    return _Session(plan).run()


def _event(record: Any, program: Program) -> Event:
    group = int(record["group"])
    before = None
    if record["before_op"] != NONE:
        wave = None if record["before_wave"] == NONE else int(record["before_wave"])
        other = None if record["other_group"] == _SEVERAL else int(record["other_group"])
        before = Access(_instruction(program, int(record["before_op"])), wave, other)
    lane = None if record["lane"] == NONE else int(record["lane"])
    access = Access(_instruction(program, int(record["op"])), int(record["wave"]), group)
    return Event(
        Kind(int(record["kind"])), access, before, lane, int(record["address"]), int(record["bytes"]),
        bool(record["unfinished"]), int(record["times"]),
    )  # fmt: skip


def _instruction(program: Program, index: int) -> Instruction | None:
    slot = program.slot(index) if index < len(program.slots) else None
    return slot if isinstance(slot, Instruction) else None
