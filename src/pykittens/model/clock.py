"""The engine clock that a kernel runs at, and the seconds that follow: power decides, so both fall with what works.

No power coefficients are published. What is: clocks, or TFLOPS beside MFMA utilisation, of single kernels; a straight
line through them is all that they support. Boards, data and what ran before move the clock by some 8 %.
"""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.arch import Arch
from pykittens.arch.facts import Device

from .caches import CacheRates

SPREAD = 0.08
"""Relative spread of one kernel's clock over boards, data and history: 1421 to 1634 TFLOPS of one GEMM."""
_DENSE = 0.94
"""MFMA utilisation at which the devices' sustained matrix clocks were found (MI300X: 708 TFLOPS at 1207 MHz)."""
_LINE_OF = "MI355X"


@dataclass(frozen=True)
class Fitted:
    """All the constants of the model that are fitted to published times, by ``bench/model.py --fit``.

    launch_us: of an event-timed launch, beyond what the compute units work. mhz_16, mhz_32: MI355X's clock while 16x16
    (32x32) MFMAs never pause; slope_mhz: how much higher it is without any. hbm_power, llc_power: seconds lost to
    traffic's share of the power while MFMAs never pause, of those that the HBM (the memory-side cache) would take alone
    for what is read.
    """

    launch_us: float
    mhz_16: float
    mhz_32: float
    slope_mhz: float
    hbm_power: float
    llc_power: float


FITTED = Fitted(launch_us=8.0, mhz_16=1797.5, mhz_32=1275.5, slope_mhz=274.5, hbm_power=0.93, llc_power=0.5)


@dataclass(frozen=True)
class Clock:
    """A clock with its range and how it is known."""

    mhz: float
    low_mhz: float
    high_mhz: float
    source: str
    note: str


def clock(device: Device, utilisation: float, side: int, fitted: Fitted = FITTED) -> Clock:
    """The clock at an MFMA ``utilisation`` of 0 to 1; ``side``: 16 or 32, of most of the MFMAs' tiles."""
    peak = float(device.peak_clock_mhz)
    if device.name == _LINE_OF:
        full, slope = fitted.mhz_32 if side == 32 else fitted.mhz_16, fitted.slope_mhz
        source, note = "fitted", f"kernels with {side}x{side} MFMAs whose TFLOPS are published"
    else:
        fact = device.fact("matrix_clock_mhz")
        slope = (peak - device.matrix_clock_mhz) / _DENSE
        full, source, note = peak - slope, fact.source, f"between the peak and matrix_clock_mhz: {fact.note}"
    mhz = min(peak, full + slope * (1 - utilisation))
    return Clock(mhz, mhz * (1 - SPREAD), min(peak, mhz * (1 + SPREAD)), source, note)


def seconds_at(
    device: Device, arch: Arch, cycles: float, at: Clock, utilisation: float, rates: CacheRates,
    fitted: Fitted = FITTED,
) -> float:  # fmt: skip
    """Seconds of a launch of ``cycles`` at a clock, with what the traffic beyond the L2s costs in power."""
    llc = rates.l2_miss_bytes / (arch.memory.mall_achieved_gbps * 1e9)
    hbm = rates.hbm_bytes / (device.hbm_achieved_gbps * 1e9)
    power = utilisation * (fitted.hbm_power * hbm + fitted.llc_power * llc)
    return cycles / (at.mhz * 1e6) + power + fitted.launch_us * 1e-6
