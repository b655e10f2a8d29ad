"""Runs one compute unit of the cycle model: waves' streams in, times and stalls out."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import c_uint32, c_uint64
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykittens.errors import Unsupported

Array = np.ndarray

REASONS = (
    "another wave's turn", "matrix core busy", "operands of the MFMA before", "port busy", "LDS queue full",
    "VMEM queue full", "s_waitcnt vmcnt", "s_waitcnt lgkmcnt (LDS)", "s_waitcnt lgkmcnt (scalar)", "s_barrier",
    "too many outstanding", "flag in LDS",
)  # fmt: skip
"""Why a wave does not issue: `enum Reason` of native/cu.h."""
NOT_STALLED = len(REASONS)
SIMDS = 4
MAX_WAVES = 32
_LIMIT_CLK = (1 << 31) - 1


class Machine(ctypes.Structure):
    """Constants of the unit and of what lies behind it: `Machine` of native/cu.h."""

    _fields_ = tuple(
        (name, c_uint32)
        for name in (
            "lds_queue", "lds_gap", "vmem_queue", "l1_in_flight", "l1_latency", "l2_latency", "load_latency",
            "l2_miss", "llc_miss", "l2_line", "llc_line", "hbm_line", "write_line",
            "hbm_write_line", "dirty_clk", "barrier_clk", "start_gap", "max_vm", "max_lgkm",
        )
    )  # fmt: skip


class _Stream(ctypes.Structure):
    _fields_ = (("ops", c_uint64), ("costs", c_uint64), ("length", c_uint64))


class _Work(ctypes.Structure):
    _fields_ = (
        ("machine", c_uint64), ("ops", c_uint64), ("streams", c_uint64), ("patterns", c_uint64), ("waves", c_uint64),
        ("groups", c_uint64), ("slots", c_uint64), ("op_count", c_uint64), ("issued", c_uint64), ("reason", c_uint64),
        ("stall", c_uint64), ("held", c_uint64), ("executed", c_uint64), ("started", c_uint64), ("ended", c_uint64),
        ("matrix_busy", c_uint64 * SIMDS), ("vector_busy", c_uint64 * SIMDS), ("lds_busy", c_uint64),
        ("bus_busy", c_uint64), ("l1_busy", c_uint64), ("l2_lines", c_uint64), ("llc_lines", c_uint64),
        ("hbm_lines", c_uint64), ("write_lines", c_uint64), ("conflict_clk", c_uint64), ("clk", c_uint64),
        ("instructions", c_uint64), ("limit", c_uint64),
    )  # fmt: skip


@dataclass(frozen=True)
class Engine:
    """The native event loop: addresses of its functions, which whoever compiles native code hands in."""

    run: int
    unit_bytes: int

    @staticmethod
    def find(symbol: Callable[[str], int]) -> Engine:
        """From a function that gives the address of a native one."""
        size = ctypes.CFUNCTYPE(c_uint64)(symbol("cu_bytes"))
        return Engine(symbol("cu_run"), size())


@dataclass(frozen=True)
class Stream:
    """One wave: uint32 ops (n,), and `costs.COST` of its memory instructions in order."""

    ops: Array
    costs: np.ndarray[Any, Any]


@dataclass(frozen=True)
class UnitRun:
    """What happened on the unit. Times in clk from the first workgroup's start.

    clk: until the last workgroup ended. started, ended: per workgroup. issued, reason: per stream of the first
    workgroups, when each instruction issued (uint32) and why it had waited (index into `REASONS`, `NOT_STALLED`).
    stall: (ops, reasons) wave-clk waited; held: (ops,) wave-clk from issue to the wave's next chance; executed: (ops,).
    matrix_busy, vector_busy: (4,) clk per SIMD.
    """

    clk: int
    started: Array
    ended: Array
    issued: tuple[Array, ...]
    reason: tuple[Array, ...]
    stall: Array
    held: Array
    executed: Array
    matrix_busy: Array
    vector_busy: Array
    counts: dict[str, int]


def run_unit(
    engine: Engine, table: np.ndarray[Any, Any], streams: Sequence[Sequence[Stream]], machine: Machine, slots: int,
    groups: int,
) -> UnitRun:  # fmt: skip
    """Run ``groups`` workgroups, ``slots`` at a time, on one unit; group g does what ``streams[g % len(streams)]`` do.

    table: `TIMING_OP` of the program. Raises Unsupported where waves wait for each other for ever.
    """
    waves, flat = len(streams[0]), [each for group in streams for each in group]
    if slots * waves > MAX_WAVES:
        raise AssertionError(f"{slots} workgroups of {waves} waves do not fit a compute unit")
    ops = [np.ascontiguousarray(each.ops, np.uint32) for each in flat]
    if any(each.size and int(each.max()) >= len(table) for each in ops):
        raise AssertionError("a stream has instructions that the timing table does not")
    costs = [_padded(each.costs) for each in flat]
    issued = [np.zeros(len(each), np.uint32) for each in ops]
    reason = [np.full(len(each), NOT_STALLED, np.uint8) for each in ops]
    table = np.ascontiguousarray(table)
    given = (_Stream * len(flat))(
        *(_Stream(o.ctypes.data, c.ctypes.data, len(o)) for o, c in zip(ops, costs, strict=True))
    )
    stall = np.zeros((len(table), len(REASONS)), np.uint64)
    held, executed = np.zeros(len(table), np.uint64), np.zeros(len(table), np.uint64)
    started, ended = np.zeros(groups, np.uint64), np.zeros(groups, np.uint64)
    pointers = [(c_uint64 * len(flat))(*(each.ctypes.data for each in arrays)) for arrays in (issued, reason)]
    work = _Work()
    work.machine, work.ops, work.streams = ctypes.addressof(machine), table.ctypes.data, ctypes.addressof(given)
    work.patterns, work.waves, work.groups, work.slots = len(streams), waves, groups, slots
    work.op_count, work.limit = len(table), _LIMIT_CLK
    work.issued, work.reason = map(ctypes.addressof, pointers)
    work.stall, work.held, work.executed = stall.ctypes.data, held.ctypes.data, executed.ctypes.data
    work.started, work.ended = started.ctypes.data, ended.ctypes.data
    unit = np.zeros(engine.unit_bytes, np.uint8)
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(engine.run)
    if run(ctypes.addressof(work), unit.ctypes.data):
        raise Unsupported("model-stuck", "the modelled waves wait for each other for ever, or for more than 2^31 clk")
    names = ("lds_busy", "bus_busy", "l1_busy", "l2_lines", "llc_lines", "hbm_lines", "write_lines", "instructions")
    return UnitRun(
        work.clk, started, ended, tuple(issued), tuple(reason), stall, held, executed, np.array(work.matrix_busy),
        np.array(work.vector_busy), {name: getattr(work, name) for name in names},
    )  # fmt: skip


def _padded(costs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """With one entry more than there is: the loop looks at the next cost before it knows that it needs it."""
    return np.concatenate([costs, np.zeros(1, costs.dtype)])
