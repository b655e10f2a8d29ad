"""Stores of register tiles to global memory, in machine code on the virtual GPU: how wide, and where elements land."""

from __future__ import annotations

import re
from functools import cache

import ml_dtypes
import numpy as np
import pytest

import pykittens as pk
from pykittens.tile import gl, kernel, load, rt, store


@kernel(waves=(1, 1))
def moved(A: gl("f32"), C: gl("out"), *, rows=32, cols=64, out="bf16", shape="16x16", layout="row"):
    """C = A, of one wave's tile."""
    c = rt("f32", rows, cols, layout, shape=shape)
    load(c, A.tile(0, 0))
    store(C.tile(0, 0), c)


@cache
def built(arch: str, **options: object) -> pk.Executable:
    return pk.compile(moved, arch, **options)


def stores(assembly: str) -> set[str]:
    return set(re.findall(r"buffer_store_\w+", assembly))


@pytest.mark.parametrize("out", ["bf16", "f16", "f32"])
@pytest.mark.parametrize(("shape", "layout"), [("16x16", "row"), ("32x32", "row"), ("16x16", "col")])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_every_element_lands_in_its_place(arch: str, out: str, shape: str, layout: str) -> None:
    """Tiles with neighbours to pair and, of 16 columns, one left alone; inside the tensor and over its edges."""
    dtype = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}[out]
    exe = built(arch, cols=96 if shape == "32x32" else 48, out=out, shape=shape, layout=layout)
    for rows, cols in ((32, 96), (31, 48), (32, 95), (5, 1), (29, 50)):
        A = (np.arange(rows)[:, None] * 96 + np.arange(cols)).astype(np.float32) / 16
        C = np.zeros((rows, cols), dtype)
        exe(A, C)
        width = min(cols, 96 if shape == "32x32" else 48)
        assert np.array_equal(C[:, :width], A[:, :width].astype(dtype))
        assert not C[:, width:].any()


def test_lanes_that_swap_store_16_bytes() -> None:
    """gfx950: two neighbouring pieces of 8 bytes as one of 16; gfx942's lanes keep their 8."""
    assert "buffer_store_dwordx4" in stores(built("gfx950").assembly)
    assert "buffer_store_dwordx2" not in stores(built("gfx950").assembly)
    assert "buffer_store_dwordx4" not in stores(built("gfx942").assembly)
    odd = stores(built("gfx950", cols=48).assembly)
    assert {"buffer_store_dwordx4", "buffer_store_dwordx2"} <= odd
