"""Operands as LLVM prints them: registers, inline constants, literals, and what wraps them (neg, abs, sext)."""

from __future__ import annotations

from .define import Operand
from .instruction import Operands
from .operand_codes import INLINE_FLOATS, f32_bits
from .registers import Const

_FLOAT_TEXT = {
    f32_bits(value): text
    for value, text in zip(
        INLINE_FLOATS.values(), ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"), strict=True
    )
}
_INVERSE_2PI_F64 = "0.15915494309189532"
_F16_BITS = {
    0x3F000000: 0x3800, 0xBF000000: 0xB800, 0x3F800000: 0x3C00, 0xBF800000: 0xBC00, 0x40000000: 0x4000,
    0xC0000000: 0xC000, 0x40800000: 0x4400, 0xC0800000: 0xC400, 0x3E22F983: 0x3118,
}  # fmt: skip
"""Inline floats: f32 bits to f16 bits."""
_F64_HIGH = {
    0x3FE00000: "0.5", 0xBFE00000: "-0.5", 0x3FF00000: "1.0", 0xBFF00000: "-1.0", 0x40000000: "2.0",
    0xC0000000: "-2.0", 0x40100000: "4.0", 0xC0100000: "-4.0", 0: "0",
}  # fmt: skip
"""High dwords of f64 constants whose low dword is 0 and that have an inline form."""


def signed(bits: int, width: int = 32) -> int:
    """The two's complement value of ``width`` bits."""
    sign = 1 << (width - 1)
    return ((bits & (2 * sign - 1)) ^ sign) - sign


def is_inline_int(value: int) -> bool:
    return -16 <= value <= 64


def number_text(value: int) -> str:
    """A plain immediate: decimal where it could be an inline constant, else hexadecimal."""
    return str(value) if is_inline_int(value) else hex(value)


def inline_text(const: Const, operand: Operand) -> str:
    """An inline constant. Integers of 16 bits see the f16 pattern of a float, which LLVM prints as such."""
    if const.form == "int":
        return str(signed(const.bits))
    if operand.bits == 16 and not operand.type.is_float:
        return hex(_F16_BITS[const.bits])
    if operand.bits == 64 and const.bits == f32_bits(INLINE_FLOATS[248]) and operand.packed == 1:
        return _INVERSE_2PI_F64
    return _FLOAT_TEXT[const.bits]


def literal_text(const: Const, operand: Operand) -> str:
    """A literal in a source field: hexadecimal, in ``lit()`` where the assembler would take an inline constant instead.

    16-bit operands show the low half; an f64 operand takes the literal as its high dword.
    """
    bits = const.bits
    if operand.type.is_float and operand.bits == 64 and operand.packed == 1:
        return _F64_HIGH.get(bits, hex(bits))
    if operand.bits == 64:
        return f"lit({bits:#x})" if bits <= 64 else hex(bits)
    if operand.bits == 16:
        low = bits & 0xFFFF
        inline = is_inline_int(signed(bits)) or (operand.type.is_float and low in _F16_BITS.values())
        return f"lit({bits:#x})" if inline else hex(low)
    inline = is_inline_int(signed(bits)) or bits in _FLOAT_TEXT
    return f"lit({bits:#x})" if inline else hex(bits)


def plain_literal_text(const: Const) -> str:
    """A literal that stands where no inline constant can: decimal where small.

    LLVM prints some as floats there (``1.0``), which its assembler takes for 0: hexadecimal says the same without harm.
    """
    value = signed(const.bits)
    return str(value) if is_inline_int(value) else hex(const.bits)


def operand_text(value: Operands, operand: Operand, always_literal: bool = False) -> str:
    """One operand without modifiers; an absent one is ``off``."""
    if value is None:
        return "off"
    if not isinstance(value, Const):
        return str(value)
    if value.form != "literal":
        return inline_text(value, operand)
    return hex(value.bits) if always_literal else literal_text(value, operand)


def with_modifiers(text: str, constant: bool, neg: int, absolute: int, sext: int) -> str:
    """``-v0``, ``|v0|``, ``-|v0|``, ``neg(1)`` of a constant, ``sext(v0)``."""
    if sext:
        return f"sext({text})"
    if absolute:
        text = f"|{text}|"
        return f"-{text}" if neg else text
    if neg:
        return f"neg({text})" if constant else f"-{text}"
    return text
