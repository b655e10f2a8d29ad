"""SOP2: scalar instructions with two sources."""

from __future__ import annotations

from collections.abc import Callable

from .bit_functions import (
    add_overflow,
    bit_field,
    bit_mask,
    nonzero,
    shift_count,
    shifted_sum,
    sub_overflow,
)
from .define import define
from .integer_functions import add_carry, add_with_carry, sub_borrow, sub_with_borrow
from .types import TYPES
from .value import Value

define("SOP2", 0, "s_add_u32", "u32, scc = u32, u32", add_carry)
define("SOP2", 1, "s_sub_u32", "u32, scc = u32, u32", sub_borrow)
define("SOP2", 2, "s_add_i32", "i32, scc = i32, i32", add_overflow)
define("SOP2", 3, "s_sub_i32", "i32, scc = i32, i32", sub_overflow)
define("SOP2", 4, "s_addc_u32", "u32, scc = u32, u32, scc", add_with_carry)
define("SOP2", 5, "s_subb_u32", "u32, scc = u32, u32, scc", sub_with_borrow)


def _minimum(a: Value, b: Value) -> tuple[Value, Value]:
    return a.min(b), a < b


def _maximum(a: Value, b: Value) -> tuple[Value, Value]:
    return a.max(b), a >= b


for _name, _extreme, _opcode in (("min", _minimum, 6), ("max", _maximum, 8)):
    for _type in ("i32", "u32"):
        define("SOP2", _opcode + (_type == "u32"), f"s_{_name}_{_type}", f"{_type}, scc = {_type}, {_type}", _extreme)

define("SOP2", 10, "s_cselect_b32", "b32 = b32, b32, scc", lambda a, b, scc: scc.select(a, b))
define("SOP2", 11, "s_cselect_b64", "b64 = b64, b64, scc", lambda a, b, scc: scc.select(a, b))

LOGIC: dict[str, Callable[[Value, Value], Value]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}
"""The bitwise operations of two sources, in the order of their opcodes."""


def _logic(operation: Callable[[Value, Value], Value]) -> Callable[[Value, Value], tuple[Value, Value]]:
    return lambda a, b: nonzero(operation(a, b))


for _i, (_name, _operation) in enumerate(LOGIC.items()):
    define("SOP2", 12 + 2 * _i, f"s_{_name}_b32", "b32, scc = b32, b32", _logic(_operation))
    define("SOP2", 13 + 2 * _i, f"s_{_name}_b64", "b64, scc = b64, b64", _logic(_operation))


def _shift_left(a: Value, count: Value) -> tuple[Value, Value]:
    return nonzero(a << shift_count(count, a.type))


def _shift_right(a: Value, count: Value) -> tuple[Value, Value]:
    return nonzero(a >> shift_count(count, a.type))


for _opcode, _name, _type, _meaning in (
    (28, "s_lshl_b32", "b32", _shift_left),
    (29, "s_lshl_b64", "b64", _shift_left),
    (30, "s_lshr_b32", "b32", _shift_right),
    (31, "s_lshr_b64", "b64", _shift_right),
    (32, "s_ashr_i32", "i32", _shift_right),
    (33, "s_ashr_i64", "i64", _shift_right),
):
    define("SOP2", _opcode, _name, f"{_type}, scc = {_type}, u32", _meaning)

define("SOP2", 34, "s_bfm_b32", "b32 = u32, u32", lambda a, b: bit_mask(a, b, TYPES["b32"]))
define("SOP2", 35, "s_bfm_b64", "b64 = u32, u32", lambda a, b: bit_mask(a, b, TYPES["b64"]))
define("SOP2", 36, "s_mul_i32", "i32 = i32, i32", lambda a, b: a * b)
for _opcode, _type in ((37, "u32"), (38, "i32"), (39, "u64"), (40, "i64")):
    define(
        "SOP2", _opcode, f"s_bfe_{_type}", f"{_type}, scc = {_type}, u32", lambda a, place: nonzero(bit_field(a, place))
    )
define("SOP2", 41, "s_cbranch_g_fork", "pc, exec = u64, u64, exec", flags="branch unsupported_in_sim")
define("SOP2", 42, "s_absdiff_i32", "i32, scc = i32, i32", lambda a, b: nonzero(abs(a - b)))
define("SOP2", 43, "s_rfe_restore_b64", "pc = u64, u32", flags="branch indirect unsupported_in_sim")
define("SOP2", 44, "s_mul_hi_u32", "u32 = u32, u32", lambda a, b: a.mulhi(b))
define("SOP2", 45, "s_mul_hi_i32", "i32 = i32, i32", lambda a, b: a.mulhi(b))


def _shift_add(shift: int) -> Callable[[Value, Value], tuple[Value, Value]]:
    return lambda a, b: shifted_sum(a, b, shift)


for _shift in (1, 2, 3, 4):
    define("SOP2", 45 + _shift, f"s_lshl{_shift}_add_u32", "u32, scc = u32, u32", _shift_add(_shift))


def _pack(low: Value, high: Value) -> Value:
    return low.field(0, 16) | (high << 16)


define("SOP2", 50, "s_pack_ll_b32_b16", "b32 = b32, b32", _pack)
define("SOP2", 51, "s_pack_lh_b32_b16", "b32 = b32, b32", lambda a, b: _pack(a, b >> 16))
define("SOP2", 52, "s_pack_hh_b32_b16", "b32 = b32, b32", lambda a, b: _pack(a >> 16, b >> 16))
