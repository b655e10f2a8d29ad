"""Matrix multiplication: C = A Bᵀ or C = A B, 16- or 8-bit inputs, f32 accumulation, any sizes in one code object."""

from __future__ import annotations

from pykittens.schedule import PingPong, grid
from pykittens.tile import (
    barrier,
    cdiv,
    current,
    f32,
    gl,
    kernel,
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
    wave,
    when,
    zero,
)  # fmt: skip
from pykittens.tile.dtypes import get

from .epilogue import Epilogue

K_TILE_BITS = 1024


@kernel(waves=(2, 4))
def gemm(
    A: gl("dtype"), B: gl("dtype"), C: gl("out"), *, dtype="bf16", out="bf16", layout="ABt", order=grid.row_major,
    **epilogue: Epilogue,
):  # fmt: skip
    """C[M, N] = A[M, K] B[N, K]ᵀ (layout "ABt") or A[M, K] B[K, N] ("AB"): 8 waves in ping-pong (paper, Fig. 22)."""
    transposed = layout == "ABt"
    # Two K-tiles of both operands fit LDS: 128 of gfx950's 160 KiB for 256 x 256, all of gfx942's 64 KiB for 128 x 128.
    half = 128 if current().arch == "gfx950" else 64
    rows, cols, depth = half // 2, half // 4, K_TILE_BITS // get(dtype).bits
    require_equal(C.rows, A.rows, "C and A must have the same M (rows)")
    require_equal(C.cols, B.rows if transposed else B.cols, "C and B must have the same N")
    require_equal(A.cols, B.cols if transposed else B.rows, "A and B must have the same K")

    result = Epilogue(**epilogue).bind(C)
    As = st(dtype, half, depth, copies=(2, 2))  # [K-tile % 2, half of the workgroup's rows]
    # Of K x N a wave of gfx942 reads 16 columns, half a subtile of the usual shape.
    shape = "16x16" if cols == 16 and not transposed else None
    Bs = st(dtype, *((half, depth) if transposed else (depth, half)), shape, copies=(2, 2))
    a = rt(dtype, rows, depth)
    b = rt(dtype, cols, depth, copies=2) if transposed else rt(dtype, depth, cols, "col", copies=2)
    c = rt(f32, rows, cols, copies=(2, 2), file="agpr")
    row, col = order(cdiv(C.rows, 2 * half), cdiv(C.cols, 2 * half))
    # Tiles that lie whole in K are copied 16 bytes a lane; the last part of K, and rows not 4-byte aligned, by element.
    whole = select(A.aligned(4) & B.aligned(4), A.cols // depth, 0)
    edges = {"A": "inside", "B": "inside" if transposed else "any"}

    def copy_a(t, h, tile=None):
        return load(As[t % 2, h], A.tile(2 * row + h, minimum(t, whole - 1)), edges=edges["A"])

    def copy_b(t, h):
        k = minimum(t, whole - 1)
        return load(Bs[t % 2, h], B.tile(2 * col + h, k) if transposed else B.tile(k, 2 * col + h), edges=edges["B"])

    def read_a(t, h):
        return load(a, As[t % 2, h].subtile(rows, depth, wave.row, 0))

    def read_b(t, h):
        view = (
            Bs[t % 2, h].subtile(cols, depth, wave.col, 0)
            if transposed
            else Bs[t % 2, h].subtile(depth, cols, 0, wave.col)
        )
        return load(b[h], view)

    def math(i, j):
        return (mma_ABt if transposed else mma_AB)(c[i, j], a, b[j])

    def tiles(stage):
        return As[stage, 0], As[stage, 1], Bs[stage, 0], Bs[stage, 1]

    for part in c:
        zero(part)
    with when(whole > 0):
        turns = PingPong(late=wave.row)
        for h in range(2):
            copy_b(0, h), copy_a(0, h)
        turns.begin()
        wait_for(*tiles(0))
        barrier()
        copy_b(1, 0), copy_a(1, 0), copy_b(1, 1)
        barrier()
        for t in loop(whole, unroll=2):  # one phase a line: LDS reads | next copy | MFMA cluster
            turns.phase("00", read_b(t, 0), read_a(t, 0), copy_a(t + 1, 1), math(0, 0), wait=(b[0],))
            turns.phase("01", read_b(t, 1), copy_b(t + 2, 0), math(0, 1))
            turns.phase("10", read_a(t, 1), copy_a(t + 2, 0), math(1, 0))
            turns.phase("11", copy_b(t + 2, 1), math(1, 1), wait=tiles((t + 1) % 2))
        turns.end()
    for t in loop(whole, cdiv(A.cols, depth)):
        wait_for(*tiles(0))
        barrier()
        for h in range(2):
            load(As[0, h], A.tile(2 * row + h, t), edges="zero")
            load(Bs[0, h], B.tile(2 * col + h, t) if transposed else B.tile(t, 2 * col + h), edges="zero")
        wait_for(*tiles(0))
        barrier()
        for i in range(2):
            read_a(0, i)
            for j in range(2):
                read_b(0, j)
                math(i, j)
    for i in range(2):
        for j in range(2):
            result.store((2 * row + i) * 2 + wave.row, (2 * col + j) * 4 + wave.col, c[i, j])
