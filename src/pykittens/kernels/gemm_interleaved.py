"""Matrix multiplication in 4-wave interleave: C = A Bᵀ, 8- or 16-bit inputs, f32 accumulation, for gfx950.

Each wave holds four accumulators (of 64 x 64, in all of its AGPRs) and both halves of its rows and columns, so that it
reads the next part while it multiplies the last one.
"""

from __future__ import annotations

from pykittens.schedule import Interleave, grid
from pykittens.tile import barrier, f32, gl, kernel, load, loop, rt, wait_for, wave, when, zero

from .epilogue import Epilogue
from .product import Product

TILES = ((256, 256), (128, 128))
"""Rows and columns of C for one workgroup; the first is the usual one, the other for small problems."""


@kernel(waves=(2, 2), archs=("gfx950",))  # it copies to LDS 16 bytes a lane and keeps 128 KiB there
def gemm_interleaved(
    A: gl("dtype", rank="rank"), B: gl("dtype", rank="rank"), C: gl("out", rank="rank"), *, dtype="e4m3fn", out="bf16",
    tile="auto", rank=2, order=grid.modelled, **epilogue: Epilogue,
):  # fmt: skip
    """C[M, N] = A[M, K] B[N, K]ᵀ: 4 waves that interleave MFMAs with reads and copies (paper, section 3.3)."""
    A, B, C = grid.batch(A, B, C)
    height, width = grid.tile(tile, TILES)
    place = grid.place(order, A, C, (height, width))
    result = Epilogue(**epilogue).bind(C)
    part = (height // 4, width // 4)
    p = Product(
        A, B, C, dtype, "ABt", halves=(height // 2, width // 2), part=part, place=place, wave=(wave.row, wave.col)
    )  # fmt: skip
    As, Bs = p.As, p.Bs  # [K-tile % 2, half of the workgroup's rows or columns]
    a, b = p.a_tile(copies=2), p.b_tile(copies=2)
    c = rt(f32, *part, copies=(2, 2), file="agpr")

    def read_a(t, h):
        return load(a[h], p.view_a(t, h))

    def read_b(t, h):
        return load(b[h], p.view_b(t, h))

    def math(i, j):
        return p.mma(c[i, j], a[i], b[j])

    def clear():
        for each in c:
            zero(each)

    with when(p.whole < 1):
        clear()
    with when(p.whole > 0):
        streams = Interleave()
        p.copy_a(0, 0), p.copy_b(0, 0)
        clear()  # while the first copies are on their way
        p.copy_b(0, 1), p.copy_a(0, 1)
        wait_for(As[0, 0], Bs[0, 0])
        barrier()
        read_a(0, 0), read_b(0, 0)
        p.copy_a(1, 0), p.copy_b(1, 0)
        for t in loop(p.whole, unroll=2):  # one cluster a line: MFMAs | LDS reads | copy, all at once
            now, then = t % 2, (t + 1) % 2
            streams.cluster(
                "00", math(0, 0), read_b(t, 1), p.copy_b(t + 1, 1), ready=(a[0], b[0]), landed=(Bs[now, 1],)
            )
            streams.cluster("01", math(0, 1), read_a(t, 1), p.copy_a(t + 1, 1), ready=(b[1],), landed=(As[now, 1],))
            streams.cluster(
                "10", math(1, 0), read_a(t + 1, 0), p.copy_a(t + 2, 0), ready=(a[1],), landed=(As[then, 0],)
            )
            streams.cluster("11", math(1, 1), read_b(t + 1, 0), p.copy_b(t + 2, 0), landed=(Bs[then, 0],))

    def multiply():
        for i in range(2):
            read_a(0, i)
            read_b(0, i)
        for i in range(2):
            for j in range(2):
                math(i, j)

    p.remaining(multiply)
    for i in range(2):
        for j in range(2):
            result.store((2 * place[0] + i) * 2 + wave.row, (2 * place[1] + j) * 2 + wave.col, c[i, j])
