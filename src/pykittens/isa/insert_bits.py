"""Results narrower than a register: a byte or half of the destination is written, the rest stays."""

from __future__ import annotations

from .value import Value


def insert_half(old: Value, half: Value, op_sel: int) -> Value:
    """``half`` (u32, below 2^16) in the half of ``old`` that the destination's op_sel bit names."""
    return (old & 0xFFFF) | (half << 16) if op_sel & 8 else (old & 0xFFFF0000) | half


def insert_byte(old: Value, byte: Value, op_sel: int) -> Value:
    """``byte`` (u32, below 2^8) in the byte of ``old`` that op_sel[3:2] names."""
    place = 8 * (op_sel >> 2)
    return (old & ~(0xFF << place) & 0xFFFFFFFF) | (byte << place)


def source_half(word: Value, op_sel: int) -> Value:
    """The half of a source that op_sel[0] names."""
    return word.field(16 * (op_sel & 1), 16)


def source_byte(word: Value, op_sel: int) -> Value:
    """The byte of a source that op_sel[1:0] names."""
    return word.field(8 * (op_sel & 3), 8)
