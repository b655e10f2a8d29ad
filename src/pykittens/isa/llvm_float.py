"""Float primitives of the LLVM evaluator: every one inlines on the host and gives the same bits as NumPy's.

f16 and bf16 go through f32. Where that would round twice (fma, narrowing from f64), the step before the last one
rounds to odd (see exact_float.py). Results that may be NaN are marked dirty: hosts differ in the bits of a NaN.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from .exact_float import narrow_to_bf16
from .types import SIGNED, UNSIGNED, Type, f16, f32, f64, u1, u16, u32

if TYPE_CHECKING:
    from .llvm_evaluator import LlvmEvaluator, Raw

_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_UNARY = {"sqrt": "sqrt", "rint": "roundeven", "trunc": "trunc", "floor": "floor", "ceil": "ceil"}


def const(type: Type, value: float) -> str:
    """A float constant in LLVM's notation: f32 is written as the f64 of the same value, 16-bit ones as their bits."""
    with np.errstate(over="ignore"):
        if type.name == "bf16":
            return str(int(narrow_to_bf16(np.asarray(value, np.float64))))
        if type is f16:
            return str(int(np.float16(value).view(np.uint16)))
        exact = float(np.float32(value)) if type.bits == 32 else value
    return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"


def widened(ev: LlvmEvaluator, type: Type, *operands: Raw) -> tuple[Type, list[Raw]]:
    """Operands in the type that the host computes in."""
    if type.bits > 16:
        return type, list(operands)
    wide = [_to_f32(ev, type, o) for o in operands]
    for operand, raw in zip(operands, wide, strict=True):
        ev.origin.setdefault(operand.name, (f32, raw))
    return f32, wide


def _to_f32(ev: LlvmEvaluator, type: Type, a: Raw) -> Raw:
    """f16 or bf16 to f32."""
    if type.name == "bf16":
        bits = ev.emit(u32, "shl", ev.resize(u16, u32, a), ev.const(u32, 16))
        return ev.cast("bitcast", u32, f32, bits, dirty=a.dirty)
    if ev.host_f16:
        return ev.half_to_float(a)
    bits = ev.resize(u16, u32, a)
    magnitude = ev.emit(u32, "and", bits, ev.const(u32, 0x7FFF))
    sign = ev.emit(u32, "shl", ev.emit(u32, "and", bits, ev.const(u32, 0x8000)), ev.const(u32, 16))
    shifted = ev.emit(u32, "shl", magnitude, ev.const(u32, 13))
    # The exponent bias grows by 112; denormals become normal on the way.
    scaled = ev.emit(f32, "fmul", ev.cast("bitcast", u32, f32, shifted), ev.const(f32, 2.0**112))
    special = ev.emit(u32, "or", shifted, ev.const(u32, 0x7F800000))
    finite = ev.compare("lt", u32, magnitude, ev.const(u32, 0x7C00))
    chosen = ev.select(finite, u32, ev.cast("bitcast", f32, u32, scaled), special)
    return ev.cast("bitcast", u32, f32, ev.emit(u32, "or", chosen, sign), dirty=True)


def narrow(ev: LlvmEvaluator, target: Type, source: Type, a: Raw) -> Raw:
    """f32 or f64 to f16, bf16 or f32, nearest even."""
    if target is f32:
        return ev.cast("fptrunc", f64, f32, a, dirty=True)
    if source is f64:
        a = _to_odd_f32(ev, a)
    result = _to_bf16(ev, a) if target.name == "bf16" else ev.float_to_half(a) if ev.host_f16 else _to_f16(ev, a)
    ev.origin[result.name] = (f32, a)
    return ev.dirtied(result)


def _to_bf16(ev: LlvmEvaluator, a: Raw) -> Raw:
    bits = ev.cast("bitcast", f32, u32, a)
    upper = ev.emit(u32, "lshr", bits, ev.const(u32, 16))
    even = ev.emit(u32, "and", upper, ev.const(u32, 1))
    bumped = ev.emit(u32, "add", ev.emit(u32, "add", bits, ev.const(u32, 0x7FFF)), even)
    rounded = ev.emit(u32, "lshr", bumped, ev.const(u32, 16))
    quiet = ev.emit(u32, "or", upper, ev.const(u32, 0x40))
    return ev.resize(u32, u16, ev.select(ev.isnan(f32, a), u32, quiet, rounded))


