"""Run-time integers: folding, bounds, and that the code they become computes what `evaluate` says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pykittens.errors import BuildError
from pykittens.tile.expression import (
    CONDITIONS,
    Expr,
    Int,
    below,
    binary,
    bound_of,
    cdiv,
    equal,
    evaluate,
    leaf,
    leaves,
    maximum,
    minimum,
    select,
)  # fmt: skip
from pykittens.tile.program_inputs import LANE, WAVE, WORKGROUP

from .expression_machine import ExpressionMachine

M, N = leaf("arg", "A", "rows"), leaf("arg", "B", "rows")
LANES = np.arange(64)


# -- folding -------------------------------------------------------------------------------------------------------
def test_affine_terms_collect_and_cancel() -> None:
    assert (M + 3) * 2 - M - M == 6
    assert M + N - M == N
    assert (2 * M + 4 * N + 6) - (4 * N + 6) == 2 * M


def test_residues_of_unrolled_counters_are_known() -> None:
    i = leaf("loop", 1, scope=1)
    assert (2 * i + 1) % 2 == 1
    assert (2 * i) % 2 == 0
    assert (2 * i + 3) // 2 == i + 1


def test_bounds_fold_what_cannot_happen() -> None:
    assert LANE // 64 == 0
    assert LANE % 64 == LANE
    assert (LANE & 63) == LANE
    assert (LANE & 31) & 7 == LANE & 7
    assert WAVE // 16 == 0
    assert bound_of(LANE * 16 + 5) == 63 * 16 + 5
    assert bound_of(M) is None
    assert bound_of(LANE - 1) is None


@pytest.mark.parametrize("value", [M * 0, M - M, (M & 0), binary("shl", 0, M) * 0, M % 1, LANE >> 6])
def test_zero_is_a_number(value: Int) -> None:
    assert isinstance(value, int)
    assert value == 0


def test_select_and_conditions_of_numbers_fold() -> None:
    assert select(1, M, N) == M
    assert select(0, M, N) == N
    assert below(3, 4) == 1
    assert equal(3, 4) == 0
    assert minimum(3, 4) == 3
    assert maximum(3, 4) == 4
    assert cdiv(65, 64) == 2


def test_equal_expressions_hash_alike() -> None:
    assert len({M + N + 1, N + M + 1 - 0, 1 + M + N}) <= 2
    assert hash(M * 2 + 1) == hash(1 + 2 * M)
    assert M * 2 + 1 == 1 + 2 * M


def test_python_cannot_branch_on_a_runtime_value() -> None:
    with pytest.raises(BuildError, match="only known on the GPU") as caught:
        bool(M < N)
    assert caught.value.code == "runtime-condition"


@pytest.mark.parametrize("divisor", [0, -4])
def test_division_by_nothing_is_refused(divisor: int) -> None:
    with pytest.raises(BuildError) as caught:
        M // divisor
    assert caught.value.code == "divisor"


def test_leaves_and_uniformity() -> None:
    value = select(below(M, N), LANE + WAVE, 0)
    assert leaves(value) == {M, N, LANE, WAVE}
    assert isinstance(value, Expr)
    assert not value.uniform
    assert isinstance(M + WAVE, Expr)
    assert (M + WAVE).uniform  # type: ignore[union-attr]


def test_evaluate_names_a_missing_input() -> None:
    with pytest.raises(AssertionError, match="rows"):
        evaluate(M + 1, {})


# -- emitted code --------------------------------------------------------------------------------------------------
# Sizes up to 2^31-1 as the executable allows, with the edges that clamps and divisions stumble over.
SIZES = st.one_of(st.sampled_from([0, 1, 2, 63, 64, 65, 255, 256, 0x7FFFFFFF]), st.integers(0, 0x7FFFFFFF))
SMALL = st.integers(0, 300)
UNIFORM_LEAVES: list[Expr] = [M, N, WORKGROUP[0], WORKGROUP[1], WAVE]
_BINARY = ("add", "sub", "mul", "and", "or", "xor", "min", "max", "lt", "le", "eq", "ne")


def _join(op: str, a: Int, b: Int) -> Int:
    if op == "add":
        return a + b
    return a - b if op == "sub" else binary(op, a, b)


def expressions(leaf_values: list[Expr], division: Any) -> st.SearchStrategy[Int]:
    """Random expressions over leaves; ``division`` are the divisors that this kind of code knows."""
    start = st.one_of(st.sampled_from(leaf_values), st.integers(0, 1000))

    def grow(inner: st.SearchStrategy[Int]) -> st.SearchStrategy[Int]:
        return st.one_of(
            st.builds(_join, st.sampled_from(_BINARY), inner, inner),
            st.builds(lambda a, b: a // b if isinstance(a, Expr) else a, inner, division),
            st.builds(lambda a, b: a % b if isinstance(a, Expr) else a, inner, division),
            st.builds(lambda a, n: a << n, inner, st.integers(0, 8)),
            st.builds(lambda op, a, b, c, d: select(binary(op, a, b), c, d), st.sampled_from(sorted(CONDITIONS)),
                      inner, inner, inner, inner),
        )  # fmt: skip

    return st.recursive(start, grow, max_leaves=8)


def _stays_in_range(value: Int, inputs: dict[Expr, Any]) -> bool:
    """No part leaves the signed 32-bit numbers, and none that is divided or shifted is negative: there all agree."""
    if isinstance(value, int) or value in inputs:
        return True
    parts = [t for t, _ in value.args[0]] if value.op == "affine" else list(value.args)  # type: ignore[attr-defined]
    results = [np.asarray(evaluate(part, inputs)) for part in parts]
    if value.op in ("div", "mod", "shr", "shl", "and", "or", "xor") and any((r < 0).any() for r in results):
        return False
    if value.op in ("div", "mod") and (results[1] == 0).any():
        return False
    whole = np.asarray(evaluate(value, inputs))
    fits = bool((whole >= -(1 << 31)).all() and (whole < 1 << 31).all())
    return fits and all(_stays_in_range(part, inputs) for part in parts)


def _inputs(m: int, n: int, x: int, y: int, wave: int) -> dict[Expr, Any]:
    values = dict(zip(UNIFORM_LEAVES, (m, n, x, y, wave), strict=True))
    return {leaf: np.int64(value) for leaf, value in values.items()}


@settings(max_examples=300)
@given(expressions(UNIFORM_LEAVES, st.integers(1, 300)), SIZES, SMALL, SMALL, SMALL, st.integers(0, 15))
def test_scalar_code_computes_what_evaluate_says(value: Int, m: int, n: int, x: int, y: int, wave: int) -> None:
    inputs = _inputs(m, n, x, y, wave)
    assume(_stays_in_range(value, inputs))
    expected = int(evaluate(value, inputs)) & 0xFFFFFFFF
    assert ExpressionMachine(inputs).uniform(value) == expected
    assert bound_of(value) is None or expected <= bound_of(value)  # type: ignore[operator]


@settings(max_examples=300)
@given(
    expressions([*UNIFORM_LEAVES, LANE, LANE], st.sampled_from([1, 2, 4, 8, 16, 64])), SIZES, SMALL, SMALL, SMALL,
    st.integers(0, 15),
)  # fmt: skip
def test_vector_code_computes_what_evaluate_says(value: Int, m: int, n: int, x: int, y: int, wave: int) -> None:
    inputs = {**_inputs(m, n, x, y, wave), LANE: LANES}
    assume(_stays_in_range(value, inputs))
    expected = np.broadcast_to(np.asarray(evaluate(value, inputs)).astype(np.int64) & 0xFFFFFFFF, 64)
    np.testing.assert_array_equal(ExpressionMachine(inputs).lanes(value), expected)
    bound = bound_of(value)
    assert bound is None or int(expected.max()) <= bound


@given(st.sampled_from(sorted(CONDITIONS)), st.integers(-5, 5), st.integers(-5, 5))
def test_conditions_are_signed(op: str, a: int, b: int) -> None:
    inputs: dict[Expr, Any] = {M: np.int64(a), N: np.int64(b)}
    value = binary(op, M, N)
    expected = bool(evaluate(value, inputs))
    assert ExpressionMachine(inputs).condition(value) == expected
    assert ExpressionMachine(inputs).uniform(value) == int(expected)
    assert (
        ExpressionMachine({**inputs, LANE: LANES}).lanes(select(value, LANE, 7)) == (LANES if expected else 7)
    ).all()


@given(st.sampled_from(["min", "max"]), st.integers(-5, 5), st.integers(-5, 5))
def test_clamps_are_signed(op: str, a: int, b: int) -> None:
    inputs: dict[Expr, Any] = {M: np.int64(a), N: np.int64(b)}
    expected = evaluate(binary(op, M, N), inputs)
    assert ExpressionMachine(inputs).uniform(binary(op, M, N)) == int(expected) & 0xFFFFFFFF
    lanes = evaluate(binary(op, LANE - 32, N), {**inputs, LANE: LANES}).astype(np.int64) & 0xFFFFFFFF
    np.testing.assert_array_equal(ExpressionMachine({**inputs, LANE: LANES}).lanes(binary(op, LANE - 32, N)), lanes)


def test_shifts_are_unsigned() -> None:
    assert ExpressionMachine({M: 0x80000000}).uniform(M // 16) == 0x08000000
    assert (ExpressionMachine({M: 0x80000000, LANE: LANES}).lanes((M | LANE) // 64) == 0x02000000).all()


@settings(max_examples=200)
@given(
    st.sampled_from(["div", "mod"]),
    st.one_of(st.sampled_from([0, 1, 2**31 - 1, 2**31, 2**32 - 1]), st.integers(0, 2**32 - 1)),
    st.one_of(st.sampled_from([1, 2, 3, 2**16, 2**31 - 1, 2**31]), st.integers(1, 2**32 - 1), st.integers(1, 99)),
)  # fmt: skip
def test_division_by_a_runtime_value_is_exact(op: str, a: int, b: int) -> None:
    expected = a // b if op == "div" else a % b
    assert ExpressionMachine({M: a, N: b}).uniform(binary(op, M, N)) == expected


@pytest.mark.parametrize("low", [0, 2, 4, 8, 12])
def test_conditions_may_be_any_number(low: int) -> None:
    """A.aligned(4) & B.aligned(4) is a value, not a comparison: anything but 0 holds."""
    value = select(binary("and", equal(M & 3, 0), equal(N & 3, 0)), 5, 9)
    assert ExpressionMachine({M: low, N: 8}).uniform(value) == (5 if low % 4 == 0 else 9)
    assert ExpressionMachine({M: low, N: 8}).condition(M & 8) == bool(low & 8)


def test_what_an_outer_scope_knows_is_computed_once() -> None:
    machine = ExpressionMachine({M: 5, N: 7})
    value = M * N + 3
    machine.emit.uniform(value)
    written = len(machine.emit.program.items)
    machine.emit.uniform(value)
    assert len(machine.emit.program.items) == written
