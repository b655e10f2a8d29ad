"""Decoding plans of the vector ALU encodings: VOP1, VOP2, VOPC, VOP3 and VOP3P."""

from __future__ import annotations

from itertools import zip_longest

from .decode_plan import (
    Plan,
    Read,
    ReadModifier,
    constant,
    flag,
    from_table,
    mask_of,
    per_source,
    read_literal,
)
from .define import Definition, Operand
from .formats import FORMATS, VOP3B, Format
from .instruction import Operands
from .operand_codes import scalar_registers, scalar_sources, sources, vector_registers
from .registers import vcc
from .vector_modifiers import (
    OMOD,
    has_bitop3,
    has_clamp,
    has_neg,
    has_omod,
    has_op_sel,
    is_vop3b,
    op_sel_entries,
    takes_neg,
)

SECOND = 32
"""Bit at which the dword after a 4-byte encoding starts."""


def _vector_only(operand: Operand, file: str = "v") -> tuple[Operands, ...]:
    """A 9-bit source field that may name nothing but vector (or accumulation) registers."""
    return (None,) * 256 + vector_registers(operand.dwords, file)


def _source_table(definition: Definition, operand: Operand) -> tuple[Operands, ...]:
    """What a 9-bit source field may name."""
    if definition.has("acc_src"):
        return _vector_only(operand, "a")
    # What moves a lane to a scalar register reads vector registers alone, and so do operands of more than 64 bits
    # and, outside of VOP3P, pairs of f32.
    lane_read = any(dst.scalar for dst in definition.explicit_dsts)
    pair = definition.format == "VOP3" and operand.packed == 2 and operand.bits == 64
    return _vector_only(operand) if lane_read or pair or operand.dwords > 2 else sources(operand.dwords)


def read_vdst(definition: Definition, operand: Operand, fmt: Format) -> Read:
    """The 8-bit destination field: a vector register, or a scalar one for what writes scalars."""
    place = fmt.fields["vdst"]
    if operand.scalar or operand.mask:
        return from_table(place, scalar_registers(operand.dwords) + (None,) * 128)
    return from_table(place, vector_registers(operand.dwords, "a" if definition.has("acc_dst") else "v"))


def short_destinations(definition: Definition, fmt: Format) -> list[Read]:
    """Readers of the destinations where the first dword is a 4-byte encoding."""
    reads: list[Read] = []
    for i, operand in enumerate(definition.explicit_dsts):
        if operand.mask:
            reads.append(constant(vcc))
        elif i and definition.has("swap"):
            reads.append(from_table(fmt.fields["src0"], _vector_only(operand)))
        else:
            reads.append(read_vdst(definition, operand, fmt))
    return reads


def plan_short(definition: Definition) -> Plan:
    """The 4-byte encoding (e32) of a VOP1, VOP2 or VOPC instruction, with its literal if there is one."""
    fmt = FORMATS[definition.format]
    operands = short_destinations(definition, fmt)
    free = {"src0", "vsrc1", "vdst"} & fmt.fields.keys()
    free -= {"vdst"} if operands else set()
    free -= {"src0"} if definition.has("swap") else set()
    literals: list[tuple[int, int]] = []
    for i, operand in enumerate(definition.explicit_srcs):
        if operand.mask:
            operands.append(constant(vcc))
        elif definition.has(f"literal{i}"):
            operands.append(read_literal(SECOND))
        elif "src0" in free:
            free.discard("src0")
            literals.append((fmt.fields["src0"][0], 511))
            operands.append(from_table(fmt.fields["src0"], _source_table(definition, operand), SECOND))
        else:
            free.discard("vsrc1")
            operands.append(from_table(fmt.fields["vsrc1"], vector_registers(operand.dwords)))
    always_literal = any(definition.has(f"literal{i}") for i in range(3))
    return Plan(
        definition, "e32", fmt.size, mask_of(fmt, *(free & {"vdst"})), tuple(operands), (), tuple(literals), always_literal
    )  # fmt: skip


def neg_abs(definition: Definition, name: str, lows: tuple[int, ...]) -> ReadModifier:
    """neg or abs of each explicit source; bits of sources that have none count as 0."""
    operands = definition.explicit_srcs
    places = tuple(
        lows[i] if i < len(lows) and takes_neg(definition, operand) else None for i, operand in enumerate(operands)
    )
    default = (0,) * len(operands)

    def read(bits: int, out: dict[str, object]) -> None:
        value = tuple([0 if low is None else (bits >> low) & 1 for low in places])
        if value != default:
            out[name] = value

    return read


def omod(low: int) -> ReadModifier:
    """The output multiplier, a factor."""

    def read(bits: int, out: dict[str, object]) -> None:
        code = (bits >> low) & 3
        if code:
            out["omul"] = OMOD[code]

    return read


def bits_of(place: tuple[int, int]) -> tuple[int, ...]:
    """The numbers of a field's bits."""
    return tuple(range(place[0], place[0] + place[1]))


def _read_bitop3(bits: int, out: dict[str, object]) -> None:
    """The truth table lies in the fields of omod, abs and neg."""
    table = ((bits >> 59) & 3) << 6 | ((bits >> 8) & 7) << 3 | (bits >> 61) & 7
    if table:
        out["bitop3"] = table


