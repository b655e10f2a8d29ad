"""Grid orders compared and chosen by the modelled caches, and that every order covers the grid once."""

from __future__ import annotations

import numpy as np
import pytest

import pykittens as pk
from pykittens.errors import InputError
from pykittens.grid_choice import figures_of, searched
from pykittens.model.grid_search import GemmGrid
from pykittens.schedule.grid import Chiplet, RowMajor

GRID = GemmGrid(9216, 9216, 9216, (192, 256))


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (5, 7), (13, 3), (100, 1), (1, 100), (32, 32), (57, 76)])
@pytest.mark.parametrize("order", [Chiplet(), Chiplet(3, 4), Chiplet(2, 5, 3), Chiplet(7, 216), Chiplet(64, 1)])
def test_every_tile_once(order: Chiplet, rows: int, cols: int) -> None:
    tiles = order.tiles(rows, cols)
    assert len({(int(r), int(c)) for r, c in tiles}) == rows * cols
    assert tiles.min() >= 0
    assert (tiles.max(axis=0) < (rows, cols)).all()


def test_remainders_go_to_all_xcds_alike() -> None:
    """With chunks larger than an XCD's share, every XCD has one run of neighbours, none more than one longer."""
    tiles = Chiplet(1, 1000, 8).tiles(10, 10)
    places = tiles[:, 0] * 10 + tiles[:, 1]
    for xcd in range(8):
        own = places[xcd::8]
        assert len(own) in (12, 13)
        assert (np.diff(np.sort(own)) == 1).all()


def test_the_joint_order_beats_the_others_as_in_the_paper() -> None:
    row_major, xcd_only, joint = (
        figures_of(order, GRID, "gfx950").seconds for order in (RowMajor(), Chiplet(7, 216), Chiplet(5, 25))
    )
    assert joint < row_major < xcd_only


def test_the_best_is_no_worse_than_any() -> None:
    choices = list(searched(GRID, "gfx950"))
    best = pk.best_order(9216, 9216, 9216, (192, 256))
    assert figures_of(best, GRID, "gfx950").seconds == min(choice.figures.seconds for choice in choices)
    assert len({str(choice.order) for choice in choices}) == len(choices)


def test_batches_share_nothing() -> None:
    one = figures_of(RowMajor(), GemmGrid(2048, 2048, 8192, (256, 256)), "gfx950").rates
    four = figures_of(RowMajor(), GemmGrid(2048, 2048, 8192, (256, 256), batch=4), "gfx950").rates
    assert four.requested_bytes == 4 * one.requested_bytes
    assert four.l2_miss_bytes == pytest.approx(4 * one.l2_miss_bytes)


def test_chips_differ() -> None:
    assert figures_of(RowMajor(), GRID, "gfx942").tflops < figures_of(RowMajor(), GRID, "gfx950").tflops


def test_huge_grids_are_refused() -> None:
    with pytest.raises(InputError, match="workgroups"):
        list(searched(GemmGrid(1 << 20, 1 << 20, 64, (64, 64)), "gfx950"))
