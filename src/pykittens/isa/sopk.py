"""SOPK: scalar instructions with a 16-bit constant, ``simm16``."""

from __future__ import annotations

from .bit_functions import add_overflow
from .define import define
from .sopc import COMPARES
from .types import i32, u16, u32

define("SOPK", 0, "s_movk_i32", "i32 = simm16", lambda k: k.resize(i32))
define("SOPK", 1, "s_cmovk_i32", "i32 = simm16, scc, dst", lambda k, scc, old: scc.select(k.resize(i32), old))

for _i, (_name, _compare) in enumerate(COMPARES.items()):
    define(
        "SOPK", 2 + _i, f"s_cmpk_{_name}_i32", "scc = i32, simm16",
        lambda a, k, compare=_compare: compare(a, k.resize(i32)),
    )  # fmt: skip
    define(
        "SOPK", 8 + _i, f"s_cmpk_{_name}_u32", "scc = u32, simm16",
        lambda a, k, compare=_compare: compare(a, k.bits(u16).resize(u32)),
    )  # fmt: skip

define("SOPK", 14, "s_addk_i32", "i32, scc = dst, simm16", lambda old, k: add_overflow(old, k.resize(i32)))
define("SOPK", 15, "s_mulk_i32", "i32 = dst, simm16", lambda old, k: old * k.resize(i32))
define("SOPK", 16, "s_cbranch_i_fork", "pc, exec = u64, label, exec", flags="branch unsupported_in_sim")
define("SOPK", 17, "s_getreg_b32", "b32 = simm16, mode", flags="hwreg_read")
define("SOPK", 18, "s_setreg_b32", "mode = simm16, b32, mode", flags="hwreg_write")
define("SOPK", 20, "s_setreg_imm32_b32", "mode = simm16, b32, mode", flags="hwreg_write literal")
define("SOPK", 21, "s_call_b64", "u64, pc = label, pc", flags="branch call")
