"""Matrix multiplication with one K-tile in LDS and the next one in registers: C = A Bᵀ or A B, for gfx942, whose 64 KiB
of LDS hold no two K-tiles of 256 x 256.
"""

from __future__ import annotations

from pykittens.schedule import PingPong, grid
from pykittens.tile import (
    barrier,
    current,
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
from pykittens.tile.dtypes import get

from .epilogue import Epilogue
from .product import Product

TILES = ((256, 256), (128, 256))
"""Rows and columns of C for one workgroup; the first is the usual one."""
SLICES = 2
"""Parts of a K-tile along K: 16 bytes of each lane's row."""


@kernel(waves=(2, 4))
def gemm_staged(
    A: gl("dtype", rank="rank"), B: gl("dtype", rank="rank"), C: gl("out", rank="rank"), *, dtype="bf16", out="bf16",
    layout="ABt", tile="auto", rank=2, order=grid.modelled, **epilogue: Epilogue,
):  # fmt: skip
    """C[M, N] = A[M, K] B[N, K]ᵀ ("ABt") or A[M, K] B[K, N] ("AB"): ping-pong, the next K-tile staged in registers."""
    A, B, C = grid.batch(A, B, C)
    size = grid.tile(tile, TILES)
    place = grid.place(order, A, C, size)
    multiply(A, B, C, Epilogue(**epilogue).bind(C), place, size, dtype, layout)


def multiply(A, B, C, result, place, size, dtype, layout, mfma="16x16"):
    """One workgroup's ``size`` = (rows, columns) of C at ``place``, counted in such tiles, through the epilogue."""
    if get(dtype).bits == 8:
        current().require_arch("gfx942", f"gemm_staged of {dtype}")  # gfx950's 8-bit MFMA takes a K-tile at once
    height, width = size
    rows, cols = height // 4, width // 8
    p = Product(
        A, B, C, dtype, layout, halves=(height // 2, width // 2), part=(rows, cols), place=place,
        wave=(wave.row, wave.col), stages=1, mfma=mfma, turn=True,
    )  # fmt: skip
    depth = p.depth // SLICES
    a = rt(dtype, rows, depth, copies=2, name="a")
    b = rt(dtype, cols, depth, copies=2, name="b")
    c = rt(f32, rows, cols, copies=(2, 2), name="c", file="agpr")
    next_a = [staging(p.As[0, h], name=f"next_a[{h}]") for h in range(2)]
    next_b = [staging(p.Bs[0, h], name=f"next_b[{h}]", transposed=p.turned) for h in range(2)]

    def stage_a(t):
        return tuple(load(next_a[h], p.source_a(minimum(t, p.whole - 1), h), edges="inside") for h in range(2))

    def stage_b(t):
        return tuple(load(next_b[h], p.source_b(minimum(t, p.whole - 1), h), edges=p.edges_b) for h in range(2))

    def write():
        return tuple(store(p.As[0, h], next_a[h]) for h in range(2)) + tuple(
            store(p.Bs[0, h], next_b[h]) for h in range(2)
        )

    def read_a(s, h):
        return load(a[h], p.slice_a(s, depth, h))

    def read_b(s):
        return tuple(load(b[h], p.slice_b(s, depth, h)) for h in range(2))

    def math(h):
        return tuple(p.mma(c[h, j], a[h], b[j]) for j in range(2))

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
            turns.phase("00", read_a(0, 0), read_b(0), stage_a(t + 1), math(0))
            turns.phase("01", read_a(0, 1), read_a(1, 0), stage_b(t + 1), math(1))
            turns.phase("10", read_a(1, 1), read_b(1), math(0))
            turns.phase("11", write(), math(1), wait=p.tiles(0))
        turns.end()

    def multiply():
        for s in range(SLICES):
            read_b(s)
            for h in range(2):
                read_a(s, h)
                math(h)

    p.remaining(multiply)
    for i in range(2):
        for j in range(2):
            result.store((2 * place[0] + i) * 2 + wave.row, (2 * place[1] + j) * 4 + wave.col, c[i, j])
