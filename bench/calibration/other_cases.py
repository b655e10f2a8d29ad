"""Attention, kernels bound by memory and LDS micro-benchmarks that are published, with the model's figures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from pykittens.model.caches import CacheRates, Panels, cache_rates
from pykittens.model.chip import machine
from pykittens.model.cu import run_unit

from . import other_schedules as other
from .launches import NOTHING_READ, Case, Chip, Launched, Schedule, loop_cycles, matrix_clk

_TWO_WAVES = "non-causal; 2048 MFMA clk/iter/wave, 2 waves/SIMD"
GLUON = (
    # What does not fit beside the MFMAs, 48 clk a cluster, goes ahead of them or behind the row maxima, packed.
    (
        "gluon/FlyDSL fav3 SCALE_ON_Q=1", _TWO_WAVES,
        "P12 16(M V6)", "2(M X6) M X4 V2 P9 2(M V6) M V2 T2 9(M T3) M T4", 2,
    ),
    # Scores are scaled as the maximum is taken off them, in products with three sources.
    (
        "gluon/FlyDSL fav3 scale-on-q 0", _TWO_WAVES,
        "P12 16(M V6)", "2(M X6) M X4 F2 Q9 2(M F6) M V2 T2 9(M T3) M T4", 2,
    ),
    # Everything scalar, 8 vector instructions or 4 exponentials for each MFMA.
    ("gluon FAv3 scalarize+split", "bshd", "14(M V8) M V M", "2(M X8) 4(M F8) M V8 8(M T4) M T", 0),
    # 3 instructions for each MFMA, packed ones split where they fell; the rest, 19 exponentials among it, at the end.
    (
        "gluon FAv3 K=3 co-issue", "bshd",
        "16(M V6) P3 V17", "l14 M X3 l11 M X3 l8 M X3 l3 M X3 l1 M X3 l0 M X V3 5(M F6) M F2 V3 3(M T3) M T5 T19", 0,
    ),
)  # fmt: skip
"""Gluon's attention kernels by the names of their rows, what stands beside the MFMAs of Q K and of P V, and pauses.

The clusters follow from the counts and orders that its notes give, in instructions of one wave for a tile: 16 maxima,
32 differences, 33 exponentials, 32 sums, 64 products of the rescale and 16 conversions.
"""


def attention(chip: Chip) -> Iterator[Case]:
    """Forward attention, D = 128, not causal."""
    for length in (1024, 2048, 4096, 8192, 16384):
        schedule = partial(other.attention, chip.arch, length // 64)
        blocks = length // 256
        workgroups = 64 * blocks * 16  # grid (heads, blocks, batch), x first
        # Its order of heads puts those that share keys and values on one XCD.
        shared, image = np.arange(workgroups) % 8, np.arange(workgroups) // (64 * blocks)
        kv, memory, device = float(2 * length * 128 * 2), chip.arch.memory, chip.device
        rates = cache_rates(
            [Panels(image * 8 + shared, kv, kv)], workgroups, device.cus_per_xcd, device.xcds, memory.l2_bytes,
            memory.mall_bytes,
        )  # fmt: skip
        figures = _attention(chip, 16 * 64 * length**2, schedule, workgroups, rates)
        yield Case("HK", f"B16 Hq/Hkv 64/8 S{length} D128", "non_causal", *figures)
    for kernel, config, scores, values, pauses in GLUON:
        schedule = partial(other.rotated, chip.arch, 256, scores, values, pauses)
        panels = Panels(np.arange(4096) % 64, 2.0 * 16320 * 128 * 2, 2.0 * 16320 * 128 * 2)
        memory, device = chip.arch.memory, chip.device
        rates = cache_rates([panels], 4096, device.cus_per_xcd, device.xcds, memory.l2_bytes, memory.mall_bytes)
        figures = _attention(chip, 64 * 16320**2, schedule, 4096, rates)
        yield Case(kernel, "B1 H64 S16320 D128", config, *figures)
    schedule = partial(other.mfma_only, chip.arch, 128)
    figures = _attention(chip, 64 * 16320**2, schedule, 64 * 64, NOTHING_READ)
    yield Case("gluon FAv3 mfma-only ablation", "B1 H64 S16320 D128", "bshd", *figures)


def _attention(
    chip: Chip, scores: int, schedule: Schedule, workgroups: int, rates: CacheRates
) -> tuple[dict[str, float], Launched]:
    launched, waves = chip.launched(schedule, workgroups, rates, 4.0 * scores * 128)
    cycles = loop_cycles(launched.time, waves)
    efficiency = 100 * matrix_clk(launched.time, waves) / cycles
    return {"tflops": launched.figure(), "cycles_per_iter": cycles, "mfma_eff_in_loop": efficiency}, launched


def lds_micro(chip: Chip) -> Iterator[Case]:
    """Clk between ds_read_b128 of one wave."""
    for waves in (1, 4):
        for conflict in (1, 2, 4, 8):
            program, made = other.lds_reads(chip.arch, waves, conflict)
            streams = [wave.stream() for wave in made]
            constants = machine(chip.arch, chip.device, chip.device.peak_clock_mhz, 1, NOTHING_READ)
            run = run_unit(chip.engine, program.table, [streams], constants, 1, 1)
            issued = run.issued[0].astype(np.int64)
            interval = float(issued[240] - issued[112]) / 128
            words = "0" if conflict == 1 else str(conflict)
            name = "1 wave" if waves == 1 else f"{waves} waves"
            yield Case("ds_read_b128 issue interval", name, f"{words}-way conflict", {"cycles": interval})


def memory_bound(chip: Chip) -> Iterator[Case]:
    """Kernels that the memory decides."""
    rows, tiles = 16 * 8192, 16 * 16 * 8192 // 32
    read = float(tiles * 32 * 128 * 2)
    for kernel, shape, schedule, workgroups, rates, per_cu in (
        ("HK dropout+residual+layernorm", "B16 N8192 D2048", other.layer_norm, rows // 4,
         _streamed(rows * 2048 * 2 * 2.0, cached=rows * 2048 * 2 * 2.0), 4),
        ("HK rotary", "B16 H16 N8192 D128", other.rotary, tiles, _streamed(read, cached=read), 24),
    ):  # fmt: skip
        launched, _ = chip.launched(partial(schedule, chip.arch), workgroups, rates, 1.0, "us", per_cu)
        yield Case(kernel, shape, "", {"us": launched.figure()}, launched)
    for workgroups, n in ((32, 8192), (256, 65536)):
        rates = _streamed(float(n * 8192 * 2), cached=n * 8192 * 2 / 8)
        work = (n + 32) * 8192.0 * 2
        launched, _ = chip.launched(partial(other.skinny, chip.arch, 128), workgroups, rates, work, "GB/s")
        config = f"{workgroups} WGs, 36 KB/iter/CU"
        yield Case("gluon skinny GEMM M=32 K=8192", f"32x{n}x8192", config, {"GB/s": launched.figure()}, launched)


def _streamed(nbytes: float, cached: float = 0.0) -> CacheRates:
    """Loads of which ``nbytes`` come from the HBM and ``cached`` from the L2."""
    whole = nbytes + cached
    return CacheRates(cached / whole, 0.0, whole, nbytes, nbytes, 1)
