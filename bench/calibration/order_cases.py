"""GEMMs that differ in the order of their tiles alone: the paper's table 4, and an older kernel under five orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from pykittens.model.grid_search import GemmGrid, order_figures, waited_seconds
from pykittens.schedule.grid import RowMajor

from . import gemm_schedules as gemm
from .gemm_cases import case_of, gemm_figures, paper_tiles
from .launches import Case, Chip

TABLE_4 = "HK 192x256x64"
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
            yield case_of(TABLE_4, (size,) * 3, config, gemm_figures(chip, wide, (size,) * 3, schedule, tiles))


def orders_alone(chip: Chip) -> Iterator[Case]:
    """HipKittens' older GEMM, of unknown schedule: its orders relative to windows of 8, as `pk grid` compares them."""
    grid = GemmGrid(8192, 8192, 8192, (256, 256))
    seconds = {
        window: order_figures(grid, tiles, chip.arch, chip.device).seconds
        for window in (0, 2, 4, 8, 32)
        for tiles in [paper_tiles(32, 32, window, 128) if window else RowMajor().tiles(32, 32)]
    }
    for window in (0, 2, 4, 32):
        figures = {"tflops": WINDOW_8_TFLOPS * seconds[8] / seconds[window]}
        yield Case("HK grid_micro 256x256x64", "8192x8192x8192", f"WGM={window} (0=row-major)", figures)


def order_times(
    cases: Sequence[Case], published: dict[tuple[str, str, str], float]
) -> list[tuple[float, float, float]]:
    """What `fit.fit_orders` takes, of table 4; published: TFLOPS by kernel, shape, config."""
    found = []
    for case in cases:
        key = case.kernel, case.shape, case.config
        if case.kernel != TABLE_4 or case.launched is None:
            continue
        size, rates, chip = int(case.shape.split("x")[0]), case.launched.rates, case.launched.chip
        steps = -(-(size // 192) * (size // 256) // chip.device.cus) * size / 64
        found.append((2.0 * size**3 / published[key] / 1e12, steps, waited_seconds(rates, chip.arch, chip.device)))
    return found
