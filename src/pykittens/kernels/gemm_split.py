"""Matrix multiplication for few rows (decoding, M = 1 to 64): workgroups split K, and so do the waves inside each.

B is read once, straight into registers, and limits the speed; so many workgroups read it that every CU has one. Partial
sums are added in a fixed order, so that results do not depend on the order in which waves or workgroups run.
"""

from __future__ import annotations

from pykittens import arch as chips
from pykittens.errors import InputError
from pykittens.schedule import grid
from pykittens.tile import (
    arrive,
    at_launch,
    barrier,
    block,
    cdiv,
    current,
    f32,
    gl,
    i32,
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
    workspace,
    zero,
)  # fmt: skip
from pykittens.tile.dtypes import get
from pykittens.tile.ops import maps
from pykittens.tile.program_inputs import WORKGROUP
from pykittens.tile.shared_shape import SharedShape

from .epilogue import Epilogue

WAVES = 8
HALF = WAVES // 2
COLS = 32
PART = 16
"""Rows and columns of what one wave adds up and stores."""
K_STEP_BITS = 1024
TILES = ((64, COLS), (32, COLS), (16, COLS))
EXCHANGE = SharedShape("exchange", PART, PART, ((512, 7, 4),))
"""Base tiles of f32 are written and read without bank conflicts on both chips (`pk lds --solve 16x16 --bytes 4`)."""
TURNS = 2
"""K-tiles of each wave before K is split further: one is loaded while the other is multiplied."""


@kernel(waves=(WAVES, 1))
def gemm_split(
    A: gl("dtype"), B: gl("dtype"), C: gl("out"), *, dtype="bf16", out="bf16", tile="auto", splits="auto",
    order=grid.row_major, **epilogue: Epilogue,
):  # fmt: skip
    """C[M, N] = A[M, K] B[N, K]ᵀ for small M: workgroups and their 8 waves split K and add in a fixed order."""
    height, width = grid.tile(tile, TILES)
    depth = K_STEP_BITS // get(dtype).bits
    require_equal(C.rows, A.rows, "C and A must have the same M (rows)")
    require_equal(C.cols, B.rows, "C and B must have the same N")
    require_equal(A.cols, B.cols, "A and B must have the same K")
    rows, cols, deep = cdiv(C.rows, height), cdiv(C.cols, width), cdiv(A.cols, depth)
    turns = cdiv(deep, WAVES)  # of a workgroup that has all of K
    splits = at_launch("splits", splits_of(splits, rows * cols, turns))
    each, more = at_launch("each", turns // splits), at_launch("more", turns % splits)
    current().batches, split = splits, WORKGROUP[2]
    row, col = grid.place(order, A, C, (height, width))
    result = Epilogue(**epilogue).bind(C)
    a, b = rt(dtype, height, depth, copies=2), rt(dtype, width, depth, copies=2)
    c = rt(f32, height, width)

    # A workgroup has a run of K-tiles; its waves take turns, so that they read neighbours at a time.
    first, last = (minimum((s * each + minimum(s, more)) * WAVES, deep) for s in (split, split + 1))

    def mine(end):  # how many of the workgroup's K-tiles before this one are the wave's
        return maximum(end - first + (WAVES - 1) - wave.index, 0) // WAVES

    def fetch(slot, t, edges):
        place = first + WAVES * t + wave.index
        load(a[slot], A.tile(row, place), edges=edges), load(b[slot], B.tile(col, place), edges=edges)

    zero(c)
    inside = mine(select(A.aligned(4) & B.aligned(4), minimum(last, A.cols // depth), 0))  # loaded in pieces
    with when(inside > 0):
        fetch(0, 0, "inside")
        for t in loop(inside, unroll=2):
            fetch((t + 1) % 2, minimum(t + 1, inside - 1), "inside")
            mma_ABt(c, a[t % 2], b[t % 2])
    with block():
        for t in loop(inside, mine(last)):
            fetch(0, t, "zero")
            mma_ABt(c, a[0], b[0])

    down, across = height // PART, width // PART
    total, others = rt(f32, PART, PART), rt(f32, PART, PART, copies=HALF)
    add_waves(total, others, c)
    with when(wave.index < down * across):
        place = (row * cols + col) * (down * across) + wave.index
        with when(add_workgroups(total, others, place, rows * cols * (down * across), split, splits)):
            result.store(row * down + wave.index // across, col * across + wave.index % across, total)


def splits_of(chosen, tiles, turns):
    """Workgroups along K: as chosen, or enough for all CUs as long as each has `TURNS` turns of its waves."""
    if chosen == "auto":
        cus = chips.get(current().arch).device().cus
        return maximum(minimum(cus // maximum(tiles, 1), turns // TURNS), 1)
    if isinstance(chosen, str) and chosen.isdecimal():
        chosen = int(chosen)
    if not isinstance(chosen, int) or chosen < 1:
        raise InputError("option-value", f"splits is {chosen!r}", fix="use auto or a number of workgroups along K")
    return chosen


def add_waves(total, others, c):
    """``total`` of wave w becomes part w of the sum of all waves' ``c``: half of the waves add those of the others,
    then each part adds up these sums in order.
    """
    sums = st(f32, HALF * c.rows, c.cols, EXCHANGE, name="sums")
    down, across, slot = c.rows // PART, c.cols // PART, wave.index % HALF
    with when(wave.index >= HALF):
        store(sums.subtile(c.rows, c.cols, slot, 0), c)
    wait_for(sums)
    barrier()
    with when(wave.index < HALF):
        for i in range(down):
            for j in range(across):
                load(others[j], sums.subtile(PART, PART, slot * down + i, j))
                part = c.subtile(PART, PART, i, j)
                maps.add(part, part, others[j])
    barrier()
    with when(wave.index < HALF):
        store(sums.subtile(c.rows, c.cols, slot, 0), c)
    wait_for(sums)
    barrier()
    with when(wave.index < down * across):
        for n, other in enumerate(others):
            load(other, sums.subtile(PART, PART, n * down + wave.index // across, wave.index % across))
        maps.copy(total, others[0])
        for n in range(1, HALF):
            maps.add(total, total, others[n])


def add_workgroups(total, others, place, places, split, splits):
    """Whether this wave is the last of ``splits`` workgroups to have ``total`` for ``place``; the last one's becomes
    the sum of all, always in the same order.
    """
    several = splits > 1
    partials = workspace("partials", f32, (select(several, splits, 0) * places * PART, PART))
    with when(several):
        store(partials.tile(split * places + place, 0), total)
    last = arrive(workspace("arrived", i32, (places,)), place, splits) == splits - 1
    with when(last & several):
        zero(total)
        for group in loop(cdiv(splits, HALF)):
            for n, other in enumerate(others):  # what lies beyond the last split is 0
                load(other, partials.tile((HALF * group + n) * places + place, 0))
            for other in others:
                maps.add(total, total, other)
    return last
