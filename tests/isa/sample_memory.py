"""Sample Instructions of the memory formats."""

from __future__ import annotations

from random import Random

from tests.isa.sample_operands import inline, scalar, vector

from pykittens.isa.define import Access, Definition, Operand
from pykittens.isa.instruction import Instruction, Operands
from pykittens.isa.registers import Const, Reg, m0

Modifiers = dict[str, object]


def memory_sample(rnd: Random, definition: Definition, arch: str) -> Instruction:
    """An access with some of the address forms, offsets and cache bits that it can have."""
    access = definition.access
    assert access is not None
    make = {"DS": _ds, "MUBUF": _buffer, "MTBUF": _buffer, "SMEM": _smem}.get(definition.format, _flat)
    operands, modifiers = make(rnd, definition, access, arch)
    return Instruction(definition, tuple(operands), modifiers, "", -1, 8)


_Made = tuple[list[Operands], Modifiers]


def _roles(definition: Definition, access: Access) -> dict[str, Operand]:
    return dict(zip(access.roles, definition.explicit_srcs, strict=True))


def _flags(rnd: Random, names: tuple[str, ...], chance: float = 0.3) -> Modifiers:
    return {name: True for name in names if rnd.random() < chance}


def _number(rnd: Random, name: str, choices: tuple[int, ...]) -> Modifiers:
    value = rnd.choice(choices)
    return {name: value} if value else {}


def _data_file(rnd: Random, access: Access, definition: Definition) -> str:
    """``v`` or ``a``; LLVM lacks some returning float atomics with accumulation registers."""
    float_atomic = definition.format in ("FLAT", "GLOBAL") and access.type is not None and access.type.is_float
    return "v" if float_atomic else rnd.choice("va")


def _ds(rnd: Random, definition: Definition, access: Access, arch: str) -> _Made:
    file = _data_file(rnd, access, definition)
    operands: list[Operands] = [vector(rnd, o.dwords, file) for o in definition.explicit_dsts]
    for role, operand in _roles(definition, access).items():
        # The data of a global wave sync starts at an even register, though it is one.
        even = Reg("v", 2 * rnd.randrange(128)) if access.space == "gws" else vector(rnd, operand.dwords)
        operands.append(even if role == "addr" else vector(rnd, operand.dwords, file))
    if access.stride:
        return operands, _number(rnd, "offset0", (0, 1, 255)) | _number(rnd, "offset1", (0, 1, 255))
    patterns = (0, 0x041F, 0x7C1F, 0x001E, 0x0511, 0x8055, 0xC0A0, 0xE01F) if access.op == "swizzle" else (0, 1, 65535)
    modifiers = _number(rnd, "offset", patterns)
    return operands, modifiers | ({"gds": True} if access.space == "gws" else {})


def _buffer(rnd: Random, definition: Definition, access: Access, arch: str) -> _Made:
    roles = _roles(definition, access)
    if not roles:
        return [], _flags(rnd, ("sc0", "sc1"))
    modifiers = _flags(rnd, ("idxen", "offen"), 0.5) | _flags(rnd, ("sc0", "sc1", "nt"))
    modifiers |= _number(rnd, "offset", (0, 1, 4095))
    if definition.format == "MTBUF":
        modifiers["format"] = rnd.choice((1, 0x14, 0x7E, rnd.randrange(128)))
    to_lds = arch in access.to_lds and rnd.random() < 0.5
    modifiers |= {"lds": True} if to_lds else {}
    file = rnd.choice("va")
    operands: list[Operands] = [None if to_lds else vector(rnd, o.dwords, file) for o in definition.explicit_dsts]
    addresses = ("idxen" in modifiers) + ("offen" in modifiers)
    choose = {
        "vdata": lambda o: vector(rnd, o.dwords, file),
        "vaddr": lambda o: vector(rnd, addresses) if addresses else None,
        "srsrc": lambda o: scalar(rnd, 4, plain=True),
        "soffset": lambda o: rnd.choice((scalar(rnd, 1, plain=True), m0, inline(rnd, o))),
    }
    operands += [choose[role](operand) for role, operand in roles.items()]
    return operands, modifiers


def _flat(rnd: Random, definition: Definition, access: Access, arch: str) -> _Made:
    roles = _roles(definition, access)
    file = _data_file(rnd, access, definition)
    modifiers = _flags(rnd, ("sc0", "sc1", "nt"))
    offsets = (0, 1, 4095) if definition.format == "FLAT" else (0, 1, 4095, -1, -4096)
    modifiers |= _number(rnd, "offset", offsets)
    returns = access.returns != "sc0" or "sc0" in modifiers
    operands: list[Operands] = [vector(rnd, o.dwords, file) if returns else None for o in definition.explicit_dsts]
    saddr = scalar(rnd, roles["saddr"].dwords, plain=True) if "saddr" in roles and rnd.random() < 0.5 else None
    for role, operand in roles.items():
        if role == "data":
            operands.append(vector(rnd, operand.dwords, file))
        elif role == "saddr":
            operands.append(saddr)
        elif definition.format == "SCRATCH":
            operands.append(rnd.choice((vector(rnd, 1), None)))
        else:
            operands.append(vector(rnd, 2 if saddr is None else 1))
    return operands, modifiers


def _smem(rnd: Random, definition: Definition, access: Access, arch: str) -> _Made:
    operands: list[Operands] = [scalar(rnd, o.dwords, plain=True) for o in definition.explicit_dsts]
    modifiers: Modifiers = {}
    for role, operand in _roles(definition, access).items():
        if role == "probe":
            operands.append(Const(rnd.choice((0, 5, 127))))
        elif role == "soffset":
            soffset = rnd.choice((None, scalar(rnd, 1, plain=True), m0))
            offset = rnd.choice((0, 1, 0xFFFFF))
            if soffset is None or rnd.random() < 0.5:
                modifiers |= {"offset": offset} if offset or soffset is not None else {}
            operands.append(soffset)
        else:
            operands.append(scalar(rnd, operand.dwords, plain=True))
    return operands, modifiers | (_flags(rnd, ("glc",)) if access.kind in ("load", "store", "atomic") else {})
