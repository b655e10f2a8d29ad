"""Access patterns: what linear algebra says of a swizzle is what counting banks says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tile.lds_machine import LAYOUTS

from pykittens.arch import ARCHS, Arch, gfx942, gfx950
from pykittens.arch.lds_banks import bank_report
from pykittens.arch.lds_phases import access as make_access
from pykittens.arch.lds_phases import consecutive, phases
from pykittens.errors import InputError, Unsupported
from pykittens.tile import shared_shape
from pykittens.tile.shared_shape import SharedShape
from pykittens.tile.swizzle_family import masks_of, simple_swizzles
from pykittens.tile.swizzle_patterns import Pattern, custom, independent, lane_order_copy, register_read, register_write

SUBTILES = [(16, 32), (32, 32), (16, 16), (8, 32)]
MOVES = [
    (arch, make, register, layout, subtile)
    for arch in ARCHS.values()
    for make in (register_read, register_write)
    for (register, layout), subtile in itertools.product(LAYOUTS, SUBTILES)
]
LANE = np.arange(64)


def degree(arch: Arch, pattern: Pattern, shape: SharedShape, size: int) -> int:
    """Passes of the worst phase of a pattern under a swizzle, by counting the banks of every instruction."""
    subtile = shape.rows * shape.cols * size
    worst = 1
    for offsets in np.array(pattern.offsets):
        places = offsets // subtile * subtile + np.asarray(shape.swizzle(offsets % subtile))
        worst = max(worst, bank_report(arch, pattern.access.direction, pattern.lane_bytes, places).degree)
    return worst


@given(st.sampled_from(MOVES), st.integers(0, 10**6))
def test_algebra_counts_as_banks_do(move: tuple, pick: int) -> None:
    arch, make, register, layout, subtile = move
    pattern = make(arch, register, layout, subtile)
    first = (pattern.lane_bytes - 1).bit_length()
    bits = (subtile[0] * subtile[1] * 2).bit_length() - 1
    swizzles = list(simple_swizzles(range(max(first, 2), 8), bits))
    xors = swizzles[pick % len(swizzles)]
    shape = SharedShape("any", *subtile, xors)
    assert pattern.passes(masks_of(xors)) == degree(arch, pattern, shape, 2)


@pytest.mark.parametrize("shape", shared_shape.SHAPES.values(), ids=lambda each: each.name)
def test_algebra_counts_as_banks_do_under_hipkittens_swizzles(arch: Arch, shape: SharedShape) -> None:
    for make in (register_read, register_write):
        for register in ("16x16", "32x32", "16x32_4"):
            pattern = make(arch, register, "row", (shape.rows, shape.cols), lane_bytes=8)
            assert pattern.passes(masks_of(shape.xors)) == degree(arch, pattern, shape, 2)


def test_demands_of_the_papers_pair() -> None:
    """rt_16x32 rows by b128 in 64-byte rows: rows 0-3, 4-7 and 8-15 and both 16-byte pieces take part in a phase."""
    (read,) = register_read(gfx950, "16x32", "row", (16, 32)).demands()
    assert read.basis == (4, 8, 64, 128, 768, 272)
    assert (read.bank_bits, list(read.banks), read.has(7), read.has(8)) == (6, [2, 3, 4, 5, 6, 7], True, False)
    (write,) = register_write(gfx950, "16x16", "row", (16, 32)).demands()
    assert write.basis == (4, 64, 128, 256, 512)
    assert (write.bank_bits, write.passes({})) == (5, 8)


def test_names_and_words() -> None:
    assert register_read(gfx950, "16x32", "row", (16, 32)).what == "ds_read_b128 of rt_16x32 row"
    assert register_read(gfx950, "32x16", "col", (16, 32)).what == "ds_read_b64_tr_b16 of rt_32x16 col"
    assert register_read(gfx942, "32x16", "col", (16, 32)).what == "ds_read_u16 of rt_32x16 col"
    assert register_write(gfx950, "16x16", "row", (16, 16)).what == "ds_write_b64 of rt_16x16 row"
    assert register_read(gfx950, "16x32", "row", (16, 32)).known == "measured"
    assert register_read(gfx950, "16x32", "col", (16, 32)).known == "assumed"


def test_narrower_accesses_are_several() -> None:
    wide = register_read(gfx950, "16x32", "row", (16, 32))
    halves = register_read(gfx950, "16x32", "row", (16, 32), lane_bytes=8)
    assert (halves.what, halves.lane_bytes) == ("ds_read_b64 of rt_16x32 row", 8)
    assert {offsets[0] for offsets in halves.offsets} == {wide.offsets[0][0], wide.offsets[0][0] + 8}
    with pytest.raises(InputError, match="rt_16x32 row: 32 bytes a lane, the elements allow 16"):
        register_read(gfx950, "16x32", "row", (16, 32), lane_bytes=32)
    with pytest.raises(InputError, match="4 bytes a lane, the elements allow 8"):
        register_read(gfx950, "16x32", "col", (16, 32), lane_bytes=4)


def test_copies_in_lane_order_demand_only_that_their_bytes_stay_together() -> None:
    copy = lane_order_copy(gfx950)
    assert (copy.demands(), copy.lane_bytes, copy.passes({4: 1 << 9})) == ((), 16, 1)
    # LDS is filled linearly, whatever the swizzle of the source: no bank is met twice.
    for width in (4, 8, 16):
        assert bank_report(gfx950, "write", width, width * LANE).degree == 1
    with pytest.raises(InputError, match="a copy of 12 bytes a lane"):
        lane_order_copy(gfx950, 12)


def test_patterns_must_be_linear_and_aligned() -> None:
    with pytest.raises(Unsupported, match="packed: offsets are not linear in the lane's bits"):
        custom(gfx950, "packed", "read", 8, [96 * LANE]).demands()
    with pytest.raises(Unsupported, match="shifted: offsets are not aligned to 8 bytes"):
        custom(gfx950, "shifted", "read", 8, [8 * LANE + 4]).demands()
    with pytest.raises(InputError, match=r"offsets of few have shape \(1, 4\)"):
        custom(gfx950, "few", "read", 8, [[0, 8, 16, 24]])


@pytest.mark.parametrize("text", ["0-2,4 / 3,5-7", "0,1 / 2-7"])
def test_phases_must_be_linear(text: str) -> None:
    eight = phases(text)
    odd = tuple(tuple(lane + 8 * block for block in range(8) for lane in phase) for phase in eight)
    access = make_access("read", 8, 64, odd, "guess", "made up")
    with pytest.raises(Unsupported, match="the phases of read_b64 are no cosets of a linear space of lanes"):
        Pattern("odd", access, 8, (tuple(map(int, 8 * LANE)),)).demands()
    straight = make_access("read", 8, 64, consecutive(32), "guess", "made up")
    assert Pattern("straight", straight, 8, (tuple(map(int, 8 * LANE)),)).passes({}) == 1


def test_independent_vectors() -> None:
    assert independent([0, 3, 5, 6, 8, 3]) == [3, 5, 8]
    assert independent([]) == []
