"""VOP1: vector instructions with one source."""

from __future__ import annotations

from functools import partial

from .bit_functions import first_one, leading_signs, leading_zeros
from .byte_functions import saturate_halves
from .conversions import (
    byte_to_f32,
    floor_to_i32,
    nibble_to_f32,
    normalized_i16,
    normalized_u16,
    round_up_to_i32,
)
from .define import Unit, define
from .float_functions import fract, frexp_exponent, frexp_mantissa
from .integer_functions import prng_step
from .permlane import swap_rows
from .small_float_conversions import BY_NAME, decode
from .transcendental import cos, exp2, log2, reciprocal, reciprocal_root, root, sin, through_f32
from .types import f16, f32, f64, i16, i32, u16, u32
from .value import Value

define("VOP1", 0, "v_nop", "", lambda: (), flags="nop no_sdwa no_dpp")
define("VOP1", 53, "v_clrexcp", "", lambda: (), flags="no_sdwa no_dpp")

# -- moves ---------------------------------------------------------------------------------------------------------
define("VOP1", 1, "v_mov_b32", "b32 = b32", lambda a: a)
define("VOP1", 56, "v_mov_b64", "b64 = b64", lambda a: a, flags="no_sdwa")
define("VOP1", 81, "v_swap_b32", "b32, b32 = dst, dst1", lambda a, b: (b, a), flags="swap no_e64 no_sdwa no_dpp")
define("VOP1", 82, "v_accvgpr_mov_b32", "b32 = b32", lambda a: a, flags="acc_dst acc_src no_e64 no_sdwa no_dpp")
define(
    "VOP1", 2, "v_readfirstlane_b32", "s:b32 = b32, exec",
    lambda a, exec_: a.lanes().lane((exec_ == 0).select(exec_.const(0), exec_.ctz()).resize(u32)),
    flags="sdst no_exec no_e64 no_sdwa no_dpp",
)  # fmt: skip

# -- conversions ---------------------------------------------------------------------------------------------------
for _opcode, _name, _to, _from in (
    (3, "v_cvt_i32_f64", i32, f64), (4, "v_cvt_f64_i32", f64, i32), (5, "v_cvt_f32_i32", f32, i32),
    (6, "v_cvt_f32_u32", f32, u32), (7, "v_cvt_u32_f32", u32, f32), (8, "v_cvt_i32_f32", i32, f32),
    (10, "v_cvt_f16_f32", f16, f32), (11, "v_cvt_f32_f16", f32, f16), (15, "v_cvt_f32_f64", f32, f64),
    (16, "v_cvt_f64_f32", f64, f32), (21, "v_cvt_u32_f64", u32, f64), (22, "v_cvt_f64_u32", f64, u32),
    (57, "v_cvt_f16_u16", f16, u16), (58, "v_cvt_f16_i16", f16, i16), (59, "v_cvt_u16_f16", u16, f16),
    (60, "v_cvt_i16_f16", i16, f16),
):  # fmt: skip
    _wide = 64 in (_to.bits, _from.bits)
    define("VOP1", _opcode, _name, f"{_to} = {_from}", lambda a, _t=_to: a.to(_t), flags="no_sdwa" if _wide else "")

define("VOP1", 91, "v_cvt_f32_bf16", "f32 = bf16", lambda a: a.to(f32), archs=("gfx950",))
define("VOP1", 12, "v_cvt_rpi_i32_f32", "i32 = f32", round_up_to_i32, flags="no_omod")
define("VOP1", 13, "v_cvt_flr_i32_f32", "i32 = f32", floor_to_i32, flags="no_omod")
define("VOP1", 14, "v_cvt_off_f32_i4", "f32 = b32", nibble_to_f32)
for _i in range(4):
    define("VOP1", 17 + _i, f"v_cvt_f32_ubyte{_i}", "f32 = b32", partial(byte_to_f32, index=_i))
define("VOP1", 77, "v_cvt_norm_i16_f16", "i16 = f16", normalized_i16)
define("VOP1", 78, "v_cvt_norm_u16_f16", "u16 = f16", normalized_u16)
define("VOP1", 79, "v_sat_pk_u8_i16", "b16 = b32", saturate_halves)

# -- rounding and parts of floats ----------------------------------------------------------------------------------
for _f32, _f64, _f16, _name, _meaning in (
    (28, 23, 70, "trunc", Value.trunc),
    (29, 24, 69, "ceil", Value.ceil),
    (30, 25, 71, "rndne", Value.rint),
    (31, 26, 68, "floor", Value.floor),
    (27, 50, 72, "fract", fract),
    (52, 49, 66, "frexp_mant", frexp_mantissa),
):
    define("VOP1", _f32, f"v_{_name}_f32", "f32 = f32", _meaning)
    define("VOP1", _f64, f"v_{_name}_f64", "f64 = f64", _meaning, flags="no_sdwa")
    define("VOP1", _f16, f"v_{_name}_f16", "f16 = f16", _meaning)
