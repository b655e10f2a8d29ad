"""Kernels that users get wrong: each is refused while it is built, with the line that is to blame."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import pykittens as pk

HERE = "# here"


def unwritten_registers(A: Any, C: Any) -> None:
    a, c = pk.rt("bf16", 32, 32), pk.rt("f32", 32, 32)
    pk.zero(c)
    pk.mma_ABt(c, a, a)  # here


def unwritten_shared(A: Any, C: Any) -> None:
    s, a = pk.st("bf16", 64, 64), pk.rt("bf16", 64, 64)
    pk.load(a, s)  # here


def unwritten_in_the_first_pass(A: Any, C: Any) -> None:
    c = pk.rt("f32", 32, 32)
    for _ in pk.loop(A.rows):
        pk.store(C.tile(0, 0), c)  # here
        pk.zero(c)


def branch(A: Any, C: Any) -> None:
    if A.rows > 5:  # here
        pk.barrier()


def branch_on_equality(A: Any, C: Any) -> None:
    if pk.wave.row == 0:  # here
        pk.barrier()


def branch_on_difference(A: Any, C: Any) -> None:
    while A.rows != C.rows:  # here
        pk.barrier()


def python_range(A: Any, C: Any) -> None:
    for _ in range(A.rows):  # here
        pk.barrier()


def fraction(A: Any, C: Any) -> None:
    pk.rt("f32", A.rows * 0.5, 16)  # here


def division(A: Any, C: Any) -> None:
    pk.loop(A.rows / 2)  # here


def division_by_zero(A: Any, C: Any) -> None:
    pk.loop(A.rows // 0)  # here


def fractional_size(A: Any, C: Any) -> None:
    pk.rt("f32", 16.0, 16)  # here


def runtime_size(A: Any, C: Any) -> None:
    pk.st("bf16", A.rows, 64)  # here


def fractional_tile(A: Any, C: Any) -> None:
    A.tile(0.5, 0)  # here


def negative_tile(A: Any, C: Any) -> None:
    A.tile(-1, 0)  # here


def tile_by_lane(A: Any, C: Any) -> None:
    A.tile(pk.lane, 0)  # here


def subtile_larger_than_its_tile(A: Any, C: Any) -> None:
    pk.st("bf16", 64, 64).subtile(128, 64, 0, 0)  # here


def subtile_outside(A: Any, C: Any) -> None:
    pk.st("bf16", 64, 64).subtile(64, 64, 0, 1)  # here


def subtile_outside_in_some_wave(A: Any, C: Any) -> None:
    pk.st("bf16", 64, 64).subtile(32, 64, pk.wave.index, 0)  # here


def condition_by_lane(A: Any, C: Any) -> None:
    with pk.when(pk.lane):  # here
        pk.barrier()


def no_condition(A: Any, C: Any) -> None:
    with pk.when(None):  # type: ignore[arg-type]  # here
        pk.barrier()


def fractional_loop(A: Any, C: Any) -> None:
    for _ in pk.loop(2.5):  # type: ignore[arg-type]  # here
        pk.barrier()


def left_loop(A: Any, C: Any) -> None:
    for _ in pk.loop(A.rows):  # here
        pk.barrier()
        break


def returned_from_loop(A: Any, C: Any) -> None:
    for _ in pk.loop(A.rows):  # here
        pk.barrier()
        return


def counter_after_its_loop(A: Any, C: Any) -> None:
    (counter,) = pk.loop(A.rows)
    A.tile(counter, 0)  # here


def too_few_arguments(A: Any, C: Any) -> None:
    pk.mma_ABt(pk.rt("f32", 32, 32))  # here


def unknown_dtype(A: Any, C: Any) -> None:
    pk.rt("bf17", 16, 32)  # here


def unhashable_dtype(A: Any, C: Any) -> None:
    pk.rt(["bf16"], 16, 32)  # here


def too_much_lds(A: Any, C: Any) -> None:  # here
    pk.st("bf16", 1024, 1024)


CODES = {
    unwritten_registers: "unwritten-tile", unwritten_shared: "unwritten-tile",
    unwritten_in_the_first_pass: "unwritten-tile", branch: "runtime-condition",
    branch_on_equality: "runtime-condition", branch_on_difference: "runtime-condition",
    python_range: "run-time-value", fraction: "run-time-float", division: "run-time-float",
    division_by_zero: "divisor", fractional_size: "tile-shape", runtime_size: "tile-shape",
    fractional_tile: "run-time-float", negative_tile: "tile-index", tile_by_lane: "lane-value",
    subtile_larger_than_its_tile: "tile-index", subtile_outside: "tile-index",
    subtile_outside_in_some_wave: "tile-index", condition_by_lane: "lane-value", no_condition: "run-time-float",
    fractional_loop: "run-time-float", left_loop: "loop-left", returned_from_loop: "loop-left",
    counter_after_its_loop: "loop-counter", too_few_arguments: "op-arguments", unknown_dtype: "unknown-dtype",
    unhashable_dtype: "unknown-dtype", too_much_lds: "lds-budget",
}  # fmt: skip


def kernel(body: Callable[[Any, Any], None], waves: Any = (2, 2)) -> pk.Kernel:
    """The body as a kernel that takes A in bf16 and C in f32."""
    body.__annotations__ |= {"A": pk.gl("bf16"), "C": pk.gl("f32")}
    return pk.kernel(waves=waves)(body)


@pytest.mark.parametrize("body", CODES, ids=lambda body: body.__name__)
def test_a_mistake_is_one_line_with_its_place(body: Callable[[Any, Any], None]) -> None:
    lines, first = inspect.getsourcelines(body)
    place = first + next(i for i, line in enumerate(lines) if line.rstrip().endswith(HERE))
    with pytest.raises(pk.Error) as caught:
        pk.compile(kernel(body), "gfx950")
    assert caught.value.code == CODES[body]
    assert caught.value.where == f"{__file__}:{place}"


def carried_under_a_condition(A: Any, C: Any) -> None:
    c = pk.rt("f32", 32, 32)
    for t in pk.loop(A.rows):
        with pk.when(t > 0):
            pk.store(C.tile(t - 1, 0), c)
        pk.zero(c)


def subtile_of_some_waves(A: Any, C: Any) -> None:
    s, c = pk.st("f32", 32, 64), pk.rt("f32", 16, 16)
    pk.zero(c)
    with pk.when(pk.wave.index >= 2):
        pk.store(s.subtile(16, 16, pk.wave.index - 2, 0), c)


def condition_on_equality(A: Any, C: Any) -> None:
    c = pk.rt("f32", 32, 32)
    pk.zero(c)
    with pk.when(pk.wave.row == 1):
        pk.store(C.tile(0, 0), c)


@pytest.mark.parametrize("body", [carried_under_a_condition, subtile_of_some_waves, condition_on_equality])
def test_what_looks_like_a_mistake_but_is_none(body: Callable[[Any, Any], None]) -> None:
    assert pk.compile(kernel(body), "gfx950").code_object


def test_equality_selects_waves() -> None:
    import numpy as np

    c = np.full((32, 32), np.nan, np.float32)
    exe = pk.compile(kernel(condition_on_equality), "gfx950")
    exe(np.zeros((0, 0), pk.bf16.numpy), c)
    assert not c.any()


@pytest.mark.parametrize("waves", [(0, 1), (-1, -2), (5, 5), (2.5, 2), 4, None])
def test_waves_that_cannot_be(waves: Any) -> None:
    with pytest.raises(pk.Error, match=r"a workgroup has 1 to 16 of them.*\[waves\]"):
        pk.compile(kernel(left_loop, waves))


def test_signatures_that_cannot_be() -> None:
    def several(*A: Any) -> None:
        """Takes any number of tensors."""

    several.__annotations__["A"] = pk.gl("bf16")
    with pytest.raises(pk.Error, match=r"\*A is no parameter.*\[kernel-signature\]"):
        pk.compile(pk.kernel(waves=(1, 1))(several))

    def needs_x(*, x: int) -> None:
        """Has an option without a default."""

    needs_x.__annotations__.clear()
    with pytest.raises(pk.Error, match=r"needs its option 'x'.*\[missing-option\]"):
        pk.compile(pk.kernel(waves=(1, 1))(needs_x))
    assert pk.compile(pk.kernel(waves=(1, 1))(needs_x), x=3).code_object
    with pytest.raises(pk.Error, match=r"a kernel is a function.*\[not-a-function\]"):
        pk.kernel(waves=(1, 1))(print)
