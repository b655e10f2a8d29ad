"""What memory instructions do, lane by lane, from their `Access` and the ISA manual: the oracle for the C core."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from tests.sim.one_wave import ACCUM_OFFSET, BUFFER, LANES, LDS_BYTES, State

from pykittens.isa.define import Access
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Const, Reg
from pykittens.isa.swizzle_pattern import swizzle_lanes

Roles = dict[str, Any]
_FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def execute(instruction: Instruction, before: State) -> State:
    """The state after the instruction."""
    access = instruction.definition.access
    assert access is not None
    roles = dict(zip(access.roles, instruction.srcs, strict=True))
    roles["dst"] = instruction.dsts[0] if instruction.dsts else None
    after = before.copy()
    {"lds": _lds, "scalar": _scalar}.get(access.space, _vector)(instruction, access, roles, before, after)
    return after


def row(register: Reg) -> int:
    return register.index + (ACCUM_OFFSET if register.file == "a" else 0)


def value(state: State, register: Reg, lane: int, bits: int, at: int = 0) -> int:
    """``bits`` from dword ``at`` of a lane's registers on."""
    first = row(register) + at
    return sum(int(state.vgpr[first + d, lane]) << 32 * d for d in range((bits + 31) // 32)) & ((1 << bits) - 1)


def write(state: State, register: Reg, lane: int, bits: int, number: int, at: int = 0) -> None:
    for d in range((bits + 31) // 32):
        state.vgpr[row(register) + at + d, lane] = number >> 32 * d & 0xFFFFFFFF


def extended(access: Access, number: int, old: int) -> int:
    """The register that a loaded element of less than 32 bits makes."""
    if access.signed and number >> (access.bits - 1):
        number -= 1 << access.bits
    if access.half == "lo":
        return old & 0xFFFF0000 | number & 0xFFFF
    if access.half == "hi":
        return old & 0xFFFF | (number & 0xFFFF) << 16
    return number & 0xFFFFFFFF


def get(memory: Any, at: int, size: int) -> int:
    return int.from_bytes(memory[at : at + size].tobytes(), "little")


def put(memory: Any, at: int, size: int, number: int) -> None:
    memory[at : at + size] = np.frombuffer((number & (1 << 8 * size) - 1).to_bytes(size, "little"), np.uint8)


# -- atomics -----------------------------------------------------------------------------------------------------
def atomic(access: Access, old: int, data: int, second: int) -> int:
    """The new value; ``second`` is what is compared with, or the other operand."""
    bits, op = access.bits * access.count, access.op
    assert access.type is not None
    if op == "condxchg":
        halves = [(data >> at & 0x7FFFFFFF) if data >> at >> 31 & 1 else old >> at & 0xFFFFFFFF for at in (0, 32)]
        return halves[0] | halves[1] << 32
    if access.type.is_float:
        if access.count == 2:
            return sum(_float(access, old >> at & 0xFFFF, data >> at & 0xFFFF, 0) << at for at in (0, 16))
        return _float(access, old, data, second)

    def signed(number: int) -> int:
        return number - (1 << bits) if number >> (bits - 1) else number

    results = {
        "swap": data, "cmpswap": data if old == second else old, "add": old + data, "sub": old - data,
        "rsub": data - old, "and": old & data, "or": old | data, "xor": old ^ data,
        "umin": min(old, data), "umax": max(old, data), "smin": min(signed(old), signed(data)),
        "smax": max(signed(old), signed(data)), "inc": 0 if old >= data else old + 1,
        "dec": data if old == 0 or old > data else old - 1, "mskor": old & ~data | second,
        "wrap": old - data if old >= data else old + second,
    }  # fmt: skip
    assert op is not None
    return results[op] & (1 << bits) - 1


def _float(access: Access, old: int, data: int, second: int) -> int:
    assert access.type is not None
    kind, size = _FLOATS[access.type.name], access.type.bits // 8

    def number(bits: int) -> Any:
        return np.frombuffer(bits.to_bytes(size, "little"), kind)[0]

    a, b = number(old), number(data)
    if access.op == "cmpswap":
        return data if a == number(second) else old
    if access.op == "add":
        wide = np.float32 if size == 2 else kind
        with np.errstate(over="ignore"):
            return int.from_bytes(np.asarray(wide(a) + wide(b)).astype(kind).tobytes(), "little")
    return data if (b < a if access.op == "min" else b > a) else old


# -- LDS ---------------------------------------------------------------------------------------------------------
def _lds(instruction: Instruction, access: Access, roles: Roles, before: State, after: State) -> None:
    if access.kind == "permute":
        _permute(instruction, access, roles, before, after)
        return
    if access.transpose:
        _transpose(instruction, access, roles, before, after)
        return
    modifiers, size = instruction.modifiers, access.bits // 8
    unit = access.stride * size
    offsets = [modifiers.get(k, 0) * unit for k in ("offset0", "offset1")] if unit else [modifiers.get("offset", 0)]
    if access.op in ("append", "consume"):
        at = (int(before.sgpr[124]) & 0xFFFF) + int(offsets[0])
        old, change = get(after.lds, at, 4), len(before.active)
        put(after.lds, at, 4, old + (change if access.op == "append" else -change))
        for lane in before.active:
            write(after, roles["dst"], lane, 32, old)
        return
    for i, offset in enumerate(offsets):
        for lane in before.active:
            base = (int(before.sgpr[124]) & 0xFFFF) + 4 * lane if access.m0 else value(before, roles["addr"], lane, 32)
            at = (base + int(offset)) & 0xFFFFFFFF
            _lds_lane(access, roles, before, after, lane, i, at)


def _lds_lane(access: Access, roles: Roles, before: State, after: State, lane: int, i: int, at: int) -> None:
    count = 1 if access.stride else access.count
    bits = access.bits * count
    inside = at + bits // 8 <= LDS_BYTES
    data = roles.get("data0" if i == 0 else "data1")
    if access.kind == "load":
        loaded = get(after.lds, at, bits // 8) if inside else 0
        if bits < 32:
            loaded = extended(access, loaded, value(before, roles["dst"], lane, 32))
        write(after, roles["dst"], lane, max(bits, 32), loaded, i * bits // 32)
    elif access.kind == "store":
        stored = value(before, data, lane, 32) >> 16 if access.half else value(before, data, lane, bits)
        if inside:
            put(after.lds, at, bits // 8, stored)
    else:
        old = get(after.lds, at, bits // 8) if inside else 0
        first = value(before, data, lane, bits)
        second = value(before, roles["data1"], lane, bits) if "data1" in roles else 0
        if access.op == "cmpswap":
            first, second = second, first
        if inside:
            put(after.lds, at, bits // 8, atomic(access if not access.stride else _single(access), old, first, second))
        if roles["dst"] is not None:
            write(after, roles["dst"], lane, bits, old, i * bits // 32)


def _single(access: Access) -> Access:
    return Access(access.space, access.kind, access.bits, 1, op=access.op, type=access.type)


def _permute(instruction: Instruction, access: Access, roles: Roles, before: State, after: State) -> None:
    active, offset = before.active, instruction.modifiers.get("offset", 0)
    assert isinstance(offset, int)
    addresses = [(value(before, roles["addr"], lane, 32) + offset) // 4 % 64 for lane in range(LANES)]
    if access.op == "push":
        received = {addresses[lane]: value(before, roles["data0"], lane, 32) for lane in active}
        for lane in active:
            write(after, roles["dst"], lane, 32, received.get(lane, 0))
        return
    source = swizzle_lanes(offset) if access.op == "swizzle" else addresses
    data = roles["addr"] if access.op == "swizzle" else roles["data0"]
    for lane in active:
        write(after, roles["dst"], lane, 32, value(before, data, source[lane], 32) if source[lane] in active else 0)


def _transpose(instruction: Instruction, access: Access, roles: Roles, before: State, after: State) -> None:
    bits, size = access.transpose, access.bits // 8
    count = access.bits // bits
    if bits == 6:
        count = 16
    offset = instruction.modifiers.get("offset", 0)
    read = [get(before.lds, value(before, roles["addr"], lane, 32) + offset, size) for lane in range(LANES)]
    for lane in range(LANES):
        group, q = lane // 16 * 16, lane % 16
        elements = [
            read[group + e * (16 // count) + q // count] >> bits * (q % count) & (1 << bits) - 1 for e in range(count)
        ]
        write(after, roles["dst"], lane, 8 * size, sum(element << bits * e for e, element in enumerate(elements)))


# -- vector memory -----------------------------------------------------------------------------------------------
def _vector(instruction: Instruction, access: Access, roles: Roles, before: State, after: State) -> None:
    to_lds = access.kind == "load" and roles["dst"] is None
    for lane in before.active:
        if access.space == "scratch":
            memory, at, in_range = after.scratch[lane], _scratch_address(instruction, roles, before, lane), access.bytes
        elif access.space == "buffer":
            memory = after.buffer
            at, in_range = _buffer_address(instruction, access, roles, before, lane)
        else:
            memory, in_range = after.buffer, access.bytes
            at = _address(instruction, roles, before, lane) - BUFFER
        if to_lds:
            _to_lds(instruction, access, before, after, lane, _loaded(memory, at, in_range))
        elif access.kind == "load":
            loaded = _loaded(memory, at, in_range)
            bits = access.bits * access.count
            if bits < 32:
                loaded = extended(access, loaded, value(before, roles["dst"], lane, 32))
            write(after, roles["dst"], lane, max(bits, 32), loaded)
        elif access.kind == "store":
            data = roles.get("data") or roles["vdata"]
            stored = value(before, data, lane, 32) >> 16 if access.half else value(before, data, lane, 8 * access.bytes)
            if in_range:
                put(memory, at, in_range, stored)
        else:
            _vector_atomic(instruction, access, roles, before, after, lane, memory, at, in_range)


def _loaded(memory: Any, at: int, in_range: int) -> int:
    return get(memory, at, in_range) if in_range else 0


def _vector_atomic(
    instruction: Instruction, access: Access, roles: Roles, before: State, after: State, lane: int, memory: Any,
    at: int, in_range: int,
) -> None:  # fmt: skip
    data, bits = roles.get("data") or roles["vdata"], 8 * access.bytes
    second = value(before, data, lane, bits, bits // 32) if access.op == "cmpswap" else 0
    old = 0
    if in_range == access.bytes:
        old = get(memory, at, access.bytes)
        put(memory, at, access.bytes, atomic(access, old, value(before, data, lane, bits), second))
    result = roles["dst"] or (data if access.returns == "in_place" and instruction.modifiers.get("sc0") else None)
    if result is not None:
        write(after, result, lane, bits, old)


def _to_lds(instruction: Instruction, access: Access, before: State, after: State, lane: int, loaded: int) -> None:
    if access.bits < 32:
        loaded = extended(access, loaded, 0)
    size = max(4, access.bytes)
    offset = instruction.modifiers.get("offset", 0)
    at = (int(before.sgpr[124]) & 0x3FFFF) + offset + lane * (16 if size > 4 else 4)
    if at + size <= LDS_BYTES:
        put(after.lds, at, size, loaded)


def _buffer_address(
    instruction: Instruction, access: Access, roles: Roles, before: State, lane: int
) -> tuple[int, int]:
    """(place in the buffer, bytes in range) of a lane."""
    word = [int(before.sgpr[roles["srsrc"].index + i]) for i in range(4)]
    base, stride, records = word[0] | (word[1] & 0xFFFF) << 32, word[1] >> 16 & 0x3FFF, word[2]
    index, offset, at = 0, int(instruction.modifiers.get("offset", 0)), 0
    idxen = instruction.modifiers.get("idxen")
    if idxen:
        index, at = value(before, roles["vaddr"], lane, 32), 1
    if instruction.modifiers.get("offen"):
        offset += value(before, roles["vaddr"], lane, 32, at)
    soffset = roles["soffset"]
    scalar = soffset.bits if isinstance(soffset, Const) else int(before.sgpr[soffset.index])
    address = base + scalar + stride * index + offset
    if access.bytes >= 4:
        address &= ~3
    if idxen:
        return address - BUFFER, access.bytes if index < records else 0
    in_range = sum(size for k in range(0, access.bytes, 4) if offset + k < records for size in [min(4, access.bytes)])
    return address - BUFFER, in_range


def _address(instruction: Instruction, roles: Roles, before: State, lane: int) -> int:
    constant, base = int(instruction.modifiers.get("offset", 0)), roles.get("saddr")
    if base is None:
        return constant + value(before, roles["addr"], lane, 64)
    scalar = int(before.sgpr[base.index]) | int(before.sgpr[base.index + 1]) << 32
    return constant + scalar + (value(before, roles["addr"], lane, 32) if roles["addr"] is not None else 0)


def _scratch_address(instruction: Instruction, roles: Roles, before: State, lane: int) -> int:
    address = int(instruction.modifiers.get("offset", 0))
    address += value(before, roles["addr"], lane, 32) if roles["addr"] is not None else 0
    return address + (int(before.sgpr[roles["saddr"].index]) if roles["saddr"] is not None else 0)


# -- scalar memory -----------------------------------------------------------------------------------------------
def _scalar(instruction: Instruction, access: Access, roles: Roles, before: State, after: State) -> None:
    base = [int(before.sgpr[roles["sbase"].index + i]) for i in range(roles["sbase"].count)]
    offset = int(instruction.modifiers.get("offset", 0))
    if roles["soffset"] is not None:
        offset += int(before.sgpr[roles["soffset"].index]) * access.soffset_scale
    records = 1 << 63
    start = base[0] | base[1] << 32
    if len(base) == 4:
        start, stride = base[0] | (base[1] & 0xFFFF) << 32, base[1] >> 16 & 0x3FFF
        records = base[2] * (stride or 1)
        offset &= ~3
    data = roles["dst"] or roles["sdata"]
    if access.kind == "atomic":
        size = access.bits // 8
        at = ((start + offset) & ~3) - BUFFER
        numbers = [int(before.sgpr[data.index + i]) for i in range(data.count)]
        first = sum(n << 32 * i for i, n in enumerate(numbers[: size // 4]))
        second = sum(n << 32 * i for i, n in enumerate(numbers[size // 4 : size // 2]))
        old = 0
        if offset + size <= records:
            old = get(after.buffer, at, size)
            put(after.buffer, at, size, atomic(access, old, first, second))
        if instruction.modifiers.get("glc"):
            for i in range(size // 4):
                after.sgpr[data.index + i] = old >> 32 * i & 0xFFFFFFFF
        return
    for i in range(access.count):
        at = ((start + offset) & ~3) - BUFFER + 4 * i
        inside = offset + 4 * i < records
        if access.kind == "load":
            after.sgpr[data.index + i] = get(before.buffer, at, 4) if inside else 0
        elif inside:
            put(after.buffer, at, 4, int(before.sgpr[data.index + i]))
