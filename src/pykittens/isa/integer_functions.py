"""Integer arithmetic that several instruction formats share: saturation, 24-bit products, carries."""

from __future__ import annotations

from collections.abc import Callable

from .types import Type, i64, u32
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


def mad(a: Value, b: Value, c: Value) -> Value:
    """``a*b + c`` in the type of ``c``."""
    return a.resize(c.type) * b.resize(c.type) + c


def mad_u24(a: Value, b: Value, c: Value) -> Value:
    return mul_u24(a, b) + c


def mad_i24(a: Value, b: Value, c: Value) -> Value:
    return mul_i24(a, b) + c


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


def mad_wide(type: Type, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """The 64-bit sum of a product of 32-bit values and ``c``, and its bit 64: carry out, or for i64 the true sign."""
    product = a.resize(type) * b.resize(type)
    total = product + c
    if not type.signed:
        return total, total < product
    overflow = ((product ^ total) & (c ^ total)) < 0
    return total, (total < 0) ^ overflow


def mad_wide_clamped(type: Type, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """The same, saturated."""
    total, carry = mad_wide(type, a, b, c)
    if not type.signed:
        return carry.select((1 << 64) - 1, total), carry
    limit = carry.select(total.const(-(1 << 63)), (1 << 63) - 1)
    return (carry ^ (total < 0)).select(limit, total), carry


def lanes_below_low(lane: Value) -> Value:
    """u32: ones for the lanes 0 to 31 below a lane."""
    return (lane > 31).select(0xFFFFFFFF, (lane.const(1) << (lane & 31)) - 1)


def lanes_below_high(lane: Value) -> Value:
    """u32: ones for the lanes 32 to 63 below a lane."""
    return (lane < 32).select(0, (lane.const(1) << (lane & 31)) - 1)


def median(a: Value, b: Value, c: Value) -> Value:
    """The middle one of three integers."""
    return a.max(b).min(a.min(b).max(c))


def extract_signed(x: Value, low: Value, width: Value) -> Value:
    """``width`` bits (modulo 32) from bit ``low`` (modulo 32) up, sign-extended; 0 for no bits."""
    up = (32 - (width & 31)) & 31
    field = ((x >> (low & 31)) << up) >> up
    return ((width & 31) == 0).select(0, field)


def bitop3(a: Value, b: Value, c: Value, table: int) -> Value:
    """Any function of three bits: result bit = ``table`` bit 4*a + 2*b + c."""

    def of_c(two_bits: int) -> Value | None:
        return {0: None, 1: ~c, 2: c, 3: c | ~c}[two_bits]

    result = a.const(0)
    for index, term in enumerate((~a & ~b, ~a & b, a & ~b, a & b)):
        choice = of_c(table >> (2 * index) & 3)
        if choice is not None:
            result = result | (term & choice)
    return result


def prng_step(x: Value) -> Value:
    """One step of a 32-bit LFSR: shift left and feed back 0xC5 where the top bit was one."""
    return (x << 1) ^ ((x >> 31) * 0xC5)
