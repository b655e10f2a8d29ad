"""HipKittens' ping-pong GEMM for 192 x 256 in our language: each K-tile ends when all copies under way have landed.

Its tile does not divide evenly among the waves, so that their counts of copies differ, and it waits with vmcnt(0),
behind the last copies of a K-tile; ours waits before them.
"""

from __future__ import annotations

from pykittens.kernels.epilogue import Epilogue
from pykittens.kernels.product import Product
from pykittens.schedule import PingPong, grid
from pykittens.tile import barrier, f32, gl, kernel, load, loop, rt, wait_for, wave, when, zero

TILE = (192, 256)


@kernel(waves=(2, 4))
def gemm_drained(A: gl("bf16"), B: gl("bf16"), C: gl("bf16"), *, order=grid.modelled):
    """C[M, N] = A[M, K] B[N, K]ᵀ: 8 waves in ping-pong that wait for all their copies; whole K-tiles of 64 only."""
    height, width = TILE
    place = grid.place(order, A, C, TILE)
    result = Epilogue().bind(C)
    part = (height // 4, width // 8)
    p = Product(
        A, B, C, "bf16", "ABt", halves=(height // 2, width // 2), part=part, place=place, wave=(wave.row, wave.col),
        shared="16x32",  # the published kernel's subtiles: copies take halves of lines
    )  # fmt: skip
    a, b = p.a_tile(), p.b_tile(copies=2)
    c = rt(f32, *part, copies=(2, 2), file="agpr")

    def math(i, j):
        return p.mma(c[i, j], a, b[j])

    with when(p.whole > 0):
        turns = PingPong(late=wave.row)
        for h in range(2):
            p.copy_b(0, h), p.copy_a(0, h)
        for each in c:  # while the first copies are on their way
            zero(each)
        turns.begin()
        wait_for(*p.tiles(0))
        barrier()
        p.copy_b(1, 0), p.copy_a(1, 0), p.copy_b(1, 1)
        barrier()
        for t in loop(p.whole, unroll=2):
            turns.phase("00", load(b[0], p.view_b(t, 0)), load(a, p.view_a(t, 0)), p.copy_a(t + 1, 1), math(0, 0))
            turns.phase("01", load(b[1], p.view_b(t, 1)), p.copy_b(t + 2, 0), math(0, 1))
            turns.phase("10", load(a, p.view_a(t, 1)), p.copy_a(t + 2, 0), math(1, 0))
            wait_for(*p.tiles(t), *p.tiles(t + 1))
            turns.phase("11", p.copy_b(t + 2, 1), math(1, 1))
        turns.end()
    for i in range(2):
        for j in range(2):
            result.store((2 * place[0] + i) * 2 + wave.row, (2 * place[1] + j) * 4 + wave.col, c[i, j])
