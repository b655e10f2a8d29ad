"""`mma_ABt`, `mma_AB`: c += a bᵀ and c += a b on the matrix cores, in the MFMA shape that the operands' base tiles
have.

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

from ..dtypes import f32
from ..op import Op, Touches
from ..tiles import rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference


@cache
def matrix_instruction(m: int, n: int, k: int, dtype: str, arch: str) -> str:
    """The dense MFMA of this shape and input type with f32 accumulation."""
    for name, definition in DEFINITIONS.items():
        shape = definition.mfma
        if shape is None or arch not in definition.archs or shape.sparse or shape.scaled or shape.blocks != 1:
            continue
        if (shape.m, shape.n, shape.k, shape.a, shape.b, shape.d) == (m, n, k, dtype, dtype, "f32"):
            return name
    raise BuildError("mma-instruction", f"{arch} has no {m}x{n}x{k} MFMA for {dtype}", fix="use other base shapes")


class Mma(Op):
    """``op(c, a, b)``: c f32; a M x K in row layout; b N x K in row layout (ABt) or K x N in column layout (AB),
    16-bit floats.
    """

    computes = True

    def __init__(self, name: str, b_layout: str) -> None:
        self.name = name  # type: ignore[misc]
        self.b_layout = b_layout

    def _sizes(self, c: rt, a: rt, b: rt) -> tuple[int, int, int, int, int, int]:
        """(M, N, K) of the tiles and (m, n, k) of the base tiles."""
        transposed = self.b_layout == "row"
        n_tile, n_base = (b.rows, b.shape.rows) if transposed else (b.cols, b.shape.cols)
        return a.rows, n_tile, a.cols, a.shape.rows, n_base, a.shape.cols

    def check(self, c: rt, a: rt, b: rt) -> None:
        where = user_line()
        for tile in (c, a, b):
            if not isinstance(tile, rt):
                raise BuildError(
                    "op-arguments", f"{self.name} takes register tiles, not {type(tile).__name__}", where=where
                )
        if a.dtype is not b.dtype or a.dtype.bits != 16 or c.dtype is not f32:
            raise BuildError(
                "mma-dtype",
                f"{self.name} takes f32 and two bf16 or two f16 tiles, not {c.dtype}, {a.dtype}, {b.dtype}",
                where=where,
            )  # fmt: skip
        if a.layout != "row" or b.layout != self.b_layout:
            raise BuildError(
                "mma-layout",
                f"{self.name} takes a in row and b in {self.b_layout} layout, not {a.layout} and {b.layout}",
                where=where,
            )  # fmt: skip
        rows, cols, depth, m, n, k = self._sizes(c, a, b)
        b_depth, b_base = (b.cols, b.shape.cols) if self.b_layout == "row" else (b.rows, b.shape.rows)
        if (c.rows, c.cols, depth) != (rows, cols, b_depth):
            raise BuildError(
                "mma-shape", f"{self.name}: a is {a.rows}x{a.cols}, b is {b.rows}x{b.cols}, c is {c.rows}x{c.cols}",
                where=where, fix=f"c must be {rows}x{cols} and both depths equal",
            )  # fmt: skip
        if (m, n) != (c.shape.rows, c.shape.cols) or k != b_base or a.shape.stride != b.shape.stride:
            raise BuildError(
                "mma-base",
                f"{self.name}: base tiles {a.shape.name}, {b.shape.name} and {c.shape.name} belong to no MFMA",
                where=where,
            )  # fmt: skip

    def touches(self, c: rt, a: rt, b: rt) -> Touches:
        return Touches(reads=[c, a, b], writes=[c])

    def lower(self, emit: Lowering, c: rt, a: rt, b: rt) -> None:
        _, _, _, m, n, k = self._sizes(c, a, b)
        name = matrix_instruction(m, n, k, a.dtype.name, emit.arch)
        for j in range(c.grid[1]):
            for i in range(c.grid[0]):
                for step in range(a.grid[1]):
                    left, right = a.base(i, step), b.base(j, step) if self.b_layout == "row" else b.base(step, j)
                    if c.layout == "row":
                        left, right = right, left
                    d = c.base(i, j)
                    emit.ins(name, d, left, right, d)

    def reference(self, run: Reference, c: rt, a: rt, b: rt) -> None:
        right = run.registers(b)
        product = run.registers(a) @ (right.swapaxes(-1, -2) if self.b_layout == "row" else right)
        run.registers(c)[:] += np.asarray(product)


mma_ABt = Mma("mma_ABt", "row")
mma_AB = Mma("mma_AB", "col")
