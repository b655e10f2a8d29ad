"""Segments of 2/pi, by which big angles are reduced exactly (V_TRIG_PREOP_F64)."""

from __future__ import annotations

from .divide import biased_exponent
from .float_functions import ldexp
from .types import f64, i64, u32, u64
from .value import Value

TWO_OVER_PI = int(
    "145f306dc9c882a53f84eafa3ea69bb81b6c52b3278872083fca2c757bd778ac36e48dc74849ba5c00c925dd413a32439fc3bd63962534e7"
    "dd1046bea5d768909d338e04d68befc827323ac7306a673e93908bf177bf250763ff12fffbc0b301fde5e2316b414da3eda6cfd9e4f96136"
    "e9e8c7ecd3cbfd45aea4f758fd7cbe2f67a0e73ef14a525d4d7f6bf623f1aba10ac06608df8f6",
    16,
)
"""The first 1201 bits of 2/pi after the binary point."""
_BITS = 1201
_SEGMENT = 53
_WORDS = [(TWO_OVER_PI << (20 * 64 - _BITS) >> (64 * (19 - i))) & ((1 << 64) - 1) for i in range(20)]


def two_over_pi_segment(x: Value, segment: Value) -> Value:
    """The ``segment``-th 53 bits of 2/pi that matter for an f64 of the size of ``x``, at their place value as an f64.

    Big ``x`` skip bits that only contribute whole turns; from exponent 1968 on the result is scaled by 2^128.
    """
    exponent = biased_exponent(x)
    skipped = (exponent - 1077).max(0)
    shift = (segment & 31).resize(u32) * _SEGMENT + skipped.bits(u32)
    index, offset = shift >> 6, (shift & 63).resize(u64)
    first = second = offset.const(0)
    for i, word in enumerate(_WORDS):
        first = (index == i).select(word, first)
        second = (index + 1 == i).select(word, second)
    window = (first << offset) | ((second >> 1) >> (offset ^ 63))
    scale = -_SEGMENT - shift.bits(exponent.type) + (exponent >= 1968).select(exponent.const(128), 0)
    return ldexp((window >> (64 - _SEGMENT)).bits(i64).to(f64), scale)
