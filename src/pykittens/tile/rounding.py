"""Rounding of f32 pairs to 16-bit floats in one register, to nearest even, with NaN staying NaN, on both chips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.arch import get as arch_of
from pykittens.isa.registers import Reg, vcc

if TYPE_CHECKING:
    from .lowering import Lowering

UPPER_HALVES = 0x07060302
"""Of v_perm_b32: the upper halves of two registers, the second one's below."""


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
    """gfx942 has no conversion to bf16: add 0x7FFF and the last kept bit, keep NaN by setting its quiet bit instead.

    Both elements go side by side, so that masks are there before they are needed.
    """
    rounding, upper_halves = emit.uniform_register(0x7FFF), emit.uniform_register(UPPER_HALVES)
    with (
        emit.temporary("v") as a,
        emit.temporary("v") as b,
        emit.temporary("v") as quiet_a,
        emit.temporary("v") as quiet_b,
        emit.temporary("s", 2) as mask_b,
    ):
        both = ((a, low, quiet_a, vcc), (b, high, quiet_b, mask_b))
        for _, source, _, mask in both:
            emit.ins("v_cmp_u_f32", mask, source, source)
        for _, source, quiet, _ in both:
            emit.ins("v_or_b32", quiet, 0x00400000, source)
        for target, source, _, _ in both:
            emit.ins("v_bfe_u32", target, source, 16, 1)
        for target, source, _, _ in both:
            emit.ins("v_add3_u32", target, source, target, rounding)
        for target, _, quiet, mask in both:
            emit.ins("v_cndmask_b32", target, target, quiet, mask)
        emit.ins("v_perm_b32", out, b, a, upper_halves)
