"""The functions of the transcendental unit, the same on every host and within 1 ulp of the true value.

Silicon's last bits are not known. exp2, log2, sin and cos are polynomials on a reduced argument, fitted for the least
relative error with coefficients that are f32 numbers: at most 0.80, 0.95, 0.89 and 0.89 ulp off, over every f32 in
range. f16 goes through f32. The f32 forms flush denormals (llvm).
"""

from __future__ import annotations

from collections.abc import Callable

from .types import f16, f32, i32, u32
from .value import Value, quiet_nan_bits

_INFINITY = float("inf")
_ROUNDER = 1.5 * 2.0**23
"""Added to an f32 of less than 2^22 it leaves the nearest integer in the low mantissa bits."""

_EXP2 = tuple(map(float.fromhex, (
    "0x1.417a5cp-13", "0x1.5f0946p-10", "0x1.3b2dd2p-7", "0x1.c6af7ap-5", "0x1.ebfbdcp-3", "0x1.62e43p-1", "1.0",
)))  # fmt: skip
"""2^x for |x| <= 1/2, highest power first; 2^-28.3 off."""
_LOG2 = tuple(map(float.fromhex, (
    "-0x1.c4f0fap-4", "0x1.7f18e8p-3", "-0x1.87b6d2p-3", "0x1.a2c696p-3", "-0x1.eaa75ep-3", "0x1.277f66p-2",
    "-0x1.715af2p-2", "0x1.ec7094p-2", "-0x1.71547p-1", "0x1.49d82ep-26",
)))  # fmt: skip
"""log2(1 + x)/x less `_LOG2_SLOPE` for 1 + x from sqrt(1/2) to sqrt(2); 2^-27.6 off."""
_LOG2_SLOPE = float.fromhex("0x1.715476p+0")
_SIN = tuple(map(float.fromhex, ("-0x1.2da156p+6", "0x1.465eeap+6", "-0x1.4abbbap+5", "-0x1.a32bd6p-23")))
"""sin(2 pi x)/x less `_TWO_PI` for |x| <= 1/8, in x^2; 2^-28.1 off."""
_TWO_PI = float.fromhex("0x1.921fb6p+2")
_COS = tuple(map(float.fromhex, ("0x1.d4e42p+5", "-0x1.55b29ap+6", "0x1.03c1bp+6", "-0x1.3bd3ccp+4", "1.0")))
"""cos(2 pi x) for |x| <= 1/8, in x^2; 2^-31 off."""
_HALF_ROOT = 0x3F3504F3
"""The bits of sqrt(1/2)."""
_TURNS = 256.0


def through_f32(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """A function of f32 as one of f16."""
    return lambda x: function(x.to(f32)).to(f16)


def _horner(x: Value, coefficients: tuple[float, ...]) -> Value:
    result = x.const(coefficients[0])
    for coefficient in coefficients[1:]:
        result = result.fma(x, coefficient)
    return result


def _keep_nan(x: Value, result: Value) -> Value:
    return x.isnan().select(x.quiet(), result)


def exp2(x: Value) -> Value:
    """2^x: infinite from 128 on, 0 or a denormal's rest (to be flushed) below -126."""
    inside = (x < 128.0).select(x, 128.0)
    inside = (inside > -127.0).select(inside, -127.0)
    shifted = inside + _ROUNDER
    power = _horner(inside - (shifted - _ROUNDER), _EXP2)
    return _keep_nan(x, (power.bits(u32) + (shifted.bits(u32) << 23)).bits(f32))


def log2(x: Value) -> Value:
    """The logarithm to base 2: -infinity for zeros, NaN below zero."""
    bits = x.bits(i32)
    exponent = (bits - _HALF_ROOT) >> 23
    rest = (bits - (exponent << 23)).bits(f32) - 1.0
    logarithm = exponent.to(f32) + rest.fma(_LOG2_SLOPE, rest * _horner(rest, _LOG2))
    result = (x < _INFINITY).select(logarithm, x)
    result = (x < 0.0).select(result.const_bits(quiet_nan_bits(f32)), result)
    return _keep_nan(x, (x == 0.0).select(-_INFINITY, result))


def _turns(x: Value) -> Value:
    """What is left of ``x`` after taking off the nearest integer: -1/2 to 1/2, exact."""
    return x - ((x + _ROUNDER) - _ROUNDER)


def _sine_of_eighth(x: Value) -> Value:
    return x.fma(_TWO_PI, x * _horner(x * x, _SIN))


def _quarter_wave(near: Value, far: Value, swap: Value) -> Value:
    """The sine of ``near`` turns, or the cosine of ``far`` turns where ``swap``; both at most 1/8."""
    return swap.select(_horner(far * far, _COS), _sine_of_eighth(near))


def sin(x: Value) -> Value:
    """The sine of ``x`` turns; 0 beyond 256 turns (ISA manual), NaN for infinities."""
    rest = _turns(x)
    size = abs(rest)
    size = (size > 0.25).select(0.5 - size, size)
    wave = _quarter_wave(size, 0.25 - size, size > 0.125)
    sign = rest.bits(u32) & (1 << 31)
    return _out_of_range(x, (wave.bits(u32) | sign).bits(f32), 0.0)


def cos(x: Value) -> Value:
    """The cosine of ``x`` turns; 1 beyond 256 turns (ISA manual), NaN for infinities."""
    size = abs(_turns(x))
    folds = size > 0.25
    size = folds.select(0.5 - size, size)
    wave = _quarter_wave(0.25 - size, size, size < 0.125)
    return _out_of_range(x, folds.select(-wave, wave), 1.0)


def _out_of_range(x: Value, result: Value, beyond: float) -> Value:
    size = abs(x)
    result = (size > _TURNS).select(beyond, result)
    result = (size == _INFINITY).select(result.const_bits(quiet_nan_bits(f32)), result)
    return _keep_nan(x, result)


def reciprocal(x: Value) -> Value:
    """1/x, correctly rounded."""
    return x.const(1.0) / x


def root(x: Value) -> Value:
    """The square root, correctly rounded; NaN below zero, -0 for -0."""
    return x.sqrt()


def reciprocal_root(x: Value) -> Value:
    """1/sqrt(x), within 0.51 ulp: a quotient of two roundings and one step towards the root of x*r*r = 1.

    Infinity with the sign of a zero.
    """
    estimate = x.const(1.0) / x.sqrt()
    product = x * estimate
    rest = product.fma(-estimate, 1.0) - x.fma(estimate, -product) * estimate
    better = (estimate * 0.5).fma(rest, estimate)
    return ((x == 0.0) | (x == _INFINITY)).select(estimate, better)
