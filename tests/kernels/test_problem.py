"""Problems: what counts as right, and which sizes and options are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pykittens.errors import InputError
from pykittens.kernels import KERNELS
from pykittens.kernels.problems import PROBLEMS, get

OPTIONS = {"dtype": "bf16", "out": "bf16", "layout": "ABt"}
SIZES = {"m": 40, "n": 30, "k": 50}


def rounded(out: str = "bf16", seed: int = 0) -> tuple[dict[str, Any], dict[str, str]]:
    """Tensors whose C is the reference, correctly rounded."""
    problem, options = PROBLEMS["gemm"], {**OPTIONS, "out": out}
    tensors = problem.tensors(SIZES, options, np.random.default_rng(seed))
    tensors["C"][:] = problem.expected(tensors, options)["C"].astype(tensors["C"].dtype)
    return tensors, options


def test_every_kernel_has_a_problem_with_its_own_options() -> None:
    assert PROBLEMS.keys() == KERNELS.keys()
    for name, problem in PROBLEMS.items():
        assert problem.kernel is KERNELS[name]
        assert problem.defaults().keys() <= problem.kernel.options().keys()
        problem.check_options(problem.defaults())
        assert list(
            problem.tensors({size.name: 2 for size in problem.sizes}, problem.defaults(), np.random.default_rng(0))
        )


def test_outputs_start_as_nan_and_inputs_follow_the_seed() -> None:
    tensors = PROBLEMS["gemm"].tensors(SIZES, OPTIONS, np.random.default_rng(0))
    assert list(tensors) == ["A", "B", "C"]
    assert np.isnan(tensors["C"]).all()
    again = PROBLEMS["gemm"].tensors(SIZES, OPTIONS, np.random.default_rng(0))
    np.testing.assert_array_equal(tensors["A"], again["A"])


def test_layouts_agree_on_what_is_expected() -> None:
    problem = PROBLEMS["gemm"]
    tensors, options = rounded()
    transposed = {**tensors, "B": tensors["B"].T}
    np.testing.assert_array_equal(
        problem.expected(tensors, options)["C"], problem.expected(transposed, {**options, "layout": "AB"})["C"]
    )


@pytest.mark.parametrize("out", ["bf16", "f16", "f32"])
def test_the_correctly_rounded_result_passes(out: str) -> None:
    tensors, options = rounded(out)
    found = PROBLEMS["gemm"].compare(tensors, SIZES, options)
    assert found.passed
    assert 0 < found.rel_fro_error < found.tolerance
    assert found.elements == 1200


@pytest.mark.parametrize("out", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("damage", ["one product missing", "nan", "inf", "truncated"])
def test_what_is_wrong_fails(out: str, damage: str) -> None:
    tensors, options = rounded(out)
    if damage == "one product missing":
        a, b = float(tensors["A"][3, 0]), float(tensors["B"][4, 0])
        tensors["C"][3, 4] = float(tensors["C"][3, 4]) - a * b
    elif damage == "truncated":
        # Low bits always cleared: on the average the elements are too small.
        bits = tensors["C"].view(f"u{tensors['C'].itemsize}")
        bits &= ~np.asarray(3 if out != "f32" else 0xFFF, bits.dtype)
    else:
        tensors["C"][3, 4] = float(damage)
    found = PROBLEMS["gemm"].compare(tensors, SIZES, options)
    assert not found.passed
    assert found.wrong_elements >= 1


def test_same_infinities_and_nans_are_right() -> None:
    tensors, options = rounded("f32")
    tensors["A"][5, 7] = np.inf
    tensors["A"][6, 7] = np.nan
    with np.errstate(over="ignore"):
        tensors["C"][:] = PROBLEMS["gemm"].expected(tensors, options)["C"].astype(np.float32)
    assert PROBLEMS["gemm"].compare(tensors, SIZES, options).passed
    tensors["C"][5, 0] *= -1
    assert not PROBLEMS["gemm"].compare(tensors, SIZES, options).passed


@pytest.mark.parametrize("sizes", [{"m": 0, "n": 3, "k": 3}, {"m": 3, "n": 3, "k": 0}])
def test_nothing_to_sum_is_right_when_it_is_zero(sizes: dict[str, int]) -> None:
    problem = PROBLEMS["gemm"]
    tensors = problem.tensors(sizes, OPTIONS, np.random.default_rng(0))
    assert problem.compare(tensors, sizes, OPTIONS).passed == (tensors["C"].size == 0)
    tensors["C"][:] = 0
    assert problem.compare(tensors, sizes, OPTIONS).passed
    if tensors["C"].size:
        tensors["C"][1, 1] = 1e-3
        assert problem.compare(tensors, sizes, OPTIONS).rel_fro_error == np.inf


def test_refusals_name_both_numbers_or_the_known_values() -> None:
    problem = PROBLEMS["gemm"]
    with pytest.raises(InputError, match=r"n is -1, the smallest is 0"):
        problem.check_sizes({"m": 1, "n": -1, "k": 1}, OPTIONS, 1 << 30)
    need = problem.bytes({"m": 100, "n": 100, "k": 100}, OPTIONS)
    problem.check_sizes({"m": 100, "n": 100, "k": 100}, OPTIONS, need)
    with pytest.raises(InputError, match=rf"m=100, n=100, k=100 takes {need} bytes, this machine has {need - 1}"):
        problem.check_sizes({"m": 100, "n": 100, "k": 100}, OPTIONS, need - 1)
    with pytest.raises(InputError, match="use one of bf16, f16"):
        problem.check_options({**OPTIONS, "dtype": "f32"})
    with pytest.raises(InputError, match="use one of gemm"):
        get("gem")