define("VOP1", 51, "v_frexp_exp_i32_f32", "i32 = f32", frexp_exponent, flags="no_omod")
define("VOP1", 48, "v_frexp_exp_i32_f64", "i32 = f64", frexp_exponent, flags="no_sdwa")
define("VOP1", 67, "v_frexp_exp_i16_f16", "i16 = f16", lambda a: frexp_exponent(a).resize(i16))

# A table of screen partitions; the CDNA manuals do not give it.
define("VOP1", 55, "v_screen_partition_4se_b32", "b32 = b32", flags="unsupported_in_sim")

# -- bits ----------------------------------------------------------------------------------------------------------
define("VOP1", 43, "v_not_b32", "b32 = b32", lambda a: ~a)
define("VOP1", 44, "v_bfrev_b32", "b32 = b32", Value.bitreverse)
define("VOP1", 45, "v_ffbh_u32", "u32 = u32", leading_zeros)
define("VOP1", 46, "v_ffbl_b32", "b32 = b32", first_one)
define("VOP1", 47, "v_ffbh_i32", "u32 = i32", leading_signs)
define("VOP1", 88, "v_prng_b32", "b32 = b32", prng_step, archs=("gfx950",))

# -- the transcendental unit ---------------------------------------------------------------------------------------
for _f32, _f64, _f16, _name, _meaning in (
    (34, 37, 61, "rcp", reciprocal),
    (36, 38, 63, "rsq", reciprocal_root),
    (39, 40, 62, "sqrt", root),
):
    define(
        "VOP1", _f32, f"v_{_name}_f32", "f32 = f32", _meaning, unit=Unit.TRANS, flags="flushes_denormals approximate"
    )
    define("VOP1", _f64, f"v_{_name}_f64", "f64 = f64", _meaning, unit=Unit.TRANS, flags="no_sdwa approximate")
    define("VOP1", _f16, f"v_{_name}_f16", "f16 = f16", through_f32(_meaning), unit=Unit.TRANS, flags="approximate")
for _f32, _f16, _name, _meaning in (
    (32, 65, "exp", exp2),
    (33, 64, "log", log2),
    (41, 73, "sin", sin),
    (42, 74, "cos", cos),
):
    define(
        "VOP1", _f32, f"v_{_name}_f32", "f32 = f32", _meaning, unit=Unit.TRANS, flags="flushes_denormals approximate"
    )
    define("VOP1", _f16, f"v_{_name}_f16", "f16 = f16", through_f32(_meaning), unit=Unit.TRANS, flags="approximate")
for _opcode, _name, _meaning in ((75, "exp", exp2), (76, "log", log2)):
    define(
        "VOP1", _opcode, f"v_{_name}_legacy_f32", "f32 = f32", _meaning,
        unit=Unit.TRANS, flags="flushes_denormals approximate",
    )  # fmt: skip
define("VOP1", 35, "v_rcp_iflag_f32", "f32 = f32", reciprocal, unit=Unit.TRANS, flags="flushes_denormals approximate")

# -- fp8 and bf8: the kind of the chip; SDWA selects other bytes or the other half ---------------------------------


def _one_small(name: str, word: Value, arch: str) -> Value:
    return decode(word & 0xFF, BY_NAME[name][arch])


def _two_small(name: str, word: Value, arch: str) -> tuple[Value, Value]:
    low, high = (decode(word.field(place, 8), BY_NAME[name][arch]) for place in (0, 8))
    return low, high


for _i, _name in enumerate(("fp8", "bf8")):
    define("VOP1", 84 + _i, f"v_cvt_f32_{_name}", "f32 = b32, arch", partial(_one_small, _name), flags="no_dst_sel")
    define("VOP1", 86 + _i, f"v_cvt_pk_f32_{_name}", "2f32 = b32, arch", partial(_two_small, _name), flags="no_dst_sel")

# -- lanes of two registers ----------------------------------------------------------------------------------------
for _opcode, _row in ((89, 16), (90, 32)):
    define(
        "VOP1", _opcode, f"v_permlane{_row}_swap_b32", "b32, b32 = dst, dst1", partial(swap_rows, row=_row),
        archs=("gfx950",), flags="swap no_sdwa no_dpp",
    )  # fmt: skip
