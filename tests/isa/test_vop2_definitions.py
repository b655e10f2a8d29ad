"""VOP2 meanings against NumPy, fractions and Python integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .meaning_calls import F32_EDGES, INT_EDGES, bits, each, fraction_of, pairs, random_floats, rounded, run, same

MASK32 = 0xFFFFFFFF
RNG = np.random.default_rng(2)


def signed(value: int, width: int = 32) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


@pytest.mark.parametrize(("name", "operation"), [
    ("v_add_f32", lambda a, b: a + b), ("v_sub_f32", lambda a, b: a - b), ("v_subrev_f32", lambda a, b: b - a),
    ("v_mul_f32", lambda a, b: a * b),
])  # fmt: skip
def test_f32_arithmetic_is_ieee(name: str, operation: Any) -> None:
    a, b = pairs(F32_EDGES)
    with np.errstate(all="ignore"):
        same(run(name, a, b), operation(a.view(np.float32), b.view(np.float32)))


@pytest.mark.parametrize(("name", "operation"), [
    ("v_add_f16", lambda a, b: a + b), ("v_sub_f16", lambda a, b: a - b), ("v_subrev_f16", lambda a, b: b - a),
    ("v_mul_f16", lambda a, b: a * b),
])  # fmt: skip
def test_f16_arithmetic_rounds_once(name: str, operation: Any) -> None:
    a, b = (RNG.integers(0, 1 << 16, 20000, np.uint16) for _ in range(2))
    with np.errstate(all="ignore"):
        exact = operation(a.view(np.float16).astype(np.float64), b.view(np.float16).astype(np.float64))
        same(run(name, a, b), exact.astype(np.float16))


@pytest.mark.parametrize(("name", "type", "spread"), [
    ("v_fmac_f32", np.float32, 30), ("v_fmac_f64", np.float64, 60), ("v_pk_fmac_f16", np.float16, 7),
])  # fmt: skip
def test_multiply_adds_round_once(name: str, type: Any, spread: int) -> None:
    a, b = (random_floats(RNG, type, 400, spread) for _ in range(2))
    # Addends near the negated product show a second rounding.
    c = np.concatenate([-(a[:200] * b[:200]), random_floats(RNG, type, 200, spread)])
    wanted = [
        rounded(fraction_of(x) * fraction_of(y) + fraction_of(z), f"f{np.dtype(type).itemsize * 8}")
        for x, y, z in zip(a, b, c, strict=True)
    ]
    same(run(name, a, b, old=c), np.array(wanted, type))


def test_constants_of_fmamk_and_fmaak_stand_where_the_text_has_them() -> None:
    two, three, ten = (np.full(1, x, np.float32) for x in (2, 3, 10))
    assert run("v_fmamk_f32", two, three, ten) == 16
    assert run("v_fmaak_f32", two, three, ten) == 16
    assert run("v_madmk_f16", *(x.astype(np.float16) for x in (two, three, ten))) == 16
    assert run("v_madak_f16", *(x.astype(np.float16) for x in (two, three, ten))) == 16


def extreme(a: int, b: int, ieee: int, largest: bool) -> int:
    """The bits of the manual's v_min_f32 and v_max_f32."""
    is_nan = [(x & 0x7FFFFFFF) > 0x7F800000 for x in (a, b)]
    for x, nan in zip((a, b), is_nan, strict=True):
        if ieee and nan and not x & 0x400000:
            return x | 0x400000
    if is_nan[0]:
        return (b if not is_nan[1] else a) | (0x400000 if is_nan[1] else 0)
    if is_nan[1]:
        return a
    # As sign-magnitude integers floats are in order, with -0 below +0.
    keys = [-(x & 0x7FFFFFFF) - 1 if x >> 31 else x for x in (a, b)]
    return (a, b)[keys.index(max(keys) if largest else min(keys))]


