"""Which XCD computes which tile, told from the bytes alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.report.profiled import chiplet_prediction, gemm_prediction, plain_prediction

from pykittens.report.html_grid import grid_data, tile_places


def test_a_chiplet_order_is_found_again_from_what_workgroups_read() -> None:
    prediction, tiles = chiplet_prediction()
    assert prediction.grid == (24, 1, 1)
    places = tile_places(prediction)
    assert np.stack([places.row, places.col], axis=1).tolist() == tiles.tolist()


def test_row_major() -> None:
    places = tile_places(gemm_prediction())
    assert places.row.tolist() == [0, 0, 0, 1, 1, 1] and places.col.tolist() == [0, 1, 2, 0, 1, 2]


def test_what_reads_no_panels_goes_by_the_launch_grid() -> None:
    places = tile_places(plain_prediction())
    assert places.row.tolist() == [0, 0, 0] and places.col.tolist() == [0, 1, 2]
    assert "grid's x" in places.words

    long = tile_places(replace(plain_prediction(), grid=(10000, 1, 1)))
    assert len(long.row) == 4096 and (long.row[64], long.col[64]) == (1, 0) and "64 a row" in long.words


def test_data() -> None:
    data = grid_data(gemm_prediction())
    assert data["xcds"] == 8 == len(data["colours"]) and data["atOnce"] % 8 == 0 and data["atOnce"] >= 8
