"""The float settings of a wave's MODE register, as arithmetic sees them (ISA manual, "Mode register")."""

from __future__ import annotations

from dataclasses import dataclass

NEAREST, UP, DOWN, TOWARD_ZERO = range(4)
"""The rounding modes by their encoding."""


@dataclass(frozen=True, slots=True)
class FloatMode:
    """How floats are rounded and denormals treated; the defaults are those of HIP's kernel descriptors.

    ``round32`` is the rounding mode of f32, ``round64_16`` that of f64 and f16. Sources whose flush is set lose their
    denormals before the operation, results after it; signs stay. ``dx10_clamp``: clamping turns NaN to 0. ``ieee``:
    minima and maxima quiet a signaling NaN, and omod does nothing. ``fp16_ovfl``: f16 results that overflow become the
    largest number.
    """

    round32: int = NEAREST
    round64_16: int = NEAREST
    f32_denorm_flush_in: bool = False
    f32_denorm_flush_out: bool = False
    f64_f16_denorm_flush_in: bool = False
    f64_f16_denorm_flush_out: bool = False
    dx10_clamp: bool = True
    ieee: bool = True
    fp16_ovfl: bool = False

    def flushes(self, bits: int, output: bool) -> bool:
        """Whether denormals of floats of this width are flushed in sources or results."""
        if bits == 32:
            return self.f32_denorm_flush_out if output else self.f32_denorm_flush_in
        return self.f64_f16_denorm_flush_out if output else self.f64_f16_denorm_flush_in

    def rounding(self, bits: int) -> int:
        """The rounding mode of floats of this width."""
        return self.round32 if bits == 32 else self.round64_16
