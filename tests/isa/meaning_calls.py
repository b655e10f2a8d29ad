"""Calls of definitions' meanings on NumPy arrays, without registers, encodings and modes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pykittens.isa import lookup
from pykittens.isa.define import CONSTANTS, Operand
from pykittens.isa.numpy_evaluator import NumpyEvaluator, dtype_of
from pykittens.isa.types import UNSIGNED, u32
from pykittens.isa.value import Value

EV = NumpyEvaluator()
PRECISION = {"f16": (11, -24), "bf16": (8, -133), "f32": (24, -149), "f64": (53, -1074)}
"""Significand bits and the exponent of the smallest denormal."""
F32_EDGES = np.array(
    [0, 1, 0x7FFFFF, 0x800000, 0x800001, 0x33800000, 0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001,
     0x40490FDB, 0x4B000001, 0x4F000000, 0x5F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FC12345],
    np.uint32,
)  # fmt: skip
F32_EDGES = np.concatenate([F32_EDGES, F32_EDGES | np.uint32(1 << 31)])
INT_EDGES = np.array([0, 1, 2, 31, 32, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFF, 0x800000, 0xFFFFFF,
                      0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)  # fmt: skip


def pairs(edges: Any) -> tuple[Any, Any]:
    """Every pair of edge values."""
    a, b = np.meshgrid(edges, edges, indexing="ij")
    return a.ravel(), b.ravel()


def triples(edges: Any) -> tuple[Any, Any, Any]:
    a, b, c = np.meshgrid(edges, edges, edges, indexing="ij")
    return a.ravel(), b.ravel(), c.ravel()


def _value(operand: Operand, data: Any) -> Any:
    if operand.bits > 64:
        return [Value(EV, u32, np.asarray(dword, np.uint32)) for dword in data]
    if isinstance(data, tuple):
        return tuple(Value(EV, operand.type, _raw(operand, part)) for part in data)
    return Value(EV, operand.type, _raw(operand, data))


def _raw(operand: Operand, data: Any) -> Any:
    dtype = dtype_of(operand.type)
    array = np.asarray(data)
    if operand.type.kind == "m":
        return array.astype(np.bool_)
    if array.dtype == dtype:
        return array
    if array.dtype.kind in "ui" and operand.type.is_float:
        bits = array.astype(dtype_of(UNSIGNED[operand.type.bits]))
        return bits if operand.type.name == "bf16" else bits.view(dtype)
    if array.dtype.kind in "ui" and array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype) if array.shape else np.asarray(array).astype(dtype)
    return array.astype(dtype)


def run(name: str, *sources: Any, old: Any = None, clamp: bool = False, **constants: Any) -> Any:
    """What a definition's meaning makes of arrays, one for each explicit source; raw results, a tuple if several.

    Arrays of unsigned integers stand for the bits of floats. Packed sources are pairs; wide ones lists of dwords.
    ``old`` is the destination's old value, ``constants`` are tokens of `CONSTANTS` (default 0, ieee 1, gfx950).
    """
    definition = lookup(name)
    given = {"arch": "gfx950", "op_sel": 0, "bitop3": 0, "ieee": 1, "fp16_ovfl": 0} | constants
    explicit = iter(sources)
    arguments: list[Any] = []
    for operand in definition.srcs:
        if operand.implicit is None:
            arguments.append(_value(operand, next(explicit)))
        elif operand.implicit in CONSTANTS:
            arguments.append(given[operand.implicit])
        elif operand.implicit == "lane":
            arguments.append(Value(EV, u32, EV.lane_ids()))
        else:
            arguments.append(_value(operand, old if operand.implicit == "dst" else given[str(operand.implicit)]))
    meaning = definition.clamped if clamp else definition.meaning
    assert meaning is not None
    results = meaning(*arguments)
    parts = results if isinstance(results, (tuple, list)) else (results,)
    raws = tuple(part.raw for part in parts)
    return raws if isinstance(results, (tuple, list)) else raws[0]


def bits(array: Any) -> Any:
    """The bits of floats or integers as unsigned integers."""
    a = np.asarray(array)
    return a.view(f"u{a.dtype.itemsize}")


def same(got: Any, wanted: Any) -> None:
    """Equal bit for bit, any NaN as any other."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.dtype == wanted.dtype, (got.dtype, wanted.dtype)
    if got.dtype.kind == "f":
        nan = np.isnan(wanted)
        np.testing.assert_array_equal(np.isnan(got), nan)
        np.testing.assert_array_equal(bits(got)[~nan], bits(wanted)[~nan])
    else:
        np.testing.assert_array_equal(got, wanted)


def fraction_of(number: Any) -> Fraction:
    return Fraction(float(number))


def rounded(exact: Fraction, type: str, negative_zero: bool = False) -> float:
    """A fraction rounded to nearest even into a float type, as a Python float (f64 or narrower)."""
    if exact == 0:
        return -0.0 if negative_zero else 0.0
    digits, lowest = PRECISION[type]
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    place = Fraction(2) ** max(exponent - digits + 1, lowest)
    count, rest = divmod(size, place)
    count += rest > place / 2 or (rest == place / 2 and count & 1)
    largest = {
        "f16": 65504.0,
        "bf16": 3.3895313892515355e38,
        "f32": 3.4028234663852886e38,
        "f64": 1.7976931348623157e308,
    }
    result = count * place
    number = float("inf") if result > Fraction(largest[type]) else float(result)
    return -number if exact < 0 else number


def random_floats(rng: np.random.Generator, type: Any, count: int, spread: int) -> Any:
    """Floats of random signs and mantissas whose exponents are within ``spread`` of 0, as far as the type reaches."""
    mantissa = rng.random(count) + 1.0
    spread = min(spread, int(np.finfo(type).maxexp) - 1)
    exponents = rng.integers(-spread, spread, count)
    return (mantissa * rng.choice([-1.0, 1.0], count) * 2.0**exponents).astype(type)


def each(function: Any, *arrays: Any, dtype: Any) -> Any:
    """A Python function of numbers over arrays."""
    columns: Sequence[Any] = [np.asarray(a).tolist() for a in arrays]
    return np.array([function(*row) for row in zip(*columns, strict=True)], dtype)
