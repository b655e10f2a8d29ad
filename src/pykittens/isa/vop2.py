"""VOP2: vector instructions with two sources."""

from __future__ import annotations

from functools import partial

from .define import define
from .dot_products import dot, dot_float
from .float_functions import ldexp, max_number, min_number
from .integer_functions import (
    add_carry,
    add_with_carry,
    mul_i24,
    mul_u24,
    or_ones,
    or_zero,
    saturating,
    sub_borrow,
    sub_with_borrow,
)
from .types import i32, u16, u32
from .value import Value

define(
    "VOP2", 0, "v_cndmask_b32", "b32 = b32, b32, mask",
    lambda a, b, mask: mask.select(b, a),
    flags="float_modifiers",
)  # fmt: skip

# -- f32 and f64 ---------------------------------------------------------------------------------------------------
define("VOP2", 1, "v_add_f32", "f32 = f32, f32", lambda a, b: a + b)
define("VOP2", 2, "v_sub_f32", "f32 = f32, f32", lambda a, b: a - b)
define("VOP2", 3, "v_subrev_f32", "f32 = f32, f32", lambda a, b: b - a)
define("VOP2", 4, "v_fmac_f64", "f64 = f64, f64, dst", lambda a, b, c: a.fma(b, c), flags="no_sdwa")
define("VOP2", 5, "v_mul_f32", "f32 = f32, f32", lambda a, b: a * b)
define("VOP2", 10, "v_min_f32", "f32 = f32, f32, ieee", min_number)
define("VOP2", 11, "v_max_f32", "f32 = f32, f32, ieee", max_number)
define(
    "VOP2",
    23,
    "v_fmamk_f32",
    "f32 = f32, f32, f32",
    lambda a, k, b: a.fma(k, b),
    flags="literal1 no_e64 no_sdwa no_dpp",
)
define(
    "VOP2",
    24,
    "v_fmaak_f32",
    "f32 = f32, f32, f32",
    lambda a, b, k: a.fma(b, k),
    flags="literal2 no_e64 no_sdwa no_dpp",
)
define("VOP2", 59, "v_fmac_f32", "f32 = f32, f32, dst", lambda a, b, c: a.fma(b, c), flags="no_sdwa")

# -- f16 -----------------------------------------------------------------------------------------------------------
define("VOP2", 31, "v_add_f16", "f16 = f16, f16", lambda a, b: a + b)
define("VOP2", 32, "v_sub_f16", "f16 = f16, f16", lambda a, b: a - b)
define("VOP2", 33, "v_subrev_f16", "f16 = f16, f16", lambda a, b: b - a)
define("VOP2", 34, "v_mul_f16", "f16 = f16, f16", lambda a, b: a * b)
define("VOP2", 35, "v_mac_f16", "f16 = f16, f16, dst", lambda a, b, c: a * b + c, flags="no_sdwa")
define(
    "VOP2", 36, "v_madmk_f16", "f16 = f16, f16, f16", lambda a, k, b: a * k + b, flags="literal1 no_e64 no_sdwa no_dpp"
)
define(
    "VOP2", 37, "v_madak_f16", "f16 = f16, f16, f16", lambda a, b, k: a * b + k, flags="literal2 no_e64 no_sdwa no_dpp"
)
define("VOP2", 45, "v_max_f16", "f16 = f16, f16, ieee", max_number)
define("VOP2", 46, "v_min_f16", "f16 = f16, f16, ieee", min_number)
define("VOP2", 51, "v_ldexp_f16", "f16 = f16, i16", ldexp)
define("VOP2", 60, "v_pk_fmac_f16", "2f16 = 2f16, 2f16, dst", lambda a, b, c: a.fma(b, c))

