"""Matrix multiplication in 8-wave ping-pong: C = A Bᵀ or C = A B, 16- or 8-bit inputs, f32 accumulation, any sizes in
one code object.
"""

from __future__ import annotations

from pykittens.schedule import PingPong, grid
from pykittens.tile import barrier, current, f32, gl, kernel, load, loop, rt, wait_for, wave, when, zero

from .epilogue import Epilogue
from .gemm_staged import TILES as STAGED_TILES
from .gemm_staged import multiply as multiply_staged
from .product import Product

TILES = {"gfx950": ((256, 256), (192, 256), (128, 128)), "gfx942": STAGED_TILES}
"""Rows and columns of C for one workgroup; the first is the usual one. Two K-tiles of both factors must fit LDS."""


@kernel(waves=(2, 4))
def gemm(
    A: gl("dtype", rank="rank"), B: gl("dtype", rank="rank"), C: gl("out", rank="rank"), *, dtype="bf16", out="bf16",
    layout="ABt", tile="auto", mfma="16x16", rank=2, order=grid.modelled, **epilogue: Epilogue,
):  # fmt: skip
    """C[M, N] = A[M, K] B[N, K]ᵀ (layout "ABt") or A[M, K] B[K, N] ("AB"): 8 waves in ping-pong (paper, Fig. 22)."""
    A, B, C = grid.batch(A, B, C)
    height, width = grid.tile(tile, TILES[current().arch])
    place = grid.place(order, A, C, (height, width))
    multiply(A, B, C, Epilogue(**epilogue).bind(C), place, (height, width), dtype, layout, mfma)


def multiply(A, B, C, result, place, size, dtype, layout, mfma="16x16"):
    """One workgroup's ``size`` = (rows, columns) of C at ``place``, counted in such tiles, through the epilogue."""
    if current().arch == "gfx942":  # whose LDS holds one K-tile, and whose copies to it go through registers
        multiply_staged(A, B, C, result, place, size, dtype, layout, mfma)
        return
    height, width = size
    rows, cols = height // 4, width // 8
    p = Product(
        A, B, C, dtype, layout, halves=(height // 2, width // 2), part=(rows, cols), place=place,
        wave=(wave.row, wave.col), mfma=mfma,
    )  # fmt: skip
    a, b = p.a_tile(name="a"), p.b_tile(name="b", copies=2)
    c = rt(f32, rows, cols, shape=mfma, copies=(2, 2), name="c", file="agpr")

    def read_a(t, h):
        return load(a, p.view_a(t, h))

    def read_b(t, h):
        return load(b[h], p.view_b(t, h))

    def math(i, j):
        return p.mma(c[i, j], a, b[j])

    def clear():
        for part in c:
            zero(part)

    with when(p.whole < 1):
        clear()
    with when(p.whole > 0):
        turns = PingPong(late=wave.row)
        for h in range(2):
            p.copy_b(0, h), p.copy_a(0, h)
        clear()  # while the first copies are on their way
        turns.begin()
        wait_for(*p.tiles(0))
        barrier()
        p.copy_b(1, 0), p.copy_a(1, 0), p.copy_b(1, 1)
        barrier()
        read_b(0, 0)
        for t in loop(p.whole, unroll=2):  # one phase a line: LDS reads | next copy | MFMA cluster
            turns.phase("00", read_a(t, 0), p.copy_a(t + 1, 1), math(0, 0))
            turns.phase("01", read_b(t, 1), p.copy_b(t + 2, 0), math(0, 1))
            turns.phase("10", read_a(t, 1), p.copy_a(t + 2, 0), math(1, 0), wait=(p.Bs[(t + 1) % 2, 0],))
            turns.phase("11", read_b(t + 1, 0), p.copy_b(t + 2, 1), math(1, 1), wait=p.tiles(t + 1))
        turns.end()

    def multiply_rest():
        for i in range(2):
            read_a(0, i)
            for j in range(2):
                read_b(0, j)
                math(i, j)

    p.remaining(multiply_rest)
    for i in range(2):
        for j in range(2):
            result.store((2 * place[0] + i) * 2 + wave.row, (2 * place[1] + j) * 4 + wave.col, c[i, j])
