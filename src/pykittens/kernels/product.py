"""The two factors of a matrix product: their tiles in LDS, copies of K-tiles into them, a wave's reads of its part.

Every GEMM here has one of these; the kernels differ in sizes, in registers and in when things happen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pykittens import arch as chips
from pykittens.errors import InputError
from pykittens.tile import (
    barrier,
    cdiv,
    current,
    gl,
    load,
    loop,
    minimum,
    mma_AB,
    mma_ABt,
    require_equal,
    rt,
    select,
    st,
    wait_for,
    when,
)
from pykittens.tile.dtypes import get
from pykittens.tile.expression import Int, binary
from pykittens.tile.global_tensor import GlobalTile
from pykittens.tile.team import Team
from pykittens.tile.tiles import SharedView
from pykittens.tile.trace import OpCall

K_TILE_BITS = 1024
"""Bits of a row in a K-tile: 64 elements of 16 bits, 128 of 8."""
LAYOUTS = ("ABt", "AB")


class Product:
    """C[M, N] = A[M, K] times B[N, K] transposed (layout ``ABt``) or B[K, N] (``AB``), for one workgroup.

    halves: rows of A and columns of B in one shared tile; a workgroup has two of each, with ``stages`` K-tiles in LDS.
    part: rows and columns that a wave reads of a half. place: (row, column) of the workgroup's tile. wave: of the wave
    in its grid. ``team``: the waves that copy, if not all do. mfma: rows x columns of the MFMA, ``16x16`` or (16-bit
    types on gfx950) ``32x32``. shared: the shape of the shared tiles, if not the usual one, whose copies take whole
    lines.

    B[K, N] stays K x N in LDS where transposing reads give an MFMA its operand; else, or with ``turn``, copies
    transpose it.
    """

    def __init__(
        self, A: gl, B: gl, C: gl, dtype: str, layout: str, *, halves: tuple[int, int], part: tuple[int, int],
        place: tuple[Int, Int], wave: tuple[Int, Int], stages: int = 2, team: Team | None = None, mfma: str = "16x16",
        turn: bool = False, shared: str | None = None,
    ) -> None:  # fmt: skip
        if layout not in LAYOUTS:
            raise InputError("option-value", f"layout is {layout!r}", fix=f"use one of {', '.join(LAYOUTS)}")
        self.A, self.B, self.transposed = A, B, layout == "ABt"
        self.team = team
        if mfma not in ("16x16", "32x32"):
            raise InputError("option-value", f"mfma is {mfma!r}", fix="use 16x16 or 32x32")
        self.wide = mfma == "32x32"
        if self.wide:
            current().require_arch("gfx950", "mfma 32x32")
        self.halves, self.part, self.place, self.wave = halves, part, place, wave
        self.dtype, self.depth, self.stages = dtype, K_TILE_BITS // get(dtype).bits, stages
        b_cols, b_depth = (B.rows, B.cols) if self.transposed else (B.cols, B.rows)
        require_equal(C.rows, A.rows, "C and A must have the same M (rows)")
        require_equal(C.cols, b_cols, "C and B must have the same N")
        require_equal(A.cols, b_depth, "A and B must have the same K")
        # Tiles that lie whole in K are copied 16 bytes a lane; the last part of K, and rows not 4-byte aligned, by
        # element.
        self.whole = select(binary("and", A.aligned(4), B.aligned(4)), A.cols // self.depth, 0)
        self.As: Any = st(
            dtype, halves[0], self.depth, shared, copies=(stages, 2), name="As"
        )  # [K-tile % stages, half]
        reads_transposed = chips.get(current().arch).transposing_lds_reads
        self.turned = not self.transposed and (turn or not reads_transposed)
        self.edges_b = "inside" if self.transposed else "any"
        self.by_rows = self.transposed or self.turned  # B lies N x K in LDS
        size = (halves[1], self.depth) if self.by_rows else (self.depth, halves[1])
        if get(dtype).bits == 8 and not self.by_rows:
            shared = "32x64_tr" if halves[1] % 128 else "32x128_tr"
        self.Bs: Any = st(dtype, *size, shared, copies=(stages, 2), name="Bs")

    # -- registers -------------------------------------------------------------------------------------------
    def a_tile(self, **options: Any) -> Any:
        """Registers for a wave's part of a half of A."""
        return rt(self.dtype, self.part[0], self.depth, shape="32x16" if self.wide else None, **options)

    def b_tile(self, **options: Any) -> Any:
        """Registers for a wave's part of a half of B."""
        if self.by_rows:
            return rt(self.dtype, self.part[1], self.depth, shape="32x16" if self.wide else None, **options)
        return rt(self.dtype, self.depth, self.part[1], "col", shape="16x32" if self.wide else None, **options)

    @property
    def mma(self) -> Any:
        """The op that multiplies `a_tile` and `b_tile`."""
        return mma_ABt if self.by_rows else mma_AB

    # -- memory ----------------------------------------------------------------------------------------------
    def copy_a(self, t: Int, half: int) -> OpCall:
        """The copy of K-tile t, the last whole one at most, of a half of A into its stage of LDS."""
        source = self.source_a(minimum(t, self.whole - 1), half)
        return load(self.As[t % self.stages, half], source, edges="inside", team=self.team)

    def copy_b(self, t: Int, half: int) -> OpCall:
        """The same of B."""
        source = self.source_b(minimum(t, self.whole - 1), half)
        return load(
            self.Bs[t % self.stages, half], source, edges=self.edges_b, team=self.team, transposed=self.turned,
        )  # fmt: skip

    def source_a(self, t: Int, half: int) -> GlobalTile:
        """Where a half of A's K-tile t is in memory."""
        return self.A.tile(2 * self.place[0] + half, t)

    def source_b(self, t: Int, half: int) -> GlobalTile:
        """The same of B."""
        col = 2 * self.place[1] + half
        return self.B.tile(col, t) if self.transposed else self.B.tile(t, col)

    def view_a(self, t: Int, half: int) -> SharedView:
        """What this wave reads of a half of A."""
        view: SharedView = self.As[t % self.stages, half].subtile(self.part[0], self.depth, self.wave[0], 0)
        return view

    def view_b(self, t: Int, half: int) -> SharedView:
        """What this wave reads of a half of B."""
        tile = self.Bs[t % self.stages, half]
        if self.by_rows:
            view: SharedView = tile.subtile(self.part[1], self.depth, self.wave[1], 0)
        else:
            view = tile.subtile(self.depth, self.part[1], 0, self.wave[1])
        return view

    def slice_a(self, index: int, depth: int, half: int) -> SharedView:
        """The part of `view_a` in a one-stage LDS that is ``depth`` elements long, counted in such parts along K."""
        view: SharedView = self.As[0, half].subtile(self.part[0], depth, self.wave[0], index)
        return view

    def slice_b(self, index: int, depth: int, half: int) -> SharedView:
        """The same of B, which lies N x K."""
        view: SharedView = self.Bs[0, half].subtile(self.part[1], depth, self.wave[1], index)
        return view

    def tiles(self, t: Int) -> tuple[st, st, st, st]:
        """The four shared tiles of K-tile t."""
        stage = t % self.stages
        return self.As[stage, 0], self.As[stage, 1], self.Bs[stage, 0], self.Bs[stage, 1]

    def remaining(self, multiply: Callable[[], None]) -> None:
        """The K-tiles that `copy_a` and `copy_b` do not take, one after the other in stage 0; ``multiply`` is what
        follows when all waves have one.
        """
        end = cdiv(self.A.cols, self.depth)
        with when(self.whole < end):  # what the K-tiles' places follow from is computed only if there are any
            for t in loop(self.whole, end):
                wait_for(*self.tiles(0))
                barrier()
                for half in range(2):
                    load(self.As[0, half], self.source_a(t, half), edges="zero")
                    load(self.Bs[0, half], self.source_b(t, half), edges="zero", transposed=self.turned)
                wait_for(*self.tiles(0))
                barrier()
                multiply()