# -- 32-bit integers -----------------------------------------------------------------------------------------------
define("VOP2", 6, "v_mul_i32_i24", "i32 = i32, i32", mul_i24, clamped=saturating(mul_i24, i32))
define("VOP2", 7, "v_mul_hi_i32_i24", "i32 = i32, i32", lambda a, b: a.sext(24).mulhi(b.sext(24)))
define("VOP2", 8, "v_mul_u32_u24", "u32 = u32, u32", mul_u24, clamped=saturating(mul_u24, u32))
define("VOP2", 9, "v_mul_hi_u32_u24", "u32 = u32, u32", lambda a, b: a.field(0, 24).mulhi(b.field(0, 24)))
define("VOP2", 12, "v_min_i32", "i32 = i32, i32", Value.min)
define("VOP2", 13, "v_max_i32", "i32 = i32, i32", Value.max)
define("VOP2", 14, "v_min_u32", "u32 = u32, u32", Value.min)
define("VOP2", 15, "v_max_u32", "u32 = u32, u32", Value.max)
define("VOP2", 16, "v_lshrrev_b32", "b32 = u32, b32", lambda n, a: a >> (n & 31))
define("VOP2", 17, "v_ashrrev_i32", "i32 = u32, i32", lambda n, a: a >> (n & 31))
define("VOP2", 18, "v_lshlrev_b32", "b32 = u32, b32", lambda n, a: a << (n & 31))
define("VOP2", 19, "v_and_b32", "b32 = b32, b32", lambda a, b: a & b)
define("VOP2", 20, "v_or_b32", "b32 = b32, b32", lambda a, b: a | b)
define("VOP2", 21, "v_xor_b32", "b32 = b32, b32", lambda a, b: a ^ b)
define("VOP2", 61, "v_xnor_b32", "b32 = b32, b32", lambda a, b: ~(a ^ b))

for _opcode, _name, _meaning in (
    (52, "v_add_u32", lambda a, b: a + b),
    (53, "v_sub_u32", lambda a, b: a - b),
    (54, "v_subrev_u32", lambda a, b: b - a),
):
    define("VOP2", _opcode, _name, "u32 = u32, u32", _meaning, clamped=saturating(_meaning, u32))

for _opcode, _name, _signature, _carry_meaning, _saturated in (
    (25, "v_add_co_u32", "u32, mask = u32, u32", add_carry, or_ones),
    (26, "v_sub_co_u32", "u32, mask = u32, u32", sub_borrow, or_zero),
    (27, "v_subrev_co_u32", "u32, mask = u32, u32", lambda a, b: sub_borrow(b, a), or_zero),
    (28, "v_addc_co_u32", "u32, mask = u32, u32, mask", add_with_carry, or_ones),
    (29, "v_subb_co_u32", "u32, mask = u32, u32, mask", sub_with_borrow, or_zero),
    (30, "v_subbrev_co_u32", "u32, mask = u32, u32, mask", lambda a, b, c: sub_with_borrow(b, a, c), or_zero),
):
    define(
        "VOP2", _opcode, _name, _signature, _carry_meaning,
        clamped=lambda *sources, _m=_carry_meaning, _s=_saturated: _s(_m(*sources)),
    )  # fmt: skip

# -- 16-bit integers -----------------------------------------------------------------------------------------------
for _opcode, _name, _meaning in (
    (38, "v_add_u16", lambda a, b: a + b),
    (39, "v_sub_u16", lambda a, b: a - b),
    (40, "v_subrev_u16", lambda a, b: b - a),
):
    define("VOP2", _opcode, _name, "u16 = u16, u16", _meaning, clamped=saturating(_meaning, u16))

define("VOP2", 41, "v_mul_lo_u16", "u16 = u16, u16", lambda a, b: a * b)
define("VOP2", 42, "v_lshlrev_b16", "b16 = u16, b16", lambda n, a: a << (n & 15))
define("VOP2", 43, "v_lshrrev_b16", "b16 = u16, b16", lambda n, a: a >> (n & 15))
define("VOP2", 44, "v_ashrrev_i16", "i16 = u16, i16", lambda n, a: a >> (n & 15))
define("VOP2", 47, "v_max_u16", "u16 = u16, u16", Value.max)
define("VOP2", 48, "v_max_i16", "i16 = i16, i16", Value.max)
define("VOP2", 49, "v_min_u16", "u16 = u16, u16", Value.min)
define("VOP2", 50, "v_min_i16", "i16 = i16, i16", Value.min)

# -- dot products that accumulate into their destination -----------------------------------------------------------
define(
    "VOP2", 22, "v_dot2c_f32_bf16", "f32 = 2bf16, 2bf16, dst", dot_float,
    archs=("gfx950",), flags="no_sdwa flushes_denormals approximate",
)  # fmt: skip
define("VOP2", 55, "v_dot2c_f32_f16", "f32 = 2f16, 2f16, dst", dot_float, flags="no_sdwa flushes_denormals approximate")
for _opcode, _name, _signature, _meaning in (
    (56, "v_dot2c_i32_i16", "i32 = b32, b32, dst", partial(dot, bits=16)),
    (57, "v_dot4c_i32_i8", "i32 = b32, b32, dst", partial(dot, bits=8)),
    (58, "v_dot8c_i32_i4", "i32 = b32, b32, dst", partial(dot, bits=4)),
):
    define("VOP2", _opcode, _name, _signature, _meaning, clamped=partial(_meaning, saturated=True), flags="no_sdwa")
