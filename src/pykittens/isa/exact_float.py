"""Float operations that NumPy lacks, exact on every host: fused multiply-add and narrowing that rounds once.

The tool is rounding to odd: a result that is not exact gets an odd last bit, which a later rounding to a type with at
least two bits fewer cannot mistake for a tie (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def sum_to_odd(a: Array, b: Array) -> Array:
    """f64 ``a + b`` rounded to odd. Neither overflow nor underflow may be near: meant for f32 and f16 products."""
    total = np.asarray(a + b)
    part = total - a
    error = (a - (total - part)) + (b - part)
    bits = total.view(np.int64) if total.ndim else np.asarray(total).reshape(1).view(np.int64).reshape(())
    inexact = np.isfinite(total) & (error != 0) & ((bits & 1) == 0)
    away = (error > 0) == (total > 0)
    odd = np.asarray(np.where(inexact, bits + np.where(away, 1, -1), bits), np.int64)
    return np.ascontiguousarray(odd).view(np.float64).reshape(odd.shape)


def narrow_to_f32(a: Array) -> Array:
    """To f32, nearest even."""
    with np.errstate(all="ignore"):
        return np.asarray(a, np.float32)


def _to_odd_f32(a: Array) -> Array:
    """f64 to f32 rounded to odd."""
    near = narrow_to_f32(a)
    bits = np.ascontiguousarray(near).view(np.int32).reshape(near.shape)
    inexact = near.astype(np.float64) != a
    truncated = bits - (np.abs(near.astype(np.float64)) > np.abs(a))
    odd = np.asarray(np.where(inexact & ~np.isnan(a), truncated | 1, bits), np.int32)
    return np.ascontiguousarray(odd).view(np.float32).reshape(odd.shape)


def _as_f32(a: Array) -> Array:
    return _to_odd_f32(a) if a.dtype == np.float64 else narrow_to_f32(a)


def narrow_to_f16(a: Array) -> Array:
    """To f16, nearest even, from any float type."""
    with np.errstate(all="ignore"):
        return np.asarray(_as_f32(a), np.float16)


def narrow_to_bf16(a: Array) -> Array:
    """To bf16 as uint16 bits, nearest even, from any float type; a NaN keeps its upper bits and is made quiet."""
    wide = _as_f32(a)
    bits = np.ascontiguousarray(wide).view(np.uint32).reshape(wide.shape)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.asarray(np.where(np.isnan(wide), quiet, rounded), np.uint16)


def widen_bf16(bits: Array) -> Array:
    """bf16 as uint16 bits to f32."""
    wide = np.asarray(bits).astype(np.uint32) << np.uint32(16)
    return np.ascontiguousarray(wide).view(np.float32).reshape(np.shape(bits))


def _parts(x: float) -> tuple[int, int]:
    """A finite f64 as integer times power of two."""
    fraction, exponent = math.frexp(x)
    return int(math.ldexp(fraction, 53)), exponent - 53


def fma64(a: float, b: float, c: float) -> float:
    """f64 ``a*b + c`` rounded once to nearest even, by integers."""
    a, b, c = float(a), float(b), float(c)
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    (na, ea), (nb, eb), (nc, ec) = _parts(a), _parts(b), _parts(c)
    product, exponent = na * nb, ea + eb
    if product == 0:
        # The sum of a signed zero and c is exact, and the host knows the rules for signs.
        return math.copysign(0.0, math.copysign(1.0, a) * math.copysign(1.0, b)) + c
    low = min(exponent, ec)
    total = (product << (exponent - low)) + (nc << (ec - low))
    if total == 0:
        return 0.0
    return _round(total, low)


def _round(number: int, exponent: int) -> float:
    """``number * 2**exponent`` as the nearest f64, ties to even, denormals and overflow included."""
    size = abs(number)
    last = max(exponent + size.bit_length() - 53, -1074)
    drop = last - exponent
    if drop <= 0:
        kept = size << -drop
    else:
        kept = size >> drop
        rest, half = size & ((1 << drop) - 1), 1 << (drop - 1)
        kept += rest > half or (rest == half and kept & 1)
    try:
        result = math.ldexp(float(kept), last)
    except OverflowError:
        result = math.inf
    return -result if number < 0 else result
