"""Copies into LDS that transpose on the way: in machine code on the virtual GPU, for every edge, type and team."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pykittens as pk
from pykittens.tile import (
    barrier,
    dtypes,
    gl,
    kernel,
    load,
    mma_ABt,
    rt,
    st,
    staging,
    store,
    wait_for,
    wave,
    when,
    zero,
)
from pykittens.tile.team import Team


def waves(arch: str, options: dict[str, Any]) -> tuple[int, int]:
    return options["waves"], 1


@kernel(waves=waves)
def turned(
    A: gl("dtype"), B: gl("dtype"), C: gl("f32"), *, dtype="bf16", k=64, n=128, edges="zero", shape=None, team=None,
    staged=False, waves=4,
):  # fmt: skip
    """C[16, n] = A[16, k] B[k, n], where B goes to LDS as n x k; each wave reads all."""
    As, Bs = st(dtype, 16, k), st(dtype, n, k, shape)
    load(As, A.tile(0, 0))
    if staged:
        held = staging(Bs, transposed=True)
        load(held, B.tile(0, 0), edges=edges)
        store(Bs, held)
    else:
        with when(wave.index < (team or waves)):
            load(Bs, B.tile(0, 0), edges=edges, transposed=True, team=Team(0, team) if team else None)
    wait_for(As, Bs)
    barrier()
    a, b, c = rt(dtype, 16, k), rt(dtype, n, k), rt("f32", 16, n)
    load(a, As), load(b, Bs), zero(c)
    mma_ABt(c, a, b)
    store(C.tile(0, 0), c)


def check(arch: str, size: tuple[int, int], **options: Any) -> None:
    """Small integers, so that every type holds them and the sums are exact; the tensors' own sizes are ``size``."""
    depth, width = size
    kind = dtypes.get(options.get("dtype", "bf16")).numpy
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, each).astype(kind) for each in ((16, depth), (depth, width)))
    c = np.full((16, width), np.nan, np.float32)
    pk.compile(turned, arch, **options)(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


CHIPS = [("gfx942", "bf16"), ("gfx942", "e4m3fnuz"), ("gfx950", "f16"), ("gfx950", "e5m2")]


@pytest.mark.parametrize(("arch", "dtype"), CHIPS)
@pytest.mark.parametrize("edges", ["zero", "any", "inside"])
def test_whole_windows(arch: str, dtype: str, edges: str) -> None:
    check(arch, (128, 128), dtype=dtype, k=128, edges=edges)


@pytest.mark.parametrize(("arch", "dtype"), CHIPS)
@pytest.mark.parametrize("shape", [(1, 1), (127, 127), (61, 90), (128, 3), (5, 128)])
def test_ragged_windows(arch: str, dtype: str, shape: tuple[int, int]) -> None:
    check(arch, shape, dtype=dtype, k=128)


@pytest.mark.parametrize(("arch", "dtype"), CHIPS)
def test_rows_beyond_the_window_are_zero_also_where_pieces_are_loaded(arch: str, dtype: str) -> None:
    """As many rows as exist; columns beyond the tensor hold its other values, which nothing stores."""
    check(arch, (40, 100), dtype=dtype, k=128, edges="any")


@pytest.mark.parametrize(("arch", "dtype"), CHIPS)
def test_staged_in_registers(arch: str, dtype: str) -> None:
    check(arch, (128, 128), dtype=dtype, k=128, edges="any", staged=True)
    check(arch, (128, 128), dtype=dtype, k=128, edges="inside", staged=True, waves=2)


@pytest.mark.parametrize("edges", ["zero", "any"])
@pytest.mark.parametrize(("waves", "team"), [(3, None), (1, None), (5, None), (4, 3), (2, 1)])
def test_waves_that_do_not_divide_the_tile(edges: str, waves: int, team: int | None) -> None:
    check("gfx942", (128, 128), k=128, edges=edges, waves=waves, team=team)


@pytest.mark.parametrize("shape", ["16x32", "32x32", "8x32", "16x64"])
def test_other_shared_shapes(shape: str) -> None:
    check("gfx950", (64, 128), edges="any", shape=shape)


def test_what_cannot_be_turned_is_refused() -> None:
    for options, what in (
        ({"n": 96}, "is 96x64, a wave transposes 64x16 at a time"),
        ({"shape": "16x16_swizzled"}, "keeps 8 bytes of a row together"),
        ({"dtype": "f32"}, "8- and 16-bit tiles are transposed"),
        ({"edges": "all"}, "edges is 'all'"),
    ):
        with pytest.raises(pk.errors.BuildError, match=what):
            pk.compile(turned, "gfx950", **options)
