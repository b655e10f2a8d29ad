"""Matrix multiplication with producer and consumer waves (the paper's Table 2): C = A Bᵀ, 16-bit inputs, for gfx950."""

from __future__ import annotations

from pykittens.schedule import Specialize, grid
from pykittens.tile import barrier, current, f32, gl, kernel, load, loop, rt, wait_for, when, zero

from .epilogue import Epilogue
from .product import Product

PRODUCERS = 4
TILES = {"128x256": (128, 256, 3), "192x256": (192, 256, 2)}
"""Rows and columns of a workgroup, and K-tiles in LDS; each consumer computes 64 x 64."""


def waves(arch: str, options: dict) -> tuple[int, int]:
    """4 producers and 8 consumers, or 4 and 12."""
    height, width = grid.tile(options["tile"], tuple(each[:2] for each in TILES.values()))
    return PRODUCERS // 4 + height // 64, width // 64


@kernel(waves=waves)
def gemm_specialized(
    A: gl("dtype"), B: gl("dtype"), C: gl("out"), *, dtype="bf16", out="bf16", tile="128x256", order=grid.modelled,
    **epilogue: Epilogue,
):  # fmt: skip
    """C[M, N] = A[M, K] B[N, K]ᵀ: 4 producer waves copy for 8 or 12 consumer waves (paper, Table 2)."""
    current().require_arch("gfx950")  # the stages take up to 144 KiB of LDS
    height, width, stages = TILES[tile]
    place = grid.place(order, A, C, (height, width))
    result = Epilogue(**epilogue).bind(C)
    roles = Specialize(PRODUCERS)
    across = width // 64
    row, col = roles.consumer // across, roles.consumer % across
    p = Product(
        A, B, C, dtype, "ABt", halves=(height // 2, width // 2), part=(32, 32), place=place, wave=(row, col),
        stages=stages, team=roles.team,
    )  # fmt: skip
    a, b = p.a_tile(), p.b_tile()
    c = rt(f32, 32, 32, copies=(2, 2), file="agpr")

    def copy(t):
        for h in range(2):
            p.copy_b(t, h), p.copy_a(t, h)

    def multiply(t):
        # 16 waves have 128 registers each: one part of A and of B at a time, each step exchanging one of them.
        load(b, p.view_b(t, 0)), load(a, p.view_a(t, 0))
        p.mma(c[0, 0], a, b)
        load(b, p.view_b(t, 1))
        p.mma(c[0, 1], a, b)
        load(a, p.view_a(t, 1))
        p.mma(c[1, 1], a, b)
        load(b, p.view_b(t, 0))
        p.mma(c[1, 0], a, b)

    for each in c:
        zero(each)
    with when(p.whole > 0):
        with roles.produce():
            for first in range(stages - 1):
                copy(first)
        wait_for(*p.tiles(0))
        barrier()
        for t in loop(p.whole, unroll=stages):
            with roles.produce():
                copy(t + stages - 1)
            with roles.consume():
                multiply(t)
            wait_for(*p.tiles(t + 1))
            barrier()

    def multiply_rest():
        with roles.consume():
            multiply(0)

    p.remaining(multiply_rest)
    with roles.consume():
        for i in range(2):
            for j in range(2):
                result.store((2 * place[0] + i) * (height // 64) + row, (2 * place[1] + j) * across + col, c[i, j])
