"""One thread's share of a launch: memory for waves, LDS and scratch, and the loop around the native core."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from pykittens.sim import native_types
from pykittens.sim.memory import Array
from pykittens.sim.native_build import symbol
from pykittens.sim.native_types import MAX_WAVES, WAVE_BYTES, Counter, Outcome, Request
from pykittens.sim.program import Program

_LINE = 64
_LDS_PADDING = 256
"""LDS_PADDING of native/lds.h: where stores go that have no place."""
_PATIENCE = 8
"""Slices that a workgroup may take before others run beside it, in case it waits for them."""
_MAX_BESIDE = 32
"""Workgroups that run beside each other on one thread; each takes a few megabytes."""


def _aligned(count: int) -> Array:
    """So many bytes on a cache line's boundary, mapped when touched."""
    whole = np.empty(count + _LINE, np.uint8)
    start = -whole.ctypes.data % _LINE
    return whole[start : start + count]


class GroupMemory:
    """What one workgroup at a time lives in. Kept and used again by later launches."""

    def __init__(self) -> None:
        self.group = native_types.Group()
        self.waves = _aligned(MAX_WAVES * WAVE_BYTES)
        self._lds = self._scratch = self._pending = _aligned(0)

    def prepare(self, launch: native_types.Launch, seen: Array) -> None:
        """Ready for a launch."""
        group = self.group
        ctypes.memset(ctypes.addressof(group), 0, ctypes.sizeof(group))
        self._lds = _at_least(self._lds, launch.lds_bytes + _LDS_PADDING)
        self._scratch = _at_least(self._scratch, launch.waves * native_types.LANES * launch.private_bytes)
        if launch.late:
            self._pending = _at_least(self._pending, launch.waves * native_types.native_layout()["pending"])
        group.launch, group.wave = ctypes.addressof(launch), self.waves.ctypes.data
        group.lds, group.scratch = self._lds.ctypes.data, self._scratch.ctypes.data
        group.seen, group.pending = seen.ctypes.data, self._pending.ctypes.data

    def wave(self, number: int) -> native_types.WaveHeader:
        return native_types.WaveHeader.from_address(self.waves.ctypes.data + number * WAVE_BYTES)


def _at_least(array: Array, count: int) -> Array:
    return array if len(array) >= count else _aligned(count)


_spare: list[GroupMemory] = []
_spare_lock = threading.Lock()
_MAX_SPARE = 64


def take_memory() -> GroupMemory:
    """Memory that an earlier launch left, or new."""
    with _spare_lock:
        return _spare.pop() if _spare else GroupMemory()


def give_back(memory: GroupMemory) -> None:
    with _spare_lock:
        if len(_spare) < _MAX_SPARE:
            _spare.append(memory)


@dataclass
class Job:
    """A launch as its threads see it. ``deadline`` is on the monotonic clock; ``keep`` owns the memory it works on."""

    launch: native_types.Launch
    program: Program
    late: bool
    deadline: float
    variants: list[int]
    """Keys of the variants that waves have been in, the first one they start with."""
    keep: object = None
    attach: Callable[[GroupMemory], None] | None = None
    """Called for each memory that workgroups of this launch run in."""
    failed: list[GroupMemory] = field(default_factory=list)
    timed_out: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class Runner:
    """Runs workgroups of a job on the calling thread until there are none left."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.seen = np.zeros(0, np.uint8)
        self.memories: list[GroupMemory] = []
        self.executed = 0
        self.counters = [0] * len(Counter)
        self.running = False

    def run(self) -> None:
        """Returns when the job is done, failed or stopped; its `failed` then has the workgroups that faulted."""
        self.running = True
        try:
            self._run_all()
        finally:
            self.running = False
        for memory in self.memories:
            self.executed += memory.group.executed
            for i in Counter:
                self.counters[i] += memory.group.counter[i]

    def _run_all(self) -> None:
        patience = _PATIENCE
        active = [self._another()]
        while active:
            memory = active.pop(0)
            number = memory.group.id if memory.group.running else None
            outcome = _run(memory.group)
            if outcome == Outcome.SLICE:
                active.append(memory)
                self._look_at_the_clock()
                patience = patience - 1 if number == memory.group.id else _PATIENCE
                if patience <= 0 and len(active) < _MAX_BESIDE and self.job.launch.next < self.job.launch.groups:
                    active.append(self._another())
            elif outcome == Outcome.ASKED:
                self._serve(memory)
                active.insert(0, memory)
            elif outcome == Outcome.FAILED:
                with self.job.lock:
                    self.job.failed.append(memory)

    def release(self) -> None:
        """Leave the memory to later launches, once nobody looks at it any more; never while it is still in use."""
        if not self.running:
            for memory in self.memories:
                give_back(memory)
            self.memories = []

    def _another(self) -> GroupMemory:
        memory = take_memory()
        memory.prepare(self.job.launch, self.seen)
        self.memories.append(memory)
        if self.job.attach is not None:
            self.job.attach(memory)
        self._offer_variants(memory)
        return memory

    def _look_at_the_clock(self) -> None:
        if time.monotonic() > self.job.deadline:
            self.job.timed_out = True
            self.job.launch.stop = 1

    def _serve(self, memory: GroupMemory) -> None:
        """Make what the current wave needs: a variant of the program, or code at an address not decoded yet."""
        group, job = memory.group, self.job
        wave = memory.wave(group.asking)
        if group.request == Request.CODE:
            wave.pc = job.program.index(group.request_value)
        group.request = Request.NOTHING
        with job.lock:
            if wave.variant not in job.variants:
                job.variants.append(wave.variant)
        self._offer_variants(memory)
        operations = self._operations(wave.variant)
        wave.ops, wave.op_count = operations.ctypes.data, len(operations)

    def _offer_variants(self, memory: GroupMemory) -> None:
        """Fill the group's table; the first entry is what new waves start with."""
        with self.job.lock:
            first, *others = self.job.variants
        for entry, key in zip(memory.group.variant, [first, *reversed(others)], strict=False):
            operations = self._operations(key)
            entry.key, entry.ops, entry.op_count = key, operations.ctypes.data, len(operations)

    def _operations(self, key: int) -> Array:
        """The operations of a variant, once there is a byte for each of them in `seen`."""
        operations = self.job.program.variant(key, self.job.late)
        if len(self.seen) < len(operations):
            grown = np.zeros(len(operations) + 4096, np.uint8)
            grown[: len(self.seen)] = self.seen
            self.seen = grown
            for memory in self.memories:
                memory.group.seen = grown.ctypes.data
        return operations


def _run(group: native_types.Group) -> int:
    """The native core, without the interpreter lock."""
    outcome: int = _native_run()(ctypes.addressof(group))
    return outcome


@cache
def _native_run() -> Callable[[int], int]:
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(symbol("run"))
