"""How one base tile moves between LDS and registers: the width of each access, its elements and its address.

Which access is right follows from the two layouts themselves: the addresses of a lane's neighbouring elements are
compared for all lanes at build time. So every pair of shapes is moved correctly, by the widest access that keeps a
lane's elements together, whatever the swizzle and whichever of the two shapes is larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np

from pykittens.arch.lds_banks import Direction
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from .expression import Int, constant_part, evaluate, leaves
from .program_inputs import LANE
from .register_shape import LANES, RegisterShape
from .shared_shape import SharedShape

if TYPE_CHECKING:
    from .tiles import st

GROUP = 16
"""Lanes that exchange elements in a transposing read."""
TRANSPOSED_BYTES = 8
WIDTHS = (16, 8, 4)
OFFSET_LIMIT = 65536
"""DS instructions hold a 16-bit byte offset."""


@dataclass(frozen=True)
class SharedLayout:
    """Where elements of ``size`` bytes lie in a shared tile of ``cols`` columns, in subtiles of ``shape``."""

    shape: SharedShape
    cols: int
    size: int

    @staticmethod
    def of(tile: st) -> SharedLayout:
        """The layout of a shared tile."""
        return SharedLayout(tile.shape, tile.cols, tile.dtype.bytes)

    def address(self, row: Any, col: Any) -> Any:
        """Byte address from the start of the tile, for numbers, NumPy arrays or run-time expressions."""
        return self.shape.address(row, col, self.cols, self.size)


@dataclass(frozen=True)
class Access:
    """One LDS access by all lanes: each moves ``lane_bytes``, ``count`` of its elements from ``first`` on.

    Of a ``transpose`` these are the elements that a lane gets; what it fetches are others' of its group.
    """

    direction: Direction
    lane_bytes: int
    first: int
    count: int

    @property
    def mnemonic(self) -> str:
        """The DS instruction."""
        if self.direction == "transpose":
            return f"ds_read_b64_tr_b{64 // self.count}"
        if self.lane_bytes == 2:
            return "ds_read_u16" if self.direction == "read" else f"ds_write_b16{'_d16_hi' if self.first % 2 else ''}"
        return f"ds_{self.direction}_b{8 * self.lane_bytes}"

    def registers(self, base: Reg) -> Reg:
        """The part of a base tile's registers that the access moves."""
        per_element = self.lane_bytes // self.count
        first = self.first * per_element
        return base[first // 4 : (first + self.lane_bytes - 1) // 4]

    def element(self, shape: RegisterShape, layout: str, lane: Any) -> tuple[Any, Any]:
        """(row, column) in the base tile of the first element at the address that a lane gives.

        A transposing read fetches 16 columns in as many rows as a lane gets elements: with n of them, lane q of a group
        fetches columns n * (q % (16 / n)) and up of row q * n // 16 (for 16 bits decided by runs of Triton's kernels).
        """
        if self.direction != "transpose":
            return shape.element(layout, lane, self.first)
        row, col = shape.element(layout, lane // GROUP * GROUP, self.first)
        fetchers = GROUP // self.count
        return row + lane % GROUP // fetchers, col + lane % fetchers * self.count


@dataclass(frozen=True)
class Piece:
    """An access and its byte address in every lane, from the start of the shared tile."""

    access: Access
    address: Int

    def split(self, base: int) -> tuple[Int, int]:
        """(run-time part of the address, build-time part for the instruction's offset) of a tile at byte ``base``."""
        address = self.address + base
        # What the offset's 16 bits do not hold goes into the address, which other pieces can then share.
        constant = constant_part(address) % OFFSET_LIMIT
        return address - constant, constant

    def lanes(self) -> np.ndarray:
        """The address in every lane: int (64,). Run-time parts other than the lane count as 0."""
        inputs = {leaf: np.int64(0) for leaf in leaves(self.address)} | {LANE: np.arange(LANES)}
        return np.broadcast_to(np.asarray(evaluate(self.address, inputs)), LANES)


def read_pieces(
    shape: RegisterShape, layout: str, shared: SharedLayout, row: Int, col: Int, transposing: bool
) -> list[Piece]:
    """The reads of a base tile at (row, col) of a shared tile; ``transposing``: the chip has transposing reads.

    ``row`` and ``col`` may be run-time values.
    """
    return _pieces(shape, layout, shared, row, col, "read", transposing)


def write_pieces(shape: RegisterShape, layout: str, shared: SharedLayout, row: Int, col: Int) -> list[Piece]:
    """The writes of a base tile at (row, col) of a shared tile."""
    return _pieces(shape, layout, shared, row, col, "write", False)


def _pieces(
    shape: RegisterShape, layout: str, shared: SharedLayout, row: Int, col: Int, direction: Direction, transposing: bool
) -> list[Piece]:
    pieces = []
    for access in _everywhere(shape, layout, shared, row, col, direction, transposing):
        down, along = access.element(shape, layout, LANE)
        pieces.append(Piece(access, shared.address(row + down, col + along)))
    return pieces


def _everywhere(
    shape: RegisterShape, layout: str, shared: SharedLayout, row: Int, col: Int, direction: Direction, transposing: bool
) -> tuple[Access, ...]:
    """The accesses of a base tile at (row, col), which are the same wherever in a subtile that may be."""
    found = {
        _accesses(shape, layout, shared, corner, direction, transposing)
        for corner in product(_corners(row, shared.shape.rows), _corners(col, shared.shape.cols))
    }
    if len(found) > 1:
        raise BuildError(
            "subtile-place",
            f"where {shape.name} {layout} lies in a {shared.shape.name} says how it moves, and only the GPU knows it",
            fix="use windows of whole subtiles",
        )  # fmt: skip
    return found.pop()


def _corners(place: Int, size: int) -> range:
    """Where in a subtile of so many rows or columns a base tile may begin."""
    if isinstance(place, int):
        return range(place % size, place % size + 1)
    terms, constant = place.args if place.op == "affine" else (((place, 1),), 0)
    step = gcd(size, constant, *(coefficient for _, coefficient in terms))
    return range(constant % step, size, step)


@cache
def _accesses(
    shape: RegisterShape,
    layout: str,
    shared: SharedLayout,
    corner: tuple[int, int],
    direction: Direction,
    transposing: bool,
) -> tuple[Access, ...]:
    """The accesses of a base tile that starts at ``corner`` of a subtile."""
    size, elements = shared.size, shape.elements
    single = _addresses(shape, layout, shared, corner, [Access(direction, size, e, 1) for e in range(elements)])
    width = next((w for w in WIDTHS if size < w <= elements * size and _together(single, size, w)), size)
    if width < 4 and transposing and layout == "col":
        exchanged = _transposing(shape, size)
        if exchanged and _whole(shape, shared, corner, exchanged):
            return exchanged
    if width < 2:
        raise BuildError(
            "lds-bytes", "neighbouring bytes of a lane lie apart in LDS, and single ones are not packed into registers",
            fix="use a layout and a shared shape that keep 4 bytes of a lane together",
        )  # fmt: skip
    count = width // size
    return tuple(Access(direction, width, first, count) for first in range(0, elements, count))


def _transposing(shape: RegisterShape, size: int) -> tuple[Access, ...]:
    """Column layout by reads that exchange elements between 16 lanes; none where the shape does not let them."""
    count = TRANSPOSED_BYTES // size
    if shape.cols < GROUP or shape.stride % count:
        return ()
    return tuple(Access("transpose", TRANSPOSED_BYTES, first, count) for first in range(0, shape.elements, count))


def _whole(shape: RegisterShape, shared: SharedLayout, corner: tuple[int, int], accesses: tuple[Access, ...]) -> bool:
    """Whether what each lane fetches in a transposing read lies together in LDS."""
    rows = [
        _addresses(shape, "col", shared, (corner[0], corner[1] + along), list(accesses))
        for along in range(accesses[0].count)
    ]
    return _together(np.stack(rows, axis=1).reshape(-1, LANES), shared.size, TRANSPOSED_BYTES)


def _addresses(
    shape: RegisterShape, layout: str, shared: SharedLayout, corner: tuple[int, int], accesses: list[Access]
) -> np.ndarray:
    """Byte address of each access in every lane: int (accesses, 64)."""
    places = [access.element(shape, layout, np.arange(LANES)) for access in accesses]
    return np.stack([shared.address(corner[0] + row, corner[1] + col) for row, col in places])


def _together(addresses: np.ndarray, size: int, width: int) -> bool:
    """Whether each ``width`` bytes of neighbours in (elements, 64) lie together and aligned in LDS, in every lane."""
    runs = addresses.reshape(-1, width // size, LANES)
    expected = runs[:, :1] + np.arange(width // size)[None, :, None] * size
    return bool((runs == expected).all() and (runs[:, 0] % width == 0).all())
