"""What products go through on their way to memory, beside float64, in whole tiles and at ragged edges."""

from __future__ import annotations

import numpy as np
import pytest

import pykittens as pk

from .family import Choice, built, right, run, tensors_of

EVERYTHING = {"scales": "both", "scaling": "alpha_beta", "bias": "col", "activation": "gelu_erf", "residual": "add"}
EPILOGUES = (
    {"scales": "tensor", "scaling": "alpha", "bias": "row", "activation": "relu"},
    {"scales": "row", "activation": "silu"},
    {"scales": "col", "bias": "col", "activation": "gelu_tanh"},
    {"scaling": "alpha_beta", "residual": "add"},
    EVERYTHING,
)


def with_epilogue(kernel: str, arch: str, out: str, epilogue: dict[str, str]) -> Choice:
    return kernel, arch, (("out", out), *epilogue.items())


@pytest.mark.parametrize("out", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("epilogue", EPILOGUES, ids=lambda each: "-".join(each.values()))
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_epilogues(arch: str, epilogue: dict[str, str], out: str) -> None:
    tile = {} if arch == "gfx942" else {"tile": "128x128"}
    for shape in ((128, 128, 64), (70, 61, 67)):
        run(with_epilogue("gemm", arch, out, {**tile, **epilogue}), *shape)


@pytest.mark.parametrize(
    ("kernel", "arch"),
    [("gemm", "gfx950"), ("gemm_grouped", "gfx950"), ("gemm_grouped", "gfx942"), ("gemm_interleaved", "gfx950"),
     ("gemm_split", "gfx942"), ("gemm_specialized", "gfx950"), ("gemm_staged", "gfx942")],
)  # fmt: skip
def test_every_product_has_them(kernel: str, arch: str) -> None:
    run(with_epilogue(kernel, arch, "bf16", EVERYTHING), 70, 96, 200)


def test_sixteen_waves_have_registers_for_all_of_it() -> None:
    run(with_epilogue("gemm_specialized", "gfx950", "bf16", {"tile": "192x256", **EVERYTHING}), 200, 270, 130)


@pytest.mark.parametrize("epilogue", EPILOGUES, ids=lambda each: "-".join(each.values()))
def test_groups_have_columns_of_their_own(epilogue: dict[str, str]) -> None:
    """Both layouts; the groups are uneven, and one is often empty."""
    for layout, arch in (("ABt", "gfx942"), ("AB", "gfx950")):
        choice = with_epilogue("gemm_grouped", arch, "f32", {"layout": layout, **epilogue})
        for seed in range(2):
            run(choice, 150, 61, 67, seed)


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(pk.Error, match=r"^activation is 'swish'; use one of none, relu"):
        pk.compile(pk.kernels.gemm, activation="swish")
    with pytest.raises(pk.Error, match=r"^out is i32; use one of bf16, f16, f32"):
        pk.compile(pk.kernels.gemm, out="i32")
    with pytest.raises(pk.Error, match="gemm has no option 'act'"):
        pk.compile(pk.kernels.gemm, act="relu")


def test_lengths_and_numbers_are_checked() -> None:
    exe = pk.compile(pk.kernels.gemm_split, "gfx950", tile="16x32", scaling="alpha", bias="col")
    a, b, c = (np.zeros((4, 4), pk.bf16.numpy) for _ in range(3))
    with pytest.raises(pk.Error, match=r"bias and C must have the same length \(cols\), got 3 and 4"):
        exe(a, b, c, 1.0, np.zeros(3, pk.bf16.numpy))
    with pytest.raises(pk.Error, match="alpha is a str, the kernel takes a number"):
        exe(a, b, c, "1", np.zeros(4, pk.bf16.numpy))
    with pytest.raises(pk.Error, match=r"takes 5 arguments \(A, B, C, alpha, bias\), got 3"):
        exe(a, b, c)


@pytest.mark.parametrize("activation", ["relu", "gelu_tanh", "gelu_erf", "silu"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_nan_and_infinity_go_through_activations_as_in_numpy(arch: str, activation: str) -> None:
    """A NaN stays one, and an activation of infinity is infinity."""
    choice = with_epilogue("gemm_split", arch, "f32", {"activation": activation})
    tensors = tensors_of(choice, 5, 40, 70)
    tensors["B"][:] = np.abs(tensors["B"]) + 1
    tensors["A"][0, 3], tensors["A"][2, 5], tensors["A"][4] = np.nan, np.inf, 30
    built(choice)(*tensors.values())
    assert np.isnan(tensors["C"][0]).all()
    assert (tensors["C"][2] == np.inf).all()
    right(choice, tensors, 70)
