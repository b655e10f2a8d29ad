"""Dot products of packed small elements with a 32-bit accumulator."""

from __future__ import annotations

from .integer_functions import saturate
from .types import f32, i64
from .value import Value


def dot(a: Value, b: Value, c: Value, *, bits: int, saturated: bool = False) -> Value:
    """``c`` plus the products of the ``bits``-wide elements of two dwords, signed if ``c`` is.

    Wraps modulo 2^32, or is clamped to the range of ``c`` once at the end.
    """
    total = c.resize(i64) if saturated else c
    for low in range(0, 32, bits):
        if c.type.signed:
            x, y = ((v >> low).sext(bits) for v in (a, b))
        else:
            x, y = (v.field(low, bits).bits(c.type) for v in (a, b))
        total = total + (x.resize(i64) * y.resize(i64) if saturated else x * y)
    return saturate(total, c.type) if saturated else total


def dot_float(a: tuple[Value, Value], b: tuple[Value, Value], c: Value) -> Value:
    """``c`` plus two products of f16 or bf16 pairs: exact in f32, then added in turn, low first."""
    for x, y in zip(a, b, strict=True):
        c = c + x.to(f32) * y.to(f32)
    return c


def dot_pairs(a: tuple[Value, Value], b: tuple[Value, Value], c: Value) -> Value:
    """Two products exact in f32, added to each other first and then to ``c``."""
    low, high = (x.to(f32) * y.to(f32) for x, y in zip(a, b, strict=True))
    return low + high + c
