"""Matrix multiplication with producer and consumer waves (the paper's Table 2): C = A Bᵀ, 16-bit inputs, for gfx950."""

from __future__ import annotations

from pykittens.schedule import Specialize, grid
from pykittens.tile import f32, gl, kernel, load, rt, when, zero

from .epilogue import Epilogue
from .product import Product

PRODUCERS = 4
TILES = ((128, 256), (192, 256))
"""Rows and columns of a workgroup; each consumer computes 64 x 64."""
SHARED = "16x32"
"""The published kernels' subtiles, kept for comparison: a copy takes 64 bytes of each of 16 rows, half of a line, and
the vector L1 is busy with it as long as with whole ones."""
SLICE = 32
"""Depth along K of what a consumer holds of A and B: 16 waves have 128 registers each, 64 of them accumulators."""


def waves(arch: str, options: dict) -> tuple[int, int]:
    """4 producers and 8 consumers, or 4 and 12."""
    height, width = grid.tile(options["tile"], TILES)
    return PRODUCERS // 4 + height // 64, width // 64


@kernel(waves=waves, archs=("gfx950",))  # two stages take up to 112 KiB of LDS
def gemm_specialized(
    A: gl("dtype"), B: gl("dtype"), C: gl("out"), *, dtype="bf16", out="bf16", tile="128x256", stages=2,
    sync="barriers", order=grid.modelled, **epilogue: Epilogue,
):  # fmt: skip
    """C[M, N] = A[M, K] B[N, K]ᵀ: 4 producer waves copy for 8 or 12 consumer waves (paper, Table 2)."""
    height, width = grid.tile(tile, TILES)
    place = grid.place(order, A, C, (height, width))
    result = Epilogue(**epilogue).bind(C)
    roles = Specialize(PRODUCERS)
    across = width // 64
    row, col = roles.consumer // across, roles.consumer % across
    p = Product(
        A, B, C, dtype, "ABt", halves=(height // 2, width // 2), part=(32, 32), place=place, wave=(row, col),
        stages=stages, team=roles.team, shared=SHARED,
    )  # fmt: skip
    a, b = (rt(dtype, 32, SLICE, copies=2) for _ in range(2))
    c = rt(f32, 32, 32, copies=(2, 2), file="agpr")

    def copy(t):
        for h in range(2):
            p.copy_b(t, h), p.copy_a(t, h)

    def multiply(t, release):
        for k in range(0, p.depth, SLICE):
            for h in range(2):
                load(b[h], p.Bs[t % stages, h].subtile(32, SLICE, col, k // SLICE))
                load(a[h], p.As[t % stages, h].subtile(32, SLICE, row, k // SLICE))
            more = k + SLICE < p.depth
            if not more:
                release()
            with roles.compute(*a, *b, more=more):
                for i in range(2):
                    for j in range(2):
                        p.mma(c[i, j], a[i], b[j])

    with roles.consume():  # while the producers' first copies are on their way
        for each in c:
            zero(each)
    with when(p.whole > 0):
        roles.run(p.whole, copy, multiply, p.tiles, stages=stages, sync=sync)

    def multiply_rest():
        with roles.consume():
            multiply(0, lambda: None)

    p.remaining(multiply_rest)
    with roles.consume():
        for i in range(2):
            for j in range(2):
                result.store((2 * place[0] + i) * (height // 64) + row, (2 * place[1] + j) * across + col, c[i, j])
