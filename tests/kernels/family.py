"""Builds and runs of every matrix product by its problem, one build per set of options and test process."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import pykittens as pk
from pykittens.kernels.problems import PROBLEMS

Choice = tuple[str, str, tuple[tuple[str, str], ...]]
"""(kernel, architecture, options that are not the usual ones)."""

FAMILY: tuple[Choice, ...] = (
    ("gemm", "gfx950", (("dtype", "e4m3fn"),)),
    ("gemm", "gfx950", (("dtype", "e5m2"), ("out", "f32"))),
    ("gemm", "gfx950", (("tile", "192x256"),)),
    ("gemm", "gfx950", (("tile", "128x128"), ("layout", "AB"))),
    ("gemm", "gfx950", (("mfma", "32x32"),)),
    ("gemm", "gfx950", (("mfma", "32x32"), ("layout", "AB"), ("dtype", "f16"))),
    ("gemm", "gfx950", (("dtype", "e4m3fn"), ("layout", "AB"))),
    ("gemm", "gfx950", (("dtype", "e5m2"), ("layout", "AB"), ("tile", "128x128"))),
    ("gemm", "gfx942", (("layout", "AB"),)),
    ("gemm", "gfx942", (("dtype", "e4m3fnuz"),)),
    ("gemm", "gfx942", (("dtype", "e5m2fnuz"), ("out", "f32"), ("layout", "AB"))),
    ("gemm_grouped", "gfx950", ()),
    ("gemm_grouped", "gfx942", (("activation", "relu"),)),
    ("gemm_interleaved", "gfx950", ()),
    ("gemm_interleaved", "gfx950", (("dtype", "bf16"),)),
    ("gemm_interleaved", "gfx950", (("tile", "128x128"),)),
    ("gemm_interleaved", "gfx950", (("tile", "128x128"), ("dtype", "bf16"), ("out", "f32"))),
    ("gemm_specialized", "gfx950", (("tile", "128x256"),)),
    ("gemm_specialized", "gfx950", (("tile", "192x256"), ("dtype", "f16"), ("out", "f16"))),
    ("gemm_specialized", "gfx950", (("sync", "flags"),)),
    ("gemm_specialized", "gfx950", (("sync", "flags"), ("tile", "192x256"), ("out", "f32"))),
    ("gemm_split", "gfx950", ()),
    ("gemm_split", "gfx950", (("dtype", "e4m3fn"), ("tile", "16x32"))),
    ("gemm_split", "gfx942", (("tile", "32x32"),)),
    ("gemm_staged", "gfx942", ()),
    ("gemm_staged", "gfx942", (("dtype", "f16"), ("out", "f32"), ("layout", "AB"))),
    ("gemm_staged", "gfx942", (("dtype", "e4m3fnuz"),)),
    ("gemm_staged", "gfx942", (("dtype", "e5m2fnuz"), ("layout", "AB"))),
    ("gemm_staged", "gfx942", (("tile", "128x256"), ("layout", "AB"))),
    ("gemm_staged", "gfx950", (("layout", "AB"),)),
)


def label(choice: Choice) -> str:
    return "-".join([*choice[:2], *(value for _, value in choice[2])])


@functools.cache
def built(choice: Choice) -> pk.Executable:
    return pk.compile(PROBLEMS[choice[0]].kernel, choice[1], **dict(choice[2]))


def options_of(choice: Choice) -> dict[str, str]:
    """All options of a build, as its problem knows them."""
    chosen = built(choice).built.options
    return {option.name: chosen[option.name] for option in PROBLEMS[choice[0]].options}


def tensors_of(choice: Choice, m: int, n: int, k: int, seed: int = 0) -> dict[str, Any]:
    sizes = {"m": m, "n": n, "k": k, "groups": 3}
    return PROBLEMS[choice[0]].tensors(sizes, options_of(choice), np.random.default_rng(seed))


def right(choice: Choice, tensors: dict[str, Any], k: int) -> bool:
    """Whether C is what NumPy float64 says."""
    found = PROBLEMS[choice[0]].compare(tensors, {"k": k}, options_of(choice))
    assert found.passed, found
    return True


def run(choice: Choice, m: int, n: int, k: int, seed: int = 0, **launch: Any) -> np.ndarray:
    """C of random factors, checked."""
    tensors = tensors_of(choice, m, n, k, seed)
    built(choice)(*tensors.values(), **launch)
    assert right(choice, tensors, k)
    return np.asarray(tensors["C"])
