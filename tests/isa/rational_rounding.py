"""Rounding of exact rational numbers to floats: the reference for every float operation."""

from __future__ import annotations

import math
from fractions import Fraction

from pykittens.isa.float_mode import DOWN, NEAREST, TOWARD_ZERO, UP

FORMATS = {"f16": (10, -14, 15), "bf16": (7, -126, 127), "f32": (23, -126, 127), "f64": (52, -1022, 1023)}
"""Stored mantissa bits, least and largest exponent of normal numbers."""


def rounded(x: Fraction, type: str, mode: int = NEAREST) -> float:
    """``x`` as the float of a type that a rounding mode (of `float_mode`) gives; zero is positive."""
    if x == 0:
        return 0.0
    mantissa, smallest, greatest = FORMATS[type]
    exponent = abs(x.numerator).bit_length() - x.denominator.bit_length()
    exponent -= abs(x) < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, smallest) - mantissa)
    steps = {NEAREST: round, UP: math.ceil, DOWN: math.floor, TOWARD_ZERO: math.trunc}[mode](x / unit)
    largest = (2 - Fraction(1, 2**mantissa)) * 2**greatest
    if abs(steps * unit) <= largest:
        return float(steps * unit)
    sign = 1 if x > 0 else -1
    outward = mode == NEAREST or mode == (UP if x > 0 else DOWN)
    return sign * (math.inf if outward else float(largest))
