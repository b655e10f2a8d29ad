"""Random memory instructions with registers and addresses that hit their edges."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from tests.sim.one_wave import BUFFER, BUFFER_BYTES, LANES, LDS_BYTES, PRIVATE_BYTES, State

from pykittens.isa.define import Definition
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Const, Reg

_DATA, _ADDRESS, _INDEX, _RESULT = 20, 4, 6, 60
_DESCRIPTOR, _BASE, _SOFFSET, _SCALAR_DATA = 8, 12, 16, 32
_FLOAT_EDGES = {
    16: (0, 0x8000, 0x3C00, 0x3C01, 1, 0x8001, 0x7BFF, 0x0400, 0x4248, 0xC248, 0x03FF),
    32: (0, 0x80000000, 0x3F800000, 0x3F800001, 1, 0x7F7FFFFF, 0x00800000, 0x40490FDB, 0xC0490FDB),
    64: (0, 1 << 63, 0x3FF0000000000000, 1, 0x7FEFFFFFFFFFFFFF, 0x400921FB54442D18, 0xC00921FB54442D18),
}


def case(definition: Definition, seed: int) -> tuple[Instruction, State]:
    """An instruction of the definition and the state that it runs in."""
    access = definition.access
    assert access is not None
    rng = random.Random(f"{definition.name} {seed}")
    state = _state(rng, definition)
    if access.space == "lds":
        return _lds(definition, rng, state), state
    if access.space == "scalar":
        return _scalar(definition, rng, state), state
    if access.space == "buffer":
        return _buffer(definition, rng, state), state
    return _addressed(definition, rng, state), state


def _state(rng: random.Random, definition: Definition) -> State:
    access = definition.access
    assert access is not None
    noise = np.random.default_rng(rng.getrandbits(32))
    state = State()
    for array in (state.sgpr, state.vgpr):
        array[:] = noise.integers(0, 1 << 32, array.shape, np.uint32)
    for memory in (state.lds, state.buffer, state.scratch):
        memory[:] = noise.integers(0, 256, memory.shape, np.uint8)
    if access.type is not None and access.type.is_float:
        _fill_floats(state, access.type.bits, noise)
    elif access.kind == "atomic":
        state.vgpr[_DATA : _DATA + 4] &= np.uint32(3)  # small numbers meet what is in memory
        state.lds[:] &= 3
        state.buffer[:] &= 3
    state.exec = rng.choice([(1 << 64) - 1, rng.getrandbits(64), 0, 1 << rng.randrange(64), (1 << 40) - 1])
    if access.transpose:
        state.exec = (1 << 64) - 1
    return state


def _fill_floats(state: State, bits: int, noise: Any) -> None:
    edges = np.array(_FLOAT_EDGES[bits], np.uint64).astype(f"<u{bits // 8}")
    for memory in (state.lds, state.buffer):
        memory[:] = noise.choice(edges, len(memory) * 8 // bits).view(np.uint8)
    rows = noise.choice(edges, (LANES, 4 * 32 // bits) if bits <= 32 else (LANES, 2))
    state.vgpr[_DATA : _DATA + 4] = rows.view(np.uint32).reshape(LANES, -1)[:, :4].T
    state.sgpr[_SCALAR_DATA : _SCALAR_DATA + 4] = rows.view(np.uint32).reshape(-1)[:4]


def _vector(rng: random.Random, index: int, count: int) -> Reg:
    """Data may be in accumulation registers, whose rows here are those of other v registers."""
    return Reg(rng.choice("va"), index, count)


def _addresses(rng: random.Random, size: int, limit: int, aligned: bool) -> Any:
    """64 byte offsets, most of them inside ``limit``."""
    step = size if aligned else rng.choice([size, 1, 4])
    places = [rng.randrange(0, max(1, (limit - size) // step)) * step for _ in range(LANES)]
    kind = rng.randrange(4)
    if kind == 0:
        places = [lane * size for lane in range(LANES)]
    if kind == 1:
        places[rng.randrange(LANES)] = limit - size + (0 if aligned else rng.randrange(2))
    return np.array(places, np.uint32)


def _lds(definition: Definition, rng: random.Random, state: State) -> Instruction:
    access = definition.access
    assert access is not None
    size = access.bits // 8 * (1 if access.stride else access.count)
    aligned = access.kind == "atomic" or bool(access.transpose)
    addresses = _addresses(rng, 8 if access.transpose else size, LDS_BYTES - 64, aligned)
    if rng.random() < 0.3 and not access.transpose:
        addresses[rng.randrange(LANES)] = rng.choice([LDS_BYTES, LDS_BYTES - size, 0xFFFFFFF8, 1 << 20])
    if access.kind == "permute":
        addresses = np.array([rng.getrandbits(32) for _ in range(LANES)], np.uint32)
    state.vgpr[_ADDRESS] = addresses
    state.sgpr[124] = rng.randrange(0, LDS_BYTES, 4) if access.m0 else rng.getrandbits(32)
    modifiers: dict[str, object] = {}
    if access.stride:
        modifiers = {"offset0": rng.randrange(3), "offset1": rng.randrange(8)}
    elif access.op == "swizzle":
        modifiers = {"offset": rng.choice([rng.getrandbits(16), 0x8000 | rng.getrandbits(8), 0x041F, 0xC0A0, 0xE010])}
    else:
        modifiers = {"offset": rng.choice([0, 8, 16, 24]) if aligned else rng.randrange(0, 48)}
    operands: list[Reg] = [_vector(rng, _RESULT, o.dwords) for o in definition.explicit_dsts]
    for role, operand in zip(access.roles, definition.explicit_srcs, strict=True):
        index = _ADDRESS if role == "addr" else _DATA + (4 if role == "data1" else 0)
        operands.append(Reg("v", index, operand.dwords))
    return Instruction(definition, tuple(operands), modifiers)


def _buffer(definition: Definition, rng: random.Random, state: State) -> Instruction:
    access = definition.access
    assert access is not None
    size = access.bytes
    idxen, offen = rng.random() < 0.3, rng.random() < 0.7
    stride = rng.choice([0, size if access.kind == "atomic" else 4, 16, 64]) if idxen else rng.choice([0, 4])
    records = rng.choice([100, 64, 17]) if idxen else rng.choice([BUFFER_BYTES - 512, 1000, 1022, 1, 0])
    scalar = rng.choice([0, 16, 64])
    state.sgpr[_DESCRIPTOR : _DESCRIPTOR + 4] = (
        (BUFFER & 0xFFFFFFFF) + 256, BUFFER >> 32 | stride << 16, records, rng.choice([0x20000, 0x27000]),
    )  # fmt: skip
    state.sgpr[_SOFFSET] = scalar
    state.sgpr[124] = rng.choice([0, 1024, LDS_BYTES - 512, 0xFF000100, 4])
    offsets = _addresses(rng, size, 1100, access.kind == "atomic")
    if rng.random() < 0.2:
        offsets[rng.randrange(LANES)] = 0xFFFFFFF0
    place = _ADDRESS + 1 if idxen else _ADDRESS
    state.vgpr[place] = offsets & np.uint32(0x7F) if idxen else offsets
    if idxen:
        state.vgpr[_ADDRESS] = np.array([rng.randrange(0, records + 8) for _ in range(LANES)], np.uint32)
    if access.kind == "atomic":
        state.vgpr[place] &= np.uint32(~(size - 1) & 0xFFFFFFFF)
    modifiers: dict[str, object] = {"offset": rng.choice([0, 8, 64]) if access.kind == "atomic" else rng.randrange(64)}
    modifiers |= {"idxen": True} if idxen else {}
    modifiers |= {"offen": True} if offen else {}
    to_lds = bool(access.to_lds) and rng.random() < 0.4
    if to_lds:
        modifiers["lds"] = True
    if access.kind == "atomic" and rng.random() < 0.5:
        modifiers["sc0"] = True
    count = int(idxen) + int(offen)
    vaddr = Reg("v", _ADDRESS if idxen or offen else 0, count) if count else None
    soffset: Any = Const(scalar) if rng.random() < 0.5 else Reg("s", _SOFFSET)
    operands: list[Any] = [None if to_lds else _vector(rng, _RESULT, o.dwords) for o in definition.explicit_dsts]
    for role, operand in zip(access.roles, definition.explicit_srcs, strict=True):
        given = {"vaddr": vaddr, "srsrc": Reg("s", _DESCRIPTOR, 4), "soffset": soffset}
        operands.append(given.get(role, Reg("v", _DATA, operand.dwords)) if role != "vaddr" else vaddr)
    return Instruction(definition, tuple(operands), modifiers)


def _addressed(definition: Definition, rng: random.Random, state: State) -> Instruction:
    access = definition.access
    assert access is not None
    size, scratch = access.bytes, access.space == "scratch"
    aligned = access.kind == "atomic"
    with_saddr = "saddr" in access.roles and rng.random() < 0.5
    with_addr = not with_saddr or rng.random() < 0.7
    limit = PRIVATE_BYTES - 32 if scratch else BUFFER_BYTES - 64
    offsets = _addresses(rng, size, limit, aligned) % limit // (size if aligned else 1) * (size if aligned else 1)
    offset = rng.choice([0, 8, 16])
    state.sgpr[124] = rng.choice([0, 1024, LDS_BYTES - 512, 4])
    start = 0 if scratch else BUFFER
    if with_saddr:
        state.sgpr[_BASE], state.sgpr[_BASE + 1] = start & 0xFFFFFFFF, start >> 32
        state.vgpr[_ADDRESS] = offsets
    else:
        full = start - 8 + offsets.astype(np.uint64) if not scratch else offsets
        offset += 0 if scratch else 8
        state.vgpr[_ADDRESS] = (full & np.uint64(0xFFFFFFFF)).astype(np.uint32) if not scratch else offsets
        if not scratch:
            state.vgpr[_ADDRESS + 1] = (full >> np.uint64(32)).astype(np.uint32)
    returns = access.returns == "sc0" and rng.random() < 0.5
    modifiers: dict[str, object] = {"offset": offset} | ({"sc0": True} if returns else {})
    operands: list[Any] = []
    for o in definition.explicit_dsts:
        operands.append(_vector(rng, _RESULT, o.dwords) if access.kind == "load" or returns else None)
    width = 1 if with_saddr or scratch else 2
    for role, operand in zip(access.roles, definition.explicit_srcs, strict=True):
        if role == "addr":
            operands.append(Reg("v", _ADDRESS, width) if with_addr else None)
        elif role == "saddr":
            operands.append(Reg("s", _BASE, operand.dwords) if with_saddr else None)
        else:
            operands.append(Reg("v", _DATA, operand.dwords))
    return Instruction(definition, tuple(operands), modifiers)


def _scalar(definition: Definition, rng: random.Random, state: State) -> Instruction:
    access = definition.access
    assert access is not None
    buffer = definition.explicit_srcs[access.roles.index("sbase")].bits == 128
    size = access.bits * access.count // 8
    step = size if access.kind == "atomic" else 4
    state.sgpr[_DESCRIPTOR : _DESCRIPTOR + 4] = (
        (BUFFER & 0xFFFFFFFF) + 128, BUFFER >> 32, rng.choice([2048, 40, 0]), 0x20000,
    )  # fmt: skip
    offset = rng.randrange(0, 64) * step + (0 if access.kind == "atomic" else rng.randrange(2))
    state.sgpr[_SOFFSET] = rng.randrange(0, 8) * step
    modifiers: dict[str, object] = {"offset": offset} | ({"glc": True} if rng.random() < 0.5 else {})
    operands: list[Any] = [Reg("s", _SCALAR_DATA, o.dwords) for o in definition.explicit_dsts]
    for role, operand in zip(access.roles, definition.explicit_srcs, strict=True):
        if role == "soffset":
            operands.append(Reg("s", _SOFFSET) if rng.random() < 0.5 else None)
        elif role == "sbase":
            operands.append(Reg("s", _DESCRIPTOR, 4 if buffer else 2))
        else:
            operands.append(Reg("s", _SCALAR_DATA, operand.dwords))
    return Instruction(definition, tuple(operands), modifiers)
