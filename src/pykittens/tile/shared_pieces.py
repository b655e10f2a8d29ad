"""How one base tile moves between LDS and registers: the width of each access, its elements and its address.

Which access is right follows from the two layouts themselves: the addresses of a lane's neighbouring elements are
compared for all lanes at build time. So every pair of shapes is moved correctly, by the widest access that keeps a
lane's elements together, whatever the swizzle and whichever of the two shapes is larger.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pykittens.arch.lds_banks import Direction
from pykittens.errors import BuildError

from .expression import Int, constant_part, evaluate, leaves
from .program_inputs import LANE
from .register_shape import LANES, RegisterShape
from .tiles import SharedView, rt

Place = Callable[[Int, Int], Int]
"""LDS byte address of the element at (row, column) of a base tile."""

GROUP = 16
"""Lanes that exchange elements in a transposing read."""
TRANSPOSED_BYTES = 8
WIDTHS = (16, 8, 4)
OFFSET_LIMIT = 65536
"""DS instructions hold a 16-bit byte offset."""


@dataclass(frozen=True)
class Piece:
    """One LDS access of all lanes: ``lane_bytes`` at ``address``, which are a lane's elements from ``first`` on.

    Of a ``transpose`` the elements are those that the lane gets; the address is of what it fetches for its group.
    """

    direction: Direction
    lane_bytes: int
    first: int
    address: Int

    def split(self) -> tuple[Int, int]:
        """(address without its build-time part, that part as the instruction's offset)."""
        return split_offset(self.address)

    def lanes(self) -> np.ndarray:
        """The address in every lane: int (64,). Run-time parts other than the lane count as 0."""
        return lane_values(self.address)


def read_pieces(shape: RegisterShape, layout: str, size: int, place: Place, transposing: bool) -> list[Piece]:
    """The reads of one base tile of elements of ``size`` bytes; ``transposing``: the chip has transposing reads."""
    addresses = _addresses(shape, layout, place)
    width = _widest(addresses, size)
    if width < 4 and transposing and size < 4 and layout == "col":
        pieces = _transposed(shape, size, place)
        if pieces:
            return pieces
    return _plain("read", addresses, size, width)


def write_pieces(shape: RegisterShape, layout: str, size: int, place: Place) -> list[Piece]:
    """The writes of one base tile of elements of ``size`` bytes."""
    addresses = _addresses(shape, layout, place)
    return _plain("write", addresses, size, _widest(addresses, size))


def base_place(tile: rt, view: SharedView, i: int, j: int) -> Place:
    """Where the elements of base tile (i, j) of a register tile lie in LDS, through a view."""
    row, col = view.row + i * tile.shape.rows, view.col + j * tile.shape.cols
    return lambda down, along: view.tile.address(row + down, col + along)


def split_offset(address: Int) -> tuple[Int, int]:
    """An address as (what is computed at run time, what fits the instruction's offset)."""
    constant = constant_part(address) % OFFSET_LIMIT
    return address - constant, constant


def lane_values(value: Int) -> np.ndarray:
    """A run-time value in every lane: int (64,), its leaves other than the lane taken as 0."""
    inputs = {leaf: np.int64(0) for leaf in leaves(value)} | {LANE: np.arange(LANES)}
    return np.broadcast_to(np.asarray(evaluate(value, inputs)), LANES)


def _addresses(shape: RegisterShape, layout: str, place: Place) -> list[Int]:
    return [place(*shape.element(layout, LANE, index)) for index in range(shape.elements)]


def _plain(direction: Direction, addresses: list[Int], size: int, width: int) -> list[Piece]:
    if width < 2:
        raise BuildError(
            "lds-bytes", "neighbouring bytes of a lane lie apart in LDS, and single ones are not packed into registers",
            fix="use a layout and a shared shape that keep 4 bytes of a lane together",
        )  # fmt: skip
    step = width // size
    return [Piece(direction, width, first, addresses[first]) for first in range(0, len(addresses), step)]


def _widest(addresses: list[Int], size: int) -> int:
    """The widest access in bytes that moves whole runs of a lane's elements, in every lane; one element's at least."""
    return next(
        (width for width in WIDTHS if size < width <= len(addresses) * size and _together(addresses, size, width)), size
    )


def _together(addresses: list[Int], size: int, width: int) -> bool:
    """Whether each ``width`` bytes of elements lie together and aligned in LDS, in every lane."""
    run = width // size
    values = np.stack([lane_values(address) for address in addresses]).reshape(-1, run, LANES)
    expected = values[:, :1] + np.arange(run)[None, :, None] * size
    return bool((values == expected).all() and (values[:, 0] % width == 0).all())


def _transposed(shape: RegisterShape, size: int, place: Place) -> list[Piece]:
    """Column layout by reads that exchange elements between 16 lanes; none where they cannot serve the shapes.

    Each lane fetches n = 8 / size neighbours of a row. Lane q of a group fetches columns n * (q % (16 / n)) and up, of
    the group's 16, in the row of the destination's element q * n // 16 (measured for 16 bits on Triton's kernels).
    """
    run = TRANSPOSED_BYTES // size
    if shape.cols < GROUP or shape.stride % run:
        return []
    pieces = []
    for first in range(0, shape.elements, run):
        row, column = shape.element("col", LANE // GROUP * GROUP, first)
        source = [
            place(row + LANE % GROUP // (GROUP // run), column + LANE % (GROUP // run) * run + i) for i in range(run)
        ]
        if not _together(source, size, TRANSPOSED_BYTES):
            return []
        pieces.append(Piece("transpose", TRANSPOSED_BYTES, first, source[0]))
    return pieces
