"""Python numbers as constant operands: inline where the hardware has the value, else a literal of 32 bits."""

from __future__ import annotations

import struct

import ml_dtypes
import numpy as np

from pykittens.isa.define import Operand
from pykittens.isa.operand_codes import INLINE_FLOATS
from pykittens.isa.registers import Const

_ONE_BY_TWO_PI = INLINE_FLOATS[248]
_NARROW = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


def constant(value: int | float, spec: Operand) -> Const | str:
    """The constant that gives an operand this value, or in words why none does.

    Floats are rounded to the operand's type (f32 for plain bits), except f64 ones, of which a literal has the high half
    alone. Integers are bits, also for float operands, as in assembly.
    """
    if isinstance(value, float):
        return _float(value, spec)
    value = int(value)
    if -16 <= value <= 64:
        return Const(value & 0xFFFFFFFF)
    wide = spec.bits == 64 and not spec.type.is_float and spec.packed == 1
    low = 0 if wide and not spec.type.signed else -(1 << 31)
    high = (1 << 31) - 1 if wide and spec.type.signed else (1 << 32) - 1
    if not low <= value <= high:
        return f"the constant {value} does not fit a literal, {low} to {high} here"
    return Const(value & 0xFFFFFFFF, "literal")


def _float(value: float, spec: Operand) -> Const | str:
    bits = _f32_bits(value)
    if value == 0.0 and bits == 0:
        return Const(0)
    if value in INLINE_FLOATS.values() or bits == _f32_bits(_ONE_BY_TWO_PI):
        return Const(bits, "float")
    if spec.type.name in _NARROW:
        with np.errstate(over="ignore"):
            narrow = np.array(value).astype(_NARROW[spec.type.name])
        return Const(int(narrow.view(np.uint16)), "literal")
    if spec.type.name == "f64":
        (double,) = struct.unpack("<Q", struct.pack("<d", value))
        if double & 0xFFFFFFFF:
            return f"the constant {value!r} needs all 64 bits of an f64, a literal has the high 32"
        return Const(double >> 32, "literal")
    return Const(bits, "literal")


def _f32_bits(value: float) -> int:
    return int(np.array(value).astype(np.float32).view(np.uint32))
