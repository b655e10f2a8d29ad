"""VOPC: comparisons of two vectors into a lane mask; the ``cmpx`` forms also set EXEC."""

from __future__ import annotations

from collections.abc import Callable

from .define import define
from .types import UNSIGNED, u1
from .value import Value, exponent_bits, mantissa_bits

Comparison = Callable[[Value, Value], Value]


def _constant(bit: int) -> Comparison:
    return lambda a, b: a.const(bit, u1)


def _ordered(a: Value, b: Value) -> Value:
    return ~(a.isnan() | b.isnan())


FLOAT_CONDITIONS: tuple[tuple[str, Comparison], ...] = (
    ("f", _constant(0)),
    ("lt", lambda a, b: a < b),
    ("eq", lambda a, b: a == b),
    ("le", lambda a, b: a <= b),
    ("gt", lambda a, b: a > b),
    ("lg", lambda a, b: (a < b) | (a > b)),
    ("ge", lambda a, b: a >= b),
    ("o", _ordered),
    ("u", lambda a, b: a.isnan() | b.isnan()),
    ("nge", lambda a, b: ~(a >= b)),
    ("nlg", lambda a, b: ~((a < b) | (a > b))),
    ("ngt", lambda a, b: ~(a > b)),
    ("nle", lambda a, b: ~(a <= b)),
    ("neq", lambda a, b: a != b),
    ("nlt", lambda a, b: ~(a < b)),
    ("tru", _constant(1)),
)
"""In the order of the opcodes; ``n`` conditions are also true for NaN."""

INTEGER_CONDITIONS: tuple[tuple[str, Comparison], ...] = (
    ("f", _constant(0)),
    ("lt", lambda a, b: a < b),
    ("eq", lambda a, b: a == b),
    ("le", lambda a, b: a <= b),
    ("gt", lambda a, b: a > b),
    ("ne", lambda a, b: a != b),
    ("ge", lambda a, b: a >= b),
    ("t", _constant(1)),
)


def float_class(x: Value, wanted: Value) -> Value:
    """u1: whether the class of ``x`` is in the bit set ``wanted``.

    Bits: 0 signaling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +inf.
    """
    unsigned = UNSIGNED[x.type.bits]
    bits = x.bits(unsigned)
    magnitude = bits & ((1 << (x.type.bits - 1)) - 1)
    infinity, quiet_bit = exponent_bits(x.type), 1 << (mantissa_bits(x.type) - 1)
    # Places to the right of +inf's bit 9, then mirrored for negative numbers: 9-k becomes 2+k.
    below = (magnitude == infinity).select(wanted.const(0), 1)
    below = (magnitude < (1 << mantissa_bits(x.type))).select(2, below)
    below = (magnitude == 0).select(3, below)
    negative = (bits >> (x.type.bits - 1)) != 0
    place = negative.select(below + 2, 9 - below)
    nan = ((bits & quiet_bit) != 0).select(wanted.const(1), 0)
    place = (magnitude > infinity).select(nan, place)
    return ((wanted >> place) & 1) != 0


def _define_pair(
    opcode: int, x_opcode: int, suffix: str, signature: str, comparison: Comparison, flags: str = ""
) -> None:
    def exec_too(a: Value, b: Value, exec_: Value) -> tuple[Value, Value]:
        result = comparison(a, b).lanes()
        return result, result.ballot() & exec_

    define("VOPC", opcode, f"v_cmp_{suffix}", f"mask = {signature}", comparison, flags=f"no_dpp no_omod {flags}")
    define(
        "VOPC",
        x_opcode,
        f"v_cmpx_{suffix}",
        f"mask, exec = {signature}, exec",
        exec_too,
        flags=f"cmpx no_dpp no_omod {flags}",
    )


def _sdwa(type_name: str) -> str:
    """SDWA selects parts of 32-bit registers only."""
    return "no_sdwa" if type_name.endswith("64") else ""


for _opcode, _type in ((16, "f32"), (18, "f64"), (20, "f16")):
    _define_pair(
        _opcode, _opcode + 1, f"class_{_type}", f"{_type}, u32", float_class, f"keeps_denormals no_clamp {_sdwa(_type)}"
    )
for _base, _type in ((32, "f16"), (64, "f32"), (96, "f64")):
    for _i, (_condition, _comparison) in enumerate(FLOAT_CONDITIONS):
        _define_pair(
            _base + _i, _base + 16 + _i, f"{_condition}_{_type}", f"{_type}, {_type}", _comparison, _sdwa(_type)
        )
for _base, _type in ((160, "i16"), (168, "u16"), (192, "i32"), (200, "u32"), (224, "i64"), (232, "u64")):
    for _i, (_condition, _comparison) in enumerate(INTEGER_CONDITIONS):
        _define_pair(
            _base + _i, _base + 16 + _i, f"{_condition}_{_type}", f"{_type}, {_type}", _comparison, _sdwa(_type)
        )
