"""VOP3: vector instructions that have no shorter encoding (conversions are in their own files)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from . import byte_functions as bytewise
from . import cube_maps
from .define import define
from .divide import divide_fixup, divide_last_step, divide_scale
from .float_functions import (
    ldexp,
    max3_number,
    max_number,
    maximum3,
    med3_number,
    min3_number,
    min_number,
    minimum3,
    mul_legacy,
)
from .integer_functions import (
    bitop3,
    extract_signed,
    lanes_below_high,
    lanes_below_low,
    mad,
    mad_i24,
    mad_u24,
    mad_wide,
    mad_wide_clamped,
    median,
    saturating,
)
from .two_over_pi import two_over_pi_segment
from .types import i16, i32, i64, u16, u32, u64
from .value import Value

# -- fused multiply-add and other float arithmetic -----------------------------------------------------------------
define("VOP3", 459, "v_fma_f32", "f32 = f32, f32, f32", lambda a, b, c: a.fma(b, c))
define("VOP3", 460, "v_fma_f64", "f64 = f64, f64, f64", lambda a, b, c: a.fma(b, c))
define("VOP3", 518, "v_fma_f16", "f16 = f16, f16, f16", lambda a, b, c: a.fma(b, c), flags="op_sel keeps_high")
define("VOP3", 494, "v_fma_legacy_f16", "f16 = f16, f16, f16", lambda a, b, c: a.fma(b, c))
define("VOP3", 515, "v_mad_f16", "f16 = f16, f16, f16", lambda a, b, c: a * b + c, flags="op_sel keeps_high")
define("VOP3", 490, "v_mad_legacy_f16", "f16 = f16, f16, f16", lambda a, b, c: a * b + c)
define("VOP3", 640, "v_add_f64", "f64 = f64, f64", lambda a, b: a + b)
define("VOP3", 641, "v_mul_f64", "f64 = f64, f64", lambda a, b: a * b)
define("VOP3", 642, "v_min_f64", "f64 = f64, f64, ieee", min_number)
define("VOP3", 643, "v_max_f64", "f64 = f64, f64, ieee", max_number)
define("VOP3", 644, "v_ldexp_f64", "f64 = f64, i32", ldexp)
define("VOP3", 648, "v_ldexp_f32", "f32 = f32, i32", ldexp)
define("VOP3", 673, "v_mul_legacy_f32", "f32 = f32, f32", mul_legacy)
define("VOP3", 658, "v_trig_preop_f64", "f64 = f64, u32", two_over_pi_segment)
define("VOP3", 680, "v_minimum3_f32", "f32 = f32, f32, f32", minimum3, archs=("gfx950",))
define("VOP3", 681, "v_maximum3_f32", "f32 = f32, f32, f32", maximum3, archs=("gfx950",))

for _opcode, _name, _meaning in (
    (452, "id", cube_maps.face), (453, "sc", cube_maps.s_coordinate), (454, "tc", cube_maps.t_coordinate),
    (455, "ma", cube_maps.major_axis),
):  # fmt: skip
    define("VOP3", _opcode, f"v_cube{_name}_f32", "f32 = f32, f32, f32", _meaning)

# -- division ------------------------------------------------------------------------------------------------------
for _scale, _fmas, _fixup, _float in ((480, 482, 478, "f32"), (481, 483, 479, "f64")):
    define("VOP3", _scale, f"v_div_scale_{_float}", f"{_float}, mask = {_float}, {_float}, {_float}", divide_scale)
    define("VOP3", _fmas, f"v_div_fmas_{_float}", f"{_float} = {_float}, {_float}, {_float}, vcc", divide_last_step)
    define("VOP3", _fixup, f"v_div_fixup_{_float}", f"{_float} = {_float}, {_float}, {_float}", divide_fixup)
define("VOP3", 519, "v_div_fixup_f16", "f16 = f16, f16, f16", divide_fixup, flags="op_sel keeps_high")
define("VOP3", 495, "v_div_fixup_legacy_f16", "f16 = f16, f16, f16", divide_fixup)

# -- minimum, maximum, median of three -----------------------------------------------------------------------------
for _opcode, _which, _of_floats, _of_integers in (
    (464, "min3", min3_number, lambda a, b, c: a.min(b).min(c)),
    (467, "max3", max3_number, lambda a, b, c: a.max(b).max(c)),
    (470, "med3", med3_number, median),
):
    define("VOP3", _opcode, f"v_{_which}_f32", "f32 = f32, f32, f32, ieee", _of_floats)
    define("VOP3", _opcode + 36, f"v_{_which}_f16", "f16 = f16, f16, f16, ieee", _of_floats, flags="op_sel keeps_high")
    for _i, _kind in enumerate("iu", start=1):
        define(
            "VOP3", _opcode + _i, f"v_{_which}_{_kind}32", f"{_kind}32 = {_kind}32, {_kind}32, {_kind}32", _of_integers
        )
        # These take the clamp bit, but their results are in range already.
        define(
            "VOP3", _opcode + 36 + _i, f"v_{_which}_{_kind}16", f"{_kind}16 = {_kind}16, {_kind}16, {_kind}16",
            _of_integers, clamped=_of_integers, flags="op_sel keeps_high",
        )  # fmt: skip

# -- integer multiplication ----------------------------------------------------------------------------------------
define("VOP3", 645, "v_mul_lo_u32", "u32 = u32, u32", lambda a, b: a * b, flags="quarter_rate")
define("VOP3", 646, "v_mul_hi_u32", "u32 = u32, u32", Value.mulhi, flags="quarter_rate")
define("VOP3", 647, "v_mul_hi_i32", "i32 = i32, i32", Value.mulhi, flags="quarter_rate")
for _opcode, _name, _wide, _narrow in ((488, "v_mad_u64_u32", u64, u32), (489, "v_mad_i64_i32", i64, i32)):
    define(
        "VOP3", _opcode, _name, f"{_wide}, mask = {_narrow}, {_narrow}, {_wide}", partial(mad_wide, _wide),
        clamped=partial(mad_wide_clamped, _wide), flags="quarter_rate",
    )  # fmt: skip
for _opcode, _name, _type, _source, _mad in (
    (450, "v_mad_i32_i24", i32, i32, mad_i24), (451, "v_mad_u32_u24", u32, u32, mad_u24),
    (497, "v_mad_u32_u16", u32, u16, mad), (498, "v_mad_i32_i16", i32, i16, mad),
    (491, "v_mad_legacy_u16", u16, u16, mad), (492, "v_mad_legacy_i16", i16, i16, mad),
    (516, "v_mad_u16", u16, u16, mad), (517, "v_mad_i16", i16, i16, mad),
):  # fmt: skip
    _half = "" if _source.bits == 32 or "legacy" in _name else "op_sel keeps_high" if _type.bits == 16 else "op_sel"
    define(
        "VOP3", _opcode, _name, f"{_type} = {_source}, {_source}, {_type}", _mad,
        clamped=saturating(_mad, _type), flags=_half,
    )  # fmt: skip

# -- integer addition, shifts and logic ----------------------------------------------------------------------------
for _opcode, _name, _type, _sum in (
    (668, "v_add_i32", i32, Value.__add__), (669, "v_sub_i32", i32, Value.__sub__),
    (670, "v_add_i16", i16, Value.__add__), (671, "v_sub_i16", i16, Value.__sub__),
):  # fmt: skip
    define(
        "VOP3", _opcode, _name, f"{_type} = {_type}, {_type}", _sum, clamped=saturating(_sum, _type),
        flags="" if _type is i32 else "op_sel keeps_high",
    )  # fmt: skip

_OF_THREE: tuple[tuple[int, str, Callable[..., Value]], ...] = (
    (499, "v_xad_u32", lambda a, b, c: (a ^ b) + c),
    (509, "v_lshl_add_u32", lambda a, n, c: (a << (n & 31)) + c),
    (510, "v_add_lshl_u32", lambda a, b, n: (a + b) << (n & 31)),
    (511, "v_add3_u32", lambda a, b, c: a + b + c),
    (512, "v_lshl_or_b32", lambda a, n, c: (a << (n & 31)) | c),
    (513, "v_and_or_b32", lambda a, b, c: (a & b) | c),
    (514, "v_or3_b32", lambda a, b, c: a | b | c),
    (456, "v_bfe_u32", lambda a, low, width: (a >> (low & 31)) & ((a.const(1) << (width & 31)) - 1)),
    (458, "v_bfi_b32", lambda mask, a, b: (mask & a) | (~mask & b)),
    (493, "v_perm_b32", bytewise.permute),
    (461, "v_lerp_u8", bytewise.average),
)
for _opcode, _name, _function in _OF_THREE:
    _operand = "u32" if _name.endswith("u8") else _name[-3:]
    define("VOP3", _opcode, _name, f"{_operand} = {_operand}, {_operand}, {_operand}", _function)

define("VOP3", 457, "v_bfe_i32", "i32 = i32, u32, u32", extract_signed)
define("VOP3", 520, "v_lshl_add_u64", "u64 = u64, u32, u64", lambda a, n, c: (a << (n & 7)) + c)
define("VOP3", 655, "v_lshlrev_b64", "b64 = u32, b64", lambda n, a: a << (n & 63))
define("VOP3", 656, "v_lshrrev_b64", "b64 = u32, b64", lambda n, a: a >> (n & 63))
define("VOP3", 657, "v_ashrrev_i64", "i64 = u32, i64", lambda n, a: a >> (n & 63))
define(
    "VOP3", 659, "v_bfm_b32", "b32 = u32, u32", lambda width, low: ((width.const(1) << (width & 31)) - 1) << (low & 31)
)
define("VOP3", 651, "v_bcnt_u32_b32", "u32 = b32, u32", lambda a, c: a.popcount() + c)
for _opcode, _name, _align in (
    (462, "v_alignbit_b32", bytewise.align_bits), (463, "v_alignbyte_b32", bytewise.align_bytes),
):  # fmt: skip
    # The clamp and op_sel bits exist and do nothing.
    define("VOP3", _opcode, _name, "b32 = b32, b32, u32", _align, clamped=_align, flags="op_sel")
define("VOP3", 564, "v_bitop3_b32", "b32 = b32, b32, b32, bitop3", bitop3, archs=("gfx950",))
define("VOP3", 563, "v_bitop3_b16", "b16 = b16, b16, b16, bitop3", bitop3, archs=("gfx950",), flags="op_sel keeps_high")

# -- sums of absolute differences ----------------------------------------------------------------------------------
_SUM = bytewise.sum_of_differences
for _opcode, _name, _bits, _masked in (
    (473, "v_sad_u8", 8, False), (475, "v_sad_u16", 16, False), (476, "v_sad_u32", 32, False),
    (484, "v_msad_u8", 8, True),
):  # fmt: skip
    define(
        "VOP3", _opcode, _name, "u32 = b32, b32, u32", partial(_SUM, bits=_bits, masked=_masked),
        clamped=bytewise.wide_sums(_bits, _masked),
    )  # fmt: skip
define(
    "VOP3", 474, "v_sad_hi_u8", "u32 = b32, b32, u32", bytewise.sum_of_differences_high,
    clamped=bytewise.sum_of_differences_high_clamped,
)  # fmt: skip
for _opcode, _name, _masked in ((485, "v_qsad_pk_u16_u8", False), (486, "v_mqsad_pk_u16_u8", True)):
    define(
        "VOP3", _opcode, _name, "b64 = b64, b32, b64", partial(bytewise.quad_sums, masked=_masked),
        clamped=partial(bytewise.quad_sums, masked=_masked, clamp=True),
    )  # fmt: skip
define(
    "VOP3", 487, "v_mqsad_u32_u8", "b128 = b64, b32, b128", bytewise.quad_sums_32,
    clamped=partial(bytewise.quad_sums_32, clamp=True),
)  # fmt: skip

# -- lanes ---------------------------------------------------------------------------------------------------------
define(
    "VOP3", 649, "v_readlane_b32", "s:b32 = b32, s:u32", lambda a, lane: a.lanes().lane(lane & 63),
    flags="sdst no_exec",
)  # fmt: skip
define(
    "VOP3", 650, "v_writelane_b32", "b32 = s:b32, s:u32, dst", lambda a, lane, old: old.lanes().with_lane(lane & 63, a),
    flags="no_exec",
)  # fmt: skip
define(
    "VOP3",
    652,
    "v_mbcnt_lo_u32_b32",
    "u32 = b32, u32, lane",
    lambda a, c, lane: (a & lanes_below_low(lane)).popcount() + c,
)
define(
    "VOP3",
    653,
    "v_mbcnt_hi_u32_b32",
    "u32 = b32, u32, lane",
    lambda a, c, lane: (a & lanes_below_high(lane)).popcount() + c,
)
