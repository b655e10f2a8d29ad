"""The grid picture: which XCD computes which tile and when, told from what the workgroups read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pykittens.arch import get
from pykittens.model.prediction import Prediction

Array = np.ndarray

XCD_COLOURS = ("#4e8fd0", "#f2a65a", "#57b894", "#d76a6a", "#9a7bd0", "#b88a5f", "#e28fc0", "#8f98a3")

_MOST, _ROW = 4096, 64
"""Workgroups that are drawn where nothing tells their tiles, and how many of a grid of one row stand in a row."""


@dataclass(frozen=True)
class TilePlaces:
    """Where each workgroup works: ``row`` and ``col`` (workgroups,) in launch order; ``words`` tell how it is known."""

    row: Array
    col: Array
    words: str


def tile_places(prediction: Prediction) -> TilePlaces:
    """From the two largest panels that the workgroups read, if these tell every workgroup apart: rows are those of the
    panel that lies first in memory, in the order of their addresses. Otherwise from the launch grid.
    """
    told = [panel for panel in prediction.panels if len(np.unique(panel.labels)) > 1]
    ranked = sorted(told, key=lambda panel: -panel.nbytes)[:2]
    count = prediction.grid[0] * prediction.grid[1] * prediction.grid[2]
    if len(ranked) == 2:
        first, second = sorted(ranked, key=lambda panel: int(panel.labels.min()))
        row, col = (np.unique(each.labels, return_inverse=True)[1] for each in (first, second))
        if len(np.unique(row * (int(col.max()) + 1) + col)) == len(row):
            shown = "" if len(row) == count else f" of the first {len(row):,} of {count:,} workgroups"
            words = (
                f"Rows and columns{shown} are told by the memory that a workgroup reads: those of one row share their "
                "panel of the first tensor, those of one column that of the second."
            )
            return TilePlaces(row, col, words)
    width, index = prediction.grid[0], np.arange(min(count, _MOST))
    if width == count > _ROW:
        return TilePlaces(index // _ROW, index % _ROW, f"Workgroups are drawn in launch order, {_ROW} a row.")
    return TilePlaces(index // width, index % width, "Columns are the grid's x, rows its y and z.")


def grid_data(prediction: Prediction) -> dict[str, Any]:
    """What the grid script draws: tiles in launch order, XCDs, and how many workgroups run at a time."""
    places = tile_places(prediction)
    device = get(prediction.arch).device(prediction.device)
    at_once = device.xcds * device.cus_per_xcd * prediction.dispatch.slots
    return {
        "row": places.row.tolist(), "col": places.col.tolist(), "xcds": device.xcds, "atOnce": at_once,
        "colours": [XCD_COLOURS[i % len(XCD_COLOURS)] for i in range(device.xcds)], "words": places.words,
    }  # fmt: skip
