"""The parts of a division: scaling of operands, the scaled last step, and special cases (ISA manual, V_DIV_*).

A division of n by d estimates 1/d, refines it by fused multiply-adds on operands that were scaled where a step could
over- or underflow, and ends with `divide_last_step`, which takes the scale back and rounds once. VCC says where.
"""

from __future__ import annotations

from dataclasses import dataclass

from .float_functions import ldexp
from .types import UNSIGNED, f16, f32, f64, i32
from .value import Value, exponent_bits, mantissa_bits, quiet_nan_bits


@dataclass(frozen=True, slots=True)
class Limits:
    """Where operands of a division are scaled: ``scale`` is the exponent of the factor (ISA manual)."""

    scale: int
    far: int
    """Exponent difference from which on the quotient comes near overflow."""
    tiny: int
    """Biased exponent up to which residuals of the numerator could underflow."""
    smallest: int
    """Exponent of the smallest normal number."""


_LIMITS = {"f32": Limits(64, 96, 23, -126), "f64": Limits(128, 768, 53, -1022)}


def biased_exponent(x: Value) -> Value:
    """The exponent field, as i32."""
    mantissa = mantissa_bits(x.type)
    return x.bits(UNSIGNED[x.type.bits]).field(mantissa, x.type.bits - 1 - mantissa).resize(i32)


def divide_scale(x: Value, d: Value, n: Value) -> tuple[Value, Value]:
    """Scale ``x``, which is the denominator ``d`` or the numerator ``n``; and whether the quotient is scaled (u1).

    NaN if either is zero (`divide_fixup` sets the result). The manual scales a huge denominator of a tiny quotient up;
    down is what keeps it finite and what `divide_last_step` undoes.
    """
    limits = _LIMITS[x.type.name]
    smallest = 2.0**limits.smallest
    size_d, size_n = abs(d), abs(n)
    # Exact: the product is compared with 0 only where it underflows.
    tiny_quotient = _below_scaled(size_n, size_d, limits)
    far = (biased_exponent(n) - biased_exponent(d)) >= limits.far
    small_d = size_d < smallest
    tiny_reciprocal = size_d > 2.0**-limits.smallest
    tiny_n = biased_exponent(n) <= limits.tiny
    is_d, is_n = x == d, x == n

    up, down, none = (x.const(e, i32) for e in (limits.scale, -limits.scale, 0))
    exponent = tiny_n.select(up, none)
    exponent = tiny_quotient.select(is_n.select(up, none), exponent)
    exponent = tiny_reciprocal.select(down, exponent)
    exponent = (tiny_reciprocal & tiny_quotient).select(is_d.select(down, none), exponent)
    exponent = small_d.select(up, exponent)
    exponent = far.select(is_d.select(up, none), exponent)
    scaled = ldexp(x, exponent)
    zero = (d == 0.0) | (n == 0.0)
    quotient_scaled = far | (~small_d & tiny_quotient)
    nan = x.const_bits(quiet_nan_bits(x.type))
    return zero.select(nan, scaled), quotient_scaled & ~zero


def _below_scaled(n: Value, d: Value, limits: Limits) -> Value:
    """Whether n / d is below the smallest normal number."""
    if n.type is f32:
        return n.to(f64) < d.to(f64) * 2.0**limits.smallest
    # Only denominators above 1 can make it so; their product with the factor is exact down to a denormal's last place.
    return n * 2.0**64 < (d * 2.0 ** (limits.smallest + 64))


def divide_last_step(a: Value, b: Value, c: Value, scaled: Value) -> Value:
    """``a*b + c``, scaled back where ``scaled`` and rounded once. ``c``, close to the quotient, tells the direction."""
    limits = _LIMITS[c.type.name]
    plain = a.fma(b, c)
    upward = biased_exponent(c) > 1 - limits.smallest
    if c.type is f32:
        factor = upward.select(c.const(2.0**limits.scale, f64), 2.0**-limits.scale)
        return scaled.select((a.to(f64).fma(b.to(f64), c.to(f64)) * factor).to(f32), plain)
    down = plain * 2.0**-limits.scale
    # A denormal result is rounded twice: where the first rounding made a tie, look at what it dropped.
    dropped = a.fma(b, c - plain)
    rest = plain - down * 2.0**limits.scale
    tie = abs(rest) == 2.0 ** (limits.smallest - 53 + limits.scale)
    beyond = ((rest > 0.0) & (dropped > 0.0)) | ((rest < 0.0) & (dropped < 0.0))
    last_place = (rest > 0.0).select(down.const(2.0**-1074), -(2.0**-1074))
    down = (tie & beyond).select(down + last_place, down)
    return scaled.select(upward.select(plain * 2.0**limits.scale, down), plain)


def divide_fixup(quotient: Value, d: Value, n: Value) -> Value:
    """The quotient with the sign and the special cases of n / d put right."""
    type = quotient.type
    unsigned = UNSIGNED[type.bits]
    sign = (d.bits(unsigned) ^ n.bits(unsigned)) & (1 << (type.bits - 1))
    zero_d, zero_n, infinite_d, infinite_n = d == 0.0, n == 0.0, d.isinf(), n.isinf()
    # A quotient far beyond the largest number makes infinities cancel in the steps before.
    infinite = zero_d | infinite_n | quotient.isnan()
    magnitude = infinite.select(exponent_bits(type), abs(quotient).bits(unsigned))
    zero = infinite_d | zero_n
    if type is not f16:
        zero = zero | _vanishes(d, n)
    magnitude = (zero & ~(zero_d | infinite_n)).select(0, magnitude)
    result = (magnitude | sign).bits(type)
    invalid = (zero_d & zero_n) | (infinite_d & infinite_n)
    result = invalid.select(result.const_bits(quiet_nan_bits(type)), result)
    return n.isnan().select(n.quiet(), d.isnan().select(d.quiet(), result))


def _vanishes(d: Value, n: Value) -> Value:
    """Whether n / d is below half the smallest denormal."""
    places = {"f32": 150, "f64": 1075}[d.type.name]
    return (biased_exponent(n) - biased_exponent(d)) < -places
