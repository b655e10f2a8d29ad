"""GEMMs whose schedules are published, with the model's figures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from pykittens.model.caches import CacheRates, Panels, cache_rates
from pykittens.schedule.grid import Chiplet, RowMajor

from . import gemm_schedules as gemm
from . import gluon_schedules as gluon
from .launches import Case, Chip, Launched, Schedule, loop_cycles, matrix_clk
from .streams import Program


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


def gemm_figures(
    chip: Chip, tile: gemm.Tile, shape: tuple[int, int, int], schedule: Schedule, tiles: np.ndarray | None = None
) -> tuple[dict[str, float], Launched]:
    """tflops, mfma_eff_in_loop, cycles_per_iter, l2_hit, llc_hit of a GEMM; no launch finds its operands in a cache."""
    m, n, k = shape
    rows, cols = -(-m // tile.m), -(-n // tile.n)
    tiles = RowMajor().tiles(rows, cols) if tiles is None else tiles
    rates = gemm_rates(chip, tile, shape, tiles)
    launched, waves = chip.launched(schedule, rows * cols, rates, 2.0 * m * n * k)
    cycles = loop_cycles(launched.time, waves)
    return {
        "tflops": launched.figure(), "cycles_per_iter": cycles,
        "mfma_eff_in_loop": 100 * matrix_clk(launched.time, waves) / cycles, "l2_hit": 100 * rates.l2_hit,
        "llc_hit": 100 * rates.llc_hit,
    }, launched  # fmt: skip


def case_of(
    kernel: str, shape: tuple[int, int, int], config: str, figures: tuple[dict[str, float], Launched]
) -> Case:  # fmt: skip
    return Case(kernel, "x".join(map(str, shape)), config, *figures)


def hipkittens_gemms(chip: Chip) -> Iterator[Case]:
    """The paper's BF16 and FP8 GEMMs in their schedules."""
    arch = chip.arch
    square = gemm.bf16(arch, 256, 256)
    text = "A*B^T; N(0,1); 500 warm/100 iter"
    for size in (4096, 8192):
        tiles = paper_tiles(size // 256, size // 256, 8, 64)
        schedule = partial(gemm.ping_pong, arch, square, size // 64)
        yield case_of(
            "HK 256x256x64 8-wave", (size,) * 3, text, gemm_figures(chip, square, (size,) * 3, schedule, tiles)
        )
    fp8 = gemm.fp8(256, 256)
    figures = gemm_figures(
        chip, fp8, (8192,) * 3, partial(gemm.interleave, arch, fp8, 64), paper_tiles(32, 32, 4, 32)
    )  # fmt: skip
    yield case_of("HK FP8 4-wave", (8192,) * 3, "", figures)
    wide, shape, fraction = gemm.bf16(arch, 192, 256), (7680, 8192, 8192), "consumer fraction 0.67/0.75/1"
    narrow = gemm.bf16(arch, 128, 256)
    for name, tile, schedule in (
        ("HK 4P/8C 128x256", narrow, partial(gemm.producers, arch, narrow, 8, 128)),
        ("HK 4P/12C 192x256", wide, partial(gemm.producers, arch, wide, 12, 128)),
        ("HK 0P/8C 256x256", square, partial(gemm.ping_pong, arch, square, 128)),
    ):
        tiles = paper_tiles(-(-7680 // tile.m), 8192 // tile.n, 4 if tile is not square else 8, 16)
        yield case_of(name, shape, fraction, gemm_figures(chip, tile, shape, schedule, tiles))


def hipkittens_gfx942(chip: Chip) -> Iterator[Case]:
    """Its BF16 GEMM for CDNA3."""
    tile, shape = gemm.bf16(chip.arch, 256, 256), (8192,) * 3
    schedule = partial(gemm.staged_ping_pong, chip.arch, 128)
    yield case_of(
        "HK 256x256x64 mi325x", shape, "", gemm_figures(chip, tile, shape, schedule, paper_tiles(32, 32, 4, 16))
    )


def gluon_gemms(chip: Chip) -> Iterator[Case]:
    """The steps of Gluon's tutorial, and its last schedule at nine tiles; one wave on each SIMD."""
    shape = 4096, 4096, 8192
    tile = gemm.Tile(256, 256, 64, gluon.MFMA[chip.arch.name], 32)
    for name, config, loop in (
        ("v2_async_copy", "base", gluon.ASYNC_COPY), ("v3_lds padded", "base", gluon.PADDED),
        ("v4_global_prefetch", "base", gluon.GLOBAL_PREFETCH), ("v5_local_prefetch", "base", gluon.LOCAL_PREFETCH),
        ("v7_sliceN", "llir+force-agpr+amdgcnas", gluon.SLICE_N),
    ):  # fmt: skip
        yield case_of(
            f"gluon {name}", shape, config, gemm_figures(chip, tile, shape, partial(loop.schedule, chip.arch, 128))
        )
    for m in (256, 128, 64):
        for n in (256, 128, 64):
            tile, shape = gemm.Tile(m, n, 64, gluon.MFMA[chip.arch.name], 32), (16 * m, 16 * n, 8192)
            loop = gluon.slice_mn(tile, gluon.MOVES if (m, n) == (256, 256) else 0)
            figures = gemm_figures(chip, tile, shape, partial(loop.schedule, chip.arch, 128))
            yield case_of(f"gluon v8_sliceMN tile {m}x{n}x64", shape, "llir, 256 WGs, 1 wave/SIMD", figures)


def gluon_gfx942(chip: Chip) -> Iterator[Case]:
    """Gluon's gfx942 GEMM as LLVM schedules it, after each of three changes, and with eight waves."""
    shape = 4096, 4864, 8256
    tile = gemm.Tile(256, 256, 64, gluon.MFMA[chip.arch.name], 16)
    rest = "; 256 mfma 16x16x16, 32 ds_read_b128, 16 ds_write_b128, 16 buffer_load_dwordx4 per iter/wave"
    for name, loop in (
        ("baseline", gluon.STAGED), ("opt1 llirSched", gluon.STAGED_SPACED), ("opt2", gluon.STAGED_PARKED),
        ("opt3 2 barriers", gluon.STAGED_TWO_BARRIERS),
    ):  # fmt: skip
        figures = gemm_figures(chip, tile, shape, partial(loop.schedule, chip.arch, 129))
        yield case_of("gluon gfx942 intra_wave 4-wave", shape, name + rest, figures)
    figures, launched = gemm_figures(chip, tile, shape, partial(gluon.STAGED_PING_PONG.schedule, chip.arch, 129))
    spent = _wave_clk(launched, gluon.STAGED_PING_PONG.schedule(chip.arch, 129)[0], 129 * 8)
    figures |= {metric: sum(spent.get(name, 0.0) for name in names) for metric, names in _ATT.items()}
    yield case_of("gluon gfx942 inter_wave 8-wave", shape, "8 regions, swizzle (8, 1, 8)", (figures, launched))


_ATT = {
    "mfma_clk": ("v_mfma_f32_16x16x16_f16",), "barrier_clk": ("s_barrier",), "ds_write_clk": ("ds_write_b128",),
    "ds_read_clk": ("ds_read_b128",), "waitcnt_clk": ("s_waitcnt",),
}  # fmt: skip


def _wave_clk(launched: Launched, program: Program, iterations: int) -> dict[str, float]:
    """Clk that a wave spends in an iteration at instructions of each name, waiting for them and issuing."""
    run, found = launched.time.run, dict[str, float]()
    for instruction, stall, held in zip(program.instructions, run.stall.sum(axis=1), run.held, strict=False):
        name = instruction.definition.name
        found[name] = found.get(name, 0.0) + float(stall + held) / iterations
    return found