@pytest.mark.parametrize("ieee", [0, 1])
@pytest.mark.parametrize(("name", "largest"), [("v_min_f32", False), ("v_max_f32", True)])
def test_minimum_and_maximum_treat_nan_and_zeros_as_the_manual_says(name: str, largest: bool, ieee: int) -> None:
    a, b = pairs(F32_EDGES)
    wanted = each(lambda x, y: extreme(x, y, ieee, largest), a, b, dtype=np.uint32)
    np.testing.assert_array_equal(bits(run(name, a, b, ieee=ieee)), wanted)


def test_ldexp_f16_rounds_into_denormals() -> None:
    numbers = RNG.integers(0, 0x7C00, 3000, np.uint16).view(np.float16)
    exponents = RNG.integers(-45, 45, 3000).astype(np.int16)
    wanted = [rounded(fraction_of(x) * 2 ** int(e) if e >= 0 else fraction_of(x) / 2 ** int(-e), "f16")
              for x, e in zip(numbers, exponents, strict=True)]  # fmt: skip
    same(run("v_ldexp_f16", numbers, exponents), np.array(wanted, np.float16))
    same(run("v_ldexp_f16", np.array([1.0], np.float16), np.array([-32768], np.int16)), np.zeros(1, np.float16))


INTEGER_CASES: list[tuple[str, Any]] = [
    ("v_mul_i32_i24", lambda a, b: signed(a, 24) * signed(b, 24)),
    ("v_mul_hi_i32_i24", lambda a, b: (signed(a, 24) * signed(b, 24)) >> 32),
    ("v_mul_u32_u24", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    ("v_mul_hi_u32_u24", lambda a, b: ((a & 0xFFFFFF) * (b & 0xFFFFFF)) >> 32),
    ("v_min_i32", lambda a, b: min(signed(a), signed(b))), ("v_max_i32", lambda a, b: max(signed(a), signed(b))),
    ("v_min_u32", min), ("v_max_u32", max),
    ("v_lshrrev_b32", lambda n, a: a >> (n & 31)), ("v_ashrrev_i32", lambda n, a: signed(a) >> (n & 31)),
    ("v_lshlrev_b32", lambda n, a: a << (n & 31)),
    ("v_and_b32", lambda a, b: a & b), ("v_or_b32", lambda a, b: a | b), ("v_xor_b32", lambda a, b: a ^ b),
    ("v_xnor_b32", lambda a, b: ~(a ^ b)),
    ("v_add_u32", lambda a, b: a + b), ("v_sub_u32", lambda a, b: a - b), ("v_subrev_u32", lambda a, b: b - a),
]  # fmt: skip


@pytest.mark.parametrize(("name", "reference"), INTEGER_CASES)
def test_integer_operations(name: str, reference: Any) -> None:
    a, b = pairs(INT_EDGES)
    wanted = each(lambda x, y: reference(x, y) & MASK32, a, b, dtype=np.uint32)
    np.testing.assert_array_equal(bits(run(name, a, b)), wanted)


@pytest.mark.parametrize(("name", "reference"), [
    ("v_add_u16", lambda a, b: a + b), ("v_sub_u16", lambda a, b: a - b), ("v_subrev_u16", lambda a, b: b - a),
    ("v_mul_lo_u16", lambda a, b: a * b), ("v_lshlrev_b16", lambda n, a: a << (n & 15)),
    ("v_lshrrev_b16", lambda n, a: a >> (n & 15)), ("v_ashrrev_i16", lambda n, a: signed(a, 16) >> (n & 15)),
    ("v_max_u16", max), ("v_min_u16", min), ("v_max_i16", lambda a, b: max(signed(a, 16), signed(b, 16))),
    ("v_min_i16", lambda a, b: min(signed(a, 16), signed(b, 16))),
])  # fmt: skip
def test_16_bit_integer_operations(name: str, reference: Any) -> None:
    a, b = pairs(np.array([0, 1, 5, 15, 16, 255, 256, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint16))
    wanted = each(lambda x, y: reference(x, y) & 0xFFFF, a, b, dtype=np.uint16)
    np.testing.assert_array_equal(bits(run(name, a, b)), wanted)


def test_clamped_sums_saturate() -> None:
    a, b = pairs(INT_EDGES)
    wanted = each(lambda x, y: min(x + y, MASK32), a, b, dtype=np.uint32)
    np.testing.assert_array_equal(run("v_add_u32", a, b, clamp=True), wanted)
    wanted = each(lambda x, y: max(x - y, 0), a, b, dtype=np.uint32)
    np.testing.assert_array_equal(run("v_sub_u32", a, b, clamp=True), wanted)
    h = np.array([0, 1, 0x7FFF, 0xFFFF], np.uint16)
    np.testing.assert_array_equal(run("v_add_u16", h, np.full(4, 0xFFFF, np.uint16), clamp=True), np.full(4, 0xFFFF))


@pytest.mark.parametrize("carry_in", [0, 1])
def test_carries_make_wider_sums_and_differences(carry_in: int) -> None:
    a, b = pairs(INT_EDGES)
    carry = np.full(a.shape, carry_in, np.bool_)
    total, out = run("v_addc_co_u32", a, b, carry)
    exact = a.astype(object) + b + carry_in
    np.testing.assert_array_equal(total, (exact & MASK32).astype(np.uint32))
    np.testing.assert_array_equal(out, exact > MASK32)
    for name, x, y in (("v_subb_co_u32", a, b), ("v_subbrev_co_u32", b, a)):
        difference, borrow = run(name, a, b, carry)
        exact = x.astype(object) - y - carry_in
        np.testing.assert_array_equal(difference, (exact & MASK32).astype(np.uint32))
        np.testing.assert_array_equal(borrow, exact < 0)
    if not carry_in:
        for short, long in (("v_add_co_u32", "v_addc_co_u32"), ("v_sub_co_u32", "v_subb_co_u32"),
                            ("v_subrev_co_u32", "v_subbrev_co_u32")):  # fmt: skip
            np.testing.assert_array_equal(run(short, a, b), run(long, a, b, carry))


def test_cndmask_takes_the_second_source_where_the_mask_is_set() -> None:
    a, b = np.array([1, 2], np.uint32), np.array([3, 4], np.uint32)
    np.testing.assert_array_equal(run("v_cndmask_b32", a, b, np.array([0, 1])), [1, 4])


@pytest.mark.parametrize(("name", "width"), [("v_dot2c_i32_i16", 16), ("v_dot4c_i32_i8", 8), ("v_dot8c_i32_i4", 4)])
@pytest.mark.parametrize("clamp", [False, True])
def test_integer_dot_products(name: str, width: int, clamp: bool) -> None:
    a, b = (RNG.integers(0, 1 << 32, 500, np.uint64).astype(np.uint32) for _ in range(2))
    a[0], b[0] = 0x80008000, 0x80008000
    c = RNG.choice(np.array([0x7FFFFFFF, 0x80000000, 5], np.uint32), 500)

    def reference(x: int, y: int, z: int) -> int:
        exact = signed(z) + sum(signed(x >> i, width) * signed(y >> i, width) for i in range(0, 32, width))
        return (max(min(exact, 0x7FFFFFFF), -0x80000000) if clamp else exact) & MASK32

    np.testing.assert_array_equal(bits(run(name, a, b, old=c, clamp=clamp)), each(reference, a, b, c, dtype=np.uint32))


@pytest.mark.parametrize(("name", "type"), [("v_dot2c_f32_f16", np.float16), ("v_dot2c_f32_bf16", None)])
def test_float_dot_products_add_exact_products(name: str, type: Any) -> None:
    a, b = ((random_floats(RNG, np.float32, 100, 6), random_floats(RNG, np.float32, 100, 6)) for _ in range(2))
    if type is None:
        narrow = [tuple((bits(x) >> 16).astype(np.uint16) for x in pair) for pair in (a, b)]
        exact = [[(x.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for x in pair] for pair in narrow]
    else:
        narrow = [tuple(x.astype(type) for x in pair) for pair in (a, b)]
        exact = [[x.astype(np.float64) for x in pair] for pair in narrow]
    c = random_floats(RNG, np.float32, 100, 6)
    wanted = c + exact[0][0] * exact[1][0] + exact[0][1] * exact[1][1]
    np.testing.assert_allclose(run(name, *narrow, old=c), wanted, rtol=1e-4, atol=1e-3)
