"""Grid orders: which tile of the output a workgroup computes, fitted to the chiplets' L2 caches and the memory-side
cache.

A kernel calls an order with the numbers of tile rows and columns (run-time values); the order says how many
workgroups there are and gives this workgroup's tile. The same arithmetic, on NumPy arrays, gives the tiles of all
workgroups at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pykittens import arch as chips
from pykittens.errors import InputError
from pykittens.tile.expression import Int, below, evaluate, minimum, select
from pykittens.tile.global_tensor import gl
from pykittens.tile.program_inputs import WORKGROUP
from pykittens.tile.trace import current, require_equal


@dataclass(frozen=True)
class RowMajor:
    """Tiles along rows, one after the other, as they come to the chip."""

    def __call__(self, rows: Int, cols: Int) -> tuple[Int, Int]:
        """This workgroup's (tile row, tile column); the launch has cols x rows workgroups."""
        trace = current()
        trace.grid = (cols, rows, trace.batches)
        return WORKGROUP[1], WORKGROUP[0]

    def tiles(self, rows: int, cols: int) -> np.ndarray:
        """(tile row, tile column) of every workgroup in launch order: int array (rows * cols, 2)."""
        return np.stack(np.divmod(np.arange(rows * cols), cols), axis=1)


@dataclass(frozen=True)
class Chiplet:
    """The paper's Algorithm 1: runs of ``chunk`` neighbouring tiles go to one XCD, and tiles follow in windows
    ``window`` rows high.

    The hardware sends workgroup w to XCD w % xcds. Chunks keep an XCD's tiles together, so they share its L2; the
    window keeps what all XCDs work on at a time within few rows and columns, for the memory-side cache. Every grid is
    covered exactly once, whatever its size. ``xcds`` None means those of the chip that the kernel is built for.
    """

    window: int = 8
    chunk: int = 64
    xcds: int | None = None

    def __post_init__(self) -> None:
        for name in ("window", "chunk", "xcds"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError("grid-order", f"{name} is {value}, at least 1 is needed")

    def __call__(self, rows: Int, cols: Int) -> tuple[Int, Int]:
        """This workgroup's (tile row, tile column); the launch has rows * cols workgroups in one row."""
        trace = current()
        trace.grid = (rows * cols, 1, trace.batches)
        return self._place(WORKGROUP[0], rows, cols, self.xcds or chips.get(trace.arch).device().xcds)

    def tiles(self, rows: int, cols: int) -> np.ndarray:
        """(tile row, tile column) of every workgroup in launch order: int array (rows * cols, 2). Takes 8 XCDs if not
        told.
        """
        row, col = self._place(WORKGROUP[0], rows, cols, self.xcds or 8)
        inputs = {WORKGROUP[0]: np.arange(rows * cols)}
        pair = (np.broadcast_to(evaluate(part, inputs), rows * cols) for part in (row, col))
        return np.stack(list(pair), axis=1)

    def _place(self, workgroup: Int, rows: Int, cols: Int, xcds: int) -> tuple[Int, Int]:
        block, count = xcds * self.chunk, rows * cols
        turn, xcd = workgroup // xcds, workgroup % xcds
        chunked = turn // self.chunk * block + xcd * self.chunk + turn % self.chunk
        # What does not fill a round of chunks on every XCD is split evenly: one shorter chunk for each of them.
        whole = count // block * block
        share, more = (count - whole) // xcds, (count - whole) % xcds
        rest = whole + xcd * share + minimum(xcd, more) + (workgroup - whole) // xcds
        index = select(below(workgroup, whole), chunked, rest)
        band = self.window * cols
        first = index // band * self.window
        height = minimum(rows - first, self.window)
        inside = index % band
        return first + inside % height, inside // height


def batch(*tensors: gl) -> tuple[gl, ...]:
    """Of tensors of rank 3, this workgroup's matrices; others as they are. Call it before the order.

    The grid gets a third axis, one batch each, and a launch needs the same number of batches of all.
    """
    batched = [tensor for tensor in tensors if tensor.rank == 3]
    if not batched:
        return tensors
    for tensor in batched:
        require_equal(
            tensor.batches, batched[-1].batches, f"{tensor.name} and {batched[-1].name} must have the same batches"
        )
    current().batches = batched[-1].batches
    return tuple(tensor[WORKGROUP[2]] if tensor.rank == 3 else tensor for tensor in tensors)


def tile(chosen: str, known: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """Rows and columns of a workgroup's tile: ``"128x128"`` if it is known, the first one for ``"auto"``."""
    names = {f"{rows}x{cols}": (rows, cols) for rows, cols in known}
    if chosen == "auto":
        return known[0]
    if chosen not in names:
        raise InputError("option-value", f"tile is {chosen!r}", fix=f"use auto or one of {', '.join(names)}")
    return names[chosen]


row_major = RowMajor()
chiplet = Chiplet()
