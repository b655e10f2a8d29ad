"""Copies into LDS: every byte of a tile is written once, by some wave, with the element that belongs there."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tile.copy_machine import STRIDE, CopyMachine, tensor_ids
from tests.tile.lds_machine import element_places

from pykittens.errors import BuildError
from pykittens.tile import dtypes, shared_shape
from pykittens.tile.expression import evaluate
from pykittens.tile.global_tensor import GlobalTile, gl
from pykittens.tile.ops.global_to_shared import LANE_BYTES, global_to_shared, source_element
from pykittens.tile.program_inputs import LANE
from pykittens.tile.tiles import st
from pykittens.tile.trace import Trace, tracing

COPIED = [name for name in {**shared_shape.SHAPES, **shared_shape.SOLVED} if name != "16x16_swizzled"]


def window(dtype: str, rows: int, cols: int) -> GlobalTile:
    """The first tile of a tensor that is just as large."""
    tensor = gl(dtype).bind("A", dtypes.get(dtype), 2)
    tensor.rows, tensor.cols, tensor.stride = rows, cols, STRIDE
    return tensor.tile(0, 0)


def copied(arch: str, dtype: str, shape: str, rows: int, cols: int, waves: int, edges: str) -> None:
    """Copy a tile by all waves; AssertionError if a byte is missing, wrong, written twice or outside the tile."""
    with tracing(Trace(arch, (1, waves))):
        tile = st(dtype, rows, cols, shape)
        tile.offset = 2048
        source = window(dtype, rows, cols)
        global_to_shared.check(tile, source, edges)
    memory = np.zeros(tile.offset + tile.bytes + 4096, np.uint8)
    written = np.zeros(len(memory), int)
    for wave in range(waves):
        machine = CopyMachine(arch, memory, wave, waves, tile.dtype.bytes)
        global_to_shared.lower(machine, tile, source, edges)  # type: ignore[arg-type]
        written += machine.written
    expected = np.zeros(len(memory), int)
    expected[tile.offset : tile.offset + tile.bytes] = 1
    assert np.array_equal(written, expected)
    places = element_places(tile)[..., None] + np.arange(tile.dtype.bytes)
    found = memory[places].view(f"<u{tile.dtype.bytes}")[..., 0]
    assert np.array_equal(found, tensor_ids(rows, cols, tile.dtype.bytes))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("edges", ["inside", "zero"])
@pytest.mark.parametrize("shape", COPIED)
def test_every_shape_is_copied_right(arch: str, edges: str, shape: str) -> None:
    copied(arch, "bf16", shape, 64, 128, 4, edges)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("edges", ["inside", "any", "zero"])
@pytest.mark.parametrize(("rows", "waves"), [(48, 4), (16, 4), (80, 8), (240, 16), (48, 1), (112, 5)])
def test_tiles_that_do_not_divide_among_the_waves(arch: str, edges: str, rows: int, waves: int) -> None:
    """HipKittens' B7: its copy by descriptor drops what is left over when waves * 1024 bytes do not divide the tile."""
    copied(arch, "bf16", "16x32", rows, 64, waves, edges)


@pytest.mark.parametrize("dtype", ["bf16", "e4m3fn"])
def test_a_copy_takes_whole_lines_on_gfx950(dtype: str) -> None:
    """The 64 lanes of an instruction ask for 128 bytes of each of 8 rows, neighbours for 64 bytes that lie together."""
    with tracing(Trace("gfx950", (1, 1))):
        tile = st(dtype, 64, 256)
    row, col = (evaluate(each, {LANE: np.arange(64)}) for each in source_element(tile, LANE * LANE_BYTES))
    pieces = row * 4 + col * tile.dtype.bytes // 64
    assert sorted(set(row)) == list(range(8))
    assert (np.bincount(row * 8 + col * tile.dtype.bytes // LANE_BYTES) == 1).all()
    assert (pieces.reshape(-1, 4) == pieces.reshape(-1, 4)[:, :1]).all()


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_float_tiles_are_copied_right(arch: str) -> None:
    copied(arch, "f32", "16x32", 32, 64, 4, "zero")
    copied(arch, "f32", "32x32", 32, 64, 4, "inside")


def test_swizzles_that_part_a_lanes_bytes_are_refused() -> None:
    with (
        tracing(Trace("gfx950", (1, 4))),
        pytest.raises(BuildError, match=r"st0 keeps 8 bytes of a row together \(16x16_swizzled\), a lane copies 16"),
    ):
        global_to_shared(st("bf16", 64, 64, "16x16_swizzled"), window("bf16", 64, 64))


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("shape", shared_shape.SHAPES.values(), ids=lambda each: each.name)
def test_runs_lie_together(shape: shared_shape.SharedShape, size: int) -> None:
    """`run_bytes` is the most that lies together: aligned runs of it do, twice as much does not or is no row."""
    run = shape.run_bytes(size)
    row = shape.cols * size
    offsets = np.arange(shape.rows * row).reshape(shape.rows, row)
    places = np.asarray(shape.swizzle(offsets))  # type: ignore[arg-type]
    assert (np.diff(places.reshape(-1, run), axis=1) == 1).all()
    assert run == row or (np.diff(places.reshape(-1, 2 * run), axis=1) != 1).any()
