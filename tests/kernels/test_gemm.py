"""The GEMM on the virtual GPU beside NumPy float64: shapes, tails, strides, types, special values, threads."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pykittens as pk

from .gemm_builds import PROBLEM, built, multiply, options_of, output, random_factors, right
from .matrices import poisoned

ARCHS = ("gfx942", "gfx950")
LAYOUTS = ("ABt", "AB")
# Starts and strides off every alignment, and 16-byte ones, for which the copies go 16 bytes a lane.
ODD: dict[str, int] = {"left": 3, "right": 2, "above": 1}
EVEN: dict[str, int] = {"left": 8, "right": 8, "above": 1}


def even(cols: int) -> dict[str, int]:
    """Margins that keep rows of so many elements on multiples of 8 elements."""
    return {"left": 8, "right": 8 + -cols % 8, "above": 1}


SHAPES = [
    (1, 1, 1), (7, 7, 7), (1, 1, 65), (16, 16, 32), (64, 64, 64), (33, 129, 65), (128, 128, 128), (257, 3, 127),
    (3, 257, 192), (256, 256, 64), (255, 254, 63), (130, 258, 320),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("arch", ARCHS)
def test_shapes_and_tails(arch: str, layout: str, shape: tuple[int, int, int]) -> None:
    """One code object for all of them, with rows on 16-byte multiples and with rows that start anywhere."""
    exe = built(arch, layout=layout)
    a, b = random_factors(exe, *shape)
    aligned = multiply(exe, a, b, {"A": even(a.shape[1]), "B": even(b.shape[1]), "C": even(shape[1])})
    ragged = multiply(exe, a, b, {"A": ODD, "B": ODD, "C": ODD})
    assert aligned.shape == ragged.shape == shape[:2]


@pytest.mark.parametrize(("dtype", "out"), [("bf16", "bf16"), ("f16", "f16"), ("f16", "bf16"), ("bf16", "f16")])
@pytest.mark.parametrize("arch", ARCHS)
def test_types(arch: str, dtype: str, out: str) -> None:
    layout = "AB" if dtype == out else "ABt"
    exe = built(arch, dtype, out, layout)
    for shape in ((131, 70, 193), (64, 128, 128)):
        multiply(exe, *random_factors(exe, *shape))


@pytest.mark.parametrize("out", ["bf16", "f32"])
@pytest.mark.parametrize("arch", ARCHS)
def test_error_at_k_4096(arch: str, out: str) -> None:
    """rel_fro_error is at most 4e-3 for bf16 results and 1e-6 for f32 ones."""
    exe = built(arch, out=out, layout="AB" if out == "bf16" else "ABt")
    a, b = random_factors(exe, 200, 130, 4096)
    c = multiply(exe, a, b)
    found = PROBLEM.compare({"A": a, "B": b, "C": c}, {"m": 200, "n": 130, "k": 4096}, options_of(exe))
    assert found.rel_fro_error <= {"bf16": 4e-3, "f32": 1e-6}[out]


@settings(max_examples=30)
@given(
    arch=st.sampled_from(ARCHS), layout=st.sampled_from(LAYOUTS), m=st.integers(0, 300), n=st.integers(0, 300),
    k=st.integers(0, 200), margins=st.lists(st.integers(0, 9), min_size=6, max_size=6), seed=st.integers(0, 999),
)  # fmt: skip
def test_any_size_and_place(arch: str, layout: str, m: int, n: int, k: int, margins: list[int], seed: int) -> None:
    exe = built(arch, layout=layout)
    places = {name: {"left": margins[i], "right": margins[i + 1]} for name, i in (("A", 0), ("B", 2), ("C", 4))}
    multiply(exe, *random_factors(exe, m, n, k, seed), places)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("arch", ARCHS)
def test_no_depth_gives_zeros(arch: str, layout: str) -> None:
    exe = built(arch, layout=layout)
    c = multiply(exe, *random_factors(exe, 130, 70, 0))
    np.testing.assert_array_equal(c, 0)


@pytest.mark.parametrize("shape", [(0, 5, 5), (5, 0, 5), (0, 0, 0), (0, 0, 5)])
def test_no_rows_or_columns_launch_nothing(shape: tuple[int, int, int]) -> None:
    exe = built("gfx950")
    a, b = random_factors(exe, *shape)
    C = output(exe, *shape[:2])
    assert exe(a, b, C.matrix) is None
    assert C.untouched()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("arch", ARCHS)
def test_infinities_and_nans_reach_their_row_and_column_only(arch: str, layout: str) -> None:
    """Between NaN on all sides; one of each inside, in the tail of K and in its whole part."""
    exe = built(arch, layout=layout)
    a, b = random_factors(exe, 140, 70, 130)
    rows_of_b = b if layout == "ABt" else b.T
    a[3, 129], a[5, 0] = np.nan, np.inf
    rows_of_b[7, 128], rows_of_b[9, 1] = -np.inf, np.nan
    c = multiply(exe, a, b).astype(np.float64)
    bad = ~np.isfinite(c)
    assert bad[[3, 5]].all()
    assert bad[:, [7, 9]].all()
    assert bad.sum() == 2 * 70 + 2 * 140 - 4


@pytest.mark.parametrize("arch", ARCHS)
def test_results_are_rounded_to_nearest_even(arch: str) -> None:
    """A Bᵀ with B = 1 is A itself: every f16 number as bf16, bit for bit, ties, denormals and infinities included."""
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(-1, 16)
    exe = built(arch, "f16", "bf16", "AB")
    C = poisoned(np.full(values.shape, np.nan), ml_dtypes.bfloat16)
    exe(values, np.eye(16, dtype=np.float16), C.matrix)
    assert C.untouched()
    finite = np.isfinite(values).all(axis=1)
    # 0 + -0 is 0: a sum loses the sign that f16's -0 has.
    expected = (values[finite] + np.float16(0)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(C.matrix[finite].view(np.uint16), expected.view(np.uint16))
    # An infinity makes 0 x inf = NaN of the rest of its row, and that row holds NaN too.
    assert np.isnan(C.matrix[~finite].astype(np.float32)).all()


@pytest.mark.parametrize("arch", ARCHS)
def test_f16_results_overflow_to_infinity(arch: str) -> None:
    exe = built(arch, "bf16", "f16", "ABt")
    a = np.array([[65280.0], [65536.0], [-1e30], [6e-8]], ml_dtypes.bfloat16)
    C = output(exe, 4, 1)
    exe(a, np.ones((1, 1), ml_dtypes.bfloat16), C.matrix)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(C.matrix, a.astype(np.float32).astype(np.float16))


def test_columns_cut_out_of_larger_matrices() -> None:
    """Non-contiguous inputs and output: every third block of columns of one array."""
    exe = built("gfx950")
    whole = np.random.default_rng(0).standard_normal((100, 300), np.float32).astype(ml_dtypes.bfloat16)
    a, b, c = whole[:90, 10:75], whole[5:, 200:265], np.full((90, 400), np.nan, np.float32)
    exe(a, b, c[:, 33:128])
    assert right(exe, a, b, c[:, 33:128])
    assert np.isnan(c[:, :33]).all()
    assert np.isnan(c[:, 128:]).all()


@pytest.mark.parametrize("arch", ARCHS)
def test_order_of_waves_changes_nothing(arch: str) -> None:
    """Turns of other lengths, copies that land as late as waits allow, random turns: the same bits."""
    exe = built(arch)
    a, b = random_factors(exe, 150, 140, 330)
    usual = multiply(exe, a, b)
    orders = [pk.sim.Order(turn=1), pk.sim.Order(turn=1000), pk.sim.Order(landing="late"), pk.sim.Order(seed=1)]
    for order in [*orders, pk.sim.Order(turn=3, landing="late", seed=2)]:
        np.testing.assert_array_equal(multiply(exe, a, b, order=order), usual)


def test_two_launches_in_one_process_do_not_meet() -> None:
    exe = built("gfx950")
    first, second = (random_factors(exe, 70, 80, 90, seed) for seed in (1, 2))
    before = multiply(exe, *first)
    other = multiply(exe, *second)
    assert (before != other).any()
    np.testing.assert_array_equal(multiply(exe, *first), before)


@pytest.mark.parametrize("archs", [("gfx950", "gfx950"), ("gfx942", "gfx950")])
def test_two_python_threads_launch_at_once(archs: tuple[str, str]) -> None:
    """The same executable, and one of each chip."""
    jobs = [(built(arch), random_factors(built(arch), 300, 270, 200, seed)) for seed, arch in enumerate(archs)]
    alone = [multiply(exe, *factors) for exe, factors in jobs]
    found: list[Any] = [None, None]
    start = threading.Barrier(2)

    def work(place: int) -> None:
        exe, factors = jobs[place]
        start.wait()
        found[place] = [multiply(exe, *factors) for _ in range(3)]

    threads = [threading.Thread(target=work, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results, expected in zip(found, alone, strict=True):
        for result in results:
            np.testing.assert_array_equal(result, expected)
