"""A picture of grid orders: which XCD computes which tile of the output, and when."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .picture import new_figure, save_png

_ROUNDS = 3


def draw_orders(
    title: str, orders: Mapping[str, np.ndarray], rows: int, cols: int, xcds: int, places: int, path: Path
) -> None:
    """One row of maps for each order: all tiles by XCD, then what runs in the first dispatch rounds.

    orders: (tile row, tile column) of each workgroup in launch order, by name. places: workgroups that run at a time.
    Raises InputError where matplotlib is missing or the file cannot be written.
    """
    rounds = min(_ROUNDS, -(-rows * cols // places))
    figure = new_figure(3.0 * (rounds + 1), 3.0 * len(orders), layout="constrained")
    axes = figure.subplots(len(orders), rounds + 1, squeeze=False)
    figure.suptitle(title, fontsize=11)
    image = None
    for line, (name, tiles) in zip(axes, orders.items(), strict=True):
        for column, axis in enumerate(line):
            first, last = ((column - 1) * places, column * places) if column else (0, len(tiles))
            owner = np.full((rows, cols), np.nan)
            shown = np.arange(len(tiles))[first:last]
            owner[tiles[shown, 0], tiles[shown, 1]] = shown % xcds
            image = axis.imshow(owner, cmap="tab10", vmin=-0.5, vmax=9.5, interpolation="nearest", aspect="auto")
            axis.set_title(f"round {column}" if column else name, fontsize=9, loc="left")
            axis.set_xticks([0, cols - 1]), axis.set_yticks([0, rows - 1])
            axis.tick_params(labelsize=7)
    if image is not None:
        bar = figure.colorbar(image, ax=axes, ticks=range(xcds), shrink=0.5, label="XCD")
        bar.ax.set_ylim(-0.5, xcds - 0.5)
    figure.supxlabel("tile column", fontsize=9), figure.supylabel("tile row", fontsize=9)
    save_png(figure, path)
