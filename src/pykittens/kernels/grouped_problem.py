"""The problem of the grouped product: groups of uneven sizes, empty ones among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pykittens.tile.dtypes import DTYPES

from .problem import Array, Options, Size, Sizes
from .product_problem import ProductProblem

GROUPS = Size("groups", 4, "groups of rows with a B of their own")


class GroupedProblem(ProductProblem):
    """Rows are dealt out to the groups at random."""

    def bytes(self, sizes: Sizes, options: Options) -> int:
        n, k = sizes["n"], sizes["k"]
        return super().bytes(sizes, options) + max(sizes["groups"] - 1, 0) * n * k * 14 + 8 * sizes["groups"]

    def tensors(self, sizes: Sizes, options: Options, rng: np.random.Generator) -> dict[str, Array]:
        m, n, k, groups = (sizes[name] for name in ("m", "n", "k", "groups"))
        dtype = DTYPES[options["dtype"]].numpy
        found = super().tensors({**sizes, "n": 0}, options, rng)
        shape = (groups, n, k) if options["layout"] == "ABt" else (groups, k, n)
        ends = np.sort(rng.integers(0, m + 1, max(groups - 1, 0)))
        starts = np.concatenate([[0], ends, [m]]) if groups else np.zeros(1)
        return {
            "A": found["A"], "B": rng.standard_normal(shape, np.float32).astype(dtype),
            "C": np.full((m, n), np.nan, DTYPES[options["out"]].numpy), "starts": starts.astype(np.int32),
        }  # fmt: skip

    def expected(self, tensors: Mapping[str, Array], options: Options) -> dict[str, Array]:
        return self._joined(tensors, [super(GroupedProblem, self).expected(t, options) for t in _groups(tensors)])

    def allowed(
        self, tensors: Mapping[str, Array], options: Options, expected: Mapping[str, Array]
    ) -> dict[str, Array]:
        starts = tensors["starts"]
        parts = []
        for group, inside in enumerate(_groups(tensors)):
            rows = {"C": expected["C"][starts[group] : starts[group + 1]]}
            parts.append(super().allowed(inside, options, rows))
        return self._joined(tensors, parts)

    @staticmethod
    def _joined(tensors: Mapping[str, Array], parts: list[dict[str, Array]]) -> dict[str, Array]:
        return {"C": np.concatenate([np.zeros((0, tensors["C"].shape[1])), *(part["C"] for part in parts)])}


def _groups(tensors: Mapping[str, Array]) -> Iterator[dict[str, Any]]:
    """The product of each group."""
    starts = tensors["starts"]
    for group, b in enumerate(tensors["B"]):
        rows = slice(starts[group], starts[group + 1])
        yield {"A": tensors["A"][rows], "B": b, "C": tensors["C"][rows]}
