"""The float64 attention that foreign kernels are compared with: gradients against differences, masks, empty rows."""

from __future__ import annotations

import numpy as np
import pytest
from bench.foreign.attention import backward, forward, mask

_SCALE = 0.3


def inputs(queries: int, keys: int) -> list[np.ndarray]:
    rng = np.random.default_rng(queries)
    shapes = ((queries, 2, 4), (keys, 1, 4), (keys, 1, 3), (queries, 2, 3))
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("kind", ["none", "top-left", "bottom-right"])
def test_gradients_are_those_of_the_result(kind: str) -> None:
    q, k, v, do = inputs(5, 7)

    def loss(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> float:
        return float((forward(q, k, v, _SCALE, kind).o * do).sum())

    done = forward(q, k, v, _SCALE, kind)
    found = backward(q, k, v, do, _SCALE, done, done.o)
    step = 1e-6
    for number, (tensor, gradient) in enumerate(((q, found.dq), (k, found.dk.sum(1)), (v, found.dv.sum(1)))):
        changed = [q, k, v]
        moved = tensor.copy()
        moved[2, 0, 1] += step
        changed[number] = moved
        slope = (loss(*changed) - loss(q, k, v)) / step
        own = gradient[2, 0, 1] if number == 0 else gradient[2, 1]
        assert slope == pytest.approx(own, abs=1e-4)


def test_masks() -> None:
    assert mask(2, 4, "none").all()
    assert mask(2, 4, "top-left").astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0]]
    assert mask(2, 4, "bottom-right").astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert mask(3, 4, (1, 0)).astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0]]


def test_rows_that_see_nothing() -> None:
    q, k, v, _ = inputs(4, 2)
    done = forward(q, k, v, _SCALE, "bottom-right")
    assert (done.o[:2] == 0).all() and np.isneginf(done.lse[:, :2]).all()
    assert np.isfinite(done.lse[:, 2:]).all()
