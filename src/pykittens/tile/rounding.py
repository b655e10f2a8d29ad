"""Rounding of f32 pairs to 16-bit floats in one register, to nearest even, with NaN staying NaN, on both chips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.arch import get as arch_of
from pykittens.isa.registers import Reg, vcc

if TYPE_CHECKING:
    from .lowering import Lowering


def pack_pair(emit: Lowering, dtype: str, out: Reg, low: Reg, high: Reg) -> None:
    """``out`` = low in bits 15:0, high in bits 31:16, as ``bf16`` or ``f16``. ``out`` may be ``low`` but not
    ``high``.
    """
    if dtype == "f16":
        with emit.temporary("v") as upper:
            emit.ins("v_cvt_f16_f32", upper, high)
            emit.ins("v_cvt_f16_f32", out, low)
            emit.ins("v_pack_b32_f16", out, out, upper)
    elif arch_of(emit.arch).cvt_pk_bf16:
        emit.ins("v_cvt_pk_bf16_f32", out, low, high)
    else:
        _pack_bf16_by_integers(emit, out, low, high)


def _pack_bf16_by_integers(emit: Lowering, out: Reg, low: Reg, high: Reg) -> None:
    """gfx942 has no conversion to bf16: add 0x7FFF and the last kept bit, keep NaN by setting its quiet bit instead."""
    rounding = emit.uniform_register(0x7FFF)
    with emit.temporary("v") as a, emit.temporary("v") as b, emit.temporary("v") as quiet:
        for target, source in ((a, low), (b, high)):
            emit.ins("v_bfe_u32", target, source, 16, 1)
            emit.ins("v_add3_u32", target, source, target, rounding)
            emit.ins("v_or_b32", quiet, 0x00400000, source)
            emit.ins("v_cmp_u_f32", vcc, source, source)
            emit.ins("v_cndmask_b32", target, target, quiet, vcc)
        emit.ins("v_lshrrev_b32", a, 16, a)
        emit.ins("v_and_or_b32", out, b, emit.uniform_register(0xFFFF0000), a)
