"""Matrix multiplication for few rows (decoding, M = 1 to 64): workgroups split K, and so do the waves inside each.

B is read once and limits the speed; so many workgroups read it that every CU has one. Where its rows lie along K it
goes straight into registers, else through LDS, which transposes it. Partial sums are added in a fixed order, so that
results do not depend on the order in which waves or workgroups run.
"""

from __future__ import annotations

from pykittens.errors import InputError
from pykittens.schedule import grid
from pykittens.tile import (
    at_launch,
    barrier,
    block,
    cdiv,
    current,
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
    staging,
    store,
    wait_for,
    wave,
    when,
    zero,
)  # fmt: skip
from pykittens.tile.dtypes import get
from pykittens.tile.program_inputs import WORKGROUP
from pykittens.tile.shared_shape import SharedShape

from .epilogue import Epilogue
from .partial_sums import HALF, PART, WAVES, add_waves, add_workgroups, splits_of

TILES = {"ABt": ((64, 32), (32, 32), (16, 32)), "AB": ((32, 64), (16, 64))}
"""Rows and columns of C for one workgroup, at most a part for each wave; what transposes takes 64 columns."""
K_TILE_BITS = 1024
"""Bits of a row in a wave's K-tile; half of them where those of all waves would not fit LDS."""
SWIZZLES = {"gfx950": (2048, 8, 4), "gfx942": (1024, 7, 4)}
"""With which rows of 128 (64) bytes are read, and what was transposed is written, without bank conflicts."""


@kernel(waves=(WAVES, 1))
def gemm_split(
    A: gl("dtype"), B: gl("dtype"), C: gl("out"), *, dtype="bf16", out="bf16", layout="ABt", tile="auto", splits="auto",
    order=grid.row_major, **epilogue: Epilogue,
):  # fmt: skip
    """C[M, N] = A[M, K] B[N, K]ᵀ ("ABt") or A[M, K] B[K, N] ("AB") for small M: workgroups and their waves split K."""
    if layout not in TILES:
        raise InputError("option-value", f"layout is {layout!r}", fix=f"use one of {', '.join(TILES)}")
    if get(dtype).bits > 16:
        raise InputError("option-value", f"dtype is {dtype!r}", fix="use a type of 8 or 16 bits")
    height, width = grid.tile(tile, TILES[layout])
    b_cols, b_depth = (B.rows, B.cols) if layout == "ABt" else (B.cols, B.rows)
    require_equal(C.rows, A.rows, "C and A must have the same M (rows)")
    require_equal(C.cols, b_cols, "C and B must have the same N")
    require_equal(A.cols, b_depth, "A and B must have the same K")
    half = layout == "AB" and current().arch == "gfx942"
    depth = K_TILE_BITS // get(dtype).bits // (2 if half else 1)
    rows, cols, deep = cdiv(C.rows, height), cdiv(C.cols, width), cdiv(A.cols, depth)
    turns = cdiv(deep, WAVES)  # of a workgroup that has all of K: its waves take neighbouring K-tiles
    splits = at_launch("splits", splits_of(splits, rows * cols, turns))
    each, more = at_launch("each", turns // splits), at_launch("more", turns % splits)
    current().batches, split = splits, WORKGROUP[2]
    place = grid.place(order, A, C, (height, width))
    result = Epilogue(**epilogue).bind(C)
    c = rt(f32, height, width)
    zero(c)
    first, last = (s * each + minimum(s, more) for s in (split, split + 1))
    (multiply if layout == "ABt" else multiply_turned)(c, A, B, place, dtype, depth, first, last)

    down, across = height // PART, width // PART
    total, others = rt(f32, PART, PART), rt(f32, PART, PART, copies=HALF)
    add_waves(total, others, c)
    with when(wave.index < down * across):
        part = (place[0] * cols + place[1]) * (down * across) + wave.index
        with when(add_workgroups(total, others, part, rows * cols * (down * across), split, splits)):
            result.store(place[0] * down + wave.index // across, place[1] * across + wave.index % across, total)


def multiply(c, A, B, place, dtype, depth, first, last):
    """Of B[N, K], each wave's K-tile of the turns from ``first`` to before ``last``, straight from memory."""
    a, b = rt(dtype, c.rows, depth, copies=2), rt(dtype, c.cols, depth, copies=2)

    def before(tile):  # how many K-tiles before this one are the wave's
        return maximum(tile - first * WAVES + (WAVES - 1) - wave.index, 0) // WAVES

    def fetch(slot, t, edges):
        tile = (first + t) * WAVES + wave.index
        load(a[slot], A.tile(place[0], tile), edges=edges), load(b[slot], B.tile(place[1], tile), edges=edges)

    whole = before(minimum(whole_tiles(A, B, depth), last * WAVES))
    with when(whole > 0):
        fetch(0, 0, "inside")
        for t in loop(whole, unroll=2):
            fetch((t + 1) % 2, minimum(t + 1, whole - 1), "inside")
            mma_ABt(c, a[t % 2], b[t % 2])
    with block():
        for t in loop(whole, before(minimum(cdiv(A.cols, depth), last * WAVES))):
            fetch(0, t, "zero")
            mma_ABt(c, a[0], b[0])


def multiply_turned(c, A, B, place, dtype, depth, first, last):
    """The same of B[K, N]: all waves copy what they need in a turn to LDS and transpose it."""
    a, b = rt(dtype, c.rows, depth, copies=2), rt(dtype, c.cols, depth)
    shape = SharedShape("turned", 16, depth, (SWIZZLES[current().arch],))
    Bs = st(dtype, c.cols, WAVES * depth, shape, name="Bs")
    next_b = staging(Bs, transposed=True)

    def fetch_a(slot, t, edges):
        load(a[slot], A.tile(place[0], (first + t) * WAVES + wave.index), edges=edges)

    def read_b():
        wait_for(Bs)
        barrier()
        load(b, Bs.subtile(c.cols, depth, 0, wave.index))
        wait_for(b)
        barrier()

    whole = maximum(minimum(whole_tiles(A, B, depth) // WAVES, last) - first, 0)  # turns
    with when(whole > 0):
        load(next_b, B.tile(first, place[1]), edges="any"), fetch_a(0, 0, "inside")
        for t in loop(whole, unroll=2):
            store(Bs, next_b)
            then = minimum(t + 1, whole - 1)
            load(next_b, B.tile(first + then, place[1]), edges="any"), fetch_a((t + 1) % 2, then, "inside")
            read_b()
            mma_ABt(c, a[t % 2], b)
    with block():
        for t in loop(whole, last - first):
            load(Bs, B.tile(first + t, place[1]), transposed=True), fetch_a(0, t, "zero")
            read_b()
            mma_ABt(c, a[0], b)


def whole_tiles(A, B, depth):
    """K-tiles that are loaded in pieces: none where rows are not 4-byte aligned."""
    return select(A.aligned(4) & B.aligned(4), A.cols // depth, 0)
