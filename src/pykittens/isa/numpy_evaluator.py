"""The NumPy evaluator: what instructions mean, slowly and exactly, as the oracle for generated code.

Raw values are arrays of shape () (one per wave) or (64,) (one per lane): bool for u1, the integer and float dtypes of
the same name, uint16 bits for bf16, and Python integers in an object array for u128.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .exact_float import fma64, narrow_to_bf16, narrow_to_f16, narrow_to_f32, sum_to_odd, widen_bf16
from .types import Type, f32

Array = np.ndarray[Any, Any]

LANES = 64
_INTEGERS = {
    (kind, bits): np.dtype(f"{name}{bits}") for kind, name in (("u", "uint"), ("i", "int")) for bits in (8, 16, 32, 64)
}
_FLOATS: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16), "bf16": np.dtype(np.uint16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}  # fmt: skip
_COMPARE: dict[str, Any] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_FLOAT_BINARY: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
_FLOAT_UNARY: dict[str, Any] = {"sqrt": np.sqrt, "rint": np.rint, "trunc": np.trunc, "floor": np.floor, "ceil": np.ceil}
_INTEGER_BINARY: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift, "min": np.minimum, "max": np.maximum,
}  # fmt: skip

_WIDE_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift, "min": min, "max": max,
    "udiv": lambda x, y: x // y if y else 0,
}  # fmt: skip


def dtype_of(type: Type) -> np.dtype[Any]:
    """The dtype of raw values of a type."""
    if type.is_float:
        return _FLOATS[type.name]
    if type.kind == "m":
        return np.dtype(np.bool_)
    return _INTEGERS[type.kind, type.bits] if type.bits <= 64 else np.dtype(object)


def _array(value: Any, dtype: np.dtype[Any]) -> Array:
    """Functions of NumPy give scalars where arrays of shape () went in."""
    return np.asarray(value, dtype=dtype)


class NumpyEvaluator:
    """`Evaluator` over NumPy arrays."""

    lazy = False
    rounding: Any = None

    def rare(self, condition: Any) -> None:
        """Nothing is rare here: every NaN is made canonical at once."""

    def const(self, type: Type, value: int | float) -> Array:
        if type.name == "bf16":
            return _array(narrow_to_bf16(np.asarray(value, np.float64)), dtype_of(type))
        if type.is_float:
            with np.errstate(all="ignore"):
                return _array(value, dtype_of(type))
        bits = int(value) & ((1 << type.bits) - 1)
        if type.kind == "m":
            return np.asarray(bool(bits))
        if type.signed and bits >> (type.bits - 1):
            bits -= 1 << type.bits
        return _array(bits, dtype_of(type))

    def binary(self, op: str, type: Type, a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            if type.is_float:
                return self._float_binary(op, type, a, b)
            if type.bits > 64:
                return self._wide_binary(op, type, a, b)
            if op == "mulhi":
                wide = object if type.bits == 64 else dtype_of(Type("", type.kind, 2 * type.bits))
                product = a.astype(wide) * b.astype(wide)
                return _array(product >> type.bits, dtype_of(type))
            if op == "udiv":
                zero = b == 0
                return _array(np.where(zero, 0, a // np.where(zero, 1, b)), dtype_of(type))
            return _array(_INTEGER_BINARY[op](a, b), dtype_of(type))

    def _float_binary(self, op: str, type: Type, a: Array, b: Array) -> Array:
        if type.name == "bf16":
            return narrow_to_bf16(self._float_binary(op, f32, widen_bf16(a), widen_bf16(b)))
        if op in ("min", "max"):
            smaller = (a < b) | ((a == b) & np.signbit(a))
            return _array(np.where(smaller == (op == "min"), a, b), dtype_of(type))
        return _array(_FLOAT_BINARY[op](a, b), dtype_of(type))

    def _wide_binary(self, op: str, type: Type, a: Array, b: Array) -> Array:
        mask = (1 << type.bits) - 1
        function = np.vectorize(lambda x, y: _WIDE_BINARY[op](x, y) & mask, otypes=[object])
        return _array(function(a, b), np.dtype(object))

    def unary(self, op: str, type: Type, a: Array) -> Array:
        with np.errstate(all="ignore"):
            if type.name == "bf16":
                return narrow_to_bf16(_FLOAT_UNARY[op](widen_bf16(a)))
            if type.is_float:
                return _array(_FLOAT_UNARY[op](a), dtype_of(type))
            if type.bits > 64:
                mask = (1 << type.bits) - 1
                inverted = np.vectorize(lambda x: (~x if op == "not" else -x) & mask, otypes=[object])
                return _array(inverted(a), np.dtype(object))
            if op == "not":
                return _array(~a, dtype_of(type))
            if op == "neg":
                return _array(0 - a, dtype_of(type))
            return _array(_count_bits(op, type.bits, a), dtype_of(type))

    def fma(self, type: Type, a: Array, b: Array, c: Array) -> Array:
        with np.errstate(all="ignore"):
            if type.name == "f64":
                return _array(np.vectorize(fma64, otypes=[np.float64])(a, b, c), dtype_of(type))
            wide = [widen_bf16(x) if type.name == "bf16" else x for x in (a, b, c)]
            x, y, z = (np.asarray(w, np.float64) for w in wide)
            # The product of two 24-bit significands is exact in f64; the odd sum then rounds once, to the nearest.
            return _narrow(type, sum_to_odd(x * y, z))

    def compare(self, op: str, type: Type, a: Array, b: Array) -> Array:
        if type.name == "bf16":
            a, b = widen_bf16(a), widen_bf16(b)
        with np.errstate(invalid="ignore"):
            return _array(_COMPARE[op](a, b), np.dtype(np.bool_))

    def isnan(self, type: Type, a: Array) -> Array:
        return np.asarray(np.isnan(widen_bf16(a) if type.name == "bf16" else a))

    def select(self, condition: Array, type: Type, a: Array, b: Array) -> Array:
        return _array(np.where(condition, a, b), dtype_of(type))

    def bitcast(self, source: Type, target: Type, a: Array) -> Array:
        wanted = dtype_of(target)
        if a.dtype == wanted:
            return a
        if object in (a.dtype, wanted):
            raise AssertionError(f"no bits of {source} as {target}")
        # NumPy views of shape () need an array that owns its data.
        return np.ascontiguousarray(a).view(wanted).reshape(a.shape)

    def resize(self, source: Type, target: Type, a: Array) -> Array:
        if target.kind == "m":
            return _array((a & 1) != 0, np.dtype(np.bool_))
        if target.bits > 64 or source.bits > 64:
            mask = (1 << target.bits) - 1
            bits = np.vectorize(lambda x: int(x) & mask, otypes=[object])(a)
            unsigned = dtype_of(Type("", "u", target.bits))
            return np.asarray(bits, dtype=unsigned).astype(dtype_of(target))
        return a.astype(dtype_of(target))

    def convert(self, source: Type, target: Type, a: Array) -> Array:
        with np.errstate(all="ignore"):
            if not source.is_float:
                return self._from_integer(source, target, a)
            wide = widen_bf16(a) if source.name == "bf16" else a
            if target.is_float:
                return _array(wide, np.dtype(np.float64)) if target.name == "f64" else _narrow(target, wide)
            return _saturate(target, np.trunc(wide.astype(np.float64)))

    def _from_integer(self, source: Type, target: Type, a: Array) -> Array:
        if source.kind == "m":
            a = a.astype(np.uint32)
        if target.name in ("f32", "f64"):
            return _array(a.astype(dtype_of(target)), dtype_of(target))
        if target.name == "f16":
            # Beyond 2^17 every integer is infinite in f16; up to there f32 is exact.
            return _narrow(target, np.clip(a, -(1 << 17) if source.signed else 0, 1 << 17).astype(np.float32))
        raise AssertionError(f"no conversion of {source} to {target}")

    def extract(self, type: Type, lanes: Array, index: Array) -> Array:
        return np.asarray(np.broadcast_to(lanes, LANES)[int(index) & 63], dtype_of(type))

    def insert(self, type: Type, lanes: Array, index: Array, scalar: Array) -> Array:
        result = np.array(np.broadcast_to(lanes, LANES))
        result[int(index) & 63] = scalar
        return result

    def shuffle(self, type: Type, a: Array, b: Array, indices: tuple[int, ...]) -> Array:
        both = np.concatenate([np.broadcast_to(a, LANES), np.broadcast_to(b, LANES)])
        return both[list(indices)]

    def broadcast(self, type: Type, scalar: Array) -> Array:
        return np.array(np.broadcast_to(scalar, LANES))

    def ballot(self, lanes: Array) -> Array:
        bits = np.packbits(np.broadcast_to(lanes, LANES), bitorder="little")
        return np.asarray(int.from_bytes(bits.tobytes(), "little"), np.uint64)

    def lanes_of(self, mask: Array) -> Array:
        raw = np.frombuffer(int(mask).to_bytes(8, "little"), np.uint8)
        return np.unpackbits(raw, bitorder="little").astype(np.bool_)

    def lane_ids(self) -> Array:
        return np.arange(LANES, dtype=np.uint32)


def _narrow(type: Type, a: Array) -> Array:
    """f16, f32 or f64 rounded to f16, bf16 or f32."""
    functions = {"f16": narrow_to_f16, "bf16": narrow_to_bf16, "f32": narrow_to_f32}
    return _array(functions[type.name](a), dtype_of(type))


def _saturate(type: Type, number: Array) -> Array:
    """Whole numbers in f64, infinities and NaN (to 0) to an integer type."""
    dtype = dtype_of(type)
    low = -(1 << (type.bits - 1)) if type.signed else 0
    high = 1 << (type.bits - type.signed)
    result = np.where((number >= low) & (number < high), number, 0).astype(dtype)
    result = np.where(number >= high, np.asarray(high - 1, dtype), result)
    return np.asarray(np.where(number < low, np.asarray(low, dtype), result), dtype)


def _count_bits(op: str, bits: int, a: Array) -> Array:
    """clz, ctz, popcount and bitreverse from the 64 columns of bits, least significant first."""
    columns = (a.astype(np.uint64)[..., None] >> np.arange(bits, dtype=np.uint64)) & np.uint64(1)
    if op == "popcount":
        return np.asarray(columns.sum(axis=-1))
    if op == "bitreverse":
        weights = np.uint64(1) << np.arange(bits - 1, -1, -1, dtype=np.uint64)
        return np.asarray((columns * weights).sum(axis=-1, dtype=np.uint64))
    ordered = columns if op == "ctz" else columns[..., ::-1]
    return np.asarray(np.where(columns.any(axis=-1), ordered.argmax(axis=-1), bits))


__all__ = ["LANES", "NumpyEvaluator", "dtype_of"]
