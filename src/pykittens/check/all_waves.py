"""The NumPy evaluator over all waves of a workgroup at once, so that code is followed for every wave by one execution.

Raw values have leading axes of any number, the waves last among them: shape (…, waves, 1) is one value per wave and
(…, waves, 64) one per lane; constants have shape ().
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pykittens.isa.numpy_evaluator import LANES, NumpyEvaluator, dtype_of
from pykittens.isa.types import Type

Array = np.ndarray[Any, Any]


class AllWavesEvaluator(NumpyEvaluator):
    """`Evaluator` whose lanes are the last axis, whatever comes before it."""

    def extract(self, type: Type, lanes: Array, index: Array) -> Array:
        both = _wide(lanes), np.asarray(index, np.int64) & (LANES - 1)
        rows, places = np.broadcast_arrays(both[0], both[1][..., :1] if both[1].ndim else both[1])
        return np.asarray(np.take_along_axis(rows, places[..., :1], axis=-1), dtype_of(type))

    def insert(self, type: Type, lanes: Array, index: Array, scalar: Array) -> Array:
        here = np.arange(LANES) == (np.asarray(index, np.int64) & (LANES - 1))
        return np.asarray(np.where(here, scalar, _wide(lanes)), dtype_of(type))

    def shuffle(self, type: Type, a: Array, b: Array, indices: tuple[int, ...]) -> Array:
        both = np.broadcast_arrays(_wide(a), _wide(b))
        return np.concatenate(both, axis=-1)[..., list(indices)]

    def broadcast(self, type: Type, scalar: Array) -> Array:
        return _wide(scalar)

    def ballot(self, lanes: Array) -> Array:
        octets = np.packbits(_wide(lanes), axis=-1, bitorder="little")
        return np.ascontiguousarray(octets).view("<u8").astype(np.uint64)

    def lanes_of(self, mask: Array) -> Array:
        octets = np.ascontiguousarray(np.asarray(mask, "<u8").reshape(*mask.shape[:-1], 1)).view(np.uint8)
        return np.unpackbits(octets, axis=-1, bitorder="little").astype(np.bool_)


def _wide(values: Array) -> Array:
    """As lanes."""
    return np.broadcast_to(values, (*values.shape[:-1], LANES))
