"""Matrix multiplication: C = A Bᵀ or C = A B, 16-bit inputs, f32 accumulation, any sizes in one code object."""

from __future__ import annotations

from pykittens.schedule import grid
from pykittens.tile import (
    barrier, cdiv, f32, gl, kernel, load, loop, minimum, mma_AB, mma_ABt, require_equal, rt, select, st, store, wait_for,
    wave, when, zero,
)  # fmt: skip
from pykittens.tile.trace import current

K_TILE = 64


def _waves(arch: str) -> tuple[int, int]:
    """gfx942's 64 KiB of LDS hold two stages of 128 x 128 tiles, gfx950's 160 KiB two of 256 x 256."""
    return (2, 2) if arch == "gfx942" else (2, 4)


@kernel(waves=_waves)
def gemm(
    A: gl("dtype"), B: gl("dtype"), C: gl("out"), *, dtype="bf16", out="bf16", layout="ABt", order=grid.row_major  # noqa: F821
):  # fmt: skip
    """C[M, N] = A[M, K] B[N, K]ᵀ (layout "ABt") or A[M, K] B[K, N] ("AB"); two LDS stages, each wave 128 x 64 (64 x 64)."""
    transposed = layout == "ABt"
    wave_rows, wave_cols = current().waves
    rows, cols = (64, 64) if current().arch == "gfx942" else (128, 64)
    m_tile, n_tile = rows * wave_rows, cols * wave_cols
    require_equal(C.rows, A.rows, "C and A must have the same M (rows)")
    require_equal(C.cols, B.rows if transposed else B.cols, "C and B must have the same N")
    require_equal(A.cols, B.cols if transposed else B.rows, "A and B must have the same K")

    As = st(dtype, m_tile, K_TILE, copies=2)
    Bs = st(dtype, n_tile, K_TILE, copies=2) if transposed else st(dtype, K_TILE, n_tile, copies=2)
    a = rt(dtype, rows, 32)
    b = rt(dtype, cols, 32) if transposed else rt(dtype, 32, cols, "col")
    c = rt(f32, rows, cols, file="agpr")
    row, col = order(cdiv(C.rows, m_tile), cdiv(C.cols, n_tile))

    def copy(t, stage, a_edges, b_edges):
        load(As[stage], A.tile(row, t), edges=a_edges)
        load(Bs[stage], B.tile(col, t) if transposed else B.tile(t, col), edges=b_edges)

    def math(stage):
        for k in range(0, K_TILE, 32):
            load(a, As[stage].subtile(rows, 32, wave.row, k // 32))
            if transposed:
                load(b, Bs[stage].subtile(cols, 32, wave.col, k // 32))
                mma_ABt(c, a, b)
            else:
                load(b, Bs[stage].subtile(32, cols, k // 32, wave.col))
                mma_AB(c, a, b)

    # Tiles that lie whole in K are copied 16 bytes a lane; the last part of K, and rows off 4-byte alignment, by element.
    edges = ("inside", "inside" if transposed else "any")
    whole = select(A.aligned(4) & B.aligned(4), A.cols // K_TILE, 0)
    zero(c)
    with when(0 < whole):
        copy(0, 0, *edges)
    for t in loop(whole, unroll=2):
        wait_for(As[t % 2], Bs[t % 2])
        barrier()
        copy(minimum(t + 1, whole - 1), (t + 1) % 2, *edges)
        math(t % 2)
    for t in loop(whole, cdiv(A.cols, K_TILE)):
        wait_for(As[0], Bs[0])
        barrier()
        copy(t, 0, "zero", "zero")
        wait_for(As[0], Bs[0])
        barrier()
        math(0)
    store(C.tile(row * wave_rows + wave.row, col * wave_cols + wave.col), c)
