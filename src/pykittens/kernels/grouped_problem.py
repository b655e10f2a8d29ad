"""The problem of the grouped product: groups of uneven sizes, empty ones among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pykittens.tile.dtypes import DTYPES

from .problem import Array, Options, Size, Sizes
from .product_problem import ProductProblem, old_result

GROUPS = Size("groups", 4, "groups of rows with a B of their own")


class GroupedProblem(ProductProblem):
    """Rows are dealt out to the groups at random."""

    def bytes(self, sizes: Sizes, options: Options) -> int:
        n, k = sizes["n"], sizes["k"]
        return super().bytes(sizes, options) + max(sizes["groups"] - 1, 0) * n * (k * 14 + 8) + 8 * sizes["groups"]

    def tensors(self, sizes: Sizes, options: Options, rng: np.random.Generator) -> dict[str, Array]:
        m, n, k, groups = (sizes[name] for name in ("m", "n", "k", "groups"))
        found = super().tensors(sizes, options, rng)

        def drawn(shape: tuple[int, ...], kind: Any) -> Array:
            return np.asarray(rng.standard_normal(shape, np.float32).astype(kind))

        shape = (groups, n, k) if options["layout"] == "ABt" else (groups, k, n)
        ends = np.sort(rng.integers(0, m + 1, max(groups - 1, 0)))
        starts = np.concatenate([[0], ends, [m]]) if groups else np.zeros(1)
        own = {"B": drawn(shape, DTYPES[options["dtype"]].numpy)}
        if options["scales"] in ("col", "both"):
            own["scale_b"] = drawn((groups, n), np.float32)
        if options["scales"] == "tensor":
            own["scale_b"] = drawn((groups,), np.float32)
        if options["bias"] == "col":
            own["bias"] = drawn((groups, n), DTYPES[options["out"]].numpy)
        factors = {name: own.get(name, found.pop(name)) for name in ("A", "B", "C")}
        return {**factors, "starts": starts.astype(np.int32), **{name: own.get(name, found[name]) for name in found}}

    def expected(self, tensors: Mapping[str, Array], options: Options) -> dict[str, Array]:
        parts = [super(GroupedProblem, self).expected(inside, options) for inside in _groups(tensors, options)]
        return self._joined(tensors, parts)

    def allowed(
        self, tensors: Mapping[str, Array], options: Options, expected: Mapping[str, Array]
    ) -> dict[str, Array]:
        starts = tensors["starts"]
        parts = []
        for group, inside in enumerate(_groups(tensors, options)):
            rows = {"C": expected["C"][starts[group] : starts[group + 1]]}
            parts.append(super().allowed(inside, options, rows))
        return self._joined(tensors, parts)

    @staticmethod
    def _joined(tensors: Mapping[str, Array], parts: list[dict[str, Array]]) -> dict[str, Array]:
        return {"C": np.concatenate([np.zeros((0, tensors["C"].shape[1])), *(part["C"] for part in parts)])}


def _groups(tensors: Mapping[str, Array], options: Options) -> Iterator[dict[str, Any]]:
    """The product of each group."""
    starts, old = tensors["starts"], old_result(tensors["C"].shape)
    of_rows = {"A", "C", "R", "scale_a"} - ({"scale_a"} if options["scales"] == "tensor" else set())
    of_groups = {"B", "scale_b"}
    (of_rows if options["bias"] == "row" else of_groups).add("bias")
    for group in range(len(tensors["B"])):
        rows = slice(starts[group], starts[group + 1])
        found: dict[str, Any] = {"old": old[rows]}
        for name, tensor in tensors.items():
            found[name] = tensor[rows] if name in of_rows else tensor[group] if name in of_groups else tensor
        if options["scales"] == "tensor":
            found["scale_b"] = found["scale_b"][None]
        yield found
