"""Conversions between integers, normalized integers and floats."""

from __future__ import annotations

from .types import Type, f16, f32, f64, i16, i32, u16, u32
from .value import Value, exponent_bits, mantissa_bits


def byte_to_f32(x: Value, index: int) -> Value:
    """Byte ``index`` of a dword as an unsigned number."""
    return x.field(8 * index, 8).to(f32)


def nibble_to_f32(x: Value) -> Value:
    """The low four bits as a signed number of sixteenths: -0.5 to 0.4375."""
    return x.sext(4).to(f32) * 0.0625


def floor_to_i32(x: Value) -> Value:
    return x.floor().to(i32)


def round_up_to_i32(x: Value) -> Value:
    """Nearest integer, halves up."""
    return (x + 0.5).floor().to(i32)


def to_normalized(x: Value, type: Type) -> Value:
    """1.0 as the largest i16 or u16, clamped, to nearest even; NaN gives 0."""
    scale = 32767 if type.signed else 65535
    number = x.isnan().select(0.0, x).to(f64)
    return (number.max(-1.0 if type.signed else 0.0).min(1.0) * float(scale)).rint().to(i32).resize(type)


def normalized_i16(x: Value) -> Value:
    return to_normalized(x, i16)


def normalized_u16(x: Value) -> Value:
    return to_normalized(x, u16)


def pack_halves(low: Value, high: Value) -> Value:
    """Two 16-bit values as one u32."""
    return low.bits(u16).resize(u32) | (high.bits(u16).resize(u32) << 16)


def round_toward_zero(x: Value) -> Value:
    """An f32 as f16, toward zero; what is too big becomes the largest number."""
    size = abs(x)
    cut = (x.bits(u32) & 0xFFFFE000).bits(f32)
    denormal = (x * 2.0**24).trunc() * 2.0**-24
    exact = (size < 2.0**-14).select(denormal, cut)
    largest = (x < 0.0).select(x.const(-65504.0), 65504.0)
    exact = ((size > 65504.0) & (size < float("inf"))).select(largest, exact)
    return x.isnan().select(x, exact).to(f16)


def round_randomly(x: Value, random: Value, type: Type) -> Value:
    """An f32 as f16 or bf16: top random bits are added below the last kept place, then the rest is cut off.

    Too big numbers become infinite; NaN is quieted.
    """
    bits = x.bits(u32)
    magnitude = bits & 0x7FFFFFFF
    drop = mantissa_bits(f32) - mantissa_bits(type)
    code = (magnitude + (random >> (32 - drop))) >> drop
    infinity = exponent_bits(type)
    if type is f16:
        rebias = (127 - 15) << 10
        significand = (magnitude & 0x7FFFFF) | 0x800000
        distance = (127 - 14) - (magnitude >> 23)
        denormal = ((significand >> distance.min(31)) + (random >> (32 - drop))) >> drop
        code = (magnitude < ((127 - 14) << 23)).select(denormal, code - rebias)
    code = ((code > infinity) | (magnitude == 0x7F800000)).select(infinity, code)
    number = (code | ((bits >> 31) << 15)).resize(u16).bits(type)
    return x.isnan().select(x.to(type), number)
