"""Chooses a grid order for a GEMM: the window and chunk with which the modelled caches miss least.

order = pk.best_order(8192, 8192, 8192, tile=(256, 256), arch="gfx950")
exe = pk.compile(pk.kernels.gemm, "gfx950", order=order)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pykittens import arch as chips
from pykittens.errors import InputError
from pykittens.model.grid_search import GemmGrid, OrderFigures, order_figures
from pykittens.schedule.grid import Chiplet, RowMajor

WINDOWS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
CHUNKS = (4, 8, 16, 25, 32, 48, 64, 96, 128, 256)
_MAX_WORKGROUPS = 1 << 16


@dataclass(frozen=True)
class Choice:
    """An order with its modelled figures."""

    order: Chiplet | RowMajor
    figures: OrderFigures


def figures_of(
    order: Chiplet | RowMajor, grid: GemmGrid, arch: str, device: str | None = None, per_cu: int = 1
) -> OrderFigures:
    """The modelled figures of one order."""
    chip = chips.get(arch)
    return order_figures(grid, order.tiles(grid.rows, grid.cols), chip, chip.device(device), per_cu)


def searched(grid: GemmGrid, arch: str, device: str | None = None, per_cu: int = 1) -> Iterator[Choice]:
    """Row-major, and every window with every chunk that makes a difference.

    Raises InputError for more workgroups than are searched in reasonable time.
    """
    if grid.workgroups > _MAX_WORKGROUPS:
        raise InputError("grid-size", f"{grid.workgroups} workgroups, at most {_MAX_WORKGROUPS} are searched")
    xcds = chips.get(arch).device(device).xcds
    tiles = grid.rows * grid.cols
    whole = -(-tiles // xcds)
    yield Choice(RowMajor(), figures_of(RowMajor(), grid, arch, device, per_cu))
    for window in WINDOWS:
        if window > max(1, grid.rows):
            continue
        for chunk in sorted({min(chunk, whole) for chunk in (*CHUNKS, whole)}):
            order = Chiplet(window, chunk, xcds)
            yield Choice(order, figures_of(order, grid, arch, device, per_cu))


def best_order(
    m: int, n: int, k: int, tile: tuple[int, int] = (256, 256), arch: str = "gfx950", *, element_bytes: int = 2,
    device: str | None = None,
) -> Chiplet | RowMajor:  # fmt: skip
    """The order whose modelled time is shortest for C[m, n] = A[m, k] B[n, k]; of equal ones the first searched."""
    grid = GemmGrid(m, n, k, tile, element_bytes)
    return min(searched(grid, arch, device), key=lambda choice: choice.figures.seconds).order
