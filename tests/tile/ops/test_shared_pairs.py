"""Every pair of register and shared shape in machine code on the virtual GPU: read, written again, and compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.tile.lds_machine import LAYOUTS

import pykittens as pk
from pykittens.tile import (
    barrier,
    block,
    dtypes,
    gl,
    kernel,
    load,
    mma_ABt,
    register_shape,
    rt,
    shared_shape,
    st,
    store,
    wait_for,
    zero,
)

SHAPES = {**shared_shape.SHAPES, **shared_shape.SOLVED}
CHUNK = 32
"""Columns that are brought out at a time, as A times the identity."""


def sizes(register: str, shared: str) -> tuple[int, int]:
    """Rows and columns that both shapes divide, and the way out as well."""
    r, s = register_shape.get(register), SHAPES[shared]
    return max(r.rows, s.rows, 16), max(r.cols, s.cols, CHUNK)


@kernel(waves=(1, 1))
def through(A: gl("bf16"), ONE: gl("bf16"), C: gl("f32"), *, register="16x16", layout="row", shapes=()):
    """For each shape the i-th tile down of C: A through LDS in this shape, the registers, and plain LDS."""
    ones = st("bf16", CHUNK, CHUNK, "16x16")
    load(ones, ONE.tile(0, 0))
    for i, name in enumerate(shapes):
        with block():  # what is kept in registers for it is forgotten afterwards
            one_shape(A, C, i, name, register, layout, ones)


def one_shape(A: gl, C: gl, i: int, name: str, register: str, layout: str, ones: st) -> None:
    size = sizes(register, name)
    tile, plain = st("bf16", *size, name), st("bf16", *size, "16x16")
    if tile.shape.run_bytes(2) < 16:  # no lane copies 16 bytes to it
        load(plain, A.tile(0, 0)), wait_for(plain), barrier()
        first = rt("bf16", *size, shape="16x16")
        load(first, plain), store(tile, first)
    else:
        load(tile, A.tile(0, 0))
    wait_for(tile, ones), barrier()
    moved = rt("bf16", *size, layout, shape=register)
    load(moved, tile), store(plain, moved), wait_for(plain), barrier()
    one = rt("bf16", CHUNK, CHUNK, shape="16x16")
    load(one, ones)
    for row in range(0, size[0], 16):
        for col in range(0, size[1], CHUNK):
            part, out = rt("bf16", 16, CHUNK, shape="16x16"), rt("f32", 16, CHUNK)
            load(part, plain.subtile(16, CHUNK, row // 16, col // CHUNK)), zero(out)
            mma_ABt(out, part, one)
            store(C.tile(i * (128 // 16) + row // 16, col // CHUNK), out)
    barrier()


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(("register", "layout"), LAYOUTS)
def test_every_pair_moves_every_element(arch: str, register: str, layout: str) -> None:
    names = list(SHAPES)
    for group in (names[start::3] for start in range(3)):  # gfx942 has room for so many at once
        exe = pk.compile(through, arch, register=register, layout=layout, shapes=tuple(group))
        rows, cols = np.indices((32, 128))
        for number in (rows, cols):  # which row, which column: each is exact in bf16
            result: Any = np.full((128 * len(group), 128), np.nan, np.float32)
            exe(number.astype(dtypes.get("bf16").numpy), np.eye(CHUNK).astype(dtypes.get("bf16").numpy), result)
            for i, name in enumerate(group):
                height, width = sizes(register, name)
                found = result[128 * i : 128 * i + height, :width]
                np.testing.assert_array_equal(found, number[:height, :width], err_msg=f"{register} {layout} {name}")
