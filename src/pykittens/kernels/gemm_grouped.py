"""Matrix multiplication of groups: consecutive rows of A with a B of their own, as a mixture of experts needs it."""

from __future__ import annotations

from pykittens.schedule import grid
from pykittens.tile import current, gl, i32, kernel, load_scalar, require_equal, when
from pykittens.tile.program_inputs import WORKGROUP

from .epilogue import Epilogue, Group
from .gemm import TILES, multiply


@kernel(waves=(2, 4))
def gemm_grouped(
    A: gl("dtype"), B: gl("dtype", rank=3), C: gl("out"), starts: gl(i32, rank=1), *, dtype="bf16", out="bf16",
    layout="ABt", tile="auto", order=grid.modelled, **epilogue: Epilogue,
):  # fmt: skip
    """C[s:e] = A[s:e] B[g]ᵀ or A[s:e] B[g] for each group g with s = starts[g], e = starts[g + 1]: 8-wave ping-pong.

    ``starts`` ascends from 0 to the rows of A; rows that A does not have are left out. Each group has workgroups for
    all rows; those past its own do nothing.
    """
    height, width = grid.tile(tile, TILES[current().arch])
    require_equal(starts.cols, B.batches + 1, "starts must have one more element than B has matrices")
    require_equal(C.rows, A.rows, "C and A must have the same M (rows)")
    current().batches = B.batches
    group = WORKGROUP[2]
    place = grid.place(order, A, C, (height, width))
    start, end = (load_scalar(starts, group + i, within=A.rows) for i in range(2))
    count = end - start
    with when(place[0] * height < count):
        result = Epilogue(**epilogue).bind(C, Group(group, B.batches, start, count))
        multiply(A.rows_from(start, count), B[group], result.C, result, place, (height, width), dtype, layout)
