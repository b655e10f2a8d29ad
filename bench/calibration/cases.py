"""Every published launch whose schedule is known, with the model's figures beside its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from pykittens import arch as chips
from pykittens.arch import Arch
from pykittens.arch.facts import Device
from pykittens.model.caches import CacheRates, Panels, cache_rates
from pykittens.model.chip import dispatch, machine
from pykittens.model.clock import FITTED, Fitted, clock, seconds_at
from pykittens.model.cu import Engine, run_unit
from pykittens.model.timing import Timing, timed
from pykittens.schedule.grid import Chiplet, RowMajor
from pykittens.sim.native_build import symbol

from . import gemm_schedules as gemm
from . import other_schedules as other
from .streams import Program, Wave

Schedule = Callable[[], tuple[Program, list[Wave]]]
WINDOW_8_TFLOPS = 1113.88
"""Published for HipKittens' grid_micro kernel with windows of 8."""
_NOTHING = CacheRates(1.0, 1.0, 0.0, 0.0, 0.0, 1)


@dataclass(frozen=True)
class Launched:
    """A timed launch, from which seconds can be had again under other constants: ``unit`` is ``work`` in a second."""

    chip: Chip
    time: Timing
    rates: CacheRates
    work: float
    unit: str

    def figure(self, fitted: Fitted = FITTED) -> float:
        """In its unit: TFLOPS, GB/s, or us of the launch itself."""
        device, time = self.chip.device, self.time
        at = clock(device, time.utilisation, time.side, fitted)
        seconds = seconds_at(device, self.chip.arch, time.cycles, at, time.utilisation, self.rates, fitted)
        return {"tflops": self.work / seconds / 1e12, "GB/s": self.work / seconds / 1e9, "us": seconds * 1e6}[self.unit]


@dataclass(frozen=True)
class Case:
    """A published launch by the names that published.csv gives it, and what the model says of it, by metric."""

    kernel: str
    shape: str
    config: str
    figures: dict[str, float]
    launched: Launched | None = None


@dataclass(frozen=True)
class Chip:
    """A device with the model's engine."""

    arch: Arch
    device: Device
    engine: Engine

    @staticmethod
    def of(arch: str, device: str) -> Chip:
        chip = chips.get(arch)
        return Chip(chip, chip.device(device), Engine.find(symbol))

    def time(
        self, schedule: Schedule, workgroups: int, rates: CacheRates, side: int = 16, per_cu: int = 1
    ) -> tuple[Timing, list[Wave]]:
        """So many workgroups of a schedule."""
        program, waves = schedule()
        streams = [wave.stream() for wave in waves]
        spread = dispatch(self.device, workgroups, per_cu)
        time = timed(self.engine, self.arch, self.device, program.table, [streams], spread, rates, side)
        return time, waves