def _to_f16(ev: LlvmEvaluator, a: Raw) -> Raw:
    """For hosts without the conversion: rounding by integers, denormals by a float addition."""
    bits = ev.cast("bitcast", f32, u32, a)
    magnitude = ev.emit(u32, "and", bits, ev.const(u32, 0x7FFFFFFF))
    sign = ev.emit(u32, "lshr", ev.emit(u32, "and", bits, ev.const(u32, 1 << 31)), ev.const(u32, 16))
    even = ev.emit(u32, "and", ev.emit(u32, "lshr", magnitude, ev.const(u32, 13)), ev.const(u32, 1))
    rebiased = ev.emit(u32, "add", magnitude, ev.const(u32, 0xFFF - (112 << 23)))
    normal = ev.emit(u32, "lshr", ev.emit(u32, "add", rebiased, even), ev.const(u32, 13))
    # Adding 0.5 leaves the f16 denormal's bits, rounded, at the low end of the sum.
    half = ev.emit(f32, "fadd", ev.cast("bitcast", u32, f32, magnitude), ev.const(f32, 0.5))
    denormal = ev.emit(u32, "sub", ev.cast("bitcast", f32, u32, half), ev.const(u32, 126 << 23))
    result = ev.select(ev.compare("lt", u32, magnitude, ev.const(u32, 113 << 23)), u32, denormal, normal)
    result = ev.select(ev.compare("lt", u32, magnitude, ev.const(u32, 143 << 23)), u32, result, ev.const(u32, 0x7C00))
    result = ev.select(ev.isnan(f32, a), u32, ev.const(u32, 0x7E00), result)
    return ev.resize(u32, u16, ev.emit(u32, "or", result, sign))


def _to_odd_f32(ev: LlvmEvaluator, a: Raw) -> Raw:
    """f64 to f32 rounded to odd."""
    near = ev.cast("fptrunc", f64, f32, a)
    back = ev.cast("fpext", f32, f64, near)
    bits = ev.cast("bitcast", f32, u32, near)
    beyond = ev.emit(f64, "fcmp ogt", _magnitude(ev, f64, back), _magnitude(ev, f64, a))
    truncated = ev.emit(u32, "sub", bits, ev.resize(u1, u32, beyond))
    odd = ev.emit(u32, "or", truncated, ev.const(u32, 1))
    return ev.cast("bitcast", u32, f32, ev.select(ev.emit(f64, "fcmp one", back, a), u32, odd, bits))


def _magnitude(ev: LlvmEvaluator, type: Type, a: Raw) -> Raw:
    return ev.intrinsic(type, "fabs", a)


def _sum_to_odd(ev: LlvmEvaluator, type: Type, a: Raw, b: Raw) -> Raw:
    """``a + b`` rounded to odd, where neither overflow nor underflow is near."""
    integer = SIGNED[type.bits]
    total = ev.emit(type, "fadd", a, b)
    part = ev.emit(type, "fsub", total, a)
    error = ev.emit(
        type, "fadd", ev.emit(type, "fsub", a, ev.emit(type, "fsub", total, part)), ev.emit(type, "fsub", b, part)
    )  # fmt: skip
    zero = ev.const(type, 0.0)
    bits = ev.cast("bitcast", type, integer, total)
    even = ev.compare("eq", integer, ev.emit(integer, "and", bits, ev.const(integer, 1)), ev.const(integer, 0))
    inexact = ev.emit(u1, "and", ev.emit(type, "fcmp one", error, zero), even)
    same = ev.compare("eq", u1, ev.compare("gt", type, error, zero), ev.compare("gt", type, total, zero))
    step = ev.select(same, integer, ev.const(integer, 1), ev.const(integer, -1))
    stepped = ev.emit(integer, "add", bits, ev.select(inexact, integer, step, ev.const(integer, 0)))
    return ev.cast("bitcast", integer, type, stepped)


