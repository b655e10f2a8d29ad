"""Flags in LDS: which posts a poll waits for, and streams of instructions without the polls that came too early.

An LDS atomic that a wave repeats after an ``s_sleep``, with no other access to memory between, is a poll; the other LDS
atomics at its address are posts. How often a wave polled on the virtual GPU says nothing of time: only the last poll is
timed, not before the posts that it had seen, and after whole turns of its loop. Polls that come too early take no room
on the LDS here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pykittens.asm.execution import LANES, WaveTrace, WorkgroupTrace
from pykittens.errors import Unsupported
from pykittens.isa.instruction import Instruction

Array = np.ndarray

MAX_FLAGS = 64
"""`FLAGS` of native/cu.h."""
POLLS = 16
"""Of `enum OpFlag`."""


def _is_atomic(instruction: Instruction | None) -> bool:
    access = None if instruction is None else instruction.definition.access
    return access is not None and access.space == "lds" and access.kind == "atomic"


@dataclass(frozen=True)
class Flags:
    """The flags of a program. polls: its polling instructions, and clk of a turn of their loops without the access."""

    polls: dict[int, int]

    @staticmethod
    def of(traces: Sequence[WorkgroupTrace], issue: Array) -> Flags:
        """From the traces of a program; issue: clk that each of its instructions keeps its wave."""
        polls: dict[int, int] = {}
        for trace in traces:
            for wave in trace.waves:
                for first, second in _repeated(wave, trace.instructions):
                    op = int(wave.ops[first])
                    polls.setdefault(op, int(issue[wave.ops[first:second].astype(np.int64)].sum()))
        return Flags(polls)

    def mark(self, table: np.ndarray[Any, Any]) -> None:
        """Tell the timing table which LDS atomics poll, and how long a turn of their loops takes."""
        for op, turn in self.polls.items():
            table["flags"][op] |= POLLS
            table["value"][op] = turn + table["bus_clk"][op] + table["latency"][op]

    def settled(self, trace: WorkgroupTrace) -> WorkgroupTrace:
        """The trace without the polls that came too early."""
        if not self.polls:
            return trace
        return replace(trace, waves=tuple(_settled(wave, trace.instructions) for wave in trace.waves))

    def needs(self, trace: WorkgroupTrace) -> list[Array]:
        """For each memory record of each wave (flag + 1 or 0, posts that a poll waits for): uint64 arrays (n, 2).

        Raises Unsupported for more than `MAX_FLAGS` flags.
        """
        found = [np.zeros((len(wave.memory), 2), np.uint64) for wave in trace.waves]
        if not self.polls:
            return found
        atomics = [self._atomics(wave, trace.instructions) for wave in trace.waves]
        flags: dict[int, int] = {}
        posts: dict[int, list[int]] = {}
        for _, addresses, polling in atomics:
            for address in addresses[polling]:
                flags.setdefault(int(address), len(flags) + 1)
        if len(flags) > MAX_FLAGS:
            raise Unsupported("model-flags", f"waves poll {len(flags)} places in LDS, the model follows {MAX_FLAGS}")
        for wave, (records, addresses, polling) in zip(trace.waves, atomics, strict=True):
            for record, address in zip(records[~polling], addresses[~polling], strict=True):
                posts.setdefault(int(address), []).append(int(wave.memory["order"][record]))
        times = {address: np.sort(np.array(each)) for address, each in posts.items()}
        for wave, need, (records, addresses, polling) in zip(trace.waves, found, atomics, strict=True):
            for record, address, polls in zip(records, addresses, polling, strict=True):
                if int(address) not in flags:
                    continue
                seen = np.searchsorted(times.get(int(address), np.zeros(0)), wave.memory["order"][record])
                need[record] = flags[int(address)], seen if polls else 0
        return found

    def _atomics(
        self, wave: WaveTrace, instructions: tuple[Instruction | None, ...]
    ) -> tuple[Array, Array, np.ndarray[Any, np.dtype[np.bool_]]]:
        """(records, their first active lanes' LDS addresses, which of them poll) of a wave's LDS atomics."""
        ops = wave.ops[wave.memory["step"].astype(np.int64)].astype(np.int64)
        kinds = {op: _is_atomic(instructions[op]) for op in map(int, np.unique(ops))}
        records = np.flatnonzero([kinds[int(op)] for op in ops]) if len(ops) else np.zeros(0, np.int64)
        ops = ops[records]
        lanes = wave.memory["active"][records][:, None] >> np.arange(LANES, dtype=np.uint64) & np.uint64(1)
        rows = wave.memory["rows"][records, 0]
        offsets = np.array([_offset(instructions[int(op)]) for op in ops], np.int64)
        return records, rows[np.arange(len(records)), lanes.argmax(axis=1)] + offsets, np.isin(ops, list(self.polls))


def _offset(instruction: Instruction | None) -> int:
    value = 0 if instruction is None else instruction.modifiers.get("offset", 0)
    return value if isinstance(value, int) else 0


def _repeated(wave: WaveTrace, instructions: tuple[Instruction | None, ...]) -> list[tuple[int, int]]:
    """(step of an atomic, step at which the wave executes it again after a sleep, with no access to memory between)."""
    steps = wave.memory["step"].astype(np.int64)
    ops = wave.ops[steps]
    again = np.flatnonzero(ops[1:] == ops[:-1])
    atomic = {int(op): _is_atomic(instructions[int(op)]) for op in np.unique(ops[again])}
    pairs = [(int(steps[i]), int(steps[i + 1])) for i in again if atomic[int(ops[i])]]
    return [(first, second) for first, second in pairs if _sleeps(wave.ops[first:second], instructions)]


def _sleeps(ops: Array, instructions: tuple[Instruction | None, ...]) -> bool:
    return any(i is not None and i.definition.has("sleep") for i in (instructions[int(op)] for op in ops))


def _settled(wave: WaveTrace, instructions: tuple[Instruction | None, ...]) -> WaveTrace:
    dropped = np.zeros(len(wave.ops) + 1, np.int64)
    for first, second in _repeated(wave, instructions):
        dropped[first] += 1
        dropped[second] -= 1
    keep = np.cumsum(dropped)[:-1] == 0
    steps = wave.memory["step"].astype(np.int64)
    memory = wave.memory[keep[steps]].copy()
    memory["step"] = (np.cumsum(keep) - 1)[steps[keep[steps]]]
    return replace(wave, ops=wave.ops[keep], memory=memory)


NO_FLAGS = Flags({})
"""Of programs whose waves do not poll."""
