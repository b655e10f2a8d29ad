"""Decoding plans of the scalar encodings: SOP1, SOP2, SOPK, SOPC, SOPP and SMEM."""

from __future__ import annotations

from .decode_modifiers import flag, number, signed_number
from .decode_plan import IllegalEncoding, Plan, Read, ReadModifier, constant, from_table, mask_of, read_literal
from .define import Definition, Operand
from .formats import FORMATS
from .instruction import Operands
from .operand_codes import scalar_registers, scalar_sources
from .registers import Const, Label
from .types import label

_LITERAL_AT = 32


def plan_scalar_alu(definition: Definition) -> Plan:
    """The plan of a SOP1, SOP2, SOPK, SOPC or SOPP instruction."""
    fmt = FORMATS[definition.format]
    free = {name for name in ("ssrc0", "ssrc1", "sdst", "simm16") if name in fmt.fields}
    operands: list[Read] = []
    modifiers: list[ReadModifier] = []
    literal: list[tuple[int, int]] = []
    # Targets of indirect branches and sources chosen by M0 are registers.
    registers_only = (definition.has("branch") and not definition.has("call")) or definition.has("relative_src")

    def take_scalar(operand: Operand, field: str) -> None:
        free.discard(field)
        place = fmt.fields[field]
        if field == "sdst":
            operands.append(from_table(place, scalar_registers(operand.dwords)))
        else:
            table = scalar_sources(operand.dwords)
            if registers_only:
                table = scalar_registers(operand.dwords) + (None,) * 128
            operands.append(from_table(place, table, _LITERAL_AT))
            literal.append((place[0], 255))

    for operand in definition.explicit_dsts:
        take_scalar(operand, "sdst")
    fields = iter(name for name in ("ssrc0", "ssrc1", "sdst") if name in free)
    sources = definition.explicit_srcs
    for i, operand in enumerate(sources):
        if operand.type is label:
            free.discard("simm16")
            operands.append(_read_label)
        elif definition.has("literal") and i == len(sources) - 1:
            operands.append(read_literal(_LITERAL_AT))
        else:
            take_scalar(operand, next(fields))
    for operand in definition.srcs:
        if operand.implicit == "gpr_idx":
            field = "ssrc1" if "ssrc1" in fmt.fields else "simm16"
            free.discard(field)
            modifiers.append(number("gpr_idx", fmt.fields[field], None))
        elif operand.implicit == "simm16":
            free.discard("simm16")
            modifiers.append(
                _read_waitcnt if definition.has("waitcnt") else number("simm16", fmt.fields["simm16"], None)
            )
    # Unused register fields are ignored (as LLVM decodes them), an unused constant is not.
    zero = mask_of(fmt, *(free & {"simm16"}))
    return Plan(
        definition, "", fmt.size, zero, tuple(operands), tuple(modifiers), tuple(literal), definition.has("literal")
    )


def _read_label(bits: int) -> Operands:
    dwords = bits & 0xFFFF
    return Label(str(dwords), 4 * ((dwords ^ 0x8000) - 0x8000))


def _read_waitcnt(bits: int, out: dict[str, object]) -> None:
    """Counters by name; one that is at its maximum waits for nothing and is left out."""
    for name, count, most in (
        ("vmcnt", (bits & 15) | (bits >> 10) & 0x30, 63),
        ("expcnt", (bits >> 4) & 7, 7),
        ("lgkmcnt", (bits >> 8) & 15, 15),
    ):
        if count != most:
            out[name] = count


def plan_smem(definition: Definition) -> Plan:
    """The plan of a scalar memory instruction.

    The offset has three forms: a constant (``imm``), a register in the low bits of the offset field (neither ``imm``
    nor ``soffset_en``), a register in ``soffset`` with or without a constant.
    """
    fmt = FORMATS["SMEM"]
    access = definition.access
    roles = access.roles if access is not None else ()
    sources = dict(zip(roles, definition.explicit_srcs, strict=True))
    operands = [from_table(fmt.fields["sdata"], scalar_registers(o.dwords)) for o in definition.explicit_dsts]
    for role, operand in sources.items():
        if role == "sdata":
            operands.append(from_table(fmt.fields["sdata"], scalar_registers(operand.dwords)))
        elif role == "sbase":
            operands.append(_sbase(operand))
        elif role == "soffset":
            operands.append(_read_soffset)
        elif role == "probe":
            operands.append(from_table(fmt.fields["sdata"], tuple(Const(code) for code in range(128))))
    modifiers: list[ReadModifier] = []
    if "soffset" in sources:
        modifiers.append(_read_smem_offset)
    if access is not None and access.kind in ("load", "store", "atomic"):
        modifiers.append(flag("glc", fmt.fields["glc"]))
    # Unused fields are ignored, but what has no offset has no constant one (as LLVM decodes them).
    zero = 0 if "soffset" in sources else mask_of(fmt, "imm")
    return Plan(definition, "", fmt.size, zero, tuple(operands), tuple(modifiers))


def _sbase(operand: Operand) -> Read:
    low, width = FORMATS["SMEM"].fields["sbase"]
    table = scalar_registers(operand.dwords)

    def read(bits: int) -> Operands:
        register = table[2 * ((bits >> low) & ((1 << width) - 1))]
        if register is None:
            raise IllegalEncoding
        return register

    return read


_IMM, _SOFFSET_EN = 1 << 17, 1 << 14
_read_soffset_field = from_table(FORMATS["SMEM"].fields["soffset"], scalar_registers(1))
_read_offset_register = from_table((FORMATS["SMEM"].fields["offset"][0], 7), scalar_registers(1))
_read_offset = signed_number("offset", FORMATS["SMEM"].fields["offset"])
_no_offset = constant(None)


def _read_soffset(bits: int) -> Operands:
    if bits & _SOFFSET_EN:
        return _read_soffset_field(bits)
    return _no_offset(bits) if bits & _IMM else _read_offset_register(bits)


def _read_smem_offset(bits: int, out: dict[str, object]) -> None:
    if bits & _IMM:
        _read_offset(bits, out)
        if bits & _SOFFSET_EN:
            # Beside a register an offset of 0 has an encoding of its own.
            out.setdefault("offset", 0)
