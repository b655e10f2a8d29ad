"""The engine clock that a kernel runs at, and the seconds that follow: power decides, so it falls with what works.

At a fixed power, what a clock takes grows with its cube: switching takes clock times voltage squared, and the voltage
follows the clock. So clock = peak * (1 + r * activity) ** (-1/3), where activity is 0 of a unit that does nothing and 1
under MFMAs that never pause; r follows from the clock there. No power coefficients are published. What is: clocks of a
few GEMMs, and TFLOPS beside MFMA utilisation. Boards, data and what ran before move the clock by some 8 %.
"""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.arch import Arch
from pykittens.arch.facts import Device

from .matrix_work import MatrixWork

SPREAD = 0.08
"""Relative spread of one kernel's clock over boards, data and history: 1421 to 1634 TFLOPS of one GEMM."""
_DENSE = 0.94
"""MFMA utilisation at which the devices' sustained matrix clocks were found (MI300X: 708 TFLOPS at 1207 MHz)."""
_FITTED_ON = "MI355X"

TYPE_CLOCK = {"bf16": 1.0, "f16": 0.93, "fp8": 1.033, "bf8": 1.033, "fp6": 0.88, "bf6": 0.88, "fp4": 0.88}
"""Clock under MFMAs of a type, relative to bf16's; 1 for others, a guess.

f16 and fp8: measured on MI300X and MI325X (AMD, "Measuring Max-Achievable FLOPs", part 2: 1115, 1207 and 1273 MHz, and
1354, 1447 and 1464). fp6 and fp4: from published TFLOPS of MXFP4 GEMMs on MI355X.
"""


@dataclass(frozen=True)
class Fitted:
    """All the constants of the model that are fitted to published times, by ``bench/model.py --fit``.

    mhz_16, mhz_32: MI355X's clock while 16x16 (32x32) MFMAs of bf16 never pause. vector_power: power of vector
    instructions that never pause, as a share of these MFMAs'. hbm_write_gbps: at which MI355X's HBM takes writes.
    order_llc, order_hbm: how much longer a GEMM takes for what its order reads from the memory-side cache and the HBM,
    as shares of the time that these would take alone; only orders are compared by them.
    """

    mhz_16: float
    mhz_32: float
    vector_power: float
    hbm_write_gbps: float
    order_llc: float
    order_hbm: float


FITTED = Fitted(mhz_16=1656.0, mhz_32=1370.0, vector_power=0.13, hbm_write_gbps=2420.0, order_llc=0.31, order_hbm=0.84)


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
    """What the device's SIMDs do on average: shares of all clk in which matrix cores and vector units work, 0 to 1."""

    matrix: float
    vector: float
    work: MatrixWork


def clock(device: Device, activity: Activity, fitted: Fitted = FITTED) -> Clock:
    """The clock at which the device does so much."""
    peak, work = float(device.peak_clock_mhz), activity.work
    if device.name == _FITTED_ON:
        full = fitted.mhz_32 if work.side == 32 else fitted.mhz_16
        source, note = "fitted", f"kernels with {work.side}x{work.side} MFMAs whose TFLOPS are published"
    else:
        fact = device.fact("matrix_clock_mhz")
        full = peak / _root(1 + (_cube(peak / device.matrix_clock_mhz) - 1) / _DENSE)
        source, note = fact.source, f"between the peak and matrix_clock_mhz: {fact.note}"
    if not work.flops:
        note = "the peak, less what vector instructions draw"
    full *= TYPE_CLOCK.get(work.type, 1.0)
    doing = activity.matrix + fitted.vector_power * activity.vector
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