def binary(ev: LlvmEvaluator, op: str, type: Type, a: Raw, b: Raw) -> Raw:
    wide, (x, y) = widened(ev, type, a, b)
    extreme = op in ("min", "max")
    result = _extreme(ev, op, wide, x, y) if extreme else ev.emit(wide, _BINARY[op], x, y, dirty=True)
    return result if wide is type else narrow(ev, type, wide, result)


def _extreme(ev: LlvmEvaluator, op: str, type: Type, a: Raw, b: Raw) -> Raw:
    """Of numbers. Each select is one host instruction; they differ only for zeros, whose signs the bits then settle."""
    compare = "lt" if op == "min" else "gt"
    integer = UNSIGNED[type.bits]
    first = ev.cast("bitcast", type, integer, ev.select(ev.compare(compare, type, a, b), type, a, b))
    second = ev.cast("bitcast", type, integer, ev.select(ev.compare(compare, type, b, a), type, b, a))
    return ev.cast("bitcast", integer, type, ev.emit(integer, "or" if op == "min" else "and", first, second))


def unary(ev: LlvmEvaluator, op: str, type: Type, a: Raw) -> Raw:
    wide, (x,) = widened(ev, type, a)
    result = ev.intrinsic(wide, _UNARY[op], x, dirty=True)
    return result if wide is type else narrow(ev, type, wide, result)


def fma(ev: LlvmEvaluator, type: Type, a: Raw, b: Raw, c: Raw) -> Raw:
    if type is f64 or (type is f32 and ev.host_fma):
        return ev.intrinsic(type, "fma", a, b, c, dirty=True)
    # An f16 product is exact in f32, all others in f64; the sum in the same type then needs one rounding.
    wide = f32 if type is f16 else f64
    x, y, z = (convert(ev, type, wide, o) for o in (a, b, c))
    total = _sum_to_odd(ev, wide, ev.emit(wide, "fmul", x, y), z)
    return narrow(ev, type, wide, total)


def convert(ev: LlvmEvaluator, source: Type, target: Type, a: Raw) -> Raw:
    if source.is_float and target.is_float:
        wide, (x,) = widened(ev, source, a)
        if wide is target:
            return ev.dirtied(x)
        return ev.cast("fpext", wide, target, x, dirty=True) if target is f64 else narrow(ev, target, wide, x)
    if source.is_float:
        wide, (x,) = widened(ev, source, a)
        return _saturate(ev, wide, target, x)
    if source.kind == "m":
        source, a = u32, ev.resize(source, u32, a)
    operation = "sitofp" if source.signed else "uitofp"
    if target.bits > 16:
        return ev.cast(operation, source, target, a)
    if target is not f16:
        raise AssertionError(f"no conversion of {source} to {target}")
    if source.bits > 16:
        # Beyond 2^17 every integer is infinite in f16; up to there f32 is exact.
        a = ev.binary("min", source, a, ev.const(source, 1 << 17))
        if source.signed:
            a = ev.binary("max", source, a, ev.const(source, -(1 << 17)))
    return narrow(ev, f16, f32, ev.cast(operation, source, f32, a))


def _saturate(ev: LlvmEvaluator, source: Type, target: Type, a: Raw) -> Raw:
    """f32 or f64 to an integer, toward zero. (llvm.fptosi.sat is several times slower on vectors.)"""
    low = -(1 << (target.bits - 1)) if target.signed else 0
    high = 1 << (target.bits - target.signed)
    below = ev.compare("lt", source, a, ev.const(source, low))
    inside = ev.emit(
        u1,
        "and",
        ev.compare("ge", source, a, ev.const(source, low)),
        ev.compare("lt", source, a, ev.const(source, high)),
    )
    wide = target if target.bits >= 32 else Type("", target.kind, 32)
    number = ev.cast(
        "fptosi" if target.signed else "fptoui", source, wide, ev.select(inside, source, a, ev.const(source, 0.0))
    )
    number = ev.resize(wide, target, number)
    number = ev.select(ev.compare("ge", source, a, ev.const(source, high)), target, ev.const(target, high - 1), number)
    return ev.select(below, target, ev.const(target, low), number)


__all__ = ["binary", "const", "convert", "fma", "unary", "widened"]
