"""Divisions as compilers write them, of scale, estimate, fused steps, last step and fixup, are correctly rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .meaning_calls import bits, fraction_of, random_floats, rounded, run, same

RNG = np.random.default_rng(3)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.0, 0.1])


def divide_f32(n: Any, d: Any) -> Any:
    """LLVM's sequence for f32 with denormals on (llvm: SIISelLowering, LowerFDIV32)."""
    one = np.ones_like(n)
    scaled_d, _ = run("v_div_scale_f32", d, d, n)
    scaled_n, vcc = run("v_div_scale_f32", n, d, n)
    estimate = run("v_rcp_f32", scaled_d)
    error = run("v_fma_f32", -scaled_d, estimate, one)
    inverse = run("v_fma_f32", error, estimate, estimate)
    quotient = run("v_mul_f32", scaled_n, inverse)
    rest = run("v_fma_f32", -scaled_d, quotient, scaled_n)
    better = run("v_fma_f32", rest, inverse, quotient)
    rest = run("v_fma_f32", -scaled_d, better, scaled_n)
    return run("v_div_fixup_f32", run("v_div_fmas_f32", rest, inverse, better, vcc=vcc), d, n)


def divide_f64(n: Any, d: Any) -> Any:
    """LLVM's sequence for f64 (llvm: SIISelLowering, LowerFDIV64)."""
    one = np.ones_like(n)
    scaled_d, _ = run("v_div_scale_f64", d, d, n)
    scaled_n, vcc = run("v_div_scale_f64", n, d, n)
    estimate = run("v_rcp_f64", scaled_d)
    inverse = run("v_fma_f64", estimate, run("v_fma_f64", -scaled_d, estimate, one), estimate)
    inverse = run("v_fma_f64", inverse, run("v_fma_f64", -scaled_d, inverse, one), inverse)
    quotient = run("v_mul_f64", scaled_n, inverse)
    rest = run("v_fma_f64", -scaled_d, quotient, scaled_n)
    return run("v_div_fixup_f64", run("v_div_fmas_f64", rest, inverse, quotient, vcc=vcc), d, n)


def divide_f16(n: Any, d: Any) -> Any:
    """f16 through f32 and the reciprocal's estimate (llvm: SIISelLowering, LowerFDIV16)."""
    wide_n, wide_d = run("v_cvt_f32_f16", n), run("v_cvt_f32_f16", d)
    inverse = run("v_rcp_f32", wide_d)
    quotient = run("v_mul_f32", wide_n, inverse)
    rest = run("v_fma_f32", -wide_d, quotient, wide_n)
    quotient = run("v_fma_f32", rest, inverse, quotient)
    rest = run("v_fma_f32", -wide_d, quotient, wide_n)
    last = bits(run("v_mul_f32", rest, inverse)) & np.uint32(0xFF800000)
    return run("v_div_fixup_f16", run("v_cvt_f16_f32", run("v_add_f32", last, quotient)), d, n)


def operands(type: Any, count: int) -> tuple[Any, Any]:
    """Numerators and denominators of all sizes, of close sizes, denormal ones, and pairs with quotients near limits."""
    unsigned = np.dtype(f"u{np.dtype(type).itemsize}")
    info = np.finfo(type)
    everything = [
        RNG.integers(0, int(np.iinfo(unsigned).max) + 1, count, np.uint64).astype(unsigned).view(type) for _ in range(2)
    ]
    close = [random_floats(RNG, type, count, 3) for _ in range(2)]
    denormal = [
        RNG.integers(1, 1 << int(info.nmant), count).astype(unsigned).view(type),
        random_floats(RNG, type, count, 20),
    ]
    d = random_floats(RNG, type, count, int(info.maxexp) // 2)
    with np.errstate(all="ignore"):
        near = [
            [d * type(info.smallest_normal) * RNG.integers(1, 64, count).astype(type), d],
            [d * type(info.smallest_normal) * type(info.eps) * RNG.integers(1, 64, count).astype(type), d],
            [d * type(info.max) * RNG.random(count).astype(type), d],
            [type(info.max) * (0.5 + RNG.random(count) / 2).astype(type), random_floats(RNG, type, count, 3)],
            [random_floats(RNG, type, count, 2), type(info.max) * (0.1 + 0.9 * RNG.random(count)).astype(type)],
            [random_floats(RNG, type, count, 60) * type(info.smallest_normal) ** type(0.9), denormal[0]],
        ]  # fmt: skip
    pairs = [everything, close, denormal, denormal[::-1], *near]
    special = [x.ravel().astype(type) for x in np.meshgrid(SPECIAL, SPECIAL)]
    pairs.append(special)
    return tuple(np.concatenate([p[i] for p in pairs]) for i in (0, 1))


@pytest.mark.parametrize(("type", "divide", "count"), [
    (np.float32, divide_f32, 20000), (np.float64, divide_f64, 3000), (np.float16, divide_f16, 20000),
])  # fmt: skip
def test_quotients_are_correctly_rounded(type: Any, divide: Any, count: int) -> None:
    n, d = operands(type, count)
    with np.errstate(all="ignore"):
        same(divide(n, d), n / d)


def test_quotients_of_ties_in_denormals_are_even() -> None:
    """Quotients that lie exactly between two denormals, or one last place beside."""
    for type, divide in ((np.float32, divide_f32), (np.float64, divide_f64)):
        info = np.finfo(type)
        odd = (2 * np.arange(1, 40) + 1).astype(type)
        n = odd * type(info.smallest_subnormal) * type(2.0**20)
        d = np.full_like(n, 2.0**21)
        exact = [
            rounded(fraction_of(x) / fraction_of(y), f"f{np.dtype(type).itemsize * 8}")
            for x, y in zip(n, d, strict=True)
        ]
        same(divide(n, d), np.array(exact, type))
        for beside in (np.nextafter(d, np.inf, dtype=type), np.nextafter(d, 0, dtype=type)):
            same(divide(n, beside), n / beside)


def test_scale_says_where_the_quotient_is_scaled() -> None:
    n = np.array([1.0, 2.0**100, 2.0**-110, 2.0**-100, 1.5, 0.0], np.float32)
    d = np.array([3.0, 2.0**-10, 2.0**100, 2.0**26, 2.0**127, 5.0], np.float32)
    scaled, vcc = run("v_div_scale_f32", n, d, n)
    assert vcc.tolist() == [False, True, True, False, True, False]
    np.testing.assert_array_equal(scaled[:5] / n[:5], [1, 1, 2.0**64, 1, 1])
    assert np.isnan(scaled[5])
    scaled, again = run("v_div_scale_f32", d, d, n)
    assert again.tolist() == vcc.tolist()
    np.testing.assert_array_equal(scaled[:5] / d[:5], [1, 2.0**64, 1, 1, 2.0**-64])


@pytest.mark.parametrize("type", ["f16", "f32", "f64", "legacy_f16"])
def test_fixup_puts_special_cases_right(type: str) -> None:
    dtype = {"f32": np.float32, "f64": np.float64}.get(type, np.float16)
    d, n = (x.ravel().astype(dtype) for x in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        wanted = n / d
    ordinary = np.isfinite(n) & np.isfinite(d) & (n != 0) & (d != 0)
    # The quotient's own sign does not count.
    estimate = np.where(ordinary, -wanted, dtype(7))
    same(run(f"v_div_fixup_{type}", estimate.astype(dtype), d, n), wanted)
