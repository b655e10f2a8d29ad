"""What each instruction of a program costs to issue, as the native event loop reads it (native/cu.h)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

import numpy as np

from pykittens.arch import Arch
from pykittens.isa.define import Counter, Definition, Unit
from pykittens.isa.effects import loads_to_lds
from pykittens.isa.instruction import Instruction
from pykittens.isa.lds_requests import request_kind
from pykittens.isa.mfma import operand_registers, passes

QUAD = 4
_LANES = 64


class Kind(IntEnum):
    """What an instruction is to the issue logic: `enum Kind`."""

    SCALAR = 0
    VECTOR = 1
    TRANSCENDENTAL = 2
    PACKED = 3
    MATRIX = 4
    LDS = 5
    LOAD = 6
    STORE = 7
    SCALAR_LOAD = 8
    BRANCH = 9
    WAIT = 10
    BARRIER = 11
    IDLE = 12
    PRIORITY = 13
    END = 14


class Port(IntEnum):
    """What it goes through: `enum Port`."""

    NONE = 0
    VECTOR = 1
    MEMORY = 2
    SCALAR = 3
    SCALAR_MEMORY = 4


_RAISES_VM, _RAISES_LGKM, _TO_LDS, _GIVES_DATA, _THREE_SOURCES = 1, 2, 4, 8, 32

TIMING_OP = np.dtype([
    (name, "<u4")
    for name in (
        "kind", "port", "flags", "issue", "port_clk", "pipe_clk", "first_alu", "first_packed", "first_lds",
        "first_write", "bus_clk", "latency", "value",
    )
])  # fmt: skip
"""`TimingOp`."""

MEMORY_KINDS = (Kind.LDS, Kind.LOAD, Kind.STORE, Kind.SCALAR_LOAD)
"""Kinds that have a cost of their own at each execution (costs.py)."""

_NO_WAIT = 0xFF
_SLEEP_CLK = 64


def timing_table(instructions: Iterable[Instruction | None], arch: Arch) -> np.ndarray[Any, Any]:
    """`TIMING_OP` for every instruction; slots without one, which are never executed, cost one issue slot."""
    known: dict[tuple[object, ...], tuple[int, ...]] = {}
    rows = []
    for each in instructions:
        row = _row(Kind.IDLE)
        if each is not None:
            key = (each.definition.name, each.encoding, tuple(sorted((k, str(v)) for k, v in each.modifiers.items())))
            if key not in known:
                known[key] = timing_op(each, arch)
            row = known[key]
        rows.append(row)
    return np.array(rows, TIMING_OP) if rows else np.zeros(0, TIMING_OP)


def kind_of(instruction: Instruction) -> Kind:
    """What the instruction is to the issue logic."""
    definition, unit = instruction.definition, instruction.definition.unit
    if definition.has("ends"):
        return Kind.END
    if definition.access is not None:
        return _memory_kind(definition)
    if unit is Unit.MFMA:
        return Kind.MATRIX
    if unit is Unit.TRANS:
        return Kind.TRANSCENDENTAL
    if unit is Unit.VALU:
        return Kind.PACKED if _is_packed(definition) else Kind.VECTOR
    if unit is Unit.LDS:
        return Kind.LDS
    for flag, kind in _BY_FLAG.items():
        if definition.has(flag):
            return kind
    return Kind.SCALAR if unit is Unit.SALU else Kind.IDLE


_BY_FLAG = {"branch": Kind.BRANCH, "waitcnt": Kind.WAIT, "barrier": Kind.BARRIER, "priority": Kind.PRIORITY}


def _memory_kind(definition: Definition) -> Kind:
    access = definition.access
    if access is None or access.kind == "control":
        return Kind.IDLE
    if access.space == "scalar":
        return Kind.SCALAR_LOAD
    if access.space in ("lds", "gws"):
        return Kind.LDS
    return Kind.STORE if access.kind == "store" else Kind.LOAD


def _is_packed(definition: Definition) -> bool:
    """Packed f32 and dot products: what cannot hide under an MFMA of the same wave."""
    if definition.format != "VOP3P" or definition.has("mix") or not definition.explicit_dsts:
        return False
    result, sources = definition.explicit_dsts[0], definition.explicit_srcs
    if result.bits == 64:
        return True
    return result.packed == 1 and len(sources) == 3 and sources[0].type.bits * sources[0].packed == 32


def _reads_three(definition: Definition) -> bool:
    """Three vector sources, an old value of the destination among them."""
    read = [each for each in definition.srcs if each.implicit in (None, "dst") and not (each.scalar or each.mask)]
    return len(read) == 3


def timing_op(instruction: Instruction, arch: Arch) -> tuple[int, ...]:
    """The fields of `TIMING_OP`."""
    kind, issue, modifiers = kind_of(instruction), arch.issue, instruction.modifiers
    if kind is Kind.MATRIX:
        return _matrix(instruction, arch)
    if kind is Kind.LDS:
        clk, bus, latency = _lds(instruction.definition, arch)
        flags = _raised(instruction) | (_GIVES_DATA if clk > QUAD else 0)
        return _row(kind, Port.MEMORY, flags, issue=clk, port_clk=QUAD, bus_clk=bus, latency=latency)
    if kind in (Kind.LOAD, Kind.STORE):
        flags = _raised(instruction) | (_TO_LDS if loads_to_lds(instruction) else 0)
        return _row(kind, Port.MEMORY, flags, port_clk=QUAD)
    if kind is Kind.SCALAR_LOAD:
        return _row(kind, Port.SCALAR_MEMORY, _raised(instruction), port_clk=QUAD)
    if kind is Kind.SCALAR:
        return _row(kind, Port.SCALAR, port_clk=QUAD)
    if kind in (Kind.VECTOR, Kind.PACKED, Kind.TRANSCENDENTAL):
        clk = issue.trans_clk if kind is Kind.TRANSCENDENTAL else issue.valu_clk
        clk *= 4 if instruction.definition.has("quarter_rate") else 1
        flags = _THREE_SOURCES if _reads_three(instruction.definition) else 0
        return _row(kind, Port.VECTOR, flags, issue=clk, port_clk=clk)
    if kind is Kind.BRANCH:
        return _row(kind, issue=issue.branch_quads * QUAD)
    if kind is Kind.WAIT:
        vm, lgkm = (_count(modifiers.get(name)) for name in ("vmcnt", "lgkmcnt"))
        return _row(kind, issue=issue.waitcnt_clk, value=vm | lgkm << 8)
    if kind is Kind.PRIORITY:
        return _row(kind, value=_number(modifiers, "simm16") & 3)
    return _row(kind, issue=_idle_clk(instruction, arch))


def _row(
    kind: Kind, port: Port = Port.NONE, flags: int = 0, *, issue: int = QUAD, port_clk: int = 0, pipe_clk: int = 0,
    first_alu: int = 0, first_packed: int = 0, first_lds: int = 0, first_write: int = 0, bus_clk: int = 0,
    latency: int = 0, value: int = 0,
) -> tuple[int, ...]:  # fmt: skip
    return (
        kind, port, flags, issue, port_clk, pipe_clk, first_alu, first_packed, first_lds, first_write, bus_clk,
        latency, value,
    )  # fmt: skip


def _matrix(instruction: Instruction, arch: Arch) -> tuple[int, ...]:
    count = passes(instruction.definition, instruction.modifiers, arch.name)
    _, a, b, *_ = (4 * n for n in operand_registers(instruction.definition, instruction.modifiers))
    rules = arch.issue
    slot = rules.mfma_first_valu_quads + max(a, b) // rules.mfma_first_valu_bytes
    wide = rules.mfma_packed_f32_wide_quads if a >= rules.mfma_first_valu_bytes else 0
    return _row(
        Kind.MATRIX, Port.VECTOR, port_clk=QUAD, pipe_clk=QUAD * count, first_alu=QUAD * slot,
        first_packed=QUAD * (count + rules.mfma_packed_f32_quads + wide),
        first_lds=QUAD * (1 + rules.lds_after_mfma_quads),
        first_write=QUAD if rules.mfma_hides_lds_writes else QUAD * count,
    )  # fmt: skip


def _lds(definition: Definition, arch: Arch) -> tuple[int, int, int]:
    """(clk to issue, clk on the bus of a pair of SIMDs, clk from the end of service to the data)."""
    access = definition.access
    pair = arch.lds_read_bytes_per_clk // (arch.simds_per_cu // arch.issue.lds_queue_simds or 1)
    pair = min(pair, arch.lds_read_bytes_per_clk // 2)
    request = request_kind(definition)
    if access is None or request is None:
        bus = -(-_LANES * 4 // pair)
        return QUAD, bus, max(0, arch.latency.lds_permute_clk - bus)
    direction, size = request
    count = 2 if access.stride else 1
    issue = QUAD + _lds_data_dwords(definition) * arch.issue.lds_data_clk
    bus = max(-(-_LANES * max(4, size) * count // pair), 0 if issue == QUAD else issue)
    service = max(bus, count * len(arch.lds_access(direction, size).phases))
    known = arch.latency
    reads = known.lds_read_b32_clk, known.lds_read_b64_clk, known.lds_read_b128_clk
    writes = known.lds_write_b32_clk, known.lds_write_b64_clk, known.lds_write_b128_clk
    latency = (writes if direction == "write" else reads)[{4: 0, 8: 1}.get(max(4, size) * count, 2)]
    return issue, bus, max(0, latency - service)


def _lds_data_dwords(definition: Definition) -> int:
    """Dwords a lane that an LDS write or atomic hands over; of a pair of SIMDs one at a time does (Formocast)."""
    access, request = definition.access, request_kind(definition)
    if access is None or request is None or access.kind == "load":
        return 0
    return (2 if access.stride else 1) * -(-request[1] // 4)


def _raised(instruction: Instruction) -> int:
    return {
        None: 0, Counter.VM: _RAISES_VM, Counter.LGKM: _RAISES_LGKM, Counter.BOTH: _RAISES_VM | _RAISES_LGKM,
    }[instruction.definition.counter]  # fmt: skip


def _idle_clk(instruction: Instruction, arch: Arch) -> int:
    number = _number(instruction.modifiers, "simm16")
    if instruction.definition.has("nop"):
        return arch.issue.nop_clk * ((number & 0xF) + 1)
    if instruction.definition.has("sleep"):
        return max(QUAD, _SLEEP_CLK * (number & 0x7F))
    return QUAD


def _count(value: object) -> int:
    return value if isinstance(value, int) else _NO_WAIT


def _number(modifiers: Any, key: str) -> int:
    value = modifiers.get(key, 0)
    return value if isinstance(value, int) else 0
