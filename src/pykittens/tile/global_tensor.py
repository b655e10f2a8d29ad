"""`gl`: tensors in global memory with run-time sizes, views of their batches and rows, their tiles; and `scalar`."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

from pykittens.asm.program import user_line
from pykittens.errors import BuildError

from .dtypes import DType
from .expression import Expr, Int, binary, equal, leaf
from .trace import uniform


class gl:
    """A matrix in global memory: run-time ``rows``, ``cols`` and row ``stride`` (bytes); elements of a row are
    contiguous. ``rank`` 1 is a vector (one row of ``cols`` elements), ``rank`` 3 a batch of ``batches`` matrices.

    As a kernel parameter's annotation, ``pk.gl("bf16")`` fixes the dtype and ``pk.gl("dtype")`` takes it from the
    keyword parameter of that name; so does ``rank``.
    """

    def __init__(self, dtype: str | DType, rank: int | str = 2) -> None:
        self.dtype_name = dtype
        self.rank: Any = rank
        self.dtype: DType
        self.name = ""
        self.pointer: Expr
        self.rows: Int = 1
        self.cols: Int
        self.stride: Int = 0
        self.batches: Int = 1
        self.batch_stride: Expr | None = None
        self.batch: Int = 0
        self.first_row: Int = 0

    def bind(self, name: str, dtype: DType, rank: int) -> gl:
        """The parameter as it is seen while tracing."""
        bound = gl(dtype, rank)
        bound.name, bound.dtype, bound.pointer = name, dtype, leaf("arg", name, "pointer")
        bound.cols = leaf("arg", name, "cols")
        if rank > 1:
            bound.rows, bound.stride = leaf("arg", name, "rows"), leaf("arg", name, "stride")
        if rank > 2:
            bound.batches, bound.batch_stride = leaf("arg", name, "batches"), leaf("arg", name, "batch_stride")
        return bound

    def __getitem__(self, batch: Int) -> gl:
        """One matrix of a rank 3 tensor."""
        if self.rank != 3:
            raise BuildError("rank", f"{self.name} has rank {self.rank}, only rank 3 has batches", where=user_line())
        view = copy(self)
        view.rank, view.batch = 2, uniform(batch, f"the batch of {self.name}")
        return view

    def rows_from(self, start: Int, count: Int) -> gl:
        """``count`` rows from row ``start`` on, as a matrix of its own."""
        view = copy(self)
        view.first_row = self.first_row + uniform(start, f"the first row of {self.name}")
        view.rows = uniform(count, f"the rows of {self.name}")
        return view

    def elements_from(self, start: Int, count: Int) -> gl:
        """Of a vector: ``count`` elements from ``start`` on, as a vector of its own."""
        view = copy(self)
        # A row of one element after the other, of which the first is ``start``.
        view.stride, view.first_row = self.dtype.bytes, uniform(start, f"the first element of {self.name}")
        view.cols = uniform(count, f"the elements of {self.name}")
        return view

    def row(self, index: Int) -> gl:
        """Of a matrix: one row, as a vector."""
        view = self.rows_from(index, 1)
        view.rank = 1
        return view

    def aligned(self, size: int) -> Int:
        """1 if the address and the strides are multiples of ``size`` (a power of two) bytes, else 0."""
        low: Int = leaf("low", self.pointer) | self.stride
        if self.batch_stride is not None:
            low = binary("or", low, leaf("low", self.batch_stride))
        return equal(binary("and", low, size - 1), 0)

    def tile(self, row: Int, col: Int) -> GlobalTile:
        """The tile at (row, col), counted in tiles of the shape that it is loaded into or stored from."""
        return GlobalTile(self, self._place(row, "row"), self._place(col, "column"))

    def part(self, index: Int) -> GlobalTile:
        """Of a vector: the part at ``index``, counted in parts of the length that it is loaded into."""
        return GlobalTile(self, 0, self._place(index, "index"))

    def _place(self, index: Int, what: str) -> Int:
        index = uniform(index, f"the tile {what} of {self.name}")
        if isinstance(index, int) and index < 0:
            raise BuildError(
                "tile-index", f"the tile {what} of {self.name} is {index}", where=user_line(), fix="count from 0"
            )
        return index


@dataclass(frozen=True, eq=False)
class GlobalTile:
    """A tile-sized window of a `gl`; parts that reach beyond its rows or columns load as 0 and are not stored."""

    tensor: gl
    row: Int
    col: Int


class scalar:
    """A number that is passed at launch. As a kernel parameter's annotation: ``pk.scalar("f32")``; ops that take
    numbers take it.
    """

    def __init__(self, dtype: str | DType = "f32") -> None:
        self.dtype_name = dtype
        self.name = ""
        self.value: Expr

    def bind(self, name: str) -> scalar:
        """The parameter as it is seen while tracing."""
        bound = scalar(self.dtype_name)
        bound.name, bound.value = name, leaf("arg", name, "value")
        return bound
