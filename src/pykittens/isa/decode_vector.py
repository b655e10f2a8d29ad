"""Decoding plans of the vector ALU encodings: VOP1, VOP2, VOPC, VOP3 and VOP3P."""

from __future__ import annotations

from itertools import zip_longest

from .decode_modifiers import bits_of, flag, neg_abs, omod, op_sel, per_source, read_bitop3
from .decode_plan import Plan, Read, ReadModifier, constant, from_table, mask_of, read_literal
from .define import Definition, Operand
from .formats import FORMATS, VOP3B, Format
from .instruction import Operands
from .operand_codes import scalar_registers, scalar_sources, sources, vector_registers
from .registers import vcc
from .vector_modifiers import has_bitop3, has_clamp, has_neg, has_omod, has_op_sel, is_vop3b, op_sel_entries, takes_neg

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
    # What has no destination must leave its field 0; unused source fields are ignored (as LLVM decodes them).
    zero = 0 if operands else mask_of(fmt, "vdst")
    fields = iter(("src0", "vsrc1") if not definition.has("swap") else ())
    literal: tuple[tuple[int, int], ...] = ()
    for i, operand in enumerate(definition.explicit_srcs):
        if operand.mask:
            operands.append(constant(vcc))
        elif definition.has(f"literal{i}"):
            operands.append(read_literal(SECOND))
        elif (field := next(fields)) == "src0":
            literal = ((fmt.fields["src0"][0], 511),)
            operands.append(from_table(fmt.fields["src0"], _source_table(definition, operand), SECOND))
        else:
            operands.append(from_table(fmt.fields[field], vector_registers(operand.dwords)))
    always_literal = any(definition.has(f"literal{i}") for i in range(3))
    return Plan(definition, "e32", fmt.size, zero, tuple(operands), (), literal, always_literal)


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


def _neg_and_abs(definition: Definition, fmt: Format) -> tuple[list[ReadModifier], int]:
    """Their readers, and the bits of theirs that must be 0: all if no source has them, else those of compares, masks
    and absent sources; other sources ignore them (as LLVM decodes them)."""
    names = [name for name in ("neg", "abs") if name in fmt.fields]
    if not has_neg(definition):
        return [], mask_of(fmt, *names)
    strict = definition.format == "VOPC"
    free = [takes_neg(definition, o) or not (strict or o.mask) for o in definition.explicit_srcs]
    free += [True] if definition.has("byte_sel") and len(free) == 2 else []
    places = [bits_of(fmt.fields[name]) for name in names]
    zero = sum(1 << bit for bits in places for bit, ignored in zip_longest(bits, free) if not ignored)
    return [neg_abs(definition, name, bits) for name, bits in zip(names, places, strict=True)], zero


def _vop3_modifiers(definition: Definition, fmt: Format) -> tuple[list[ReadModifier], int]:
    """The modifier readers, and the bits of modifiers that the instruction has not.

    op_sel bits are ignored where there is no op_sel (as LLVM decodes them); swaps of lanes have two of DPP's modifiers
    there.
    """
    modifiers: list[ReadModifier] = []
    unused: list[str] = []
    zero = 0
    if has_bitop3(definition):
        modifiers.append(read_bitop3)
        unused += [] if has_op_sel(definition) else ["op_sel"]
    else:
        modifiers, zero = _neg_and_abs(definition, fmt)
        if has_omod(definition):
            modifiers.append(omod(fmt.fields["omod"][0]))
        else:
            unused.append("omod")
    if has_clamp(definition):
        modifiers.append(flag("clamp", fmt.fields["clamp"]))
    else:
        unused.append("clamp")
    selects = bits_of(fmt.fields["op_sel"]) if "op_sel" in fmt.fields else ()
    if has_op_sel(definition):
        modifiers.append(op_sel(selects[0]))
        zero |= sum(1 << bit for i, bit in enumerate(selects) if i not in op_sel_entries(definition))
    elif definition.has("swap"):
        modifiers += [flag("fi", (selects[0], 1)), flag("bound_ctrl", (selects[1], 1))]
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
    selected = 0 if definition.has("no_op_sel") else count
    negated = 0 if definition.has("no_modifiers") else count
    high = (*bits_of(fmt.fields["op_sel_hi"]), fmt.fields["op_sel_hi2"][0])
    if selected:
        modifiers.append(per_source("op_sel_hi", high[:selected], (1,) * selected))
    for name, used in (("op_sel", selected), ("neg_lo", negated), ("neg_hi", negated)):
        bits = bits_of(fmt.fields[name])
        if used:
            modifiers.append(per_source(name, bits[:used], (0,) * used))
        zero |= sum(1 << bit for bit in bits[used:])
    if has_clamp(definition):
        modifiers.append(flag("clamp", fmt.fields["clamp"]))
    elif not (definition.has("acc_src") or definition.has("acc_dst")):
        # In the matrix encoding, which these two share, the bit has another meaning.
        zero |= mask_of(fmt, "clamp")
    zero |= 0 if definition.explicit_dsts else mask_of(fmt, "vdst")
    return Plan(definition, "", fmt.size, zero, tuple(operands), tuple(modifiers))
