"""Base shapes of register tiles: which lane and which of its elements holds element (row, column).

In row layout a lane holds pieces of a row: ``stride`` consecutive columns, then a jump over the other lanes' columns.
Column layout is the same with rows and columns exchanged. The shapes and their names are HipKittens'.
"""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.errors import BuildError

from .expression import Int

LANES = 64


@dataclass(frozen=True)
class RegisterShape:
    """``rows`` x ``cols`` elements over 64 lanes, ``stride`` consecutive elements of a lane along the reduced axis."""

    name: str
    rows: int
    cols: int
    stride: int

    @property
    def elements(self) -> int:
        """Elements a lane holds."""
        return self.rows * self.cols // LANES

    def across(self, layout: str) -> int:
        """Rows (row layout) or columns (column layout), along which neighbouring lanes lie; BuildError beyond 64."""
        width = self.rows if layout == "row" else self.cols
        if width > LANES:
            raise BuildError(
                "layout", f"{self.name} has no {layout} layout: {width} elements across, a wave has {LANES} lanes"
            )
        return width

    def element(self, layout: str, lane: Int, index: int) -> tuple[Int, Int]:
        """(row, column) of a lane's element ``index``; of all lanes at once where ``lane`` is the run-time `LANE`."""
        step, rest = divmod(index, self.stride)
        across = self.across(layout)
        along = step * (LANES // across) * self.stride + self.stride * (lane // across) + rest
        return (lane % across, along) if layout == "row" else (along, lane % across)

    def place(self, layout: str, row: int, col: int) -> tuple[int, int]:
        """(lane, element index) of element (row, column): the inverse of `element`."""
        across, along = (row, col) if layout == "row" else (col, row)
        width = self.across(layout)
        group, rest = divmod(along, self.stride)
        step, lane_group = divmod(group, LANES // width)
        return across + width * lane_group, step * self.stride + rest


_TABLE = (
    ("16x16", 16, 16, 4), ("32x32", 32, 32, 4), ("32x32_8", 32, 32, 8), ("16x32", 16, 32, 8), ("32x16", 32, 16, 8),
    ("32x16_4", 32, 16, 4), ("16x32_4", 16, 32, 4), ("16x128", 16, 128, 16),
)  # fmt: skip
SHAPES = {name: RegisterShape(name, rows, cols, stride) for name, rows, cols, stride in _TABLE}
"""HipKittens' shapes."""

_OPERANDS = (("128x16", 128, 16, 16), ("32x8", 32, 8, 4), ("8x32", 8, 32, 4), ("32x64", 32, 64, 16),
             ("64x32", 64, 32, 16), ("16x64", 16, 64, 16), ("64x16", 64, 16, 16))  # fmt: skip
OPERANDS = {name: RegisterShape(name, rows, cols, stride) for name, rows, cols, stride in _OPERANDS}
"""Operands of the MFMAs that HipKittens lacks: 8-bit columns, gfx942's 32x32x8, the 8-bit 32x32x64, and two
of its 8-bit 16x16x32."""


def get(name: str) -> RegisterShape:
    """A base shape by its name without the ``rt_`` of HipKittens."""
    known = {**SHAPES, **OPERANDS}
    if name not in known:
        raise BuildError("register-shape", f"no register base shape {name!r}", fix=f"use one of {', '.join(known)}")
    return known[name]
