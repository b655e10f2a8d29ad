"""VOP3: conversions of two numbers into one register, and stochastic rounding."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from . import byte_functions as bytewise
from .conversions import round_randomly, round_toward_zero, to_normalized
from .define import define
from .insert_bits import insert_byte, insert_half
from .small_float_conversions import BY_NAME, encode
from .types import Type, bf16, f16, i16, u16, u32
from .value import Value


def _both(convert: Callable[[Value], Value], a: Value, b: Value) -> tuple[Value, Value]:
    return convert(a), convert(b)


def _to(type: Type, a: Value, b: Value) -> tuple[Value, Value]:
    return a.to(type), b.to(type)


define("VOP3", 477, "v_cvt_pk_u8_f32", "u32 = f32, u32, u32", bytewise.insert_byte, flags="no_omod approximate")
define("VOP3", 496, "v_cvt_pkaccum_u8_f32", "u32 = f32, u32, dst", bytewise.insert_byte, flags="no_omod approximate")
for _opcode, _name, _target, _source in (
    (660, "v_cvt_pknorm_i16_f32", i16, "f32"), (661, "v_cvt_pknorm_u16_f32", u16, "f32"),
    (665, "v_cvt_pknorm_i16_f16", i16, "f16"), (666, "v_cvt_pknorm_u16_f16", u16, "f16"),
):  # fmt: skip
    _normalize = partial(_both, partial(to_normalized, type=_target))
    define(
        "VOP3", _opcode, _name, f"2{_target} = {_source}, {_source}", _normalize,
        flags="no_omod op_sel" if _source == "f16" else "no_omod",
    )  # fmt: skip
define("VOP3", 662, "v_cvt_pkrtz_f16_f32", "2f16 = f32, f32", partial(_both, round_toward_zero))
define("VOP3", 663, "v_cvt_pk_u16_u32", "b32 = u32, u32", partial(bytewise.pack_clamped, signed=False))
define("VOP3", 664, "v_cvt_pk_i16_i32", "b32 = i32, i32", partial(bytewise.pack_clamped, signed=True))
define("VOP3", 672, "v_pack_b32_f16", "2f16 = f16, f16", lambda a, b: (a, b), flags="no_omod op_sel keeps_denormals")
define("VOP3", 615, "v_cvt_pk_f16_f32", "2f16 = f32, f32", partial(_to, f16), archs=("gfx950",))
define("VOP3", 616, "v_cvt_pk_bf16_f32", "2bf16 = f32, f32", partial(_to, bf16), archs=("gfx950",))
for _opcode, _kind, _signed in ((613, "i8", True), (614, "u8", False)):
    define(
        "VOP3", _opcode, f"v_ashr_pk_{_kind}_i32", "b16 = i32, i32, u32",
        partial(bytewise.shift_and_pack, signed=_signed), archs=("gfx950",), flags="op_sel keeps_high",
    )  # fmt: skip


# -- f16 and bf16, stochastically ----------------------------------------------------------------------------------
def _random_half(type: Type, x: Value, random: Value, old: Value, op_sel: int) -> Value:
    return insert_half(old, round_randomly(x, random, type).bits(u16).resize(u32), op_sel)


for _opcode, _type in ((678, f16), (679, bf16)):
    define(
        "VOP3", _opcode, f"v_cvt_sr_{_type}_f32", "b32 = f32, u32, dst, op_sel", partial(_random_half, _type),
        archs=("gfx950",), flags="no_clamp no_omod op_sel approximate",
    )  # fmt: skip


# -- fp8 and bf8: the kind of the chip -----------------------------------------------------------------------------
def _pack_fp8(name: str, a: Value, b: Value, old: Value, op_sel: int, saturate: int, arch: str) -> Value:
    low, high = (encode(x, BY_NAME[name][arch], saturate=saturate) for x in (a, b))
    return insert_half(old, low | (high << 8), op_sel)


def _random_fp8(name: str, x: Value, random: Value, old: Value, op_sel: int, saturate: int, arch: str) -> Value:
    return insert_byte(old, encode(x, BY_NAME[name][arch], saturate=saturate, random=random), op_sel)


for _i, _name in enumerate(("fp8", "bf8")):
    define(
        "VOP3", 674 + _i, f"v_cvt_pk_{_name}_f32", "b32 = f32, f32, dst, op_sel, fp16_ovfl, arch",
        partial(_pack_fp8, _name), flags="no_clamp no_omod op_sel",
    )  # fmt: skip
    define(
        "VOP3", 676 + _i, f"v_cvt_sr_{_name}_f32", "b32 = f32, u32, dst, op_sel, fp16_ovfl, arch",
        partial(_random_fp8, _name), flags="no_clamp no_omod op_sel byte_sel",
    )  # fmt: skip