def _op_sel(definition: Definition, low: int) -> ReadModifier:
    """Four bits, of which those of absent sources count as 0."""
    used = op_sel_entries(definition)

    def read(bits: int, out: dict[str, object]) -> None:
        value = tuple([(bits >> low + i) & 1 if i in used else 0 for i in range(4)])
        if any(value):
            out["op_sel"] = value

    return read


def _vop3_source(definition: Definition, operand: Operand, place: tuple[int, int]) -> Read:
    if operand.mask:
        return from_table(place, scalar_registers(operand.dwords) + (None,) * 384)
    if operand.scalar:
        return from_table(place, scalar_sources(operand.dwords) + (None,) * 256)
    return from_table(place, _source_table(definition, operand))


def plan_vop3(definition: Definition) -> Plan:
    """The 8-byte encoding: e64 of a short instruction, or the only one of a VOP3 instruction.

    Source fields that the instruction does not use are ignored (as LLVM decodes them).
    """
    with_sdst = is_vop3b(definition)
    fmt = VOP3B if with_sdst else FORMATS["VOP3"]
    operands: list[Read] = []
    for i, operand in enumerate(definition.explicit_dsts):
        if i and with_sdst:
            operands.append(from_table(fmt.fields["sdst"], scalar_registers(operand.dwords)))
        elif i:
            operands.append(from_table(fmt.fields["src0"], _vector_only(operand)))
        else:
            operands.append(read_vdst(definition, operand, fmt))
    for i, operand in enumerate(definition.explicit_srcs):
        operands.append(_vop3_source(definition, operand, fmt.fields[f"src{i}"]))
    modifiers, zero = _vop3_modifiers(definition, fmt)
    zero |= 0 if definition.explicit_dsts else mask_of(fmt, "vdst")
    encoding = "" if definition.format == "VOP3" else "e64"
    return Plan(definition, encoding, fmt.size, zero, tuple(operands), tuple(modifiers))


def _vop3_modifiers(definition: Definition, fmt: Format) -> tuple[list[ReadModifier], int]:
    """The modifier readers, and the bits of modifiers that the instruction has not.

    Sources without neg and abs ignore these bits if another source has them, but for compares, masks and absent
    sources they must be 0; op_sel bits are ignored where there is no op_sel (as LLVM decodes them).
    """
    modifiers: list[ReadModifier] = []
    unused: list[str] = []
    zero = 0
    if has_bitop3(definition):
        modifiers.append(_read_bitop3)
    else:
        if has_neg(definition):
            for name in [name for name in ("neg", "abs") if name in fmt.fields]:
                bits = bits_of(fmt.fields[name])
                modifiers.append(neg_abs(definition, name, bits))
                strict = definition.format == "VOPC"
                free = [takes_neg(definition, o) or not (strict or o.mask) for o in definition.explicit_srcs]
                zero |= sum(1 << bit for bit, ignored in zip_longest(bits, free) if not ignored)
        else:
            unused += ["neg", "abs"]
        if has_omod(definition):
            modifiers.append(omod(fmt.fields["omod"][0]))
        else:
            unused.append("omod")
    if has_clamp(definition):
        modifiers.append(flag("clamp", fmt.fields["clamp"]))
    else:
        unused.append("clamp")
    if has_op_sel(definition):
        modifiers.append(_op_sel(definition, fmt.fields["op_sel"][0]))
    return modifiers, zero | mask_of(fmt, *(name for name in unused if name in fmt.fields))


def plan_vop3p(definition: Definition) -> Plan:
    """A packed instruction."""
    fmt = FORMATS["VOP3P"]
    operands = [read_vdst(definition, operand, fmt) for operand in definition.explicit_dsts]
    count = len(definition.explicit_srcs)
    for i, operand in enumerate(definition.explicit_srcs):
        operands.append(from_table(fmt.fields[f"src{i}"], _source_table(definition, operand)))
    modifiers: list[ReadModifier] = []
    zero = 0
    # Unused source fields and op_sel_hi bits are ignored, the other modifiers' bits are not (as LLVM decodes them).
    op_sel = 0 if definition.has("no_op_sel") else count
    neg = 0 if definition.has("no_modifiers") else count
    high = (*bits_of(fmt.fields["op_sel_hi"]), fmt.fields["op_sel_hi2"][0])
    if op_sel:
        modifiers.append(per_source("op_sel", bits_of(fmt.fields["op_sel"])[:op_sel], (0,) * op_sel))
        modifiers.append(per_source("op_sel_hi", high[:op_sel], (1,) * op_sel))
    for name, used in (("op_sel", op_sel), ("neg_lo", neg), ("neg_hi", neg)):
        if used and name != "op_sel":
            modifiers.append(per_source(name, bits_of(fmt.fields[name])[:used], (0,) * used))
        zero |= sum(1 << bit for bit in bits_of(fmt.fields[name])[used:])
    if has_clamp(definition):
        modifiers.append(flag("clamp", fmt.fields["clamp"]))
    elif not (definition.has("acc_src") or definition.has("acc_dst")):
        # In the matrix encoding, which these two share, the bit has another meaning.
        zero |= mask_of(fmt, "clamp")
    zero |= 0 if definition.explicit_dsts else mask_of(fmt, "vdst")
    return Plan(definition, "", fmt.size, zero, tuple(operands), tuple(modifiers))
