"""LDS bank conflicts of a checked call, by the names of shared tiles."""

from __future__ import annotations

import numpy as np
import pytest

import pykittens as pk


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


def test_conflicts_that_are_there_are_counted() -> None:
    exe = pk.compile(pk.kernels.gemm, arch="gfx942", out="f32", layout="AB")
    a, b = np.zeros((128, 64), pk.bf16.numpy), np.zeros((64, 128), pk.bf16.numpy)
    report = pk.check(exe, a, b, np.zeros((128, 128), np.float32))
    assert report.lds is not None
    assert report.lds["As read"].degree > 1
    with pytest.raises(pk.errors.InputError, match="no LDS access named 'Cs read'"):
        report.lds["Cs read"]
