"""Every pair of register shape and shared shape moves the right elements, on both chips, whichever is larger."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.tile.lds_machine import LAYOUTS, LdsMachine, element_ids, filled_memory, register_elements, scatter, tiles

from pykittens.errors import BuildError
from pykittens.isa import Reg
from pykittens.tile import register_shape, shared_shape
from pykittens.tile.ops.move import load, store
from pykittens.tile.ops.register_to_shared import register_to_shared
from pykittens.tile.ops.shared_to_register import shared_to_register
from pykittens.tile.program_inputs import WAVE
from pykittens.tile.reference import Reference
from pykittens.tile.shared_shape import SharedShape
from pykittens.tile.tiles import rt, st
from pykittens.tile.trace import OpCall, Trace, tracing

PAIRS = [
    pytest.param(r, layout, s, id=f"{r}-{layout}-{s}")
    for (r, layout), s in itertools.product(LAYOUTS, shared_shape.SHAPES)
]
CHIPS = ("gfx942", "gfx950")
WAVE_3 = (1, 1)
"""The window of wave 3 of a 2 x 2 grid."""


def window_size(register: str, shared: str, times: tuple[int, int] = (1, 1)) -> tuple[int, int]:
    """Rows and columns that both shapes divide, so that each is in turn the smaller one."""
    r, s = register_shape.get(register), shared_shape.get(shared)
    return times[0] * max(r.rows, s.rows), times[1] * max(r.cols, s.cols)


def read(arch: str, dtype: str, register: tuple[str, str], shared: str, size: tuple[int, int]) -> LdsMachine:
    """Read the window of wave 3 of a shared tile of 2 x 2 windows at a run-time position; AssertionError if wrong."""
    with tiles(arch, dtype, register, shared, size, (2, 2)) as (tile, source):
        source.offset = 4096
        machine = LdsMachine(arch, filled_memory(source), wave=3)
        view = source.subtile(*size, WAVE // 2, WAVE % 2)
        shared_to_register.lower(machine, tile, view)  # type: ignore[arg-type]
        expected = element_ids(source)[size[0] :, size[1] :]
        assert np.array_equal(register_elements(tile, machine.registers), expected)
    return machine


def write(arch: str, dtype: str, register: tuple[str, str], shared: str, size: tuple[int, int]) -> LdsMachine:
    """Write the window of wave 3, and nothing else; AssertionError if wrong."""
    with tiles(arch, dtype, register, shared, size, (2, 2)) as (tile, target):
        target.offset = 4096
        whole = filled_memory(target, spare=64)
        reader = LdsMachine(arch, whole, wave=3)
        view = target.subtile(*size, WAVE // 2, WAVE % 2)
        shared_to_register.lower(reader, tile, view)  # type: ignore[arg-type]
        machine = LdsMachine(arch, np.full_like(whole, 0xEE), wave=3)
        machine.registers = reader.registers
        register_to_shared.lower(machine, view, tile)  # type: ignore[arg-type]
        expected = np.full_like(whole, 0xEE)
        scatter(target, expected, slice(size[0], None), slice(size[1], None))
        assert np.array_equal(machine.memory, expected)
    return machine


@pytest.mark.parametrize("arch", CHIPS)
@pytest.mark.parametrize(("register", "layout", "shared"), PAIRS)
def test_every_pair_is_read_right(arch: str, register: str, layout: str, shared: str) -> None:
    read(arch, "bf16", (register, layout), shared, window_size(register, shared))


@pytest.mark.parametrize(("register", "layout", "shared"), PAIRS)
def test_every_pair_is_written_right(register: str, layout: str, shared: str) -> None:
    write("gfx950", "bf16", (register, layout), shared, window_size(register, shared))


@pytest.mark.parametrize("arch", CHIPS)
@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize(
    ("register", "layout", "shared"), [("16x32", "row", "16x32"), ("16x16", "col", "32x32"), ("32x16", "col", "16x32")]
)
def test_other_dtypes_are_moved_right(arch: str, dtype: str, register: str, layout: str, shared: str) -> None:
    size = window_size(register, shared)
    read(arch, dtype, (register, layout), shared, size)
    write(arch, dtype, (register, layout), shared, size)


@pytest.mark.parametrize(("arch", "dtype"), [("gfx942", "e4m3fnuz"), ("gfx950", "e4m3fn")])
def test_bytes_are_moved_right(arch: str, dtype: str) -> None:
    """Rows as they are; columns by transposing reads, which gfx942 lacks: there single bytes are refused."""
    for register in ("16x128", "32x64", "16x32"):
        read(arch, dtype, (register, "row"), "16x128", window_size(register, "16x128"))
        write(arch, dtype, (register, "row"), "16x128", window_size(register, "16x128"))
    for register in ("128x16", "64x32", "32x16"):
        size = window_size(register, "16x128")
        if arch == "gfx950":
            assert set(read(arch, dtype, (register, "col"), "16x128", size).names) == {"ds_read_b64_tr_b8"}
            continue
        with pytest.raises(BuildError, match="neighbouring bytes of a lane lie apart in LDS"):
            read(arch, dtype, (register, "col"), "16x128", size)


# -- what HipKittens gets wrong (facts: hipkittens-defects) ------------------------------------------------------


@pytest.mark.parametrize(
    ("register", "shared"),
    [
        *(("32x32", each) for each in ("16x16", "16x16_swizzled", "16x32", "32x16")),
        *(("16x32_4", each) for each in ("16x16", "16x16_swizzled")),
        ("32x32_8", "32x16"),
    ],
)
def test_column_reads_of_register_tiles_larger_than_the_subtile(register: str, shared: str) -> None:
    """B3: all registers are set, from transposing reads, in tiles of several base tiles."""
    machine = read("gfx950", "bf16", (register, "col"), shared, window_size(register, shared, (2, 2)))
    assert set(machine.names) == {"ds_read_b64_tr_b16"}


@pytest.mark.parametrize("register", ["16x32", "32x16", "32x32_8"])
def test_row_reads_never_straddle_an_8_byte_swizzle(register: str) -> None:
    """B4: 16 bytes of a lane are not together in st_16x16_swizzled, so they are read as two halves."""
    machine = read("gfx950", "bf16", (register, "row"), "16x16_swizzled", window_size(register, "16x16_swizzled"))
    assert set(machine.names) == {"ds_read_b64"}
    machine = write("gfx950", "bf16", (register, "row"), "16x16_swizzled", window_size(register, "16x16_swizzled"))
    assert set(machine.names) == {"ds_write_b64"}


@pytest.mark.parametrize(
    ("register", "shared"), [("32x32", "16x32"), ("32x16", "16x16"), ("32x32_8", "8x32"), ("16x32", "8x32")]
)
def test_row_writes_to_subtiles_shorter_than_the_register_tile(register: str, shared: str) -> None:
    """B5: the pitch between subtiles is the shared tile's, also where it is several register tiles wide."""
    write("gfx950", "bf16", (register, "row"), shared, window_size(register, shared, (1, 4)))


