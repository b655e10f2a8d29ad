"""Grid orders: which tile of the output a workgroup computes.

A kernel calls the order with the number of tile rows and columns (run-time values); the order says how many workgroups
there are and gives this workgroup's tile.
"""

from __future__ import annotations

from pykittens.tile.expression import Int
from pykittens.tile.program_inputs import WORKGROUP
from pykittens.tile.trace import current


def row_major(rows: Int, cols: Int) -> tuple[Int, Int]:
    """One workgroup per tile, along rows first: workgroup (x, y) computes tile (y, x)."""
    current().grid = (cols, rows, 1)
    return WORKGROUP[1], WORKGROUP[0]
