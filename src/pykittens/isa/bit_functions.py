"""Bit arithmetic of scalar and vector instructions: fields, masks, counts, and bits gathered or spread by quads."""

from __future__ import annotations

from .types import SIGNED, UNSIGNED, Type, u32, u64
from .value import Value

ALL_ONES = 0xFFFFFFFF


def nonzero(value: Value) -> tuple[Value, Value]:
    """A result and its SCC: whether it is not 0."""
    return value, value != 0


def shift_count(count: Value, type: Type) -> Value:
    """The low 5 or 6 bits of a shift count, for a 32- or 64-bit ``type``."""
    return count & (type.bits - 1)


def low_ones(width: Value, type: Type) -> Value:
    """``width`` ones from bit 0 up, all ones from the type's size on."""
    one = width.const(1, type)
    return (width >= type.bits).select((1 << type.bits) - 1, (one << shift_count(width, type)) - 1)


def bit_field(value: Value, place: Value) -> Value:
    """The field of ``value`` at bit ``place[5:0]`` of ``place[22:16]`` bits, extended by the signedness of its type.

    32-bit values use ``place[4:0]``. A field that reaches above the top ends there.
    """
    type = value.type
    width = place.field(16, 7)
    shifted = value >> shift_count(place, type)
    if not type.signed:
        return shifted & low_ones(width, type)
    up = shift_count(type.bits - width, type)
    field = (width >= type.bits).select(shifted, (shifted << up) >> up)
    return (width == 0).select(0, field)


def bit_mask(width: Value, low: Value, type: Type) -> Value:
    """``width`` ones from bit ``low`` up; both count modulo the type's size."""
    return low_ones(shift_count(width, type), type) << shift_count(low, type)


def single_bit(index: Value, type: Type) -> Value:
    """One at bit ``index``, modulo the type's size."""
    return index.const(1, type) << shift_count(index, type)


def first_one(value: Value) -> Value:
    """The lowest set bit's number as u32, -1 if there is none."""
    return (value == 0).select(ALL_ONES, value.ctz().resize(u32))


def leading_zeros(value: Value) -> Value:
    """Zeros above the highest set bit as u32, -1 if there is none."""
    return (value == 0).select(ALL_ONES, value.clz().resize(u32))


def leading_signs(value: Value) -> Value:
    """How many bits from the top equal the sign as u32, -1 if all do."""
    signed = value.bits(SIGNED[value.type.bits])
    return leading_zeros((signed ^ (signed >> (value.type.bits - 1))).bits(UNSIGNED[value.type.bits]))


def _quads(value: Value) -> Value:
    """Bit 4i is set if any of bits 4i..4i+3 is."""
    any_bit = value | (value >> 1) | (value >> 2) | (value >> 3)
    return any_bit & _repeat(0x1, 4, value.type.bits)


def _repeat(pattern: int, period: int, bits: int) -> int:
    return sum(pattern << low for low in range(0, bits, period))


def whole_quads(value: Value) -> Value:
    """All four bits of each quad that has one set."""
    quads = _quads(value)
    return (quads << 4) - quads


def quad_mask(value: Value) -> Value:
    """Bit i is set if quad i of the value has a bit set."""
    result, bits = _quads(value), value.type.bits
    step = 1
    while 4 * step < bits:
        # Neighbouring groups of ``step`` bits, 4*step apart, become groups of 2*step bits, 8*step apart.
        result = (result | (result >> (3 * step))) & _repeat((1 << (2 * step)) - 1, 8 * step, bits)
        step *= 2
    return result


def replicate_bits(value: Value) -> Value:
    """Every bit of a u32 twice, as u64."""
    spread = value.resize(u64)
    for step in (16, 8, 4, 2, 1):
        spread = (spread | (spread << step)) & _repeat((1 << step) - 1, 2 * step, 64)
    return spread | (spread << 1)


def add_overflow(a: Value, b: Value) -> tuple[Value, Value]:
    """i32 sum and whether it overflowed."""
    total = a + b
    return total, ((a ^ total) & (b ^ total)) < 0


def sub_overflow(a: Value, b: Value) -> tuple[Value, Value]:
    """i32 difference and whether it overflowed."""
    difference = a - b
    return difference, ((a ^ b) & (a ^ difference)) < 0


def shifted_sum(a: Value, b: Value, shift: int) -> tuple[Value, Value]:
    """``(a << shift) + b`` of u32 values, and whether it needs more than 32 bits."""
    total = (a.resize(u64) << shift) + b.resize(u64)
    return total.resize(u32), (total >> 32) != 0
