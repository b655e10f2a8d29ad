"""Checked launches: a kernel's run with a memory of who accessed what, and what no order of its waves may hide.

What is found are plain events; `pykittens.check` words them.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pykittens.asm.observed import Access, Event, Kind, Unchecked
from pykittens.errors import Fault
from pykittens.isa.instruction import Instruction
from pykittens.sim.bind import NONE, SCALARS
from pykittens.sim.checked_program import checked_program
from pykittens.sim.checked_shadows import Shadows
from pykittens.sim.checked_types import EVENT, EVENTS, READS, VECTOR_UNDEFINED_BYTES, Checker, Read
from pykittens.sim.launch import Plan, Run, native_launch, raise_faults, result
from pykittens.sim.memory import Array, Region
from pykittens.sim.native_types import LANES, MAX_WAVES
from pykittens.sim.program import Program
from pykittens.sim.runner import GroupMemory, Job, Runner

_LDS_WORD = 4
_SET_UP = (102, 103, 126, 127)
"""FLAT_SCRATCH and EXEC, which every wave starts with."""
_SEVERAL = (1 << 64) - 1
POISON_DWORD = 0xFFFFFFFF
_TABLE_IS_FULL = Event(
    Kind.NOT_CHECKED, Access(None, None, None), None, None, Unchecked.TOO_MANY_EVENTS, 0, unfinished=False, times=1
)


@dataclass(frozen=True)
class CheckedRun:
    """A checked launch: ``run`` as of an ordinary one (None if a fault ended it), what was seen, and the fault."""

    run: Run | None
    events: tuple[Event, ...]
    fault: Fault | None
    load_address: int
    shadows: Shadows = field(repr=False)

    def written(self, array: Array) -> Array:
        """Which bytes of an array among the arguments were written: bool, for each byte of its elements in order.

        Raises InputError for an array that the launch did not have as writable memory.
        """
        return self.shadows.written(array)

    def rewritten(self, array: Array) -> Array:
        """Which of these bytes several workgroups wrote, other than by atomics alone. Raises as `written` does."""
        return self.shadows.rewritten(array)


class _Memory:
    """What the checker remembers about the workgroups that run in one `GroupMemory`."""

    def __init__(self, lds_bytes: int, waves: int, scratch_bytes: int, undefined_scalars: Array) -> None:
        words = max(1, lds_bytes // _LDS_WORD)
        self.arrays: dict[str, Array] = {
            "writer": np.zeros(words + 4, np.uint64),
            "reader": np.zeros(words * waves + 4, np.uint64),
            "byte_writer": np.zeros(_LDS_WORD * words, np.uint64),
            "byte_reader": np.zeros(_LDS_WORD * words * waves, np.uint64),
            "atomic": np.zeros(words * waves, np.uint64),
            "split": np.zeros(words + 4, np.uint8),
            "lds_undefined": np.zeros(_LDS_WORD * words + 16, np.uint8),
            "scratch_undefined": np.zeros(scratch_bytes + 16, np.uint8),
            "read": np.zeros(waves * READS * ctypes.sizeof(Read), np.uint8),
            "vector_undefined": np.zeros(MAX_WAVES * VECTOR_UNDEFINED_BYTES, np.uint8),
            "undefined_scalar": undefined_scalars,
            "event": np.zeros(EVENTS, EVENT),
        }
        self.checker = Checker()
        self.checker.lds_dwords = words
        for name, array in self.arrays.items():
            setattr(self.checker, name, array.ctypes.data)


class _Session:
    """One checked launch."""

    def __init__(self, plan: Plan, undefined: Sequence[Array]) -> None:
        program: Any = checked_program(plan.program)
        self.program, self.plan = plan.program, replace(plan, program=program)
        self.memories: list[_Memory] = []
        self.shadows = Shadows(plan.regions, undefined)
        self.undefined_scalars = np.zeros(SCALARS, np.uint8)
        self.undefined_scalars[_undefined_scalars(plan)] = 1

    def attach(self, memory: GroupMemory) -> None:
        dispatch = self.plan.dispatch
        scratch = dispatch.waves * LANES * dispatch.private_bytes
        kept = _Memory(dispatch.lds_bytes, dispatch.waves, scratch, self.undefined_scalars)
        kept.checker.shared = ctypes.addressof(self.shadows.shared)
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
        self.shadows.keep_undefined()
        records = np.concatenate([memory.arrays["event"] for memory in self.memories])
        events = tuple(_event(record, plan.program, plan.regions.regions) for record in records[records["kind"] != 0])
        if any(memory.checker.event_count == EVENTS - 1 for memory in self.memories):
            events = (*events, _TABLE_IS_FULL)
        return CheckedRun(done, events, fault, plan.load_address, self.shadows)


def _undefined_scalars(plan: Plan) -> list[int]:
    """The SGPRs in which waves find nothing: those that neither the descriptor nor the dispatch sets up."""
    given = {*plan.group_id_sgprs, *_SET_UP}
    return [i for i, value in enumerate(plan.sgprs) if value == POISON_DWORD and i not in given]


def run_checked(plan: Plan, undefined: Sequence[Array] = ()) -> CheckedRun:
    """Run a launch to its end, or to the fault that stops it, on one thread, and tell what was seen.

    undefined: arrays among its arguments whose elements count as never written.
    """
    return _Session(plan, undefined).run()


def _event(record: Any, program: Program, regions: Sequence[Region]) -> Event:
    group = int(record["group"])
    before = None
    if record["before_op"] != NONE:
        wave = None if record["before_wave"] == NONE else int(record["before_wave"])
        other = None if record["other_group"] == _SEVERAL else int(record["other_group"])
        before = Access(_instruction(program, int(record["before_op"])), wave, other)
    lane = None if record["lane"] == NONE else int(record["lane"])
    access = Access(_instruction(program, int(record["op"])), int(record["wave"]), group)
    address = int(record["address"])
    memory = next((r.name for r in regions if r.base <= address < r.base + r.size), None)
    return Event(
        Kind(int(record["kind"])), access, before, lane, address, int(record["bytes"]), bool(record["unfinished"]),
        int(record["times"]), memory,
    )  # fmt: skip


def _instruction(program: Program, index: int) -> Instruction | None:
    slot = program.slot(index) if index < len(program.slots) else None
    return slot if isinstance(slot, Instruction) else None
