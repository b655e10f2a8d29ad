"""Which order of tiles suits the caches: hit rates and modelled time of a GEMM's grid under given orders.

Time comes from the chip alone: the longest of what the matrix cores take at a good schedule's utilisation, and what the
L2s, the memory-side cache and the HBM take; and what is seen of traffic beyond the L2s although it is hidden, which is
known of one kernel under six orders (the paper's table 4). The schedule is left out, so that orders can be compared in
milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pykittens.arch import Arch
from pykittens.arch.facts import Device

from .caches import CacheRates, Panels, cache_rates
from .clock import FITTED, Activity, clock, seconds_at
from .matrix_work import MatrixWork

Array = np.ndarray

UTILISATION = 0.9
"""MFMA utilisation that the orders are compared at: of a good schedule."""
_TYPES = {4: "f32", 2: "bf16", 1: "fp8"}
"""What the matrix cores take elements of so many bytes for."""


@dataclass(frozen=True)
class GemmGrid:
    """C[m, n] = A[m, k] B[n, k] in tiles of ``tile`` rows and columns, with elements of ``element_bytes``.

    Workgroups of a batch follow each other.
    """

    m: int
    n: int
    k: int
    tile: tuple[int, int]
    element_bytes: int = 2
    batch: int = 1

    @property
    def rows(self) -> int:
        return -(-self.m // self.tile[0])

    @property
    def cols(self) -> int:
        return -(-self.n // self.tile[1])

    @property
    def workgroups(self) -> int:
        return self.rows * self.cols * self.batch

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.n * self.k * self.batch


@dataclass(frozen=True)
class OrderFigures:
    """One order, modelled: hit rates 0 to 1, seconds, TFLOPS, and what bounds the time."""

    rates: CacheRates
    seconds: float
    tflops: float
    bound: str


def _alone(rates: CacheRates, arch: Arch, device: Device) -> tuple[float, float]:
    """Seconds that the memory-side cache and the HBM would take alone."""
    llc = rates.l2_miss_bytes / (arch.memory.mall_achieved_gbps * 1e9)
    return llc, rates.hbm_bytes / (device.hbm_achieved_gbps * 1e9)


def waited_seconds(rates: CacheRates, arch: Arch, device: Device) -> float:
    """What an order reads from further away, in seconds of the HBM; the memory-side cache's by its shorter latency."""
    llc, hbm = _alone(rates, arch, device)
    return llc * arch.latency.mall_hit_ns / arch.latency.hbm_ns + hbm


def order_figures(grid: GemmGrid, tiles: Array, arch: Arch, device: Device, per_cu: int = 1) -> OrderFigures:
    """``tiles``: (row, col) of each workgroup of one matrix in launch order, int (rows * cols, 2)."""
    batch = np.repeat(np.arange(grid.batch), len(tiles))
    row, col = (np.tile(tiles[:, i], grid.batch) for i in range(2))
    a, b = (side * grid.k * grid.element_bytes for side in grid.tile)
    panels = [
        Panels(batch * grid.rows + row, float(a), float(a)), Panels(batch * grid.cols + col, float(b), float(b))
    ]  # fmt: skip
    slots = device.cus_per_xcd * per_cu
    rates = cache_rates(panels, grid.workgroups, slots, device.xcds, arch.memory.l2_bytes, arch.memory.mall_bytes)
    flop_per_clk = getattr(arch.matrix_flop_per_clk, _TYPES[grid.element_bytes])
    each = 2.0 * grid.tile[0] * grid.tile[1] * grid.k / flop_per_clk / UTILISATION
    cycles = -(-grid.workgroups // (device.cus * per_cu)) * per_cu * each
    busy = min(1.0, grid.workgroups / (device.cus * per_cu))  # of all units, which draw one power
    loads = min(1.0, (a + b) / arch.memory.l1_to_cu_bytes_per_clk / each) if each else 0.0
    activity = Activity(UTILISATION * busy, loads * busy, MatrixWork(grid.flops, 16, _TYPES[grid.element_bytes]))
    at = clock(device, activity)
    llc, hbm = _alone(rates, arch, device)
    times = {
        "matrix cores": seconds_at(cycles, at, arch) + FITTED.order_misses * waited_seconds(rates, arch, device),
        "L2": rates.requested_bytes / (arch.memory.l2_achieved_gbps * 1e9), "LLC": llc, "HBM": hbm,
    }  # fmt: skip
    bound = max(times, key=lambda name: times[name])
    seconds = times[bound]
    return OrderFigures(rates, seconds, grid.flops / seconds / 1e12, bound)
