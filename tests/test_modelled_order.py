"""The cycle model's order of waves as an order of launches on the virtual GPU."""

from __future__ import annotations

import numpy as np
import pytest

import pykittens as pk
from pykittens.modelled_launch import modelled_order


@pytest.fixture(scope="module")
def gemm() -> pk.Executable:
    return pk.compile(pk.kernels.gemm, arch="gfx950", out="f32")


def test_the_gemm_gives_the_same_bits_in_the_modelled_order(gemm: pk.Executable) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, 200)).astype(pk.bf16.numpy) for size in (300, 260))
    usual, modelled = np.zeros((2, 300, 260), np.float32)
    order = modelled_order(pk.predict(gemm, a, b, usual))
    assert len({wave for wave, _ in order.turns}) == 8
    plain = gemm(a, b, usual)
    timed = gemm(a, b, modelled, order=order)
    assert (usual == modelled).all()
    assert plain.instructions == timed.instructions


def test_turns_of_waves_that_are_not_there_are_refused(gemm: pk.Executable) -> None:
    a, b = (np.zeros((8, 64), pk.bf16.numpy) for _ in range(2))
    with pytest.raises(pk.errors.InputError, match="turns name wave 9, the workgroup has 8 waves"):
        gemm(a, b, np.zeros((8, 8), np.float32), order=pk.sim.Order(turns=((9, 1),)))
    with pytest.raises(pk.errors.InputError, match="a turn of wave 0 has 0 instructions"):
        pk.sim.Order(turns=((0, 0),))


def test_figures_do_not_hang_on_which_tile_is_first() -> None:
    """Of 12 columns of tiles the last does more; workgroups in equal steps would meet it in four of five."""
    shapes = (5, 1000, 128), (5, 1500, 128), (5, 1000, 1500)
    cycles = [
        pk.predict(pk.compile(pk.kernels.gemm, "gfx950", tile="128x128", rank=3, order=order), *shapes).cycles
        for order in ("row-major", "chiplet:4,12", "chiplet:1,1")
    ]
    assert max(cycles) < 1.02 * min(cycles)
