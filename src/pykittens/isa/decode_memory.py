"""Decoding plans of the vector memory encodings: DS, MUBUF, MTBUF, FLAT, GLOBAL and SCRATCH."""

from __future__ import annotations

from collections.abc import Callable

from .decode_modifiers import flag, number, signed_number
from .decode_plan import IllegalEncoding, Plan, Read, ReadModifier, from_table, mask_of
from .define import Definition, Operand
from .formats import FORMATS, SEGMENTS, Format
from .instruction import Operands
from .operand_codes import scalar_registers, scalar_sources, vector_registers

_OFF = 0x7F
"""The ``saddr`` field of global and scratch instructions without a scalar address."""


def _data(operand: Operand, place: tuple[int, int], acc_at: int, aligned: bool = True) -> Read:
    """A data operand: vector or, by the ``acc`` bit, accumulation registers."""
    vector = from_table(place, vector_registers(operand.dwords, "v", aligned))
    accumulation = from_table(place, vector_registers(operand.dwords, "a", aligned))
    return lambda bits: accumulation(bits) if (bits >> acc_at) & 1 else vector(bits)


def _roles(definition: Definition) -> dict[str, Operand]:
    roles = definition.access.roles if definition.access is not None else ()
    return dict(zip(roles, definition.explicit_srcs, strict=True))


def plan_ds(definition: Definition) -> Plan:
    """An LDS instruction; the ``gds`` bit is ignored but by the global wave sync, which must have it."""
    fmt = FORMATS["DS"]
    access = definition.access
    acc = fmt.fields["acc"][0]
    # The one wide operand that may start at an odd register (llvm).
    aligned = access is None or access.transpose != 6
    operands = [_data(operand, fmt.fields["vdst"], acc, aligned) for operand in definition.explicit_dsts]
    roles = _roles(definition)
    for role, operand in roles.items():
        if role == "addr":
            operands.append(from_table(fmt.fields["addr"], vector_registers(operand.dwords)))
        else:
            operands.append(_data(operand, fmt.fields[role], acc))
    unused = [name for name in ("addr", "data0", "data1") if name not in roles]
    unused += [] if definition.explicit_dsts else ["vdst"]
    modifiers: list[ReadModifier] = []
    if access is None or access.op in ("push", "pull"):
        unused.append("gds")
    if access is None:
        unused += ["offset0", "offset1"]
    elif access.stride:
        modifiers += [number(name, fmt.fields[name]) for name in ("offset0", "offset1")]
    else:
        modifiers.append(number("offset", (fmt.fields["offset0"][0], 16)))
    if access is not None and access.space == "gws":
        modifiers.append(_read_gds)
    return Plan(definition, "", fmt.size, mask_of(fmt, *unused), tuple(operands), tuple(modifiers))


def _read_gds(bits: int, out: dict[str, object]) -> None:
    if not (bits >> FORMATS["DS"].fields["gds"][0]) & 1:
        raise IllegalEncoding
    out["gds"] = True


def _buffer_address(fmt: Format) -> Read:
    index, offset = fmt.fields["idxen"][0], fmt.fields["offen"][0]
    readers = [from_table(fmt.fields["vaddr"], vector_registers(dwords)) for dwords in (1, 2)]

    def read(bits: int) -> Operands:
        count = ((bits >> index) & 1) + ((bits >> offset) & 1)
        return readers[count - 1](bits) if count else None

    return read


def plan_buffer(definition: Definition, arch: str) -> Plan:
    """A MUBUF or MTBUF instruction."""
    fmt = FORMATS[definition.format]
    access = definition.access
    roles = _roles(definition)
    may_go_to_lds = access is not None and arch in access.to_lds
    operands: list[Read] = []
    readers: dict[str, Callable[[Operand], Read]] = {
        "vdata": lambda operand: _data(operand, fmt.fields["vdata"], fmt.fields["acc"][0]),
        "vaddr": lambda operand: _buffer_address(fmt),
        "srsrc": lambda operand: _descriptor(fmt),
        "soffset": lambda operand: from_table(fmt.fields["soffset"], scalar_sources(1)),
    }
    for operand in definition.explicit_dsts:
        data = readers["vdata"](operand)
        operands.append(_unless_lds(fmt, data) if may_go_to_lds else data)
    operands += [readers[role](operand) for role, operand in roles.items()]
    if not roles:
        # Cache upkeep has nothing but its scope; the other fields are ignored (as LLVM decodes them).
        scope = [flag(name, fmt.fields[name]) for name in ("sc0", "sc1")]
        return Plan(definition, "", fmt.size, mask_of(fmt, "lds", "offen", "idxen", "acc"), (), tuple(scope))
    modifiers: list[ReadModifier] = [number("offset", fmt.fields["offset"])]
    flags = ["offen", "idxen", "sc0", "sc1", "nt"] + (["lds"] if may_go_to_lds else [])
    modifiers += [flag(name, fmt.fields[name]) for name in flags]
    if "format" in fmt.fields:
        modifiers.append(number("format", fmt.fields["format"], None))
    unused = [] if may_go_to_lds or "lds" not in fmt.fields else ["lds"]
    return Plan(definition, "", fmt.size, mask_of(fmt, *unused), tuple(operands), tuple(modifiers))


