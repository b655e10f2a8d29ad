"""What each execution of a memory instruction costs: LDS passes, cache lines, vector L1 time, from its addresses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from pykittens.arch import Arch
from pykittens.arch.lds_banks import PhaseBanks, bank_report, phase_passes
from pykittens.asm.execution import LANES, WorkgroupTrace
from pykittens.isa.constants import constant_bits
from pykittens.isa.effects import loads_to_lds
from pykittens.isa.instruction import Instruction
from pykittens.isa.lds_requests import lds_requests
from pykittens.isa.registers import Const, Reg

from .flags import NO_FLAGS, Flags
from .timing_table import MEMORY_KINDS, Kind, kind_of

Array = np.ndarray

COST = np.dtype([("passes", "<u2"), ("lines", "<u2"), ("l1_clk", "<u2"), ("latency", "<u2")])
"""`Cost` of native/cu.h."""

LINE = 128
_STORE_BYTES = 64
_SCALAR_LINE = 64


@dataclass(frozen=True)
class Accesses:
    """Vector memory accesses of one instruction in a workgroup, in the order executed by each wave.

    wave, step: (n,). addresses: (n, 64) first bytes of the lanes. active: (n, 64), without lanes out of a buffer's
    range. nbytes: a lane's. stores: whether it writes. lines: of 128 bytes asked of the L2 by each, (n,); of stores,
    parts of 64 bytes. fresh: of those of stores, whole lines that no store of the workgroup had touched before.
    """

    op: int
    wave: Array
    step: Array
    addresses: Array
    active: Array
    nbytes: int
    stores: bool
    lines: Array
    fresh: Array


@dataclass(frozen=True)
class LdsUse:
    """What one LDS instruction took over its executions in a workgroup.

    op: index into the program. phases: passes without bank conflicts; passes: with them. worst: passes of its worst
    execution; worst_banks: of that one's worst phase, the different dwords that each bank is asked for.
    """

    op: int
    executions: int
    phases: int
    passes: int
    worst: int
    worst_banks: tuple[int, ...]

    @property
    def degree(self) -> float:
        """Passes for each one that it would take without conflicts; 1 is free of conflicts."""
        return self.passes / self.phases


@dataclass(frozen=True)
class Costs:
    """Costs of a workgroup's memory instructions.

    waves: per wave a `COST` array, in order. accesses: of vector memory. lds: by instruction. lds_passes, lds_phases:
    in all; phases are the passes without bank conflicts.
    """

    waves: tuple[np.ndarray[Any, Any], ...]
    accesses: tuple[Accesses, ...]
    lds: tuple[LdsUse, ...]

    @property
    def lds_passes(self) -> int:
        return sum(each.passes for each in self.lds)

    @property
    def lds_phases(self) -> int:
        return sum(each.phases for each in self.lds)


def costs_of(trace: WorkgroupTrace, arch: Arch, flags: Flags = NO_FLAGS) -> Costs:
    """The costs of everything that the workgroup executed, without the polls of flags that came too early."""
    kinds = [None if i is None else kind_of(i) for i in trace.instructions]
    counts = [len(wave.memory) for wave in trace.waves]
    records = np.concatenate([wave.memory for wave in trace.waves])
    wave_of = np.repeat(np.arange(len(counts)), counts)
    ops = np.concatenate([wave.ops[wave.memory["step"].astype(np.int64)] for wave in trace.waves]).astype(np.int64)
    found = np.zeros(len(records), COST)
    accesses: list[Accesses] = []
    where: list[Array] = []
    lds: list[LdsUse] = []
    wanted = np.zeros(len(records), bool)
    for op in map(int, np.unique(ops)):
        instruction, kind = trace.instructions[op], kinds[op]
        if instruction is None or kind not in MEMORY_KINDS:
            continue
        mine = np.flatnonzero(ops == op)
        wanted[mine] = True
        if kind is Kind.LDS:
            each, least, banks = _lds_passes(instruction, records[mine], arch)
            found["passes"][mine] = each
            lds.append(LdsUse(op, len(mine), least * len(mine), int(each.sum()), int(each.max()), banks))
        elif kind is Kind.SCALAR_LOAD:
            found["latency"][mine] = _scalar_latency(instruction, records[mine], arch)
        else:
            accesses.append(_vector(op, instruction, records[mine], wave_of[mine]))
            where.append(mine)
            if kind is Kind.LOAD:
                found["passes"][mine] = _copy_passes(instruction, arch)
    _vector_costs(found, accesses, where, arch)
    accesses = [
        replace(each, lines=found["lines"][mine].astype(np.int64), fresh=found["passes"][mine] * each.stores)
        for each, mine in zip(accesses, where, strict=True)
    ]
    needs = np.concatenate(flags.needs(trace))
    posted = needs[:, 0] > 0
    found["lines"][posted], found["l1_clk"][posted] = needs[posted, 0], needs[posted, 1] & 0xFFFF
    found["latency"][posted] = needs[posted, 1] >> 16
    starts = np.cumsum([0, *counts])
    waves = tuple(found[a:b][wanted[a:b]].copy() for a, b in pairwise(map(int, starts)))
    return Costs(waves, tuple(accesses), tuple(lds))


def _lanes(records: np.ndarray[Any, Any]) -> Array:
    return (records["active"][:, None] >> np.arange(LANES, dtype=np.uint64) & np.uint64(1)).astype(bool)


def _lds_passes(
    instruction: Instruction, records: np.ndarray[Any, Any], arch: Arch
) -> tuple[Array, int, tuple[int, ...]]:
    """Passes of each execution, those of one without conflicts, and the worst one's `LdsUse.worst_banks`."""
    requests = lds_requests(
        instruction, records["rows"][:, 0], records["m0"], _lanes(records), arch.load_to_lds_wide_stride
    )
    total, least = np.zeros(len(records), np.int64), 0
    phases: list[PhaseBanks] = []
    for request in requests:
        access = arch.lds_access(request.direction, request.lane_bytes)
        patterns, which = _distinct(request.addresses, request.active)
        each = phase_passes(access, request.lane_bytes, patterns[:, :LANES], patterns[:, LANES:].astype(bool))
        total += each.sum(axis=1)[which]
        least += len(access.phases)
        worst = patterns[int(np.argmax(each.sum(axis=1)))]
        report = bank_report(arch, request.direction, request.lane_bytes, worst[:LANES], worst[LANES:].astype(bool))
        phases += report.phases
    if not requests:  # lanes exchange data by the LDS crossbar
        return np.ones(len(records), np.int64), 1, ()
    crowded = max(phases, key=lambda phase: phase.passes)
    banks = arch.lds_access(requests[0].direction, requests[0].lane_bytes).banks
    return total, least, tuple(len(crowded.dwords.get(bank, ())) for bank in range(banks))


