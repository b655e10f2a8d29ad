"""Batches of products: strides of their own, every epilogue, and what the matrices of a batch share."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import pykittens as pk
from pykittens.kernels.problems import PROBLEMS

from .test_epilogue import EPILOGUES

BATCHED = [
    ("gemm", "gfx950", "ABt"), ("gemm", "gfx950", "AB"), ("gemm", "gfx942", "ABt"), ("gemm", "gfx942", "AB"),
    ("gemm_interleaved", "gfx950", "ABt"), ("gemm_staged", "gfx942", "ABt"),
]  # fmt: skip
OF_EACH = ("A", "B", "C", "R")
"""Tensors that each matrix of a batch has of its own; scales, biases and numbers serve all."""


@cache
def built(kernel: str, arch: str, layout: str, epilogue: tuple[tuple[str, str], ...]) -> pk.Executable:
    own = {"layout": layout} if "layout" in PROBLEMS[kernel].kernel.options() else {}
    tile = {"tile": "128x128"} if (kernel, arch) == ("gemm", "gfx950") else {}
    return pk.compile(PROBLEMS[kernel].kernel, arch, rank=3, dtype="bf16", out="f32", **own, **tile, **dict(epilogue))


def batch(exe: pk.Executable, kernel: str, count: int, sizes: dict[str, int]) -> list[dict[str, Any]]:
    """The tensors of each product; what is shared is the first one's."""
    options = {option.name: exe.built.options[option.name] for option in PROBLEMS[kernel].options}
    found = [PROBLEMS[kernel].tensors(sizes, options, np.random.default_rng(seed)) for seed in range(count)]
    return [{name: each[name] if name in OF_EACH else found[0][name] for name in each} for each in found]


def check(exe: pk.Executable, kernel: str, parts: list[dict[str, Any]], result: np.ndarray, k: int) -> None:
    options = {option.name: exe.built.options[option.name] for option in PROBLEMS[kernel].options}
    for part, c in zip(parts, result, strict=True):
        found = PROBLEMS[kernel].compare({**part, "C": c}, {"k": k}, options)
        assert found.passed, found


@pytest.mark.parametrize("epilogue", [{}, *EPILOGUES], ids=lambda each: "-".join(each.values()) or "plain")
@pytest.mark.parametrize(("kernel", "arch", "layout"), BATCHED)
def test_every_epilogue(kernel: str, arch: str, layout: str, epilogue: dict[str, str]) -> None:
    exe = built(kernel, arch, layout, tuple(epilogue.items()))
    for m, n, k in ((70, 61, 67), (128, 128, 64)):
        parts = batch(exe, kernel, 3, {"m": m, "n": n, "k": k})
        values = {name: np.stack([p[name] for p in parts]) if name in OF_EACH else parts[0][name] for name in parts[0]}
        exe(*values.values())
        check(exe, kernel, parts, values["C"], k)


@pytest.mark.parametrize(("kernel", "arch", "layout"), BATCHED)
def test_each_tensor_has_its_own_strides(kernel: str, arch: str, layout: str) -> None:
    """Every second matrix of a larger array, rows cut out of wider ones, and the gaps stay as they are."""
    exe = built(kernel, arch, layout, (("residual", "add"),))
    parts = batch(exe, kernel, 3, {"m": 40, "n": 50, "k": 66})
    wide, cut = {}, {}
    for gap, name in enumerate(OF_EACH, 1):
        matrices = np.stack([part[name] for part in parts])
        _, rows, cols = matrices.shape
        wide[name] = np.full((3 * gap, rows + gap, cols + 3 * gap), np.nan, matrices.dtype)
        cut[name] = wide[name][::gap, :rows, gap : gap + cols]
        cut[name][:] = matrices
    exe(*cut.values())
    check(exe, kernel, parts, cut["C"], 66)
    cut["C"][:] = np.nan
    assert np.isnan(wide["C"]).all()


def test_batches_that_differ_or_overlap_are_refused() -> None:
    exe = built("gemm", "gfx950", "ABt", (("residual", "add"), ("bias", "col")))
    a, b = (np.zeros((3, 8, 16), pk.bf16.numpy) for _ in range(2))
    c, r, bias = np.zeros((3, 8, 8), np.float32), np.zeros((3, 8, 8), np.float32), np.zeros(8, np.float32)
    exe(a, b, c, bias, r)
    with pytest.raises(pk.Error, match="A and C must have the same batches, got 2 and 3"):
        exe(a[:2], b, c, bias, r)
    with pytest.raises(pk.Error, match="R and C must have the same batches, got 1 and 3"):
        exe(a, b, c, bias, r[:1])
    with pytest.raises(pk.Error, match=r"bias and C must have the same length \(cols\), got 7 and 8"):
        exe(a, b, c, bias[:7], r)
    with pytest.raises(pk.Error, match="bias has 2 dimensions, the kernel takes 1"):
        exe(a, b, c, np.zeros((3, 8), np.float32), r)
    with pytest.raises(pk.Error, match="the matrices of B are 0 bytes apart and 256 long"):
        exe(a, np.broadcast_to(b[0], b.shape), c, bias, r)