@pytest.mark.parametrize("shared", shared_shape.SHAPES)
@pytest.mark.parametrize("arch", CHIPS)
def test_rows_wider_than_a_swizzle_block(arch: str, shared: str) -> None:
    """B19: 128 bf16 columns; offsets between base tiles hold for each of them, not for the first block alone."""
    s = shared_shape.get(shared)
    read(arch, "bf16", ("16x16", "row"), shared, (max(16, s.rows), 128))
    read(arch, "bf16", ("16x32", "row"), shared, (max(16, s.rows), 128))


# -- the ops ----------------------------------------------------------------------------------------------------


def test_loads_and_stores_are_recorded_and_touch_their_tiles() -> None:
    trace = Trace("gfx950", (1, 1))
    with tracing(trace):
        tile, shared = rt("bf16", 16, 32), st("bf16", 32, 32)
        load(tile, shared.subtile(16, 32, 1, 0))
        store(shared.subtile(16, 32, 0, 0), tile)
        whole = rt("bf16", 32, 32)
        store(shared, whole)
    first, second, third = (node for node in trace.nodes if isinstance(node, OpCall))
    reads, writes = first.op.touches(*first.args), second.op.touches(*second.args)
    assert (reads.reads, reads.writes) == ([shared], [tile])
    assert (writes.reads, writes.writes) == ([tile], [shared])
    assert (third.args[0].rows, third.args[1]) == (32, whole)


def test_wrong_tiles_are_refused() -> None:
    with tracing(Trace("gfx950", (1, 1))):
        tile, shared = rt("bf16", 16, 32), st("bf16", 32, 32)
        with pytest.raises(BuildError, match="rt0 is 16x32, the shared tile is 32x32"):
            store(shared, tile)
        with pytest.raises(BuildError, match="rt1 holds f16, st0 holds bf16"):
            store(shared.subtile(16, 32, 0, 0), rt("f16", 16, 32))
        with pytest.raises(BuildError, match="16x128 has no col layout: 128 elements across, a wave has 64 lanes"):
            rt("bf16", 16, 128, "col", shape="16x128")
        with pytest.raises(BuildError, match="store has no path from st to rt"):
            store(tile, shared)  # type: ignore[arg-type]


def test_reference_writes_each_waves_window() -> None:
    with tracing(Trace("gfx950", (2, 1))):
        tile, shared = rt("f32", 16, 16), st("f32", 32, 16, "16x16")
        view = shared.subtile(16, 16, WAVE, 0)
    run = Reference(2, {WAVE: 0}, {})
    run.registers(tile)[:] = np.array([1.0, 2.0])[:, None, None]
    register_to_shared.reference(run, view, tile)
    assert (run.shared(shared) == np.repeat([[1.0], [2.0]], 16, axis=0)).all()


@pytest.mark.parametrize("cols", [16, 32, 64])
@pytest.mark.parametrize("wave", range(4))
def test_parts_of_a_subtile_at_run_time(cols: int, wave: int) -> None:
    """Columns of 8 bits whose place inside a subtile is the wave's: the swizzle is computed on the GPU."""
    with tracing(Trace("gfx950", (1, 4))):
        tile = rt("e4m3fn", 128, cols, "col", regs=Reg("v", 0, 2 * cols // 4 * 4))
        source = st("e4m3fn", 128, 256, "32x128_tr")
        machine = LdsMachine("gfx950", filled_memory(source), wave)
        shared_to_register.lower(machine, tile, source.subtile(128, cols, 0, WAVE))  # type: ignore[arg-type]
    expected = element_ids(source)[:, wave * cols : (wave + 1) * cols]
    assert np.array_equal(register_elements(tile, machine.registers), expected)
    assert {report.degree for report in machine.reports} == {1}


def test_parts_that_are_moved_differently_are_refused() -> None:
    with tracing(Trace("gfx950", (1, 2))):
        tile, source = rt("bf16", 16, 32), st("bf16", 32, 32, SharedShape("odd", 32, 32, ((2048, 10, 3),)))
        with pytest.raises(BuildError, match="where 16x32 row lies in a odd says how it moves"):
            shared_to_register.lower(LdsMachine("gfx950", filled_memory(source)), tile, source.subtile(16, 32, WAVE, 0))  # type: ignore[arg-type]
