"""SOPC: scalar compares, which write SCC, and the two mode switches that share their encoding."""

from __future__ import annotations

from collections.abc import Callable

from .define import define
from .value import Value

VSKIP_BIT, GPR_IDX_BIT = 28, 27
"""Places in the MODE register of VSKIP and GPR_IDX_EN (ISA manual, MODE register)."""
CLEAR_VSKIP, CLEAR_GPR_IDX = (0xFFFFFFFF ^ (1 << bit) for bit in (VSKIP_BIT, GPR_IDX_BIT))

COMPARES: dict[str, Callable[[Value, Value], Value]] = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}
"""The comparisons in the order of their opcodes."""

for _i, (_name, _compare) in enumerate(COMPARES.items()):
    define("SOPC", _i, f"s_cmp_{_name}_i32", "scc = i32, i32", _compare)
    define("SOPC", 6 + _i, f"s_cmp_{_name}_u32", "scc = u32, u32", _compare)
define("SOPC", 18, "s_cmp_eq_u64", "scc = u64, u64", COMPARES["eq"])
define("SOPC", 19, "s_cmp_lg_u64", "scc = u64, u64", COMPARES["lg"])


def _bit(a: Value, index: Value) -> Value:
    return (a >> (index & (a.type.bits - 1))) & 1


for _i, _type in enumerate(("b32", "b64")):
    define("SOPC", 12 + 2 * _i, f"s_bitcmp0_{_type}", f"scc = {_type}, u32", lambda a, index: _bit(a, index) == 0)
    define("SOPC", 13 + 2 * _i, f"s_bitcmp1_{_type}", f"scc = {_type}, u32", lambda a, index: _bit(a, index) != 0)


def _set_vskip(a: Value, index: Value, mode: Value) -> Value:
    return (mode & CLEAR_VSKIP) | (_bit(a, index) << VSKIP_BIT)


def _gpr_idx_on(a: Value, select: Value, m0: Value, mode: Value) -> tuple[Value, Value]:
    return (m0 & 0xFFFF0F00) | a.field(0, 8) | (select << 12), mode | (1 << GPR_IDX_BIT)


define("SOPC", 16, "s_setvskip", "mode = u32, u32, mode", _set_vskip, flags="vskip")
define("SOPC", 17, "s_set_gpr_idx_on", "m0, mode = u32, gpr_idx, m0, mode", _gpr_idx_on, flags="gpr_idx")
