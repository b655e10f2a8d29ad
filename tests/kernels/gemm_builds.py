"""Builds of the GEMM, one per set of options and test process, and runs of them between NaN."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import pykittens as pk
from pykittens.kernels.problems import PROBLEMS
from pykittens.tile.dtypes import DTYPES

from .matrices import Array, Poisoned, poisoned

PROBLEM = PROBLEMS["gemm"]


@functools.cache
def built(arch: str, dtype: str = "bf16", out: str = "f32", layout: str = "ABt") -> pk.Executable:
    return pk.compile(pk.kernels.gemm, arch, dtype=dtype, out=out, layout=layout)


def options_of(exe: pk.Executable) -> dict[str, str]:
    return {option.name: exe.built.options[option.name] for option in PROBLEM.options}


def random_factors(exe: pk.Executable, m: int, n: int, k: int, seed: int = 0) -> tuple[Array, Array]:
    """Standard normal A and B in the layout of the build, exact in its input type."""
    tensors = PROBLEM.tensors({"m": m, "n": n, "k": k}, options_of(exe), np.random.default_rng(seed))
    return tensors["A"], tensors["B"]


def output(exe: pk.Executable, m: int, n: int, **margins: int) -> Poisoned:
    return poisoned(np.full((m, n), np.nan), DTYPES[exe.built.options["out"]].numpy, **margins)


def right(exe: pk.Executable, a: Array, b: Array, c: Array) -> bool:
    """Whether C is what NumPy float64 says, within rounding, element by element and as a whole."""
    m, k = a.shape
    sizes = {"m": m, "n": c.shape[1], "k": k}
    found = PROBLEM.compare({"A": a, "B": b, "C": c}, sizes, options_of(exe))
    assert found.passed, found
    return True


def multiply(
    exe: pk.Executable, a: Array, b: Array, margins: dict[str, dict[str, int]] | None = None, **launch: Any
) -> Array:
    """C for A and B that lie between NaN, as C does; nothing around C is written. The result is checked."""
    inside = margins or {}
    A, B = poisoned(a, a.dtype, **inside.get("A", {})), poisoned(b, b.dtype, **inside.get("B", {}))
    n = b.shape[0] if exe.built.options["layout"] == "ABt" else b.shape[1]
    C = output(exe, len(a), n, **inside.get("C", {}))
    exe(A.matrix, B.matrix, C.matrix, **launch)
    assert C.untouched()
    assert right(exe, a, b, C.matrix)
    return C.matrix.copy()
