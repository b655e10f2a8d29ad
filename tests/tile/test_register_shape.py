"""Base shapes of register tiles: every element has one place, and the places are those of the matrix instructions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pykittens.errors import BuildError
from pykittens.isa import DEFINITIONS, mfma_layout
from pykittens.isa.define import Mfma
from pykittens.tile import bf16, f32, mma_ABt, register_shape, rt
from pykittens.tile.expression import evaluate
from pykittens.tile.ops.mma import matrix_instruction
from pykittens.tile.program_inputs import LANE
from pykittens.tile.register_shape import LANES, SHAPES
from pykittens.tile.trace import Trace, tracing


def layouts(name: str) -> list[str]:
    """The layouts that 64 lanes can hold."""
    shape = SHAPES[name]
    return [layout for layout, width in (("row", shape.rows), ("col", shape.cols)) if width <= LANES]


PLACES = [(name, layout) for name in SHAPES for layout in layouts(name)]


@pytest.mark.parametrize(("name", "layout"), PLACES)
def test_every_element_has_one_place(name: str, layout: str) -> None:
    shape = SHAPES[name]
    assert shape.elements * LANES == shape.rows * shape.cols
    seen = set()
    for lane, index in itertools.product(range(LANES), range(shape.elements)):
        row, col = shape.element(layout, lane, index)
        assert isinstance(row, int)
        assert isinstance(col, int)
        assert 0 <= row < shape.rows
        assert 0 <= col < shape.cols
        assert shape.place(layout, row, col) == (lane, index)
        seen.add((row, col))
    assert len(seen) == shape.rows * shape.cols


@pytest.mark.parametrize(("name", "layout"), PLACES)
def test_all_lanes_at_once_are_the_same(name: str, layout: str) -> None:
    """The run-time expressions that addresses are made of."""
    shape = SHAPES[name]
    for index in range(shape.elements):
        row, col = shape.element(layout, LANE, index)
        for lane in range(LANES):
            found = tuple(int(np.asarray(evaluate(part, {LANE: np.int64(lane)}))) for part in (row, col))
            assert found == shape.element(layout, lane, index)


@pytest.mark.parametrize(("name", "layout"), PLACES)
def test_a_lane_holds_runs_of_stride_elements(name: str, layout: str) -> None:
    shape = SHAPES[name]
    along = 1 if layout == "row" else 0
    for lane, first in itertools.product(range(LANES), range(0, shape.elements, shape.stride)):
        start = shape.element(layout, lane, first)
        for i in range(shape.stride):
            here = shape.element(layout, lane, first + i)
            assert here[along] == start[along] + i
            assert here[1 - along] == start[1 - along]


def test_layouts_wider_than_a_wave_are_refused() -> None:
    with pytest.raises(BuildError, match="16x128 has no col layout: 128 elements across, a wave has 64 lanes"):
        SHAPES["16x128"].element("col", 0, 0)


def test_unknown_shapes_are_refused_with_the_known_ones() -> None:
    with pytest.raises(BuildError, match="no register base shape '8x8'; use one of 16x16, 32x32,"):
        register_shape.get("8x8")


MATRICES = [
    (arch, m, k)
    for arch in ("gfx942", "gfx950")
    for m, k in ((16, 16), (32, 8), (16, 32), (32, 16))
    if k * m <= 256 or arch == "gfx950"
]


def _mfma(arch: str, m: int, k: int) -> Mfma:
    name, formats = matrix_instruction(m, m, k, bf16, bf16, arch)
    shape = DEFINITIONS[name].mfma
    assert shape is not None
    assert formats == {}
    return shape


@pytest.mark.parametrize(("arch", "m", "k"), MATRICES)
def test_accumulators_lie_where_the_matrix_instruction_puts_them(arch: str, m: int, k: int) -> None:
    shape, mfma = SHAPES[f"{m}x{m}"], _mfma(arch, m, k)
    for row, col in itertools.product(range(m), range(m)):
        place = mfma_layout.d_loc(mfma, row, col)
        assert shape.place("col", row, col) == (place.lane, place.register)
        # Row layout holds the transposed product.
        assert shape.place("row", col, row) == (place.lane, place.register)


@pytest.mark.parametrize("name", ["16x16", "16x32", "32x16"])
def test_inputs_lie_where_the_matrix_instruction_reads_them(name: str) -> None:
    """Shapes of one MFMA of gfx950 (gfx942 for 16x16) hold A in row and B in column layout as it wants them."""
    shape = SHAPES[name]
    mfma = _mfma("gfx942" if name == "16x16" else "gfx950", shape.rows, shape.cols)
    for row, k in itertools.product(range(shape.rows), range(shape.cols)):
        place = mfma_layout.a_loc(mfma, 16, row, k)
        assert shape.place("row", row, k) == (place.lane, place.register * 2 + place.bit // 16)
    turned = SHAPES[f"{shape.cols}x{shape.rows}"]
    for k, col in itertools.product(range(turned.rows), range(turned.cols)):
        place = mfma_layout.b_loc(mfma, 16, k, col)
        assert turned.place("col", k, col) == (place.lane, place.register * 2 + place.bit // 16)


def test_accumulators_in_another_order_are_refused() -> None:
    with tracing(Trace("gfx950", (1, 1))):
        a, c = rt(bf16, 32, 16, shape="32x16"), rt(f32, 32, 32, shape="32x32_8")
        with pytest.raises(BuildError, match="32x16, 32x16 and 32x32_8 belong to no MFMA"):
            mma_ABt(c, a, a)
