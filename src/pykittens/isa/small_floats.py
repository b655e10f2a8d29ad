"""Float formats of 4, 6 and 8 bits: fp8 and bf8 of both chips, fp6, bf6, fp4, and the E8M0 scales.

gfx942's fp8 and bf8 are the FNUZ kinds, gfx950's the OCP ones (ISA manuals); names are those of ml_dtypes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class SmallFloat:
    """A sign, ``exponent_bits`` and ``mantissa_bits``, with subnormals.

    ``specials`` says which codes are no numbers: ``ieee`` the highest exponent (infinity and NaN); ``fn`` only the
    highest code of each sign (NaN); ``fnuz`` only the code of -0 (NaN); ``none`` no code.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    specials: str

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    @cached_property
    def values(self) -> Any:
        """Every code's value: float32 of shape (2 ** bits,). All are exact; NaN is the positive quiet one."""
        codes = np.arange(1 << self.bits)
        magnitude = codes & ((1 << (self.bits - 1)) - 1)
        exponent, mantissa = magnitude >> self.mantissa_bits, magnitude & ((1 << self.mantissa_bits) - 1)
        significand = mantissa + np.where(exponent > 0, 1 << self.mantissa_bits, 0)
        value = np.ldexp(significand.astype(np.float32), np.maximum(exponent, 1) - self.bias - self.mantissa_bits)
        negative = codes >> (self.bits - 1) == 1
        top = (1 << self.exponent_bits) - 1
        if self.specials == "ieee":
            value = np.where(exponent == top, np.where(mantissa == 0, np.float32(np.inf), np.float32(np.nan)), value)
        elif self.specials == "fn":
            value = np.where(magnitude == (1 << (self.bits - 1)) - 1, np.float32(np.nan), value)
        value = np.where(negative & ~np.isnan(value), -value, value)
        if self.specials == "fnuz":
            value = np.where(codes == 1 << (self.bits - 1), np.float32(np.nan), value)
        return value.astype(np.float32)


FORMATS = {
    f.name: f
    for f in (
        SmallFloat("e4m3fn", 4, 3, 7, "fn"),
        SmallFloat("e5m2", 5, 2, 15, "ieee"),
        SmallFloat("e4m3fnuz", 4, 3, 8, "fnuz"),
        SmallFloat("e5m2fnuz", 5, 2, 16, "fnuz"),
        SmallFloat("e2m3fn", 2, 3, 1, "none"),
        SmallFloat("e3m2fn", 3, 2, 3, "none"),
        SmallFloat("e2m1fn", 2, 1, 1, "none"),
    )
}
"""By name: fp8 and bf8 of gfx950, then of gfx942, then fp6, bf6 and fp4."""


def scale_values(codes: Any) -> Any:
    """E8M0 scales (uint8 codes) as float64: 2 ** (code - 127), and NaN for 255."""
    codes = np.asarray(codes).astype(np.int64)
    return np.where(codes == 255, np.nan, np.ldexp(1.0, codes - 127))
