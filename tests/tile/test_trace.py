"""Tracing: what loops, conditions, phases and requirements record, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st_

from pykittens.errors import BuildError
from pykittens.tile import bf16, f32, lane, loop, mma_ABt, phase, require_equal, rt, st, wave, when, zero
from pykittens.tile.expression import Expr, evaluate, leaf
from pykittens.tile.trace import Loop, OpCall, Trace, When, tracing

N = leaf("arg", "A", "rows")


@pytest.fixture
def trace() -> Iterator[Trace]:
    with tracing(Trace("gfx950", (2, 4))) as current:
        yield current


def names(nodes: list[Any]) -> list[Any]:
    """Ops by name, loops and conditions as lists of theirs."""
    return [node.op.name if isinstance(node, OpCall) else names(node.body) for node in nodes]


def test_ops_are_recorded_with_their_line_and_phase(trace: Trace) -> None:
    x = rt(bf16, 16, 32)
    zero(x)
    with phase("load"):
        zero(x)
    first, second = trace.nodes
    assert isinstance(first, OpCall)
    assert isinstance(second, OpCall)
    assert first.where is not None
    assert first.where.rpartition(":")[0].endswith("test_trace.py")
    assert (first.phase, second.phase, trace.phase) == (None, "load", None)


def test_python_loops_unroll_and_gpu_loops_do_not(trace: Trace) -> None:
    x = rt(bf16, 16, 32)
    for _ in range(3):
        zero(x)
    for _ in loop(N):
        zero(x)
    assert names(trace.nodes) == ["zero", "zero", "zero", ["zero"]]
    node = trace.nodes[-1]
    assert isinstance(node, Loop)
    assert node.count == N


def test_nested_loops_know_their_depth(trace: Trace) -> None:
    scopes = []
    for i in loop(4):
        for j in loop(N):
            assert isinstance(i, Expr)
            assert isinstance(j, Expr)
            scopes = [i.scope, j.scope, (i + j).scope, N.scope]  # type: ignore[union-attr]
    assert scopes == [1, 2, 2, 0]
    assert trace.depth == 0


def _passes(nodes: list[Any], inputs: dict[Expr, Any], body: dict[int, Any]) -> list[int]:
    """The counter of every pass, in order, as the GPU would run them."""
    seen: list[int] = []
    for node in nodes:
        if isinstance(node, OpCall):
            seen.append(int(np.asarray(evaluate(body[id(node)], inputs))))
        elif isinstance(node, Loop):
            for i in range(int(np.asarray(evaluate(node.count, inputs)))):
                seen += _passes(node.body, {**inputs, node.counter: np.int64(i)}, body)
        elif isinstance(node, When) and evaluate(node.condition, inputs):
            seen += _passes(node.body, inputs, body)
    return seen


@given(st_.integers(-3, 12), st_.integers(-3, 12), st_.integers(1, 4))
def test_unrolled_loops_count_as_plain_ones(start: int, stop: int, unroll: int) -> None:
    """Every pass once and in order, the ones that remain too; the residue is known at build time."""
    first, last = leaf("arg", "A", "rows"), leaf("arg", "B", "rows")
    with tracing(Trace("gfx950", (1, 1))) as trace:
        x, counters = rt(bf16, 16, 32), {}
        for t in loop(first, last, unroll=unroll):
            zero(x)
            body = trace.stack[-1]
            counters[id(body[-1])] = t
        assert _passes(trace.nodes, {first: np.int64(start), last: np.int64(stop)}, counters) == list(
            range(start, stop)
        )


def test_residues_of_unrolled_counters_are_numbers(trace: Trace) -> None:
    assert [t % 2 for t in loop(N, unroll=2)] == [0, 1, 0]  # the last is the pass that may remain
    assert [(t + 1) % 4 for t in loop(0, N, unroll=4)][:4] == [1, 2, 3, 0]


def test_loops_of_known_counts(trace: Trace) -> None:
    x = rt(bf16, 16, 32)
    for _ in loop(5, unroll=2):
        zero(x)
    # Two double passes, and one that is known to remain.
    assert names(trace.nodes) == [["zero", "zero"], "zero"]


@pytest.mark.parametrize("unroll", [0, -1])
def test_unrolling_by_nothing_is_refused(trace: Trace, unroll: int) -> None:
    with pytest.raises(BuildError, match=f"unroll is {unroll}, at least 1 is needed"):
        next(iter(loop(N, unroll=unroll)))


def test_conditions(trace: Trace) -> None:
    x = rt(bf16, 16, 32)
    with when(N > 3):
        zero(x)
    with when(1):
        zero(x)
    with when(0):
        zero(x)
        zero(x)
    assert names(trace.nodes) == [["zero"], "zero"]
    assert isinstance(trace.nodes[0], When)


def test_conditions_by_lane_are_refused(trace: Trace) -> None:
    with pytest.raises(BuildError, match="differs by lane"), when(lane < 3):  # type: ignore[arg-type]
        pass


def test_an_error_inside_leaves_the_trace_usable(trace: Trace) -> None:
    x = rt(bf16, 16, 32)
    with pytest.raises(ValueError, match="mine"), when(N > 3):
        raise ValueError("mine")
    zero(x)
    assert names(trace.nodes) == [[], "zero"]


def test_ops_outside_a_kernel_are_refused() -> None:
    with pytest.raises(BuildError, match="tiles and ops exist only while a kernel is traced") as caught:
        rt(bf16, 16, 32)
    assert caught.value.code == "outside-kernel"
    assert caught.value.where is not None
    assert "test_trace.py" in caught.value.where


def test_kernels_traced_inside_one_another_do_not_mix() -> None:
    with tracing(Trace("gfx950", (1, 1))) as outer:
        zero(rt(bf16, 16, 32))
        with tracing(Trace("gfx942", (1, 1))) as inner:
            zero(rt(bf16, 16, 16))
            zero(rt(bf16, 16, 16))
        zero(rt(bf16, 16, 32))
    assert (len(outer.nodes), len(inner.nodes)) == (2, 2)


def test_requirements_are_kept_in_order(trace: Trace) -> None:
    require_equal(N, 5, "A must have 5 rows")
    assert [(r.a, r.b, r.words) for r in trace.requirements] == [(N, 5, "A must have 5 rows")]


def test_wave_positions_follow_the_wave_grid(trace: Trace) -> None:
    for index in range(8):
        inputs = {wave.index: np.int64(index)}
        assert (evaluate(wave.row, inputs), evaluate(wave.col, inputs)) == divmod(index, 4)  # type: ignore[arg-type]


def test_tile_arrays(trace: Trace) -> None:
    tiles = st(bf16, 16, 32, copies=(2, 2))
    assert len(list(tiles)) == len(trace.shared) == 4
    assert tiles[1, 0] is not tiles[0, 1]
    with pytest.raises(BuildError, match=r"tile index \(2, 0\) is outside \(2, 2\)"):
        tiles[2, 0]
    for t in loop(N):
        with pytest.raises(BuildError, match="only known on the GPU") as caught:
            tiles[t, 0]
    assert "unroll" in caught.value.fix


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rt(bf16, 16, 33), "its shape is 16x32; use multiples of 16 rows and 32 columns"),
        (lambda: rt(bf16, 0, 32), "its shape is 16x32"),
        (lambda: st(bf16, 8, 32), "its shape is 16x32"),
        (lambda: rt(bf16, 16, 32, "diagonal"), "layout 'diagonal' is neither 'row' nor 'col'"),
        (lambda: rt(bf16, 16, 32, file="sgpr"), "file 'sgpr' is neither 'vgpr' nor 'agpr'"),
        (lambda: rt(bf16, 16, 32, shape="7x7"), "no register base shape '7x7'"),
        (lambda: st(bf16, 16, 32, "7x7"), "no shared shape '7x7'"),
        (lambda: mma_ABt(rt(f32, 16, 16), rt(bf16, 16, 32), rt(bf16, 32, 32)), "c must be 16x32"),
        (lambda: mma_ABt(rt(f32, 16, 16), rt(bf16, 16, 32), rt(f32, 16, 16)), "mma_ABt takes f32 and two bf16"),
        (lambda: mma_ABt(rt(f32, 16, 16), rt(bf16, 16, 32), st(bf16, 16, 32)), "takes register tiles, not st"),
    ],
)
def test_tiles_and_ops_that_cannot_be(trace: Trace, make: Any, words: str) -> None:
    with pytest.raises(BuildError) as caught:
        make()
    assert words in str(caught.value)
    assert caught.value.where is None or "test_trace.py" in caught.value.where
