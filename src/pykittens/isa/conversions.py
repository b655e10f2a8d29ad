"""Conversions between integers, normalized integers and floats."""

from __future__ import annotations

from .types import Type, f32, f64, i16, i32, u16, u32
from .value import Value


def byte_to_f32(x: Value, index: int) -> Value:
    """Byte ``index`` of a dword as an unsigned number."""
    return x.field(8 * index, 8).to(f32)


def nibble_to_f32(x: Value) -> Value:
    """The low four bits as a signed number of sixteenths: -0.5 to 0.4375."""
    return x.sext(4).to(f32) * 0.0625


def floor_to_i32(x: Value) -> Value:
    return x.floor().to(i32)


def round_up_to_i32(x: Value) -> Value:
    """Nearest integer, halves up: the sum with 0.5 is not rounded before the floor."""
    return (x.to(f64) + 0.5).floor().to(i32)


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
