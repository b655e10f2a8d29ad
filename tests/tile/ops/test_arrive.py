"""Workgroups that meet at a counter: who is last sees what all have stored, and the counter is 0 again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pykittens as pk
from pykittens.tile.ops import maps
from pykittens.tile.program_inputs import WORKGROUP

GROUPS = 5


@pk.kernel(waves=(1, 1))
def sums(A: pk.gl("f32"), C: pk.gl("f32"), *, groups=GROUPS, dtype="i32", sizes=(1,), count=None):
    """C[16, 16] = the sum of A's 16 x 16 tiles, one workgroup each."""
    pk.tile.current().grid = (groups, 1, 1)
    number = WORKGROUP[0]
    x, more = pk.rt("f32", 16, 16), pk.rt("f32", 16, 16)
    parts = pk.workspace("parts", "f32", (groups * 16, 16))
    pk.load(x, A.tile(number, 0))
    pk.store(parts.tile(number, 0), x)
    before = pk.arrive(pk.workspace("arrived", dtype, sizes), 0, groups if count is None else count)
    with pk.when(before == groups - 1):
        pk.zero(x)
        for i in pk.loop(groups):
            pk.load(more, parts.tile(i, 0))
            maps.add(x, x, more)
        pk.store(C.tile(0, 0), x)


def numbers(groups: int = GROUPS) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((16 * groups, 16), np.float32)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("groups", [1, 2, GROUPS])
def test_the_last_one_adds_up_in_order_and_leaves_zero(arch: str, groups: int) -> None:
    exe = pk.compile(sums, arch, groups=groups)
    a, c = numbers(groups), np.full((16, 16), np.nan, np.float32)
    launch = exe.launch_arguments(a, c)
    assert launch is not None
    parts, counter = launch["args"][-2:]
    assert parts.shape == (16 * groups, 16) and np.isnan(parts).all()
    exe.sim_kernel.launch(**launch)
    expected = np.zeros((16, 16), np.float32)
    for i in range(groups):
        expected += a[16 * i : 16 * i + 16]
    np.testing.assert_array_equal(c, expected)
    np.testing.assert_array_equal(counter, [0])


def test_callers_pass_no_workspace() -> None:
    exe = pk.compile(sums)
    assert [argument.name for argument in exe.arguments] == ["A", "C"]
    assert [argument.name for argument in exe.built.arguments] == ["A", "C", "parts", "arrived"]
    with pytest.raises(pk.Error, match=r"takes 2 arguments \(A, C\), got 3"):
        exe(numbers(), np.zeros((16, 16), np.float32), np.zeros(1, np.int32))
    c = np.zeros((16, 16), np.float32)
    exe(numbers(), c)
    assert pk.predict(exe, (80, 16), (16, 16)).cycles > 0
    assert c.any()


def test_stores_are_written_back_before_the_counter_and_caches_dropped_after() -> None:
    """As LLVM does for an acquire and release of the device on both chips."""
    lines = [line.split(";")[0].split() for line in pk.compile(sums).assembly.splitlines()]
    atomic = next(i for i, words in enumerate(lines) if words and words[0].startswith("buffer_atomic"))
    around = [words for words in lines[atomic - 2 : atomic + 4] if words]
    assert around[0] == ["buffer_wbl2", "sc1"]
    assert around[1] == ["s_waitcnt", "vmcnt(0)"]
    assert around[2][-1] == "sc0"
    assert around[3] == ["s_waitcnt", "vmcnt(0)"]
    assert around[4][0].startswith("v_readfirstlane")
    assert around[5] == ["buffer_inv", "sc1"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": "f32"}, "arrived is f32 of rank 1, waves arrive at i32 vectors"),
        ({"sizes": (1, 1)}, "arrived is i32 of rank 2, waves arrive at i32 vectors"),
        ({"dtype": "bf16"}, "workspace arrived is bf16; use f32 or i32"),
        ({"sizes": ()}, "workspace arrived has 0 sizes, 1 or 2 are needed"),
        ({"count": 0}, "0 waves are to arrive, at least 1 does"),
    ],
)
def test_what_is_no_counter_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(pk.errors.BuildError, match=words):
        pk.compile(sums, **options)


def test_names_are_given_once() -> None:
    @pk.kernel(waves=(1, 1))
    def twice(A: pk.gl("f32")):
        pk.workspace("A", "f32", (1,))

    with pytest.raises(pk.errors.BuildError, match="the kernel has an argument A already"):
        pk.compile(twice)
