"""Chooses a grid order for a GEMM: the window and chunk with which the modelled caches miss least.

order = pk.best_order(8192, 8192, 8192, tile=(256, 256), arch="gfx950")
exe = pk.compile(pk.kernels.gemm, "gfx950")          # takes this order in launches of this shape
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from pykittens import arch as chips
from pykittens.arch import Arch
from pykittens.arch.facts import Device
from pykittens.errors import InputError
from pykittens.model.grid_search import GemmGrid, OrderFigures, order_figures
from pykittens.schedule.grid import Chiplet, RowMajor

WINDOWS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
CHUNKS = (4, 8, 16, 25, 32, 48, 64, 96, 128, 256)
_MOST_SEARCHED = 1 << 16
_MOST_COUNTED = 1 << 13
"""Workgroups by which the order of a launch is chosen: the steady part of a larger grid is like its first rows."""
_SHORTLIST = 6
"""So many orders of the least traffic are compared for a launch."""
_CODE_SECONDS = 0.15e-6
"""What the code of windows and chunks takes a workgroup longer than row-major's: modelled, 260 clk at 1.7 GHz."""


@dataclass(frozen=True)
class Choice:
    """An order with its modelled figures."""

    order: Chiplet | RowMajor
    figures: OrderFigures


@lru_cache(maxsize=1024)
def figures_of(
    order: Chiplet | RowMajor, grid: GemmGrid, arch: str, device: str | None = None, per_cu: int = 1
) -> OrderFigures:
    """The modelled figures of one order."""
    chip = chips.get(arch)
    return order_figures(grid, order.tiles(grid.rows, grid.cols), chip, chip.device(device), per_cu)


def candidates(grid: GemmGrid, xcds: int) -> Iterator[Chiplet]:
    """Every window with every chunk that makes a difference."""
    whole = -(-grid.rows * grid.cols // xcds)
    for window in WINDOWS:
        if window <= grid.rows:
            for chunk in sorted({min(chunk, whole) for chunk in (*CHUNKS, whole)}):
                yield Chiplet(window, chunk, xcds)


def searched(grid: GemmGrid, arch: str, device: str | None = None, most: int = _SHORTLIST) -> list[Choice]:
    """The figures of row-major and of those ``most`` candidates that have the least traffic, the best first.

    Of equal ones row-major comes first. Raises InputError for more workgroups than are searched in reasonable time.
    """
    if grid.workgroups > _MOST_SEARCHED:
        raise InputError(
            "grid-size", f"{grid.workgroups} workgroups, at most {_MOST_SEARCHED} are searched", fix="use larger tiles"
        )
    chip = chips.get(arch)
    product = chip.device(device)
    orders: list[Chiplet | RowMajor] = [RowMajor()]
    if grid.workgroups > product.xcds:
        traffic = {order: _traffic_seconds(order, grid, chip, product) for order in candidates(grid, product.xcds)}
        orders += sorted(traffic, key=lambda order: traffic[order])[:most]
    choices = [Choice(order, figures_of(order, grid, arch, device)) for order in orders]
    return sorted(choices, key=lambda choice: choice.figures.seconds)


def best_order(
    m: int, n: int, k: int, tile: tuple[int, int] = (256, 256), arch: str = "gfx950", *, element_bytes: int = 2,
    batch: int = 1, device: str | None = None,
) -> Chiplet | RowMajor:  # fmt: skip
    """The order whose modelled time is shortest for C[m, n] = A[m, k] B[n, k]; row-major where none gains more than its
    code takes.

    A kernel that is compiled without an order takes this one at each launch; it is found once for a grid, in tenths of
    a second at most, and remembered.
    """
    return _best(GemmGrid(m, n, k, tile, element_bytes, batch), arch, device)


@lru_cache(maxsize=4096)
def _best(grid: GemmGrid, arch: str, device: str | None) -> Chiplet | RowMajor:
    grid = _counted(grid)
    choices = searched(grid, arch, device)
    row_major = next(choice for choice in choices if isinstance(choice.order, RowMajor))
    rounds = -(-grid.workgroups // chips.get(arch).device(device).cus)
    gains = choices[0].figures.seconds + rounds * _CODE_SECONDS < row_major.figures.seconds
    return choices[0].order if gains else row_major.order


def _counted(grid: GemmGrid) -> GemmGrid:
    """The first rows of a large grid, and of many batches the first."""
    cols = min(grid.cols, _MOST_COUNTED // min(grid.rows, 8))
    rows = min(grid.rows, _MOST_COUNTED // cols)
    batch = min(grid.batch, max(1, _MOST_COUNTED // (rows * cols)))
    return replace(grid, m=rows * grid.tile[0], n=cols * grid.tile[1], batch=batch)


def _traffic_seconds(order: Chiplet | RowMajor, grid: GemmGrid, arch: Arch, product: Device) -> float:
    """What reading takes if caches keep nothing from round to round: panels that workgroups of a round share count."""
    tiles = np.tile(order.tiles(grid.rows, grid.cols), (grid.batch, 1))
    number = np.arange(len(tiles))
    batch = number // (grid.rows * grid.cols)
    rounds, xcds = number // product.xcds // product.cus_per_xcd, number % product.xcds
    l2 = hbm = 0.0
    for axis, count in enumerate((grid.rows, grid.cols)):
        nbytes = grid.tile[axis] * grid.k * grid.element_bytes
        panel = batch * count + tiles[:, axis]
        panels = grid.batch * count
        l2 += nbytes * _different((rounds * product.xcds + xcds) * panels + panel)
        hbm += nbytes * _different(rounds * panels + panel)
    return l2 / (arch.memory.mall_achieved_gbps * 1e9) + hbm / (product.hbm_achieved_gbps * 1e9)


def _different(numbers: np.ndarray) -> int:
    """How many different numbers there are, none of them negative."""
    seen = np.zeros(int(numbers.max()) + 1, bool)
    seen[numbers] = True
    return int(np.count_nonzero(seen))
