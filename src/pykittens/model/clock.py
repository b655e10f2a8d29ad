"""The engine clock that a kernel runs at, and the seconds that follow: power decides, so it falls with what works.

At a fixed power, what a clock takes grows with its cube: switching takes clock times voltage squared, and the voltage
follows the clock. So clock = peak * (1 + r * activity) ** (-1/3), where activity is 0 of a unit that does nothing and 1
under MFMAs that never pause and read only registers; r follows from the clock there. What loads bring takes power too,
on its way from the L2 through L1 and LDS. No power coefficients are published. What is: clocks of a few GEMMs, and
TFLOPS beside MFMA utilisation. Boards, data and what ran before move the clock by some 8 %.
"""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.arch import Arch
from pykittens.arch.facts import Device

from .matrix_work import MatrixWork

SPREAD = 0.08
"""Relative spread of one kernel's clock over boards, data and history: 1421 to 1634 TFLOPS of one GEMM."""
_DENSE, _DENSE_LOADS = 0.94, 0.94 * 0.25
"""MFMA utilisation at which the devices' sustained matrix clocks were found (MI300X: 708 TFLOPS at 1207 MHz), and what
a GEMM of 256 x 256 tiles loads there: 64 KiB in 4096 clk of MFMAs.
"""
_FITTED_ON = "MI355X"

TYPE_CLOCK = {"bf16": 1.0, "f16": 0.93, "fp8": 1.033, "bf8": 1.033, "fp6": 0.88, "bf6": 0.88, "fp4": 0.88}
"""Clock under MFMAs of a type, relative to bf16's; 1 for others, a guess.

f16 and fp8: measured on MI300X and MI325X (AMD, "Measuring Max-Achievable FLOPs", part 2: 1115, 1207 and 1273 MHz, and
1354, 1447 and 1464). fp6 and fp4: from published TFLOPS of MXFP4 GEMMs on MI355X.
"""


@dataclass(frozen=True)
class Fitted:
    """All the constants of the model that are fitted to published times, by ``bench/model.py --fit``.

    mhz_16, mhz_32: MI355X's clock while 16x16 (32x32) MFMAs of bf16 never pause and nothing is loaded. load_power: of
    loads from the L2s that fill the L1s' buses, as a share of these MFMAs'. hbm_write_gbps: at which MI355X's HBM takes
    writes. order_misses: how much longer a GEMM takes for what its order reads from the HBM, as a share of the time
    that this would take alone; for the memory-side cache less, as its latency is less. Only orders are compared by it.
    """

    mhz_16: float
    mhz_32: float
    load_power: float
    hbm_write_gbps: float
    order_misses: float


FITTED = Fitted(mhz_16=1910.0, mhz_32=1510.0, load_power=2.2, hbm_write_gbps=2580.0, order_misses=0.65)


@dataclass(frozen=True)
class Clock:
    """A clock with its range and how it is known."""

    mhz: float
    low_mhz: float
    high_mhz: float
    source: str
    note: str


@dataclass(frozen=True)
class Activity:
    """What the device does on average: shares of all clk in which matrix cores work and in which the L1s' buses carry
    what the L2s deliver, 0 to 1. Vector instructions do not count: published attention shows no power of theirs.
    """

    matrix: float
    loads: float
    work: MatrixWork


def clock(device: Device, activity: Activity, fitted: Fitted = FITTED) -> Clock:
    """The clock at which the device does so much."""
    peak, work = float(device.peak_clock_mhz), activity.work
    if device.name == _FITTED_ON:
        full = fitted.mhz_32 if work.side == 32 else fitted.mhz_16
        source, note = "fitted", f"kernels with {work.side}x{work.side} MFMAs whose TFLOPS are published"
    else:
        fact = device.fact("matrix_clock_mhz")
        drawn = _DENSE + fitted.load_power * _DENSE_LOADS
        full = peak / _root(1 + (_cube(peak / device.matrix_clock_mhz) - 1) / drawn)
        source, note = fact.source, f"between the peak and matrix_clock_mhz: {fact.note}"
    if not work.flops:
        note = "the peak, less what loads draw"
    full *= TYPE_CLOCK.get(work.type, 1.0)
    doing = activity.matrix + fitted.load_power * activity.loads
    mhz = peak / _root(1 + (_cube(peak / full) - 1) * doing)
    return Clock(mhz, mhz * (1 - SPREAD), min(peak, mhz * (1 + SPREAD)), source, note)


def _cube(x: float) -> float:
    return x * x * x


def _root(x: float) -> float:
    """Of the third degree, of 1 or more, by Newton's steps: the same bits on every host."""
    root = x
    for _ in range(64):
        root -= (root - x / (root * root)) / 3
    return root


def seconds_at(cycles: float, at: Clock, arch: Arch) -> float:
    """Seconds of a launch of ``cycles`` at a clock, its start included."""
    return cycles / (at.mhz * 1e6) + arch.latency.kernel_start_us * 1e-6
