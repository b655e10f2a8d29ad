"""VOP3P: packed pairs, dot products, mixed precision, and moves between vector and accumulation registers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .define import define
from .dot_products import dot, dot_float, dot_pairs
from .float_functions import max_number, maximum3, min_number, minimum3
from .integer_functions import saturating
from .types import f16, i16, u16
from .value import Value, concat

# -- 16-bit integers -----------------------------------------------------------------------------------------------
_WRAPPING: tuple[tuple[int, str, str, Callable[..., Value]], ...] = (
    (0, "v_pk_mad_i16", "2i16 = 2i16, 2i16, 2i16", lambda a, b, c: a * b + c),
    (2, "v_pk_add_i16", "2i16 = 2i16, 2i16", lambda a, b: a + b),
    (3, "v_pk_sub_i16", "2i16 = 2i16, 2i16", lambda a, b: a - b),
    (9, "v_pk_mad_u16", "2u16 = 2u16, 2u16, 2u16", lambda a, b, c: a * b + c),
    (10, "v_pk_add_u16", "2u16 = 2u16, 2u16", lambda a, b: a + b),
    (11, "v_pk_sub_u16", "2u16 = 2u16, 2u16", lambda a, b: a - b),
)
for _opcode, _name, _signature, _meaning in _WRAPPING:
    define(
        "VOP3P", _opcode, _name, _signature, _meaning,
        clamped=saturating(_meaning, i16 if _name.endswith("i16") else u16),
    )  # fmt: skip

_IN_RANGE: tuple[tuple[int, str, str, Callable[..., Value]], ...] = (
    (1, "v_pk_mul_lo_u16", "2u16 = 2u16, 2u16", lambda a, b: a * b),
    (4, "v_pk_lshlrev_b16", "2b16 = 2u16, 2b16", lambda n, a: a << (n & 15)),
    (5, "v_pk_lshrrev_b16", "2b16 = 2u16, 2b16", lambda n, a: a >> (n & 15)),
    (6, "v_pk_ashrrev_i16", "2i16 = 2u16, 2i16", lambda n, a: a >> (n & 15)),
    (7, "v_pk_max_i16", "2i16 = 2i16, 2i16", Value.max),
    (8, "v_pk_min_i16", "2i16 = 2i16, 2i16", Value.min),
    (12, "v_pk_max_u16", "2u16 = 2u16, 2u16", Value.max),
    (13, "v_pk_min_u16", "2u16 = 2u16, 2u16", Value.min),
)
for _opcode, _name, _signature, _meaning in _IN_RANGE:
    # These take the clamp bit too, but their results are in range already.
    define("VOP3P", _opcode, _name, _signature, _meaning, clamped=_meaning)

# -- f16 and f32 pairs ---------------------------------------------------------------------------------------------
define("VOP3P", 14, "v_pk_fma_f16", "2f16 = 2f16, 2f16, 2f16", lambda a, b, c: a.fma(b, c))
define("VOP3P", 15, "v_pk_add_f16", "2f16 = 2f16, 2f16", lambda a, b: a + b)
define("VOP3P", 16, "v_pk_mul_f16", "2f16 = 2f16, 2f16", lambda a, b: a * b)
define("VOP3P", 17, "v_pk_min_f16", "2f16 = 2f16, 2f16, ieee", min_number)
define("VOP3P", 18, "v_pk_max_f16", "2f16 = 2f16, 2f16, ieee", max_number)
define("VOP3P", 27, "v_pk_minimum3_f16", "2f16 = 2f16, 2f16, 2f16", minimum3, archs=("gfx950",))
define("VOP3P", 28, "v_pk_maximum3_f16", "2f16 = 2f16, 2f16, 2f16", maximum3, archs=("gfx950",))
define("VOP3P", 48, "v_pk_fma_f32", "2f32 = 2f32, 2f32, 2f32", lambda a, b, c: a.fma(b, c))
define("VOP3P", 49, "v_pk_mul_f32", "2f32 = 2f32, 2f32", lambda a, b: a * b)
define("VOP3P", 50, "v_pk_add_f32", "2f32 = 2f32, 2f32", lambda a, b: a + b)


def _move_pair(a: tuple[Value, Value], b: tuple[Value, Value], op_sel: int) -> Value:
    """One dword of each source: the low result from the first, the high one from the second."""
    return concat(a[op_sel & 1], b[op_sel >> 1 & 1])


define("VOP3P", 51, "v_pk_mov_b32", "b64 = 2b32, 2b32, op_sel", _move_pair, clamped=_move_pair)

# -- mixed f16 and f32 ---------------------------------------------------------------------------------------------
define("VOP3P", 32, "v_fma_mix_f32", "f32 = f32, f32, f32", lambda a, b, c: a.fma(b, c), flags="mix")
define(
    "VOP3P", 33, "v_fma_mixlo_f16", "f16 = f32, f32, f32", lambda a, b, c: a.fma(b, c).to(f16), flags="mix keeps_high"
)
define("VOP3P", 34, "v_fma_mixhi_f16", "f16 = f32, f32, f32", lambda a, b, c: a.fma(b, c).to(f16), flags="mix hi_half")

# -- dot products --------------------------------------------------------------------------------------------------
define(
    "VOP3P", 26, "v_dot2_f32_bf16", "f32 = 2bf16, 2bf16, f32", dot_pairs,
    archs=("gfx950",), flags="flushes_denormals approximate",
)  # fmt: skip
define("VOP3P", 35, "v_dot2_f32_f16", "f32 = 2f16, 2f16, f32", dot_float, flags="flushes_denormals approximate")
for _opcode, _name, _type, _bits in (
    (38, "v_dot2_i32_i16", "i32", 16), (39, "v_dot2_u32_u16", "u32", 16),
    (40, "v_dot4_i32_i8", "i32", 8), (41, "v_dot4_u32_u8", "u32", 8),
    (42, "v_dot8_i32_i4", "i32", 4), (43, "v_dot8_u32_u4", "u32", 4),
):  # fmt: skip
    define(
        "VOP3P", _opcode, _name, f"{_type} = b32, b32, {_type}", partial(dot, bits=_bits),
        clamped=partial(dot, bits=_bits, saturated=True), flags="" if _bits == 16 else "no_op_sel",
    )  # fmt: skip

# -- accumulation registers ----------------------------------------------------------------------------------------
define("VOP3P", 88, "v_accvgpr_read_b32", "b32 = b32", lambda a: a, flags="acc_src no_op_sel no_modifiers")
define("VOP3P", 89, "v_accvgpr_write_b32", "b32 = b32", lambda a: a, flags="acc_dst no_op_sel no_modifiers")
