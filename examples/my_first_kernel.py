"""A kernel of one's own in one file: C = A Bᵀ for 16-bit inputs, built, checked, run on the virtual GPU and compared.

docs/quickstart.md goes through it line by line.
"""

from __future__ import annotations

import argparse
import sys

import ml_dtypes
import numpy as np

import pykittens as pk


@pk.kernel(waves=(2, 2))  # a workgroup: 4 waves of 64 lanes, in a grid of 2 x 2
def matmul(A: pk.gl("dtype"), B: pk.gl("dtype"), C: pk.gl("f32"), *, dtype="bf16"):
    """C[M, N] = A[M, K] B[N, K]ᵀ: 128 x 128 of C a workgroup, 64 x 64 a wave."""
    pk.require_equal(A.cols, B.cols, "A and B must have the same K")
    pk.require_equal(C.rows, A.rows, "C and A must have the same M")
    pk.require_equal(C.cols, B.rows, "C and B must have the same N")
    # As many workgroups as C has tiles; this one computes the tile at (row, col).
    row, col = pk.grid.row_major(pk.cdiv(C.rows, 128), pk.cdiv(C.cols, 128))

    As, Bs = pk.st(dtype, 128, 64), pk.st(dtype, 128, 64)  # in LDS, shared by the four waves
    a, b = pk.rt(dtype, 64, 64), pk.rt(dtype, 64, 64)  # in the registers of a wave
    c = pk.rt("f32", 64, 64, file="agpr")

    pk.zero(c)
    for t in pk.loop(pk.cdiv(A.cols, 64)):  # a loop of the GPU; a Python `for` would be unrolled
        pk.load(As, A.tile(row, t))  # all waves copy; what lies outside A arrives as 0
        pk.load(Bs, B.tile(col, t))
        pk.wait_for(As, Bs)  # this wave's part of the copies has landed ...
        pk.barrier()  # ... and now everybody's
        pk.load(a, As.subtile(64, 64, pk.wave.row, 0))
        pk.load(b, Bs.subtile(64, 64, pk.wave.col, 0))
        pk.mma_ABt(c, a, b)
        pk.barrier()  # nobody reads As and Bs any more: the next copies may overwrite them
    pk.store(C.tile(2 * row + pk.wave.row, 2 * col + pk.wave.col), c)  # what lies outside C is not stored


def main() -> int:
    """Build, check and run `matmul`; 0 if it is right, 1 if not."""
    options = argparse.ArgumentParser(description="C = A Bᵀ on the virtual GPU, compared with NumPy.")
    options.add_argument("--arch", choices=("gfx942", "gfx950"), default="gfx950")
    options.add_argument("--dtype", choices=("bf16", "f16"), default="bf16")
    chosen = options.parse_args()

    exe = pk.compile(matmul, chosen.arch, dtype=chosen.dtype)
    report = pk.check(exe)  # proofs about the final bytes: waits, wait states, registers
    print(report.text(notes=False))

    m, n, k = 300, 200, 100  # none of them a multiple of a tile
    rng = np.random.default_rng(0)
    dtype = np.dtype(np.float16 if chosen.dtype == "f16" else ml_dtypes.bfloat16)
    A, B = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((n, k)).astype(dtype)
    C = np.full((m, n), np.nan, np.float32)
    run = exe(A, B, C)

    expected = A.astype(np.float64) @ B.astype(np.float64).T
    error = float(np.linalg.norm(C - expected) / np.linalg.norm(expected))
    right = report.clean and error <= 1e-6
    print(f"{m} x {n} x {k} in {chosen.dtype}: {run.instructions} instructions, relative error {error:.2g}")
    print("right" if right else "WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
