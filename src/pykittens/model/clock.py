"""The engine clock that a kernel runs at: power decides it, so it falls with the share of time the matrix cores work.

No power coefficients are published. What is: clocks, or TFLOPS beside MFMA utilisation, of single kernels; a straight
line through them is all that they support. Boards, data and what ran before move the clock by some 8 %.
"""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.arch import Arch
from pykittens.arch.facts import Device

from .caches import CacheRates

HBM_POWER, LLC_POWER = 1.0, 0.33
"""Seconds lost, of those that the HBM (the memory-side cache) would take alone for what is read, while the matrix cores
work all the time: traffic takes power from them. Fitted to the TFLOPS of the paper's table 4."""
SPREAD = 0.08
"""Relative spread of one kernel's clock over boards, data and history: 1421 to 1634 TFLOPS of one GEMM."""


@dataclass(frozen=True)
class ClockLine:
    """mhz = idle_mhz - slope_mhz * MFMA utilisation, at most the device's peak."""

    idle_mhz: float
    slope_mhz: float
    source: str
    note: str


@dataclass(frozen=True)
class Clock:
    """A clock with its range and how it is known."""

    mhz: float
    low_mhz: float
    high_mhz: float
    source: str
    note: str


_MI355X_16 = ClockLine(2170, 630, "fitted", "six GEMMs with 16x16 MFMAs whose utilisation and TFLOPS are published")
_MI355X_32 = ClockLine(1920, 660, "fitted", "six attention kernels with 32x32 MFMAs whose utilisation is published")
_LINES = {
    ("MI355X", 16): _MI355X_16,
    ("MI355X", 32): _MI355X_32,
}


def clock(device: Device, utilisation: float, side: int) -> Clock:
    """The clock at an MFMA ``utilisation`` of 0 to 1; ``side``: 16 or 32, of most of the MFMAs' tiles."""
    line = _LINES.get((device.name, side)) or _between(device)
    mhz = min(float(device.peak_clock_mhz), line.idle_mhz - line.slope_mhz * utilisation)
    return Clock(
        mhz, mhz * (1 - SPREAD), min(float(device.peak_clock_mhz), mhz * (1 + SPREAD)), line.source, line.note
    )  # fmt: skip


_DENSE = 0.94
"""MFMA utilisation at which the device's sustained matrix clock was found (MI300X: 708 TFLOPS at 1207 MHz)."""


def seconds_at(device: Device, arch: Arch, cycles: float, at: Clock, utilisation: float, rates: CacheRates) -> float:
    """Seconds of ``cycles`` at a clock, with what the loads' traffic beyond the L2s costs in power."""
    llc = rates.l2_miss_bytes / (arch.memory.mall_achieved_gbps * 1e9)
    hbm = rates.hbm_bytes / (device.hbm_achieved_gbps * 1e9)
    return cycles / (at.mhz * 1e6) + utilisation * (HBM_POWER * hbm + LLC_POWER * llc)


def _between(device: Device) -> ClockLine:
    """From the peak without MFMAs down to the device's sustained matrix clock."""
    fact = device.fact("matrix_clock_mhz")
    slope = (device.peak_clock_mhz - device.matrix_clock_mhz) / _DENSE
    return ClockLine(device.peak_clock_mhz, slope, fact.source, f"between the peak and matrix_clock_mhz: {fact.note}")
