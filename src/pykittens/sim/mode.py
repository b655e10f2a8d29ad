"""What of a wave's MODE register a program's code depends on: each `Mode` is a variant of the program."""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.isa.float_mode import FloatMode

FP_ROUND, FP_DENORM, DX10_CLAMP, IEEE, FP16_OVFL = 0, 4, 8, 9, 23
GPR_IDX_EN, VSKIP = 27, 28
"""Bits of MODE (llvm: SIDefines.h); FP_ROUND and FP_DENORM are fields of 4 bits."""


@dataclass(frozen=True, slots=True)
class Mode(FloatMode):
    """``gpr_idx``: the operands that M0[7:0] is added to, bits 0 to 2 the sources and 3 the destination, 0 when off.

    ``vskip``: vector instructions do nothing.
    """

    gpr_idx: int = 0
    vskip: bool = False

    @classmethod
    def from_bits(cls, mode: int, m0: int = 0) -> Mode:
        """From the registers MODE and M0 (whose bits 15:12 choose the indexed operands while GPR_IDX_EN is set)."""
        denormals = mode >> FP_DENORM
        return cls(
            round32=mode >> FP_ROUND & 3,
            round64_16=mode >> (FP_ROUND + 2) & 3,
            f32_denorm_flush_in=not denormals & 1,
            f32_denorm_flush_out=not denormals & 2,
            f64_f16_denorm_flush_in=not denormals & 4,
            f64_f16_denorm_flush_out=not denormals & 8,
            dx10_clamp=bool(mode >> DX10_CLAMP & 1),
            ieee=bool(mode >> IEEE & 1),
            fp16_ovfl=bool(mode >> FP16_OVFL & 1),
            gpr_idx=m0 >> 12 & 15 if mode >> GPR_IDX_EN & 1 else 0,
            vskip=bool(mode >> VSKIP & 1),
        )

    @classmethod
    def from_descriptor(cls, rsrc1: int) -> Mode:
        """From COMPUTE_PGM_RSRC1 of a kernel descriptor."""
        return cls.from_bits(mode_register(rsrc1))


def mode_register(rsrc1: int) -> int:
    """MODE as a wave starts with it (llvm: AMDGPUUsage, COMPUTE_PGM_RSRC1).

    FLOAT_MODE is bits 19:12, ENABLE_DX10_CLAMP 21, ENABLE_IEEE_MODE 23 and FP16_OVFL 26.
    """
    dx10_clamp, ieee, fp16_ovfl = rsrc1 >> 21 & 1, rsrc1 >> 23 & 1, rsrc1 >> 26 & 1
    return (rsrc1 >> 12 & 0xFF) | dx10_clamp << DX10_CLAMP | ieee << IEEE | fp16_ovfl << FP16_OVFL
