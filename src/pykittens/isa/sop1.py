"""SOP1: scalar instructions with one source."""

from __future__ import annotations

from collections.abc import Callable

from .bit_functions import (
    first_one,
    leading_signs,
    leading_zeros,
    nonzero,
    quad_mask,
    replicate_bits,
    single_bit,
    whole_quads,
)
from .define import define
from .sop2 import LOGIC
from .types import i32
from .value import Value

PAIRS: tuple[tuple[int, str, str, Callable[..., object]], ...] = (
    (0, "mov", "{t} = {t}", lambda a: a),
    (2, "cmov", "{t} = {t}, scc, dst", lambda a, scc, old: scc.select(a, old)),
    (4, "not", "{t}, scc = {t}", lambda a: nonzero(~a)),
    (6, "wqm", "{t}, scc = {t}", lambda a: nonzero(whole_quads(a))),
    (8, "brev", "{t} = {t}", lambda a: a.bitreverse()),
    (10, "bcnt0_i32", "i32, scc = {t}", lambda a: nonzero((~a).popcount().resize(i32))),
    (12, "bcnt1_i32", "i32, scc = {t}", lambda a: nonzero(a.popcount().resize(i32))),
    (14, "ff0_i32", "u32 = {t}", lambda a: first_one(~a)),
    (16, "ff1_i32", "u32 = {t}", first_one),
    (18, "flbit_i32", "u32 = {t}", leading_zeros),
    (40, "quadmask", "{t}, scc = {t}", lambda a: nonzero(quad_mask(a))),
)
"""Opcode of the 32-bit form (the 64-bit one follows), name, signature, meaning."""

for _opcode, _name, _signature, _meaning in PAIRS:
    define("SOP1", _opcode, f"s_{_name}_b32", _signature.format(t="b32"), _meaning)
    define("SOP1", _opcode + 1, f"s_{_name}_b64", _signature.format(t="b64"), _meaning)

define("SOP1", 20, "s_flbit_i32", "u32 = i32", leading_signs)
define("SOP1", 21, "s_flbit_i32_i64", "u32 = i64", leading_signs)
define("SOP1", 22, "s_sext_i32_i8", "i32 = u32", lambda a: a.sext(8))
define("SOP1", 23, "s_sext_i32_i16", "i32 = u32", lambda a: a.sext(16))

for _i, _type in enumerate(("b32", "b64")):
    define("SOP1", 24 + _i, f"s_bitset0_{_type}", f"{_type} = u32, dst", lambda a, old: old & ~single_bit(a, old.type))
    define("SOP1", 26 + _i, f"s_bitset1_{_type}", f"{_type} = u32, dst", lambda a, old: old | single_bit(a, old.type))

define("SOP1", 28, "s_getpc_b64", "u64 = pc", flags="getpc")
define("SOP1", 29, "s_setpc_b64", "pc = u64", flags="branch indirect")
define("SOP1", 30, "s_swappc_b64", "u64, pc = u64, pc", flags="branch indirect call")
define("SOP1", 31, "s_rfe_b64", "pc = u64", flags="branch indirect unsupported_in_sim")


# EXEC comes first among what these write, so that a destination that is EXEC itself has the last word (manual).
def _save_exec(operation: Callable[[Value, Value], Value]) -> Callable[[Value, Value], tuple[Value, Value, Value]]:
    def meaning(a: Value, exec_: Value) -> tuple[Value, Value, Value]:
        new, scc = nonzero(operation(a, exec_))
        return new, exec_, scc

    return meaning


def _write_exec(operation: Callable[[Value, Value], Value]) -> Callable[[Value, Value], tuple[Value, Value, Value]]:
    def meaning(a: Value, exec_: Value) -> tuple[Value, Value, Value]:
        new, scc = nonzero(operation(a, exec_))
        return new, new, scc

    return meaning


def _andn1(a: Value, b: Value) -> Value:
    return ~a & b


_SAVE_EXEC = [*((32 + i, name, operation) for i, (name, operation) in enumerate(LOGIC.items()))]
_SAVE_EXEC += [(51, "andn1", _andn1), (52, "orn1", lambda a, b: ~a | b)]
for _opcode, _name, _operation in _SAVE_EXEC:
    define("SOP1", _opcode, f"s_{_name}_saveexec_b64", "exec, b64, scc = b64, exec", _save_exec(_operation))
define("SOP1", 53, "s_andn1_wrexec_b64", "exec, b64, scc = b64, exec", _write_exec(_andn1))
define("SOP1", 54, "s_andn2_wrexec_b64", "exec, b64, scc = b64, exec", _write_exec(LOGIC["andn2"]))

for _i, _type in enumerate(("b32", "b64")):
    define("SOP1", 42 + _i, f"s_movrels_{_type}", f"{_type} = {_type}, m0", flags="relative_src")
    define("SOP1", 44 + _i, f"s_movreld_{_type}", f"{_type} = {_type}, m0", flags="relative_dst")

define("SOP1", 46, "s_cbranch_join", "pc, exec = u32, exec", flags="branch unsupported_in_sim")
define("SOP1", 48, "s_abs_i32", "i32, scc = i32", lambda a: nonzero(abs(a)))
define("SOP1", 50, "s_set_gpr_idx_idx", "m0 = u32, m0", lambda a, m0: (m0 & 0xFFFFFF00) | a.field(0, 8))
define("SOP1", 55, "s_bitreplicate_b64_b32", "b64 = u32", replicate_bits)
