"""The meaning of the matrix instructions in NumPy: slow, exact, and the oracle of the native routines.

The order of accumulation that pykittens defines: D starts as C; then, for k ascending, D = A[i,k] * B[k,j] + D, rounded
once to nearest even (a fused multiply-add in f32, or in f64 for f64). The manuals do not publish the order and width
inside silicon, so last bits may differ there. Scales multiply the product before it is added. Of a sparse A the stored
elements take part. Integer sums wrap. MODE's rounding and EXEC have no effect; NaN results are the positive quiet NaN;
f32 and xf32 inputs follow MODE's denormal bit, all else keeps denormals; xf32 drops the low 13 bits (published: arXiv
2511.10909). FP16_OVFL clamps: integers saturate, and infinities that no infinite input caused become the largest finite
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import mfma, mfma_layout
from .define import Definition, Mfma
from .exact_float import fma64, sum_to_odd, widen_bf16
from .small_floats import FORMATS, scale_values

Array = np.ndarray[Any, Any]

_F32_MAX = np.float32(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Extras:
    """What some matrix instructions have besides A, B and C; registers are uint32 of shape (64,).

    ``index``: of SMFMAC. ``scale_a``, ``scale_b``: registers whose byte ``op_sel`` and ``op_sel_hi`` choose.
    ``flush_denormals``: MODE flushes f32 inputs. ``clamp``: MODE.FP16_OVFL.
    """

    index: Array | None = None
    scale_a: Array | None = None
    scale_b: Array | None = None
    flush_denormals: bool = False
    clamp: bool = False


def execute(
    definition: Definition,
    modifiers: Mapping[str, object],
    arch: str,
    a: Array,
    b: Array,
    c: Array,
    extras: Extras | None = None,
) -> Array:
    """D of one matrix instruction.

    ``a``, ``b`` and ``c`` are the operands' registers, uint32 of shape (registers, 64); SMFMAC gets the old D as ``c``.
    The result has the shape of ``c``. Raises KeyError for an f8f6f4 format that does not exist.
    """
    shape = definition.mfma
    if shape is None:
        raise AssertionError(f"{definition.name} is no matrix instruction")
    extras = extras or Extras()
    numbers = {key: value for key, value in modifiers.items() if isinstance(value, int)}
    left, right = mfma.element_formats(definition, modifiers, arch)
    if shape.a not in ("f64", "f8f6f4"):
        lanes = np.arange(mfma_layout.LANES)
        if not shape.sparse:
            a = a[:, mfma_layout.a_source_lane(lanes, numbers.get("cbsz", 0), numbers.get("abid", 0))]
        b = b[:, mfma_layout.b_source_lane(lanes, numbers.get("blgp", 0))]
    block, i, j = np.ogrid[: shape.blocks, : shape.m, : shape.n]
    place = mfma_layout.d_loc(shape, i, j, block)
    bits_a, bits_b = mfma.element_bits(definition, modifiers)
    stored = np.arange(shape.k // 2 if shape.sparse else shape.k)
    all_k = np.arange(shape.k)[None, :, None]
    raw_a = gather(a, mfma_layout.a_loc(shape, bits_a, i, stored[None, None, :], block), bits_a)
    raw_b = gather(b, mfma_layout.b_loc(shape, bits_b, all_k, j, block), bits_b)
    with np.errstate(invalid="ignore"):  # signaling NaNs that are made wider
        factors_a, factors_b = (values(raw, name, extras) for raw, name in ((raw_a, left), (raw_b, right)))
    chosen = _chosen_k(shape, bits_a, numbers, extras, stored)
    if shape.d == "f64":
        return _f64(modifiers, factors_a, factors_b, c, place)
    if shape.scaled:
        factors_a = factors_a * _scales(shape, modifiers, extras.scale_a, 0)
        factors_b = factors_b * _scales(shape, modifiers, extras.scale_b, 1).swapaxes(1, 2)
    old = c[place.register, place.lane]
    add = _i32 if shape.d == "i32" else _f32
    result = add(factors_a, factors_b, old, chosen, extras.clamp)
    d = np.empty_like(c)
    d[place.register, place.lane] = result
    return d


def gather(registers: Array, place: mfma_layout.Location, bits: int) -> Array:
    """The elements at some places as uint64, in the shape of the places; ``registers`` is uint32 (registers, 64)."""
    wide = np.concatenate([registers, np.zeros((1, registers.shape[1]), np.uint32)]).astype(np.uint64)
    pair = wide[place.register, place.lane] | wide[place.register + 1, place.lane] << np.uint64(32)
    mask = np.uint64((1 << bits) - 1)
    return np.asarray((pair >> np.asarray(place.bit, np.uint64)) & mask)


def values(raw: Array, name: str, extras: Extras) -> Array:
    """Elements as float64 (int64 for i8) from their bits, all exact; ``name`` as `mfma.element_formats` gives it."""
    if name == "f64":
        return raw.view(np.float64)
    if name == "i8":
        return raw.astype(np.uint8).view(np.int8).astype(np.int64)
    if name in FORMATS:
        return np.asarray(FORMATS[name].values[raw], np.float64)
    if name == "f16":
        return raw.astype(np.uint16).view(np.float16).astype(np.float64)
    if name == "bf16":
        return widen_bf16(raw.astype(np.uint16)).astype(np.float64)
    numbers = raw.astype(np.uint32).view(np.float32)
    if extras.flush_denormals:
        numbers = np.where(np.abs(numbers) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), numbers), numbers)
    if name == "xf32":
        truncated = (numbers.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        numbers = np.where(np.isnan(numbers), numbers, truncated)
    return np.asarray(numbers, np.float64)


def _chosen_k(shape: Mfma, bits: int, numbers: Mapping[str, int], extras: Extras, stored: Array) -> Array:
    """Which k of B meets each stored element of each row of A: (m, stored elements)."""
    i = np.arange(shape.m)[:, None]
    if not shape.sparse:
        return np.broadcast_to(stored, (shape.m, len(stored)))
    if extras.index is None:
        raise AssertionError("a sparse instruction needs an index register")
    sets = mfma_layout.index_sets(shape, bits)
    number = 0 if numbers.get("cbsz", 0) else numbers.get("abid", 0) % sets
    place = mfma_layout.index_loc(shape, bits, i, stored)
    two_bits = extras.index[place.lane] >> (place.bit + 32 // sets * number).astype(np.uint32) & 3
    return np.asarray(4 * (stored // 2) + two_bits.astype(np.int64))


def _scales(shape: Mfma, modifiers: Mapping[str, object], register: Array | None, source: int) -> Array:
    """The scale of each row (or column) and k: float64 of shape (1, m, k)."""
    if register is None:
        raise AssertionError("a scaled instruction needs two scale registers")
    byte = sum(
        weight * sel[source]
        for weight, key in ((1, "op_sel"), (2, "op_sel_hi"))
        if isinstance(sel := modifiers.get(key), tuple)
    )
    row, k = np.ogrid[: shape.m, : shape.k]
    lane = mfma_layout.scale_lane(shape, row, k // mfma_layout.SCALE_BLOCK)
    return np.asarray(scale_values(register[lane] >> np.uint32(8 * byte) & np.uint32(0xFF)))[None]


def _f32(a: Array, b: Array, old: Array, chosen: Array, clamp: bool) -> Array:
    """Products and f32 partial sums are exact in float64, and their sum rounded to odd is rounded to f32 once."""
    total = old.view(np.float32)
    finite = np.isfinite(total)
    with np.errstate(all="ignore"):
        for step in range(a.shape[2]):
            left, right = a[:, :, step, None], b[:, chosen[:, step], :]
            total = sum_to_odd(left * right, total.astype(np.float64)).astype(np.float32)
            finite &= ~np.isinf(left) & ~np.isinf(right)
    if clamp:
        total = np.where(np.isinf(total) & finite, np.copysign(_F32_MAX, total), total)
    return np.asarray(np.where(np.isnan(total), np.uint32(0x7FC00000), total.view(np.uint32)))


def _i32(a: Array, b: Array, old: Array, chosen: Array, clamp: bool) -> Array:
    total = old.view(np.int32).astype(np.int64)
    for step in range(a.shape[2]):
        total = total + a[:, :, step, None] * b[:, chosen[:, step], :]
    if clamp:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    return np.asarray(total.astype(np.uint64).astype(np.uint32))


def _f64(modifiers: Mapping[str, object], a: Array, b: Array, c: Array, place: mfma_layout.Location) -> Array:
    signs = modifiers.get("neg", (0, 0, 0))
    if not isinstance(signs, tuple):
        raise AssertionError(f"neg is {signs!r}, not one bit per source")
    total = gather(c, place, 64).view(np.float64)
    a, b, total = (-x if sign else x for x, sign in zip((a, b, total), signs, strict=True))
    for step in range(a.shape[2]):
        left, right = np.broadcast_arrays(a[:, :, step, None], b[:, step, None, :])
        terms = zip(left.flat, right.flat, total.flat, strict=True)
        total = np.array([fma64(x, y, z) for x, y, z in terms]).reshape(total.shape)
    result = np.where(np.isnan(total), np.uint64(0x7FF8 << 48), total.view(np.uint64))
    d = np.empty_like(c)
    d[place.register, place.lane] = result.astype(np.uint32)
    d[place.register + 1, place.lane] = (result >> np.uint64(32)).astype(np.uint32)
    return d