def _unless_lds(fmt: Format, read_data: Read) -> Read:
    """No data register where the data goes to LDS; the ``acc`` bit is then 0."""
    lds, acc = fmt.fields["lds"][0], fmt.fields["acc"][0]

    def read(bits: int) -> Operands:
        if not (bits >> lds) & 1:
            return read_data(bits)
        if (bits >> acc) & 1:
            raise IllegalEncoding
        return None

    return read


def _descriptor(fmt: Format) -> Read:
    low, width = fmt.fields["srsrc"]
    table = scalar_registers(4)

    def read(bits: int) -> Operands:
        register = table[4 * ((bits >> low) & ((1 << width) - 1))]
        if register is None:
            raise IllegalEncoding
        return register

    return read


def plan_flat(definition: Definition) -> Plan:
    """A FLAT, GLOBAL or SCRATCH instruction."""
    fmt = FORMATS["FLAT"]
    acc = fmt.fields["acc"][0]
    roles = _roles(definition)
    returns = definition.access.returns if definition.access is not None else None
    to_lds = not definition.explicit_dsts and "data" not in roles
    operands: list[Read] = []
    for operand in definition.explicit_dsts:
        data = _data(operand, fmt.fields["vdst"], acc)
        operands.append(_if(fmt.fields["sc0"][0], data) if returns == "sc0" else data)
    for role, operand in roles.items():
        if role == "data":
            operands.append(_data(operand, fmt.fields["data"], acc))
        elif role == "saddr":
            operands.append(_scalar_address(operand, fmt, to_lds))
        elif definition.format == "SCRATCH":
            operands.append(_if(fmt.fields["lds"][0], from_table(fmt.fields["addr"], vector_registers(1))))
        elif definition.format == "GLOBAL":
            operands.append(_global_address(fmt))
        else:
            operands.append(from_table(fmt.fields["addr"], vector_registers(2)))
    flat = definition.format == "FLAT"
    low, width = fmt.fields["offset"]
    modifiers = [number("offset", (low, width - 1)) if flat else signed_number("offset", (low, width))]
    modifiers += [flag(name, fmt.fields[name]) for name in ("sc0", "sc1", "nt")]
    zero = 1 << (low + width - 1) if flat else 0
    zero |= 0 if definition.format == "SCRATCH" else mask_of(fmt, "lds")
    zero |= mask_of(fmt, "saddr") if flat else 0
    # Data fields that the instruction does not use are ignored (as LLVM decodes them).
    zero |= mask_of(fmt, "acc") if to_lds else 0
    return Plan(definition, "", fmt.size, zero, tuple(operands), tuple(modifiers))


def _if(at: int, read_operand: Read) -> Read:
    """No operand unless bit ``at`` is set."""
    return lambda bits: read_operand(bits) if (bits >> at) & 1 else None


def _scalar_address(operand: Operand, fmt: Format, to_lds: bool) -> Read:
    low, width = fmt.fields["saddr"]
    table = scalar_registers(operand.dwords)
    # A pair may be EXEC in loads to LDS alone (as LLVM decodes it).
    register = from_table((low, width), table if operand.dwords == 1 or to_lds else (*table[:126], None, None))
    return lambda bits: None if (bits >> low) & ((1 << width) - 1) == _OFF else register(bits)


def _global_address(fmt: Format) -> Read:
    low, width = fmt.fields["saddr"]
    one, two = (from_table(fmt.fields["addr"], vector_registers(dwords)) for dwords in (1, 2))
    return lambda bits: two(bits) if (bits >> low) & ((1 << width) - 1) == _OFF else one(bits)


def segment_of(bits: int) -> str:
    """FLAT, SCRATCH or GLOBAL, by the ``seg`` field; empty for the reserved value."""
    low, width = FORMATS["FLAT"].fields["seg"]
    code = (bits >> low) & ((1 << width) - 1)
    return SEGMENTS[code] if code < len(SEGMENTS) else ""
