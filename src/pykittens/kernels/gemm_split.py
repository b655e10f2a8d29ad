"""Matrix multiplication for few rows (decoding, M = 1 to 64): the waves of a workgroup share K and add up in LDS.

B is read once, straight into registers, and limits the speed. The partial sums are added in a fixed tree, so that
results do not depend on the order in which waves run.
"""

from __future__ import annotations

from pykittens.schedule import grid
from pykittens.tile import (
    barrier,
    block,
    cdiv,
    f32,
    gl,
    kernel,
    load,
    loop,
    maximum,
    minimum,
    mma_ABt,
    require_equal,
    rt,
    select,
    st,
    store,
    wait_for,
    wave,
    when,
    zero,
)  # fmt: skip
from pykittens.tile.dtypes import get
from pykittens.tile.ops import maps

from .epilogue import Epilogue

WAVES = 8
COLS = 32
K_STEP_BITS = 1024
TILES = ((64, COLS), (32, COLS), (16, COLS))


@kernel(waves=(WAVES, 1))
def gemm_split(
    A: gl("dtype"), B: gl("dtype"), C: gl("out"), *, dtype="bf16", out="bf16", tile="auto", order=grid.row_major,
    **epilogue: Epilogue,
):  # fmt: skip
    """C[M, N] = A[M, K] B[N, K]ᵀ for small M: 8 waves split K and add in a fixed order."""
    height, width = grid.tile(tile, TILES)
    depth = K_STEP_BITS // get(dtype).bits
    require_equal(C.rows, A.rows, "C and A must have the same M (rows)")
    require_equal(C.cols, B.rows, "C and B must have the same N")
    require_equal(A.cols, B.cols, "A and B must have the same K")
    row, col = order(cdiv(C.rows, height), cdiv(C.cols, width))
    result = Epilogue(**epilogue).bind(C)
    a, b = rt(dtype, height, depth, copies=2), rt(dtype, width, depth, copies=2)
    c, other = rt(f32, height, width), rt(f32, height, width)
    partial = st(f32, WAVES // 2 * height, width, "16x16")
    whole = select(A.aligned(4) & B.aligned(4), A.cols // depth, 0)

    def fetch(slot, t, edges):
        load(a[slot], A.tile(row, t), edges=edges), load(b[slot], B.tile(col, t), edges=edges)

    def mine(t):
        return minimum(WAVES * t + wave.index, whole - 1)

    def turns(tiles):  # how many of the tiles are this wave's
        return maximum(tiles + (WAVES - 1) - wave.index, 0) // WAVES

    zero(c)
    with when(whole > 0):
        fetch(0, mine(0), "inside")
        for t in loop(turns(whole), unroll=2):
            fetch((t + 1) % 2, mine(t + 1), "inside")
            mma_ABt(c, a[t % 2], b[t % 2])
    with block():
        for t in loop(turns(cdiv(A.cols, depth) - whole)):
            fetch(0, whole + WAVES * t + wave.index, "zero")
            mma_ABt(c, a[0], b[0])

    senders = WAVES // 2
    while senders:
        with when((wave.index >= senders) & (wave.index < 2 * senders)):
            store(partial.subtile(height, width, wave.index % senders, 0), c)
        wait_for(partial)
        barrier()
        with when(wave.index < senders):
            load(other, partial.subtile(height, width, wave.index % senders, 0))
            maps.add(c, c, other)
        barrier()
        senders //= 2
    with when(wave.index < 1):
        result.store(row, col, c)
