"""Arithmetic on the bytes of dwords: permutation, absolute differences, averages, packing."""

from __future__ import annotations

from collections.abc import Callable

from .integer_functions import saturate
from .types import i32, i64, u8, u16, u32, u64
from .value import Value


def align_bits(high: Value, low: Value, count: Value) -> Value:
    """The dword at bit ``count`` (modulo 32) of the pair."""
    n = count & 31
    return (low >> n) | ((high << 1) << (n ^ 31))


def align_bytes(high: Value, low: Value, count: Value) -> Value:
    """The dword at byte ``count`` (modulo 4) of the pair."""
    return align_bits(high, low, (count & 3) << 3)


def permute(high: Value, low: Value, selector: Value) -> Value:
    """Four bytes chosen by the selector's bytes: 0-3 from ``low``, 4-7 from ``high``; 8-11 the signs of bytes 1, 3, 5
    and 7 in all bits; 12 zeros; from 13 on ones."""
    picked = low.const(0)
    for place in range(0, 32, 8):
        source = ((selector & (4 << place)) != 0).select(high, low)
        byte = (source >> (selector.field(place, 2) << 3)) & 0xFF
        picked = picked | (byte << place)
    fixed = _bytes_from(selector, 12)
    signs = _bytes_from(selector, 8) & ~fixed
    result = (picked & ~(signs | fixed)) | _bytes_from(selector, 13)
    if low.ev.lazy:
        # Signs are hardly ever asked for.
        low.ev.rare((signs != 0).raw)
        return result
    return result | (_signs(high, low, selector) & signs)


def _bytes_from(word: Value, limit: int) -> Value:
    """All ones in the bytes that are at least ``limit``, zeros in the others."""
    tops = ((word & 0x7F7F7F7F) + (0x80 - limit) * 0x01010101) | word
    return ((tops >> 7) & 0x01010101) * 0xFF


def _signs(high: Value, low: Value, selector: Value) -> Value:
    """In each byte the sign of byte 1, 3, 5 or 7 by the low two bits of the selector's byte."""
    result = low.const(0)
    for place in range(0, 32, 8):
        source = ((selector & (2 << place)) != 0).select(high, low)
        source = ((selector & (1 << place)) != 0).select(source, source << 16)
        result = result | ((source.bits(i32) >> 31).bits(low.type) & (0xFF << place))
    return result


def sum_of_differences(a: Value, b: Value, c: Value, *, bits: int = 8, masked: bool = False) -> Value:
    """``c`` plus the absolute differences of the unsigned ``bits``-wide parts; ``masked``: not where b's part is 0."""
    total = c
    for low in range(0, 32, bits):
        x, y = a.field(low, bits), b.field(low, bits)
        difference = (x > y).select(x - y, y - x)
        if masked:
            difference = (y == 0).select(0, difference)
        total = total + difference.resize(total.type)
    return total


def wide_sums(bits: int, masked: bool) -> Callable[[Value, Value, Value], Value]:
    """The same in 64 bits, clamped to ``bits``."""

    def clamped(a: Value, b: Value, c: Value) -> Value:
        return saturate(sum_of_differences(a, b, c.resize(i64), bits=bits, masked=masked), u32)

    return clamped


def sum_of_differences_high(a: Value, b: Value, c: Value) -> Value:
    """The sum of byte differences in the high half, plus ``c``."""
    return (sum_of_differences(a, b, c.const(0)) << 16) + c


def sum_of_differences_high_clamped(a: Value, b: Value, c: Value) -> Value:
    return saturate((sum_of_differences(a, b, c.const(0)).resize(i64) << 16) + c.resize(i64), u32)


def quad_sums(a: Value, b: Value, c: Value, *, masked: bool = False, clamp: bool = False) -> Value:
    """Four 16-bit sums in a u64: ``b`` against the dwords at bytes 0, 1, 2 and 3 of the u64 ``a``, plus c's parts."""
    result = c.const(0)
    for i in range(4):
        window = (a >> (8 * i)).resize(u32)
        total = sum_of_differences(window, b, c.field(16 * i, 16).resize(u32), masked=masked)
        if clamp:
            total = total.min(0xFFFF)
        result = result | (total.field(0, 16).resize(u64) << (16 * i))
    return result


def quad_sums_32(a: Value, b: Value, c: list[Value], *, clamp: bool = False) -> list[Value]:
    """Four masked 32-bit sums, otherwise as `quad_sums`."""
    sums = wide_sums(8, masked=True) if clamp else lambda x, y, z: sum_of_differences(x, y, z, masked=True)
    return [sums((a >> (8 * i)).resize(u32), b, part) for i, part in enumerate(c)]


def average(a: Value, b: Value, round_up: Value) -> Value:
    """The mean of each byte pair; halves go up where the lowest bit of the byte in ``round_up`` is set."""
    result = a.const(0)
    for low in range(0, 32, 8):
        mean = (a.field(low, 8) + b.field(low, 8) + round_up.field(low, 1)) >> 1
        result = result | (mean << low)
    return result


def insert_byte(number: Value, index: Value, word: Value) -> Value:
    """A float, truncated and clamped to 0..255, in byte ``index`` (modulo 4) of a dword."""
    byte = number.to(u32).min(255)
    place = (index & 3) << 3
    return (word & ~(word.const(0xFF) << place)) | (byte << place)


def shift_and_pack(low: Value, high: Value, count: Value, *, signed: bool) -> Value:
    """Two i32 shifted right, clamped to i8 or u8, as two bytes in a u16."""
    bounds = (-128, 127) if signed else (0, 255)
    first, second = ((v >> (count & 31)).max(bounds[0]).min(bounds[1]).field(0, 8).resize(u16) for v in (low, high))
    return first | (second << 8)


def saturate_halves(x: Value) -> Value:
    """The two i16 halves of a dword, each clamped to 0..255, as two bytes in a u16."""
    low, high = (saturate(half.sext(16).bits(i32), u8).resize(u16) for half in (x, x >> 16))
    return low | (high << 8)


def pack_clamped(low: Value, high: Value, *, signed: bool) -> Value:
    """Two 32-bit integers, each clamped to 16 bits, as one dword."""
    if signed:
        low, high = (v.max(-32768).min(32767).bits(u32).field(0, 16) for v in (low, high))
    else:
        low, high = (v.min(0xFFFF) for v in (low, high))
    return low | (high << 16)
