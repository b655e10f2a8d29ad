"""Matrix multiplication of groups: consecutive rows of A with a B of their own, as a mixture of experts needs it."""

from __future__ import annotations

from pykittens.schedule import grid
from pykittens.tile import cdiv, current, gl, i32, kernel, load_scalar, require_equal, when
from pykittens.tile.program_inputs import WORKGROUP

from .epilogue import Epilogue
from .gemm import TILES, multiply


@kernel(waves=(2, 4))
def gemm_grouped(
    A: gl("dtype"), B: gl("dtype", rank=3), C: gl("out"), starts: gl(i32, rank=1), *, dtype="bf16", out="bf16",
    layout="ABt", tile="auto", order=grid.row_major, activation="none",
):  # fmt: skip
    """C[s:e] = A[s:e] B[g]ᵀ for each group g with s = starts[g], e = starts[g + 1]: 8 waves in ping-pong.

    ``starts`` ascends from 0 to the rows of A. Each group has workgroups for all rows; those past its own do nothing.
    """
    height, width = grid.tile(tile, TILES[current().arch])
    require_equal(starts.cols, B.batches + 1, "starts must have one more element than B has matrices")
    require_equal(C.rows, A.rows, "C and A must have the same M (rows)")
    current().batches = B.batches
    group = WORKGROUP[2]
    place = order(cdiv(A.rows, height), cdiv(C.cols, width))
    start = load_scalar(starts, group)
    count = load_scalar(starts, group + 1) - start
    with when(place[0] * height < count):
        C = C.rows_from(start, count)
        result = Epilogue(activation=activation).bind(C)
        multiply(A.rows_from(start, count), B[group], C, result, place, (height, width), dtype, layout)
