"""GEMMs that differ in the order of their tiles alone: the paper's table 4, and an older kernel under five orders."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pykittens.schedule.grid import RowMajor

from . import gemm_schedules as gemm
from .gemm_cases import case_of, gemm_figures, paper_tiles
from .launches import Case, Chip

WINDOW_8_TFLOPS = 1113.88
"""Published for HipKittens' grid_micro kernel with windows of 8."""


def table_4(chip: Chip) -> Iterator[Case]:
    """The paper's table 4: its 192 x 256 kernel under six orders."""
    wide = gemm.bf16(chip.arch, 192, 256)
    for size, orders in ((9216, (None, (7, 216), (5, 25))), (14592, (None, (8, 542), (8, 64)))):
        for order in orders:
            rows, cols = size // 192, size // 256
            tiles = paper_tiles(rows, cols, *order) if order else RowMajor().tiles(rows, cols)
            schedule = partial(gemm.ping_pong, chip.arch, wide, size // 64, drained=True)
            config = f"W{order[0]}/C{order[1]}" if order else "row-major"
            yield case_of("HK 192x256x64", (size,) * 3, config, gemm_figures(chip, wide, (size,) * 3, schedule, tiles))


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
