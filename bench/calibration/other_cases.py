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
    schedule = partial(other.mfma_only, chip.arch, 128)
    figures = _attention(chip, 64 * 16320**2, schedule, 64 * 64, NOTHING_READ)
    yield Case("gluon FAv3 mfma-only ablation", "B1 H64 S16320 D128", "bshd", *figures)


def _attention(
    chip: Chip, scores: int, schedule: Schedule, workgroups: int, rates: CacheRates
) -> tuple[dict[str, float], Launched]:
    time, waves = chip.time(schedule, workgroups, rates, side=32)
    cycles = loop_cycles(time, waves)
    launched = Launched(chip, time, rates, 4.0 * scores * 128, "tflops")
    efficiency = 100 * matrix_clk(time, waves) / cycles
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
         _streamed(rows * 2048 * 2 * 2), 4),
        ("HK rotary", "B16 H16 N8192 D128", other.rotary, tiles, _streamed(read, cached=read / 2), 16),
    ):  # fmt: skip
        time, _ = chip.time(partial(schedule, chip.arch), workgroups, rates, per_cu=per_cu)
        launched = Launched(chip, time, rates, 1.0, "us")
        yield Case(kernel, shape, "", {"us": launched.figure()}, launched)
    for workgroups, n in ((32, 8192), (256, 65536)):
        rates = _streamed(float(n * 8192 * 2), cached=n * 8192 * 2 / 8)
        time, _ = chip.time(partial(other.skinny, chip.arch, 128), workgroups, rates)
        launched = Launched(chip, time, rates, (n + 32) * 8192.0 * 2, "GB/s")
        config = f"{workgroups} WGs, 36 KB/iter/CU"
        yield Case("gluon skinny GEMM M=32 K=8192", f"32x{n}x8192", config, {"GB/s": launched.figure()}, launched)


def _streamed(nbytes: float, cached: float = 0.0) -> CacheRates:
    """Loads of which ``nbytes`` come from the HBM and ``cached`` from the L2."""
    whole = nbytes + cached
    return CacheRates(cached / whole, 0.0, whole, nbytes, nbytes, 1)
