"""Modifiers of vector ALU instructions: which an encoding has, and the names of their field values."""

from __future__ import annotations

from .define import Definition, Operand

OMOD = (1.0, 2.0, 4.0, 0.5)
"""Output multiplier by field value."""

SDWA_SELECT = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
SDWA_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")

_DPP_SHIFTS = {0x100: "row_shl", 0x110: "row_shr", 0x120: "row_ror"}
_DPP_OTHERS: dict[int, tuple[str | int, ...]] = {
    0x130: ("wave_shl", 1), 0x134: ("wave_rol", 1), 0x138: ("wave_shr", 1), 0x13C: ("wave_ror", 1),
    0x140: ("row_mirror",), 0x141: ("row_half_mirror",), 0x142: ("row_bcast", 15), 0x143: ("row_bcast", 31),
}  # fmt: skip


def dpp_control(code: int) -> tuple[str | int, ...] | None:
    """The DPP pattern of a 9-bit ``dpp_ctrl``: its name, then its numbers; None if there is no such pattern."""
    if code < 0x100:
        return ("quad_perm", code & 3, (code >> 2) & 3, (code >> 4) & 3, (code >> 6) & 3)
    if code & ~15 in _DPP_SHIFTS and code & 15:
        return (_DPP_SHIFTS[code & ~15], code & 15)
    if code & ~15 == 0x150:
        return ("row_newbcast", code & 15)
    return _DPP_OTHERS.get(code)


def takes_neg(definition: Definition, operand: Operand) -> bool:
    """Whether this source of the definition has neg and abs."""
    if definition.has("no_modifiers") or operand.mask or operand.scalar:
        return False
    return operand.type.is_float or definition.has("float_modifiers")


def has_neg(definition: Definition) -> bool:
    """Whether any source has neg and abs."""
    return any(takes_neg(definition, operand) for operand in definition.explicit_srcs)


def _is_float(definition: Definition) -> bool:
    explicit = definition.explicit_dsts + definition.explicit_srcs
    return any(operand.type.is_float for operand in explicit)


def has_clamp(definition: Definition) -> bool:
    return not definition.has("no_clamp") and (definition.clamped is not None or _is_float(definition))


def has_omod(definition: Definition) -> bool:
    return not definition.has("no_omod") and definition.format != "VOPC" and _is_float(definition)


def has_op_sel(definition: Definition) -> bool:
    """Whether the VOP3 encoding of this instruction has op_sel bits."""
    return definition.format == "VOP3" and definition.has("op_sel")


def has_bitop3(definition: Definition) -> bool:
    """Whether the instruction carries a truth table in place of neg, abs and omod."""
    return any(operand.implicit == "bitop3" for operand in definition.srcs)


def is_vop3b(definition: Definition) -> bool:
    """Whether the VOP3 encoding has a scalar destination beside the vector one."""
    return len(definition.explicit_dsts) > 1 and not definition.has("swap")


def op_sel_entries(definition: Definition) -> tuple[int, ...]:
    """Which of the four op_sel bits the text lists: those of the sources, then the destination's one or two."""
    if definition.has("byte_sel"):
        return (0, 1, 2, 3)
    return (*range(min(len(definition.explicit_srcs), 3)), 3)
