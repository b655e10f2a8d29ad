"""Float functions of the vector ALU beyond the IEEE operations: minima, scaling by powers of two."""

from __future__ import annotations

from collections.abc import Callable

from .types import UNSIGNED, Type, f16, f32, f64, i32, u64
from .value import Value, exponent_bits, mantissa_bits


def is_signaling(x: Value) -> Value:
    """u1: whether ``x`` is a NaN with the quiet bit clear."""
    quiet_bit = 1 << (mantissa_bits(x.type) - 1)
    return x.isnan() & ((x.bits(UNSIGNED[x.type.bits]) & quiet_bit) == 0)


def min_number(a: Value, b: Value, ieee: int) -> Value:
    """The smaller number, -0 below +0. A quiet NaN loses; a signaling one wins, quieted, if ``ieee`` is set in MODE."""
    return _extreme(a, b, ieee, Value.min)


def max_number(a: Value, b: Value, ieee: int) -> Value:
    """The larger number, +0 above -0; NaNs as in `min_number`."""
    return _extreme(a, b, ieee, Value.max)


def _extreme(a: Value, b: Value, ieee: int, pick: Callable[[Value, Value], Value]) -> Value:
    result = pick(a, b)
    # A lazy evaluator gives up on NaN anyway.
    if ieee and not a.ev.lazy:
        for operand in (b, a):
            result = is_signaling(operand).select(operand.quiet(), result)
    return result


def _nan_or(result: Value, *sources: Value) -> Value:
    """The first source that is NaN, quieted, else the result."""
    for source in reversed(sources):
        result = source.isnan().select(source.quiet(), result)
    return result


def minimum(a: Value, b: Value) -> Value:
    """The smaller, -0 below +0; NaN if either is (IEEE 754-2019)."""
    return _nan_or(a.min(b), a, b)


def maximum(a: Value, b: Value) -> Value:
    """The larger, +0 above -0; NaN if either is (IEEE 754-2019)."""
    return _nan_or(a.max(b), a, b)


def minimum3(a: Value, b: Value, c: Value) -> Value:
    return minimum(minimum(a, b), c)


def maximum3(a: Value, b: Value, c: Value) -> Value:
    return maximum(maximum(a, b), c)


def min3_number(a: Value, b: Value, c: Value, ieee: int) -> Value:
    return min_number(min_number(a, b, ieee), c, ieee)


def max3_number(a: Value, b: Value, c: Value, ieee: int) -> Value:
    return max_number(max_number(a, b, ieee), c, ieee)


def med3_number(a: Value, b: Value, c: Value, ieee: int) -> Value:
    """The middle one of three numbers; the smallest if one is NaN."""
    middle = a.max(b).min(a.min(b).max(c))
    if a.ev.lazy:
        return middle
    return (a.isnan() | b.isnan() | c.isnan()).select(min3_number(a, b, c, ieee), middle)


def mul_legacy(a: Value, b: Value) -> Value:
    """The product, +0 if a factor is 0 even if the other is infinite or NaN."""
    return ((a == 0.0) | (b == 0.0)).select(0.0, a * b)


def power_of_two(exponent: Value, type: Type) -> Value:
    """2 to an i32 exponent that is in the range of normal numbers of ``type``."""
    mantissa = mantissa_bits(type)
    bias = (1 << (type.bits - 2 - mantissa)) - 1
    unsigned = UNSIGNED[type.bits]
    return ((exponent + bias).resize(unsigned) << mantissa).bits(type)


def ldexp(x: Value, exponent: Value) -> Value:
    """``x`` times 2 to an integer exponent, rounded once (also into denormals); overflow gives infinity."""
    e = exponent.resize(i32) if exponent.type.signed else exponent.bits(i32)
    if x.type is f16:
        return (x.to(f32) * power_of_two(e.max(-60).min(60), f32)).to(f16)
    if x.type is f32:
        return (x.to(f64) * power_of_two(e.max(-300).min(300), f64)).to(f32)
    # Steps of 2^-969 leave at least 54 places for the last factor, so that only the last product rounds.
    for _ in range(2):
        step = (e < -1022).select(-969, e.min(1023))
        x = x * power_of_two(step, f64)
        e = e - step
    return x * power_of_two(e.max(-1022).min(1023), f64)


def frexp_mantissa(x: Value) -> Value:
    """``x`` scaled by a power of two into [0.5, 1); zeros, infinities and NaN as they are."""
    t = x.type
    unsigned, mantissa = UNSIGNED[t.bits], mantissa_bits(t)
    normal = x * 2.0 ** (mantissa + 1)
    bits = ((abs(x) < 2.0 ** (2 - (1 << (t.bits - 2 - mantissa)))).select(normal, x)).bits(unsigned)
    half = ((1 << (t.bits - 2 - mantissa)) - 2) << mantissa
    scaled = ((bits & ~exponent_bits(t) & ((1 << t.bits) - 1)) | half).bits(t)
    return ((x == 0.0) | x.isinf() | x.isnan()).select(x.isnan().select(x.quiet(), x), scaled)


def frexp_exponent(x: Value) -> Value:
    """i32: the exponent that belongs to `frexp_mantissa`; 0 for zeros, infinities and NaN."""
    tiny = abs(x) < 2.0**-1022 if x.type is f64 else None
    wide = x.to(f64) if tiny is None else tiny.select(x * 2.0**64, x)
    exponent = (wide.bits(u64).field(52, 11).resize(i32)) - 1022
    if tiny is not None:
        exponent = exponent - tiny.resize(i32) * 64
    return ((x == 0.0) | x.isinf() | x.isnan()).select(0, exponent)


def fract(x: Value) -> Value:
    """``x - floor(x)``, at most the largest number below 1."""
    rest = x - x.floor()
    below_one = 1.0 - 2.0 ** -(mantissa_bits(x.type) + 1)
    return (rest >= 1.0).select(below_one, rest)
