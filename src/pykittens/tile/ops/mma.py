"""`mma_ABt`, `mma_AB`, `mma_AtB`, `mma_AtBt`: c += a b on the matrix cores, where t says which operand is stored
transposed; the MFMA is the one of the operands' base tiles.

An accumulator in column layout takes the product as it is; one in row layout takes the transposed product, which is
the same MFMA with its operands exchanged, so that a lane holds neighbouring columns of one row and can store them in
one piece.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa import DEFINITIONS
from pykittens.isa.mfma import F8F6F4

from ..dtypes import DType, f32
from ..op import Op, Touches
from ..tiles import rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

ACCUMULATOR_STRIDE = 4
"""Consecutive rows of D that a lane of an MFMA with f32 results holds."""


@cache
def matrix_instruction(m: int, n: int, k: int, a: DType, b: DType, arch: str) -> tuple[str, dict[str, int]]:
    """The dense MFMA of this shape and these input types with f32 accumulation, and its format modifiers."""
    for name, definition in DEFINITIONS.items():
        shape = definition.mfma
        if shape is None or arch not in definition.archs or shape.sparse or shape.scaled or shape.blocks != 1:
            continue
        if (shape.m, shape.n, shape.k, shape.d) != (m, n, k, "f32"):
            continue
        if (shape.a, shape.b) == (a.matrix, b.matrix):
            return name, {}
        if shape.a == "f8f6f4" and a.name in F8F6F4 and b.name in F8F6F4:
            return name, {"cbsz": F8F6F4.index(a.name), "blgp": F8F6F4.index(b.name)}
    what = a.name if a is b else f"{a} and {b}"
    raise BuildError("mma-instruction", f"{arch} has no {m}x{n}x{k} MFMA for {what}", fix="use other base shapes")


@cache
def matrix_instructions(m: int, n: int, k: int, a: DType, b: DType, arch: str) -> tuple[str, dict[str, int], int]:
    """(name, modifiers, count) of the MFMAs for base tiles of this shape: one, or several that each take as many of a
    lane's elements. Then they sum over K in another order than the tile has it, the same for both operands.
    """
    for count in (1, 2, 4):
        try:
            return *matrix_instruction(m, n, k // count, a, b, arch), count
        except BuildError:
            continue
    matrix_instruction(m, n, k, a, b, arch)
    raise AssertionError


class Mma(Op):
    """``op(c, a, b)``: c is M x N in f32. a is M x K in row layout, or K x M in column layout (At); b is K x N in
    column layout, or N x K in row layout (Bt). a and b: both bf16, both f16, or any two 8-bit floats of the chip.
    """

    computes = True

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]
        self.a_layout = "col" if "At" in name else "row"
        self.b_layout = "row" if "Bt" in name else "col"

    def _sizes(self, c: rt, a: rt, b: rt) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
        """(M, N, K of a, K of b) of the tiles, and of their base tiles."""
        sizes = []
        for left, right in ((a, b), (a.shape, b.shape)):
            m, depth_a = (left.rows, left.cols) if self.a_layout == "row" else (left.cols, left.rows)
            n, depth_b = (right.rows, right.cols) if self.b_layout == "row" else (right.cols, right.rows)
            sizes.append((m, n, depth_a, depth_b))
        return sizes[0], sizes[1]

    def check(self, c: rt, a: rt, b: rt) -> None:
        where = user_line()
        for tile in (c, a, b):
            if not isinstance(tile, rt):
                raise BuildError(
                    "op-arguments", f"{self.name} takes register tiles, not {type(tile).__name__}", where=where
                )
        if c.dtype is not f32 or a.dtype.bits != b.dtype.bits or (a.dtype.bits != 8 and a.dtype is not b.dtype):
            raise BuildError(
                "mma-dtype",
                f"{self.name} takes f32 and two bf16, two f16 or two 8-bit tiles, not {c.dtype}, {a.dtype}, {b.dtype}",
                where=where,
            )  # fmt: skip
        if a.layout != self.a_layout or b.layout != self.b_layout:
            raise BuildError(
                "mma-layout",
                f"{self.name} takes a in {self.a_layout} and b in {self.b_layout} layout, not {a.layout} and "
                f"{b.layout}", where=where,
            )  # fmt: skip
        (rows, cols, depth, b_depth), (m, n, k, b_base) = self._sizes(c, a, b)
        if (c.rows, c.cols, depth) != (rows, cols, b_depth):
            raise BuildError(
                "mma-shape", f"{self.name}: a is {a.rows}x{a.cols}, b is {b.rows}x{b.cols}, c is {c.rows}x{c.cols}",
                where=where, fix=f"c must be {rows}x{cols} and both depths equal",
            )  # fmt: skip
        # Any order along K is right if a and b agree on it; where C lies is the instruction's.
        fits = (m, n, ACCUMULATOR_STRIDE) == (c.shape.rows, c.shape.cols, c.shape.stride)
        if not fits or k != b_base or a.shape.stride != b.shape.stride:
            raise BuildError(
                "mma-base",
                f"{self.name}: base tiles {a.shape.name}, {b.shape.name} and {c.shape.name} belong to no MFMA",
                where=where,
            )  # fmt: skip

    def touches(self, c: rt, a: rt, b: rt) -> Touches:
        return Touches(reads=[c, a, b], writes=[c])

    def lower(self, emit: Lowering, c: rt, a: rt, b: rt) -> None:
        m, n, k, _ = self._sizes(c, a, b)[1]
        types = (a.dtype, b.dtype) if c.layout == "col" else (b.dtype, a.dtype)
        name, formats, count = matrix_instructions(m, n, k, *types, emit.arch)
        size = a.registers_per_base // count
        for j in range(c.grid[1]):
            for i in range(c.grid[0]):
                for step in range(a.grid[1] if self.a_layout == "row" else a.grid[0]):
                    left = a.base(i, step) if self.a_layout == "row" else a.base(step, i)
                    right = b.base(j, step) if self.b_layout == "row" else b.base(step, j)
                    if c.layout == "row":
                        left, right = right, left
                    d = c.base(i, j)
                    for part in range(0, count * size, size):
                        taken = slice(part, part + size - 1)
                        emit.ins(name, d, left[taken], right[taken], d, **formats)

    def reference(self, run: Reference, c: rt, a: rt, b: rt) -> None:
        left, right = run.registers(a), run.registers(b)
        left = left if self.a_layout == "row" else left.swapaxes(-1, -2)
        right = right.swapaxes(-1, -2) if self.b_layout == "row" else right
        run.registers(c)[:] += np.asarray(left @ right)


mma_ABt = Mma("mma_ABt")
mma_AB = Mma("mma_AB")
mma_AtB = Mma("mma_AtB")
mma_AtBt = Mma("mma_AtBt")
