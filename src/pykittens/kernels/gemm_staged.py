"""Matrix multiplication with one K-tile in LDS and the next one in registers: C = A Bᵀ, 256 x 256 x 64 on gfx942, whose
64 KiB of LDS hold no two.
"""

from __future__ import annotations

from pykittens.schedule import PingPong, grid
from pykittens.tile import (
    barrier,
    f32,
    gl,
    kernel,
    load,
    loop,
    minimum,
    rt,
    staging,
    store,
    wait_for,
    wave,
    when,
    zero,
)  # fmt: skip

from .epilogue import Epilogue
from .product import Product

TILE = 256
SLICES = 4
"""Parts of a K-tile along K; two of them are in registers at a time."""


@kernel(waves=(2, 4))
def gemm_staged(
    A: gl("dtype", rank="rank"), B: gl("dtype", rank="rank"), C: gl("out", rank="rank"), *, dtype="bf16", out="bf16",
    rank=2, order=grid.modelled, **epilogue: Epilogue,
):  # fmt: skip
    """C[M, N] = A[M, K] B[N, K]ᵀ: 8 waves in ping-pong, the next K-tile staged in registers (gfx942)."""
    A, B, C = grid.batch(A, B, C)
    place = grid.place(order, A, C, (TILE, TILE))
    result = Epilogue(**epilogue).bind(C)
    rows, cols = TILE // 4, TILE // 8
    p = Product(
        A, B, C, dtype, "ABt", halves=(TILE // 2, TILE // 2), part=(rows, cols), place=place,
        wave=(wave.row, wave.col), stages=1,
    )  # fmt: skip
    depth = p.depth // SLICES
    a = rt(dtype, rows, depth, copies=(2, 2), shape="16x16")  # [slice % 2, half]
    b = rt(dtype, cols, depth, copies=(2, 2), shape="16x16")
    c = rt(f32, rows, cols, copies=(2, 2), file="agpr")
    next_a = [staging(p.As[0, h], name=f"next_a[{h}]") for h in range(2)]
    next_b = [staging(p.Bs[0, h], name=f"next_b[{h}]") for h in range(2)]

    def stage_a(t):
        return tuple(load(next_a[h], p.source_a(minimum(t, p.whole - 1), h), edges="inside") for h in range(2))

    def stage_b(t):
        return tuple(load(next_b[h], p.source_b(minimum(t, p.whole - 1), h), edges="inside") for h in range(2))

    def write():
        return tuple(store(p.As[0, h], next_a[h]) for h in range(2)) + tuple(
            store(p.Bs[0, h], next_b[h]) for h in range(2)
        )

    def read(s):
        return tuple(load(a[s % 2, h], p.slice_a(s, depth, h)) for h in range(2)) + tuple(
            load(b[s % 2, h], p.slice_b(s, depth, h)) for h in range(2)
        )

    def math(s):
        return tuple(p.mma(c[i, j], a[s % 2, i], b[s % 2, j]) for i in range(2) for j in range(2))

    for each in c:
        zero(each)
    with when(p.whole > 0):
        turns = PingPong(late=wave.row)
        stage_a(0), stage_b(0), write()
        turns.begin()
        wait_for(*p.tiles(0))
        barrier()
        barrier()
        for t in loop(p.whole):  # one phase a line: LDS reads | the next K-tile | MFMA cluster
            turns.phase("0", read(0), stage_a(t + 1), math(0))
            turns.phase("1", read(1), stage_b(t + 1), math(1))
            turns.phase("2", read(2), read(3), math(2), wait=(*a, *b))
            turns.phase("3", write(), math(3), wait=p.tiles(0))
        turns.end()

    def multiply():
        for s in range(SLICES):
            read(s)
            math(s)

    p.remaining(multiply)
    for i in range(2):
        for j in range(2):
            result.store((2 * place[0] + i) * 2 + wave.row, (2 * place[1] + j) * 4 + wave.col, c[i, j])
