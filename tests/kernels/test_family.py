"""Every matrix product on the virtual GPU beside NumPy float64: shapes, tails, orders of waves, and the checkers."""

from __future__ import annotations

import numpy as np
import pytest

import pykittens as pk

from .family import FAMILY, Choice, built, label, right, run, tensors_of

# Whole tiles, one element, tails on every side, rows that are not 4-byte aligned, no depth.
SHAPES = [(256, 256, 256), (1, 1, 1), (70, 90, 200), (33, 257, 131), (64, 32, 0)]


@pytest.mark.parametrize("choice", FAMILY, ids=label)
def test_shapes_and_tails(choice: Choice) -> None:
    for shape in SHAPES:
        run(choice, *shape)


@pytest.mark.parametrize("choice", FAMILY, ids=label)
def test_order_of_waves_changes_nothing(choice: Choice) -> None:
    """Turns of other lengths, copies that land as late as waits allow, random turns: the same bits."""
    usual = run(choice, 70, 90, 264)
    for order in (pk.sim.Order(turn=1, landing="late"), pk.sim.Order(turn=1000), pk.sim.Order(turn=3, seed=2)):
        np.testing.assert_array_equal(run(choice, 70, 90, 264, order=order), usual)


@pytest.mark.parametrize("choice", FAMILY, ids=label)
def test_the_checkers_find_nothing(choice: Choice) -> None:
    """On all paths of the bytes, and in a run; that ping-pong waves wait at two barriers at once is meant."""
    exe = built(choice)
    static = [finding for finding in pk.check(exe).findings if finding.severity != "note"]
    assert not static, static
    tensors = tensors_of(choice, 70, 90, 200)
    launch = exe.launch_arguments(*tensors.values())
    assert launch is not None
    checked = pk.sim.Device(choice[1]).load(exe.code_object).kernel().launch_checked(**launch)
    assert checked.fault is None
    assert {event.kind.name for event in checked.events} <= {"BARRIERS_DIFFER"}
    assert right(choice, tensors, 200)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_fewer_rows_than_a_wave_tile_are_the_same_bits_in_any_tile(arch: str) -> None:
    """The waves' sums are added in a fixed tree, whatever the workgroup's height."""
    outputs = [run(("gemm_split", arch, (("out", "f32"), ("tile", tile))), 9, 40, 1100) for tile in ("16x32", "64x32")]
    np.testing.assert_array_equal(*outputs)


def test_batches_have_their_own_strides() -> None:
    exe = pk.compile(pk.kernels.gemm, "gfx950", rank=3, out="f32", residual="add")
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, shape).astype("float32").astype(pk.bf16.numpy) for shape in ((6, 40, 66), (3, 50, 66)))
    c, r = np.full((3, 40, 50), np.nan, np.float32), rng.integers(-9, 9, (3, 40, 50)).astype(np.float32)
    exe(a[::2], b, c, r)
    expected = a[::2].astype(np.float32) @ b.astype(np.float32).swapaxes(1, 2) + r
    np.testing.assert_array_equal(c, expected)
    with pytest.raises(pk.Error, match="same batches, got 3 and 2"):
        exe(a[::2], b, c[:2], r)


def test_groups_may_be_empty() -> None:
    exe = pk.compile(pk.kernels.gemm_grouped, "gfx950", out="f32")
    a = np.ones((5, 8), pk.bf16.numpy)
    b = np.stack([np.full((3, 8), g + 1) for g in range(4)]).astype(pk.bf16.numpy)
    c = np.full((5, 3), np.nan, np.float32)
    exe(a, b, c, np.array([0, 0, 2, 2, 5], np.int32))
    np.testing.assert_array_equal(c[:, 0], [16, 16, 32, 32, 32])


@pytest.mark.parametrize(("arch", "dtype", "own"), [("gfx942", "e4m3fn", "e4m3fnuz"), ("gfx950", "e5m2fnuz", "e5m2")])
def test_the_other_chips_8_bit_floats_are_refused(arch: str, dtype: str, own: str) -> None:
    """HipKittens' B20: the encoding is a macro there, and the wrong one is computed with."""
    with pytest.raises(pk.Error, match=f"{dtype} is the encoding of .*{arch} reads the same bytes as {own}"):
        pk.compile(pk.kernels.gemm, arch, dtype=dtype)


def test_8_bit_arrays_in_the_wrong_encoding_are_refused() -> None:
    exe = built(("gemm", "gfx950", (("dtype", "e4m3fn"),)))
    tensors = tensors_of(("gemm", "gfx950", (("dtype", "e4m3fn"),)), 4, 4, 4)
    wrong = tensors["A"].astype(pk.e4m3fnuz.numpy)
    with pytest.raises(pk.Error, match="A is float8_e4m3fnuz, the kernel takes float8_e4m3fn"):
        exe(wrong, tensors["B"], tensors["C"])
