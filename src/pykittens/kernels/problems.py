"""One problem per kernel: how `pk run`, tests and benchmarks try it. A new kernel is one class and one entry here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from pykittens.errors import InputError
from pykittens.tile.dtypes import DTYPES

from .gemm import gemm
from .problem import Array, Option, Options, Problem, Size, Sizes


class Gemm(Problem):
    """C = A Bᵀ or A B with standard normal inputs, rounded to the input type before both sides see them."""

    kernel = gemm
    sizes = (
        Size("m", 256, "rows of A and C"),
        Size("n", 256, "columns of C"),
        Size("k", 256, "the length that is summed over"),
    )
    options = (
        Option("dtype", ("bf16", "f16"), "type of A and B", "--dtype"),
        Option("out", ("bf16", "f16", "f32"), "type of C", "--out-dtype"),
        Option("layout", ("ABt", "AB"), "B is N x K (ABt) or K x N (AB)", "--layout"),
    )

    def bytes(self, sizes: Sizes, options: Options) -> int:
        m, n, k = (sizes[name] for name in "mnk")
        # Inputs: 2 bytes, f32 while they are drawn, f64 for the reference. C: itself, and five f64 arrays to compare.
        return (m + n) * k * 14 + m * n * (DTYPES[options["out"]].bytes + 5 * 8)

    def tensors(self, sizes: Sizes, options: Options, rng: np.random.Generator) -> dict[str, Array]:
        m, n, k = (sizes[name] for name in "mnk")
        dtype, out = DTYPES[options["dtype"]].numpy, DTYPES[options["out"]].numpy
        shapes = {"A": (m, k), "B": (n, k) if options["layout"] == "ABt" else (k, n)}
        tensors = {name: rng.standard_normal(shape, np.float32).astype(dtype) for name, shape in shapes.items()}
        return {**tensors, "C": np.full((m, n), np.nan, out)}

    def expected(self, tensors: Mapping[str, Array], options: Options) -> dict[str, Array]:
        a, b = _factors(tensors, options)
        with np.errstate(invalid="ignore"):  # inf - inf and 0 x inf are NaN on both sides
            return {"C": a @ b.T}

    def allowed(
        self, tensors: Mapping[str, Array], options: Options, expected: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Half a unit in the last place of C, and f32 sums whose rounding errors do not all point one way."""
        a, b = _factors(tensors, options)
        out = ml_dtypes.finfo(tensors["C"].dtype)
        # |sum| never exceeds the product of the norms (Cauchy-Schwarz), so neither does any sum on the way.
        accumulation = (4 + np.sqrt(a.shape[1])) * 2.0**-24
        norms = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
        rounding = float(out.eps) / 2 * np.abs(expected["C"]) + float(out.smallest_subnormal) / 2
        return {"C": rounding + accumulation * norms}

    def tolerance(self, sizes: Sizes, options: Options) -> float:
        """Rounding of the result; f32 sums lose a little more the longer they are."""
        longer = max(1.0, float(np.sqrt(sizes["k"] / 4096)))
        return {"bf16": 4e-3, "f16": 5e-4, "f32": 1e-6 * longer}[options["out"]]


def _factors(tensors: Mapping[str, Array], options: Options) -> tuple[Any, Any]:
    """A (M x K) and B (N x K) in float64."""
    a, b = tensors["A"].astype(np.float64), tensors["B"].astype(np.float64)
    return a, b if options["layout"] == "ABt" else b.T


PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in (Gemm(),)}
"""Every kernel's problem by the kernel's name."""


def get(name: str) -> Problem:
    """The problem of a kernel; `InputError` lists the kernels there are."""
    if name not in PROBLEMS:
        raise InputError("unknown-kernel", f"there is no kernel {name!r}", fix=f"use one of {', '.join(PROBLEMS)}")
    return PROBLEMS[name]
