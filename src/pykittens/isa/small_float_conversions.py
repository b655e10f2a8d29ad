"""Conversions between f32 and the 4-, 6- and 8-bit floats, to nearest even or stochastically."""

from __future__ import annotations

from .small_floats import FORMATS, SmallFloat
from .types import f32, i32, u32
from .value import Value, quiet_nan_bits

_BIAS, _MANTISSA = 127, 23
_INFINITY = 0x7F800000

FP8 = {"gfx942": FORMATS["e4m3fnuz"], "gfx950": FORMATS["e4m3fn"]}
BF8 = {"gfx942": FORMATS["e5m2fnuz"], "gfx950": FORMATS["e5m2"]}
BY_NAME = {"fp8": FP8, "bf8": BF8} | {
    name: dict.fromkeys(FP8, FORMATS[kind]) for name, kind in (("fp6", "e2m3fn"), ("bf6", "e3m2fn"), ("fp4", "e2m1fn"))
}
"""A format by the name in mnemonics and by chip."""


def _f32_bits(exponent: int) -> int:
    """The bits of a power of two as f32."""
    return (exponent + _BIAS) << _MANTISSA


def decode(code: Value, form: SmallFloat) -> Value:
    """The f32 of a code in the low bits of a u32; NaN is the positive quiet one."""
    sign_bit = 1 << (form.bits - 1)
    magnitude = code & (sign_bit - 1)
    shift = _MANTISSA - form.mantissa_bits
    normal = (magnitude << shift) + ((_BIAS - form.bias) << _MANTISSA)
    denormal = magnitude.bits(i32).to(f32) * 2.0 ** (1 - form.bias - form.mantissa_bits)
    bits = (magnitude < (1 << form.mantissa_bits)).select(denormal.bits(u32), normal)
    bits = bits | ((code & sign_bit) << (32 - form.bits))
    if form.specials == "none":
        return bits.bits(f32)
    nan = code.const(quiet_nan_bits(f32))
    if form.specials == "fnuz":
        return ((code & (2 * sign_bit - 1)) == sign_bit).select(nan, bits).bits(f32)
    if form.specials == "fn":
        return (magnitude == sign_bit - 1).select(nan, bits).bits(f32)
    infinity = ((1 << form.exponent_bits) - 1) << form.mantissa_bits
    signed_infinity = ((code & sign_bit) << (32 - form.bits)) | _INFINITY
    bits = (magnitude == infinity).select(signed_infinity, bits)
    return (magnitude > infinity).select(nan, bits).bits(f32)


def _special_codes(form: SmallFloat) -> tuple[int, int, int]:
    """Magnitude codes of the largest number, of infinity (or what stands for it) and of NaN."""
    ones = (1 << (form.bits - 1)) - 1
    if form.specials == "none":
        return ones, ones, ones
    if form.specials == "fn":
        return ones - 1, ones, ones
    if form.specials == "fnuz":
        return ones, ones + 1, ones + 1
    infinity = ((1 << form.exponent_bits) - 1) << form.mantissa_bits
    return infinity - 1, infinity, infinity + (1 << (form.mantissa_bits - 1))


def _round_nearest(magnitude: Value, form: SmallFloat) -> Value:
    """The code of f32 magnitude bits, to nearest even, as if there were no largest one."""
    drop = _MANTISSA - form.mantissa_bits
    even = (magnitude >> drop) & 1
    normal = ((magnitude + ((1 << (drop - 1)) - 1) + even) >> drop) - ((_BIAS - form.bias) << form.mantissa_bits)
    # A sum with a number whose last place is the smallest denormal rounds to denormals.
    anchor = 1 - form.bias - form.mantissa_bits + _MANTISSA
    denormal = (magnitude.bits(f32) + 2.0**anchor).bits(u32) - _f32_bits(anchor)
    return (magnitude < _f32_bits(1 - form.bias)).select(denormal, normal)


def _round_randomly(magnitude: Value, form: SmallFloat, random: Value, source_mantissa: int) -> Value:
    """The code after adding the top random bits below the last kept place, then truncating.

    A denormal's bits below the last place of its source type are dropped before.
    """
    drop = _MANTISSA - form.mantissa_bits
    noise = random >> (32 - drop)
    normal = ((magnitude + noise) >> drop) - ((_BIAS - form.bias) << form.mantissa_bits)
    significand = (magnitude & ((1 << _MANTISSA) - 1)) | (1 << _MANTISSA)
    distance = (_BIAS + 1 - form.bias) - (magnitude >> _MANTISSA)
    kept = (significand >> distance.min(31)) & ~((1 << (_MANTISSA - source_mantissa)) - 1)
    return (magnitude < _f32_bits(1 - form.bias)).select((kept + noise) >> drop, normal)


def encode(
    x: Value, form: SmallFloat, *, saturate: int = 0, random: Value | None = None, source_mantissa: int = _MANTISSA
) -> Value:
    """The code of an f32 in the low bits of a u32, to nearest even, or with ``random`` bits (u32) stochastically.

    Too big numbers become the largest one if ``saturate`` or if the format has neither infinity nor NaN, else
    infinity, else NaN. ``source_mantissa``: stored mantissa bits of the type that ``x`` was widened from.
    """
    bits = x.bits(u32)
    magnitude = bits & 0x7FFFFFFF
    if random is None:
        code = _round_nearest(magnitude, form)
    else:
        code = _round_randomly(magnitude, form, random, source_mantissa)
    largest, infinity, nan = _special_codes(form)
    code = (code > largest).select(largest if saturate else infinity, code)
    code = (magnitude == _INFINITY).select(infinity, code)
    code = (magnitude > _INFINITY).select(nan, code)
    sign = (bits >> 31) << (form.bits - 1)
    if form.specials == "fnuz":
        # Zero and NaN have no sign.
        return ((code == 0) | (code == nan)).select(code, code | sign)
    return code | sign
