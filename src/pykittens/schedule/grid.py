"""Grid orders: which tile of the output a workgroup computes, fitted to the chiplets' L2 caches and the memory-side
cache.

A kernel calls an order with the numbers of tile rows and columns (run-time values); the order says how many workgroups
there are and gives this workgroup's tile. The same arithmetic, on NumPy arrays, gives the tiles of all workgroups at
once. A launch has the numbers that it takes (`grid_code`) among its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykittens import arch as chips
from pykittens.asm.program import user_line
from pykittens.errors import BuildError, InputError
from pykittens.tile.expression import Expr, Int, cdiv, evaluate
from pykittens.tile.global_tensor import gl
from pykittens.tile.program_inputs import WORKGROUP
from pykittens.tile.trace import Trace, current, require_equal

from . import grid_code
from .grid_code import OrderNumbers


@dataclass(frozen=True)
class Work:
    """What a workgroup computes: ``rows`` x ``cols`` of C, of products that sum over ``depth`` elements of so many
    bits.
    """

    rows: int
    cols: int
    depth: Int
    bits: int


@dataclass(frozen=True)
class RowMajor:
    """Tiles along rows, one after the other, as they come to the chip."""

    def __str__(self) -> str:
        return "row-major"

    def __call__(self, rows: Int, cols: Int, work: Work | None = None) -> tuple[Int, Int]:
        """This workgroup's (tile row, tile column); the launch has cols x rows workgroups."""
        trace = _recorded(Placement(self, rows, cols, work, _xcds()))
        trace.grid = (cols, rows, trace.batches)
        return WORKGROUP[1], WORKGROUP[0]

    def tiles(self, rows: int, cols: int) -> np.ndarray:
        """(tile row, tile column) of every workgroup in launch order: int array (rows * cols, 2)."""
        return np.stack(np.divmod(np.arange(rows * cols), cols), axis=1)

    def numbers(self, rows: int, cols: int, xcds: int) -> OrderNumbers:
        """What a launch tells the code of the order."""
        return OrderNumbers(chunk=0)


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

    def __str__(self) -> str:
        return f"chiplet:{self.window},{self.chunk}"

    def __call__(self, rows: Int, cols: Int, work: Work | None = None) -> tuple[Int, Int]:
        """This workgroup's (tile row, tile column); the launch has rows * cols workgroups in one row."""
        return _placed(Placement(self, rows, cols, work, self.xcds or _xcds()))

    def tiles(self, rows: int, cols: int) -> np.ndarray:
        """(tile row, tile column) of every workgroup in launch order: int array (rows * cols, 2). Takes 8 XCDs if not
        told.
        """
        xcds = self.xcds or 8
        if not rows * cols:
            return np.zeros((0, 2), np.int64)
        numbers = self.numbers(rows, cols, xcds)
        return np.stack(grid_code.place(numbers, xcds, np.arange(rows * cols, dtype=np.int64)), axis=1)

    def numbers(self, rows: int, cols: int, xcds: int) -> OrderNumbers:
        """What a launch tells the code of the order."""
        return grid_code.chiplet_numbers(self.window, self.chunk, xcds, rows, cols)


@dataclass(frozen=True)
class Modelled:
    """For each launch the order that takes the least time as the model has it: row-major, or windows and chunks.

    The host chooses it by the launch's sizes (`grid_choice.best_order`), so one code object has the best order for
    all of them.
    """

    def __str__(self) -> str:
        return "best"

    def __call__(self, rows: Int, cols: Int, work: Work | None = None) -> tuple[Int, Int]:
        """This workgroup's (tile row, tile column); the launch has as many workgroups as there are tiles."""
        if work is None:
            raise BuildError(
                "grid-work", "an order is chosen by what its workgroups read, and nobody says what that is",
                where=user_line(), fix="give the order a grid.Work too, or use grid.row_major or grid.chiplet",
            )  # fmt: skip
        return _placed(Placement(self, rows, cols, work, _xcds()))


Order = RowMajor | Chiplet
"""The orders of a launch."""


@dataclass(frozen=True)
class Placement:
    """An order in a kernel: over how many tiles, of what, and on how many XCDs."""

    order: RowMajor | Chiplet | Modelled
    rows: Int
    cols: Int
    work: Work | None
    xcds: int

    def launch_values(self, order: Order, inputs: dict[Expr, Any]) -> dict[Expr, int]:
        """What a launch in this order tells the kernel; ``inputs``: its sizes. At least one row and column."""
        rows, cols = (int(evaluate(count, inputs)) for count in (self.rows, self.cols))
        in_rows = isinstance(order, RowMajor)
        launch = {
            grid_code.LAUNCH_COLS: cols if in_rows else rows * cols, grid_code.LAUNCH_ROWS: rows if in_rows else 1,
        }  # fmt: skip
        return {**launch, **order.numbers(rows, cols, self.xcds).values()}


def _xcds() -> int:
    return chips.get(current().arch).device().xcds


def _recorded(placement: Placement) -> Trace:
    """The kernel that is being traced, now with this order."""
    trace = current()
    if trace.placement is not None:
        raise BuildError("two-orders", "the kernel has a grid order already", where=user_line(), fix="call one of them")
    trace.placement = placement
    return trace


def _placed(placement: Placement) -> tuple[Int, Int]:
    """Record the code of an order in the kernel that is being traced; this workgroup's tile."""
    trace = _recorded(placement)
    if len(trace.stack) > 1:
        raise BuildError("order-inside", "a grid order is called inside a loop or condition", where=user_line(),
                         fix="call it first")  # fmt: skip
    trace.numbers = tuple(f"order.{name}" for name in grid_code.NAMES)
    trace.grid = (grid_code.LAUNCH_COLS, grid_code.LAUNCH_ROWS, trace.batches)
    grid_code.place_tile(placement.xcds, trace.arguments, plain=isinstance(placement.order, Modelled))
    return grid_code.ROW, grid_code.COL


def place(order: Callable[..., tuple[Int, Int]] | str, A: gl, C: gl, tile: tuple[int, int]) -> tuple[Int, Int]:
    """This workgroup's tile (row, column) of C = A B by an order or its name; ``tile`` has so many rows and columns."""
    height, width = tile
    work = Work(height, width, A.cols, A.dtype.bits)
    chosen = named(order) if isinstance(order, str) else order
    if not callable(chosen):
        raise InputError("grid-order", f"order is {order!r}", fix="use pk.grid.chiplet, pk.grid.row_major or a name")
    return chosen(cdiv(C.rows, height), cdiv(C.cols, width), work)


def named(words: str) -> RowMajor | Chiplet | Modelled:
    """The order with this name: ``row-major``, ``chiplet:W,C`` with window W and chunk C, or ``best`` (`Modelled`)."""
    window, comma, chunk = words.removeprefix("chiplet:").partition(",")
    if words.startswith("chiplet:") and comma and window.isdecimal() and chunk.isdecimal():
        return Chiplet(int(window), int(chunk))
    for order in (RowMajor(), Modelled()):
        if words == str(order):
            return order
    raise InputError(
        "grid-order", f"there is no order {words!r}", fix="use best, row-major or chiplet:W,C, such as chiplet:8,64"
    )


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
modelled = Modelled()