def _distinct(addresses: Array, active: Array) -> tuple[Array, Array]:
    """Different rows of (addresses, active), moved to their lowest 256-byte line, and which of them each one is."""
    masked = np.where(active, addresses, np.iinfo(np.int64).max)
    lowest = np.where(active.any(axis=1), masked.min(axis=1), 0)
    rows = np.concatenate([np.where(active, addresses - (lowest // 256 * 256)[:, None], 0), active], axis=1)
    weights = np.random.default_rng(0).integers(1, 1 << 62, rows.shape[1])
    _, first, which = np.unique((rows * weights).sum(axis=1), return_index=True, return_inverse=True)
    return rows[first], which


def _copy_passes(instruction: Instruction, arch: Arch) -> int:
    """LDS time of a load's data on its way past the registers: as wide as the LDS is."""
    access = instruction.definition.access
    assert access is not None
    return -(-LANES * access.bytes // arch.lds_read_bytes_per_clk) if loads_to_lds(instruction) else 1


def _scalar_latency(instruction: Instruction, records: np.ndarray[Any, Any], arch: Arch) -> Array:
    """A miss where the workgroup touches a line of 64 bytes for the first time (waves in order), else a hit."""
    access = instruction.definition.access
    assert access is not None
    if access.kind != "load":
        return np.full(len(records), arch.latency.scalar_load_hit_clk)
    offset = _modifier(instruction, "offset")
    where = _base(records) + records["soffset"].astype(np.int64) * access.soffset_scale + offset
    _, first = np.unique(where // _SCALAR_LINE, return_index=True)
    latency = np.full(len(records), arch.latency.scalar_load_hit_clk)
    latency[first] = arch.latency.scalar_load_miss_clk
    return latency


def _base(records: np.ndarray[Any, Any]) -> Array:
    low, high = records["base"][:, 0].astype(np.int64), records["base"][:, 1].astype(np.int64)
    return low | (high & 0xFFFF) << 32


def lane_addresses(instruction: Instruction, records: Any) -> tuple[Array, Array]:
    """(first byte of each lane, which lanes are in range), both (n, 64), of a vector memory instruction."""
    access = instruction.definition.access
    assert access is not None
    rows = records["rows"].astype(np.int64)
    first, second = rows[:, 0], rows[:, 1]
    offset, roles = _modifier(instruction, "offset"), dict(zip(access.roles, instruction.srcs, strict=True))
    inside = np.ones(first.shape, bool)
    if access.space == "buffer":
        indexed, offset_given = bool(instruction.modifiers.get("idxen")), bool(instruction.modifiers.get("offen"))
        index = first if indexed else np.zeros_like(first)
        moved = (second if indexed else first) if offset_given else np.zeros_like(first)
        stride = (records["base"][:, 1].astype(np.int64) >> 16 & 0x3FFF)[:, None]
        limit = records["base"][:, 2].astype(np.int64)[:, None]
        linear = stride * index + moved + offset
        inside = (index if indexed else moved + offset) < limit
        constant = roles.get("soffset")
        scalar = records["soffset"].astype(np.int64)
        if isinstance(constant, Const):
            scalar = scalar + constant_bits(constant, instruction.definition.explicit_srcs[-1])
        return (_base(records) + scalar)[:, None] + linear, inside
    if access.space == "scratch":
        return first * 0 + offset + np.arange(LANES) * access.bytes, inside
    if isinstance(roles.get("saddr"), Reg):
        return _base(records)[:, None] + first + offset, inside
    return (first | second << 32) + offset, inside


def _vector(op: int, instruction: Instruction, records: np.ndarray[Any, Any], wave: Array) -> Accesses:
    access = instruction.definition.access
    assert access is not None
    where, inside = lane_addresses(instruction, records)
    step = records["step"].astype(np.int64)
    none = np.zeros(len(records), np.int64)
    active = inside & _lanes(records)
    return Accesses(op, wave, step, where, active, access.bytes, access.kind != "load", none, none)


def touched_lines(each: Accesses, size: int = LINE) -> Array:
    """Numbers of the lines that an access touches, (n, 128) with -1 where a lane adds none."""
    first, last = each.addresses // size, (each.addresses + each.nbytes - 1) // size
    lines = np.where(np.concatenate([each.active, each.active], axis=1), np.concatenate([first, last], axis=1), -1)
    lines.sort(axis=1)
    lines[:, 1:][lines[:, 1:] == lines[:, :-1]] = -1
    return lines


def _vector_costs(found: np.ndarray[Any, Any], accesses: list[Accesses], where: list[Array], arch: Arch) -> None:
    """Lines beyond the L1 and L1 time of all vector accesses; an L1 line counts as held for as many touches as it has
    lines.
    """
    held = arch.memory.l1_bytes // LINE
    touched = []
    for each, mine in zip(accesses, where, strict=True):
        lines = touched_lines(each)
        rows = (touched_lines(each, arch.issue.vmem_row_bytes) >= 0).sum(axis=1)
        found["l1_clk"][mine] = _l1_clk(each, rows, arch)
        order = np.broadcast_to((each.step << 10 | each.wave)[:, None], lines.shape)
        there = lines >= 0
        which = np.broadcast_to(mine[:, None], lines.shape)[there]
        touched.append(np.stack([order[there], lines[there], which, np.full(len(which), each.stores)]))
        if each.stores:
            found["lines"][mine] = (touched_lines(each, _STORE_BYTES) >= 0).sum(axis=1)
    if not touched:
        return
    order, lines, which, stores = np.concatenate(touched, axis=1)
    in_time = np.argsort(order, kind="stable")
    lines, which, stores = lines[in_time], which[in_time], stores[in_time]
    by_line = np.lexsort((np.arange(len(lines)), lines))
    before = np.full(len(lines), -(1 << 40), np.int64)
    same = lines[by_line][1:] == lines[by_line][:-1]
    before[by_line[1:]] = np.where(same, by_line[:-1], -(1 << 40))
    missed = (np.arange(len(lines)) - before > held) & (stores == 0)
    found["lines"] += np.bincount(which[missed], minlength=len(found)).astype(np.uint16)
    first_store = (before < 0) & (stores == 1)
    found["passes"] += np.bincount(which[first_store], minlength=len(found)).astype(np.uint16)


def _l1_clk(each: Accesses, rows: Array, arch: Arch) -> Array:
    issue = arch.issue
    whole = {1: issue.vmem_x1_clk, 2: issue.vmem_x2_clk}.get(max(1, each.nbytes // 4), issue.vmem_x4_clk)
    share = -(-whole * each.active.sum(axis=1) // LANES)
    width = arch.memory.l1_to_cu_bytes_per_clk
    clk: Array = np.maximum(share, rows * (issue.vmem_row_bytes // width))
    at_least: Array = np.maximum(np.maximum(clk, _pieces(each, width)), 1)
    return at_least


def _pieces(each: Accesses, width: int) -> Array:
    """Pieces of ``width`` bytes that an access takes one by one, (n,).

    Lanes take turns, as many at a time as fill a piece: neighbours in one piece share it, others do not.
    """
    lanes = max(1, width // max(4, each.nbytes))
    lanes = 1 << lanes.bit_length() - 1
    count, turns = len(each.step), LANES // lanes
    active = each.active.reshape(count, turns, lanes)
    first, last = (
        np.where(active, (each.addresses.reshape(active.shape) + end) // width, -1) for end in (0, each.nbytes - 1)
    )
    pieces = np.sort(np.concatenate([first, last], axis=2), axis=2)
    different = (pieces[..., 1:] != pieces[..., :-1]).sum(axis=(1, 2)) + turns
    without: Array = different - (pieces[..., 0] < 0).sum(axis=1)
    return without


def _modifier(instruction: Instruction, name: str) -> int:
    value = instruction.modifiers.get(name, 0)
    return value if isinstance(value, int) else 0