def paper_tiles(rows: int, cols: int, window: int, chunk: int, xcds: int = 8) -> np.ndarray:
    """The paper's order: what does not fill a round of chunks stays in place; a chunk for each XCD is one run of it."""
    count = rows * cols
    ours = Chiplet(window, chunk, xcds).tiles(rows, cols)
    whole = count // (xcds * chunk) * (xcds * chunk)
    if whole:
        band = window * cols
        index = np.arange(whole, count)
        first = index // band * window
        height = np.minimum(rows - first, window)
        ours[whole:] = np.stack([first + index % band % height, index % band // height], axis=1)
    return ours


def gemm_rates(chip: Chip, tile: gemm.Tile, shape: tuple[int, int, int], tiles: np.ndarray) -> CacheRates:
    k = shape[2]
    a, b = (float(side * k * tile.nbytes) for side in (tile.m, tile.n))
    panels = [Panels(tiles[:, 0], a, a), Panels(10**6 + tiles[:, 1], b, b)]
    memory, device = chip.arch.memory, chip.device
    return cache_rates(panels, len(tiles), device.cus_per_xcd, device.xcds, memory.l2_bytes, memory.mall_bytes)


def loop_cycles(time: Timing, waves: list[Wave]) -> float:
    """Clk an iteration in the middle half of the loop, over the waves."""
    each = []
    for wave, issued in zip(waves, time.run.issued, strict=True):
        a, b = len(wave.marks) // 4, len(wave.marks) * 3 // 4
        each.append((int(issued[wave.marks[b]]) - int(issued[wave.marks[a]])) / (b - a))
    return float(np.mean(each))


def gemm_figures(
    chip: Chip, tile: gemm.Tile, shape: tuple[int, int, int], schedule: Schedule, tiles: np.ndarray | None = None,
    side: int = 16,
) -> tuple[dict[str, float], Launched]:  # fmt: skip
    """tflops, mfma_eff_in_loop, cycles_per_iter, l2_hit, llc_hit of a GEMM."""
    m, n, k = shape
    rows, cols = -(-m // tile.m), -(-n // tile.n)
    tiles = RowMajor().tiles(rows, cols) if tiles is None else tiles
    rates = gemm_rates(chip, tile, shape, tiles)
    time, waves = chip.time(schedule, rows * cols, rates, side)
    cycles = loop_cycles(time, waves)
    launched = Launched(chip, time, rates, 2.0 * m * n * k, "tflops")
    return {
        "tflops": launched.figure(), "cycles_per_iter": cycles,
        "mfma_eff_in_loop": 100 * _matrix_clk(time, waves) / cycles, "l2_hit": 100 * rates.l2_hit,
        "llc_hit": 100 * rates.llc_hit,
    }, launched  # fmt: skip


def _matrix_clk(time: Timing, waves: list[Wave]) -> float:
    """Matrix core clk an iteration, of the waves of one SIMD."""
    groups = len(time.run.started)
    return float(time.run.matrix_busy.mean()) / groups / max(len(wave.marks) for wave in waves)


def hipkittens_gemms(chip: Chip) -> Iterator[Case]:
    """The paper's BF16 and FP8 GEMMs in their schedules."""
    arch = chip.arch
    square = gemm.bf16(arch, 256, 256)
    text = "A*B^T; N(0,1); 500 warm/100 iter"
    for size in (4096, 8192):
        tiles = paper_tiles(size // 256, size // 256, 8, 64)
        schedule = partial(gemm.ping_pong, arch, square, size // 64)
        yield _case("HK 256x256x64 8-wave", (size,) * 3, text, gemm_figures(chip, square, (size,) * 3, schedule, tiles))
    fp8 = gemm.fp8(256, 256)
    figures = gemm_figures(
        chip, fp8, (8192,) * 3, partial(gemm.interleave, arch, fp8, 64), paper_tiles(32, 32, 4, 32)
    )  # fmt: skip
    yield _case("HK FP8 4-wave", (8192,) * 3, "", figures)
    wide, shape, fraction = gemm.bf16(arch, 192, 256), (7680, 8192, 8192), "consumer fraction 0.67/0.75/1"
    narrow = gemm.bf16(arch, 128, 256)
    for name, tile, schedule in (
        ("HK 4P/8C 128x256", narrow, partial(gemm.producers, arch, narrow, 8, 128)),
        ("HK 4P/12C 192x256", wide, partial(gemm.producers, arch, wide, 12, 128)),
        ("HK 0P/8C 256x256", square, partial(gemm.ping_pong, arch, square, 128)),
    ):
        tiles = paper_tiles(-(-7680 // tile.m), 8192 // tile.n, 4 if tile is not square else 8, 16)
        yield _case(name, shape, fraction, gemm_figures(chip, tile, shape, schedule, tiles))
    for size, orders in ((9216, (None, (7, 216), (5, 25))), (14592, (None, (8, 542), (8, 64)))):
        for order in orders:
            rows, cols = size // 192, size // 256
            tiles = paper_tiles(rows, cols, *order) if order else RowMajor().tiles(rows, cols)
            schedule = partial(gemm.ping_pong, arch, wide, size // 64, drained=True)
            config = f"W{order[0]}/C{order[1]}" if order else "row-major"
            yield _case("HK 192x256x64", (size,) * 3, config, gemm_figures(chip, wide, (size,) * 3, schedule, tiles))


def orders_alone(chip: Chip) -> Iterator[Case]:
    """HipKittens' older GEMM, whose schedule is not published, under five orders: figures relative to window 8's."""
    tile = gemm.bf16(chip.arch, 256, 256)
    schedule = partial(gemm.ping_pong, chip.arch, tile, 128, drained=True)
    tflops = {
        window: gemm_figures(chip, tile, (8192,) * 3, schedule, tiles)[0]["tflops"]
        for window in (0, 2, 4, 8, 32)
        for tiles in [paper_tiles(32, 32, window, 128) if window else RowMajor().tiles(32, 32)]
    }
    for window in (0, 2, 4, 32):
        figures = {"tflops": WINDOW_8_TFLOPS * tflops[window] / tflops[8]}
        yield Case("HK grid_micro 256x256x64", "8192x8192x8192", f"WGM={window} (0=row-major)", figures)


def gluon_gemms(chip: Chip) -> Iterator[Case]:
    """Gluon's tiles of the interleaved GEMM, one wave on each SIMD, and its best one."""
    for m in (256, 128, 64):
        for n in (256, 128, 64):
            tile = gemm.bf16(chip.arch, m, n)
            shape = 16 * m, 16 * n, 8192
            schedule = partial(gemm.interleave, chip.arch, tile, 128)
            figures = gemm_figures(chip, tile, shape, schedule)
            name = f"gluon v8_sliceMN tile {m}x{n}x64"
            yield _case(name, shape, "llir, 256 WGs, 1 wave/SIMD", figures)


def gluon_gfx942(chip: Chip) -> Iterator[Case]:
    """Gluon's gfx942 GEMM with three barriers an iteration and with two."""
    tile = gemm.Tile(256, 256, 64, "v_mfma_f32_16x16x16_f16", 16)
    rest = "; 256 mfma 16x16x16, 32 ds_read_b128, 16 ds_write_b128, 16 buffer_load_dwordx4 per iter/wave"
    for name, barriers in (("opt2", 3), ("opt3 2 barriers", 2)):
        schedule = partial(gemm.staged, chip.arch, 129, barriers)
        figures = gemm_figures(chip, tile, (4096, 4864, 8256), schedule)
        yield _case("gluon gfx942 intra_wave 4-wave", (4096, 4864, 8256), name + rest, figures)


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
    figures = _attention(chip, 64 * 16320**2, schedule, 64 * 64, _NOTHING)
    yield Case("gluon FAv3 mfma-only ablation", "B1 H64 S16320 D128", "bshd", *figures)


def _attention(
    chip: Chip, scores: int, schedule: Schedule, workgroups: int, rates: CacheRates
) -> tuple[dict[str, float], Launched]:
    time, waves = chip.time(schedule, workgroups, rates, side=32)
    cycles = loop_cycles(time, waves)
    launched = Launched(chip, time, rates, 4.0 * scores * 128, "tflops")
    efficiency = 100 * _matrix_clk(time, waves) / cycles
    return {"tflops": launched.figure(), "cycles_per_iter": cycles, "mfma_eff_in_loop": efficiency}, launched


def lds_micro(chip: Chip) -> Iterator[Case]:
    """Clk between ds_read_b128 of one wave."""
    for waves in (1, 4):
        for conflict in (1, 2, 4, 8):
            program, made = other.lds_reads(chip.arch, waves, conflict)
            streams = [wave.stream() for wave in made]
            constants = machine(chip.arch, chip.device, chip.device.peak_clock_mhz, 1, _NOTHING)
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


def _case(
    kernel: str, shape: tuple[int, int, int], config: str, figures: tuple[dict[str, float], Launched]
) -> Case:  # fmt: skip
    return Case(kernel, "x".join(map(str, shape)), config, *figures)


def all_cases() -> list[Case]:
    """Every case, in the order of its family."""
    mi355x, mi300x = Chip.of("gfx950", "MI355X"), Chip.of("gfx942", "MI300X")
    return [
        *lds_micro(mi355x), *hipkittens_gemms(mi355x), *orders_alone(mi355x), *gluon_gemms(mi355x),
        *gluon_gfx942(mi300x), *attention(mi355x), *memory_bound(mi355x),
    ]  # fmt: skip
