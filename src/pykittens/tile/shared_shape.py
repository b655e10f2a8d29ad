"""Shapes of shared tiles: how the bytes of a subtile are permuted in LDS so that accesses meet no bank twice.

Every swizzle XORs low bits of a byte offset with higher bits that it leaves alone, so it is its own inverse: the same
function gives the LDS address of an element and the element that belongs at an address. Shapes are HipKittens'.
"""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.errors import BuildError

from .expression import Int


@dataclass(frozen=True)
class SharedShape:
    """A subtile of ``rows`` x ``cols`` elements; ``xors`` are (modulus, right shift, left shift) of offset bits, in
    bytes.
    """

    name: str
    rows: int
    cols: int
    xors: tuple[tuple[int, int, int], ...] = ()

    def swizzle(self, offset: Int) -> Int:
        """Byte offset inside the subtile, row-major, to its place in LDS (and back).

        Of numbers, run-time expressions or NumPy arrays.
        """
        place = offset
        for modulus, right, left in self.xors:
            # Both sides are of one kind, that of `offset`.
            place = place ^ (((offset % modulus) >> right) << left)
        return place

    def run_bytes(self, size: int) -> int:
        """Bytes of a row that lie together in LDS, aligned to as many: what one access may move, elements of
        ``size``.
        """
        return min([self.cols * size, *(1 << left for _, _, left in self.xors)])

    def address(self, row: Int, col: Int, cols: int, size: int) -> Int:
        """Byte address of an element of ``size`` bytes in a tile ``cols`` wide: subtiles row-major, each swizzled."""
        subtile = (row // self.rows) * (cols // self.cols) + col // self.cols
        inside = ((row % self.rows) * self.cols + col % self.cols) * size
        return subtile * (self.rows * self.cols * size) + self.swizzle(inside)


_TABLE = (
    ("16x16", 16, 16, ()), ("16x16_swizzled", 16, 16, ((512, 7, 3),)), ("32x32", 32, 32, ((1024, 9, 5), (2048, 10, 4))),
    ("16x32", 16, 32, ((1024, 9, 5),)), ("32x16", 32, 16, ((1024, 9, 4),)), ("8x32", 8, 32, ()),
    ("16x128", 16, 128, ((2048, 8, 4),)),
)  # fmt: skip
SHAPES = {name: SharedShape(name, rows, cols, xors) for name, rows, cols, xors in _TABLE}
"""HipKittens' shapes, for the banks of gfx950."""

_SOLVED = (
    ("16x64", 16, 64, ((512, 8, 6), (2048, 8, 4), (2048, 10, 5))),
    ("16x64_32_banks", 16, 64, ((512, 7, 5), (2048, 9, 5))), ("16x32_32_banks", 16, 32, ((256, 7, 5),)),
    ("16x128_32_banks", 16, 128, ((512, 7, 5), (2048, 9, 5))),
    ("32x128_tr", 32, 128, ((1024, 8, 5), (4096, 11, 4))), ("32x64_tr", 32, 64, ((512, 8, 5), (2048, 10, 4))),
)  # fmt: skip
SOLVED = {name: SharedShape(name, rows, cols, xors) for name, rows, cols, xors in _SOLVED}
"""Shapes that the solver found, all for copies of 16 bytes a lane.

``16x64`` is for 16 bits on gfx950: its rows are whole lines of 128 bytes, which the vector L1 takes as fast as it takes
half of one, and every operand of the MFMAs is read from it without conflicts, rows and (transposing) columns, of 16 and
of 32; nor does what `transposed_copy` writes meet any. Those for 32 banks are gfx942's: rows read 16 bytes a lane, and
where they are 128 bytes long, what `transposed_copy` writes. ``32x128_tr`` and ``32x64_tr`` are for transposing reads
of columns of 8 bits.
"""


def default(arch: str, bits: int, cols: int) -> str:
    """The shape of a tile of so many columns of ``bits`` bits for which none is named."""
    if bits == 32:
        return "16x32"
    if arch == "gfx950":
        return "16x128" if bits == 8 else "16x64" if cols % 64 == 0 else "16x32"
    if bits == 8:
        return "16x128_32_banks"
    return "16x64_32_banks" if cols % 64 == 0 else "16x32_32_banks"


def get(name: str | SharedShape) -> SharedShape:
    """A shared shape by its name without the ``st_`` of HipKittens, or one made for the purpose (swizzle_solver.py)."""
    if isinstance(name, SharedShape):
        return name
    known = {**SHAPES, **SOLVED}
    if name not in known:
        raise BuildError("shared-shape", f"no shared shape {name!r}", fix=f"use one of {', '.join(known)}")
    return known[name]
