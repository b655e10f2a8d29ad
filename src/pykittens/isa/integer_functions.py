"""Integer arithmetic that several instruction formats share: saturation, 24-bit products, carries."""

from __future__ import annotations

from collections.abc import Callable

from .types import Type, i32, i64, u8, u16, u32
from .value import Value


def saturate(value: Value, type: Type) -> Value:
    """A wider signed value clamped to the range of ``type``."""
    low = -(1 << (type.bits - 1)) if type.signed else 0
    high = (1 << (type.bits - type.signed)) - 1
    return value.max(low).min(high).resize(type)


def saturating(operation: Callable[..., Value], type: Type) -> Callable[..., Value]:
    """``operation`` done on 64-bit signed integers, its result clamped to the range of ``type``."""

    def clamped(*sources: Value) -> Value:
        return saturate(operation(*(s.resize(i64) for s in sources)), type)

    return clamped


def mul_u24(a: Value, b: Value) -> Value:
    """Low 32 bits of the product of the unsigned low 24 bits."""
    return a.field(0, 24) * b.field(0, 24)


def mul_i24(a: Value, b: Value) -> Value:
    """Low 32 bits of the product of the signed low 24 bits."""
    return a.sext(24) * b.sext(24)


def add_carry(a: Value, b: Value) -> tuple[Value, Value]:
    """u32 sum and carry out."""
    total = a + b
    return total, total < a


def add_with_carry(a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    """u32 sum of a, b and the carry in (u1), and carry out."""
    partial = a + b
    total = partial + carry.resize(u32)
    return total, (partial < a) | (total < partial)


def sub_borrow(a: Value, b: Value) -> tuple[Value, Value]:
    """u32 difference and borrow out."""
    return a - b, a < b


def sub_with_borrow(a: Value, b: Value, borrow: Value) -> tuple[Value, Value]:
    """u32 difference of a, b and the borrow in (u1), and borrow out."""
    return a - b - borrow.resize(u32), (a < b) | ((a == b) & borrow)


def or_ones(result: tuple[Value, Value]) -> tuple[Value, Value]:
    """A sum with its carry, saturated: all ones where it carried."""
    total, carry = result
    return carry.select(0xFFFFFFFF, total), carry


def or_zero(result: tuple[Value, Value]) -> tuple[Value, Value]:
    """A difference with its borrow, saturated: 0 where it borrowed."""
    difference, borrow = result
    return borrow.select(0, difference), borrow


def product64(a: Value, b: Value, type: Type) -> Value:
    """The full 64-bit product of two 32-bit values, as i64 or u64 (``type``)."""
    narrow = i32 if type.signed else u32
    return a.bits(narrow).resize(type) * b.bits(narrow).resize(type)


def mbcnt(mask: Value, below: Value, base: Value) -> Value:
    """``base`` plus how many bits of ``mask`` stand below the lane: ``below`` has ones in those places."""
    return (mask & below).popcount() + base


def first_high_one(x: Value) -> Value:
    """Zeros above the highest one bit; all ones if there is none."""
    return (x == 0).select(0xFFFFFFFF, x.clz())


def first_low_one(x: Value) -> Value:
    """Position of the lowest one bit; all ones if there is none."""
    return (x == 0).select(0xFFFFFFFF, x.ctz())


def first_high_change(x: Value) -> Value:
    """i32: how many of the highest bits are like the sign; -1 if all are."""
    unlike = (x ^ (x >> 31)).bits(u32)
    return first_high_one(unlike).bits(i32)


def saturate_bytes(x: Value) -> Value:
    """The two i16 halves of a dword, each clamped to 0..255, as two bytes."""
    low, high = (saturate(half.sext(16), u8).resize(u16) for half in (x, x >> 16))
    return low | (high << 8)


def prng_step(x: Value) -> Value:
    """One step of a 32-bit LFSR: shift left and feed back 0xC5 where the top bit was one."""
    return (x << 1) ^ ((x >> 31) * 0xC5)
