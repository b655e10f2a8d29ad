"""LDS bank conflicts of a checked call, by the names of shared tiles."""

from __future__ import annotations

import numpy as np
import pytest

import pykittens as pk
from pykittens.tile import barrier, gl, kernel, load, mma_ABt, rt, st, store, wait_for, zero
from pykittens.tile.shared_shape import SharedShape


def test_the_gemm_on_gfx950_meets_no_bank_twice() -> None:
    exe = pk.compile(pk.kernels.gemm, arch="gfx950", out="f32")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, 192)).astype(pk.bf16.numpy) for size in (256, 300))
    c = np.full((256, 300), np.nan, np.float32)
    report = pk.check(exe, a, b, c)
    assert report.clean
    assert report.lds is not None
    assert {"As read", "Bs read", "As write", "Bs write"} <= set(report.lds.names())
    for name in ("As read", "Bs read"):
        assert report.lds[name].degree == 1
        assert report.lds[name].executions > 0
    reference = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.abs(c - reference).max() < 1e-3


@kernel(waves=(1, 1))
def square(A: gl("bf16"), C: gl("f32")):
    """C[16, 16] = A Aᵀ of 16 x 64, read from a tile without a swizzle."""
    As = st("bf16", 16, 64, SharedShape("16x64", 16, 64))
    load(As, A.tile(0, 0)), wait_for(As), barrier()
    a, c = rt("bf16", 16, 64), rt("f32", 16, 16)
    load(a, As), zero(c)
    mma_ABt(c, a, a)
    store(C.tile(0, 0), c)


def test_conflicts_that_are_there_are_counted() -> None:
    a = np.arange(16 * 64).reshape(16, 64) % 7
    c = np.full((16, 16), np.nan, np.float32)
    report = pk.check(pk.compile(square, arch="gfx942"), a.astype(pk.bf16.numpy), c)
    assert np.array_equal(c, a @ a.T)
    assert report.lds is not None
    assert report.lds["As read"].degree == 4
    with pytest.raises(pk.errors.InputError, match="no LDS access named 'Cs read'"):
        report.lds["Cs read"]
