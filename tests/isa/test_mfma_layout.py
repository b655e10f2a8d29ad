"""Layouts of the matrix instructions: every element has one place, and the places are those of the manuals' tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pykittens.isa import mfma, mfma_layout
from pykittens.isa.define import DEFINITIONS, Definition, Mfma

MATRIX = [d for d in DEFINITIONS.values() if d.mfma]
F8F6F4 = ({"cbsz": 0, "blgp": 0}, {"cbsz": 2, "blgp": 3}, {"cbsz": 4, "blgp": 4})


def shape_of(name: str) -> Mfma:
    shape = DEFINITIONS[name].mfma
    assert shape is not None
    return shape


@pytest.mark.parametrize("definition", MATRIX, ids=lambda d: d.name)
def test_elements_fill_the_registers_exactly(definition: Definition) -> None:
    shape = definition.mfma
    assert shape is not None
    for modifiers in F8F6F4 if shape.a == "f8f6f4" else ({},):
        registers = mfma.operand_registers(definition, modifiers)
        bits = mfma.element_bits(definition, modifiers)
        block, i, k = np.ogrid[: shape.blocks, : shape.m, : shape.k >> shape.sparse]
        fills(mfma_layout.a_loc(shape, bits[0], i, k, block), bits[0], registers[1])
        block, k, j = np.ogrid[: shape.blocks, : shape.k, : shape.n]
        fills(mfma_layout.b_loc(shape, bits[1], k, j, block), bits[1], registers[2])
        block, i, j = np.ogrid[: shape.blocks, : shape.m, : shape.n]
        wide = shape.d == "f64"
        fills(mfma_layout.d_loc(shape, i, j, block), 64 if wide else 32, registers[0])


def fills(place: mfma_layout.Location, bits: int, registers: int) -> None:
    """No two elements share a bit, and none of the registers' bits is left."""
    first = (place.register * 32 + place.bit) + 0 * place.lane
    used = np.zeros((64, registers * 32), int)
    for bit in range(bits):
        np.add.at(used, (place.lane + 0 * first, first + bit), 1)
    assert (used == 1).all()


@pytest.mark.parametrize(
    ("names", "bits", "k_of"),
    [
        (("v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16_bf16"), 16, lambda lane, item: 4 * (lane // 16) + item),
        (("v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x8_bf16"), 16, lambda lane, item: 4 * (lane // 32) + item),
        (("v_mfma_f32_16x16x32_f16", "v_mfma_f32_16x16x32_bf16"), 16, lambda lane, item: 8 * (lane // 16) + item),
        (("v_mfma_f32_32x32x16_f16", "v_mfma_f32_32x32x16_bf16"), 16, lambda lane, item: 8 * (lane // 32) + item),
        (("v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_i32_16x16x32_i8"), 8, lambda lane, item: 8 * (lane // 16) + item),
        (("v_mfma_f32_32x32x16_bf8_fp8", "v_mfma_i32_32x32x16_i8"), 8, lambda lane, item: 8 * (lane // 32) + item),
        (("v_mfma_i32_16x16x64_i8",), 8, lambda lane, item: 16 * (lane // 16) + item),
        (("v_mfma_i32_32x32x32_i8",), 8, lambda lane, item: 16 * (lane // 32) + item),
        (("v_mfma_f32_16x16x128_f8f6f4",), 8, lambda lane, item: 16 * (lane // 16) + item % 16 + 64 * (item // 16)),
        (("v_mfma_f32_32x32x64_f8f6f4",), 8, lambda lane, item: 16 * (lane // 32) + item % 16 + 32 * (item // 16)),
        (("v_mfma_f32_16x16x128_f8f6f4",), 6, lambda lane, item: 32 * (lane // 16) + item),
        (("v_mfma_f32_32x32x64_f8f6f4",), 4, lambda lane, item: 32 * (lane // 32) + item),
    ],
)
def test_inputs_of_the_manuals(names: tuple[str, ...], bits: int, k_of: Callable[[int, int], int]) -> None:
    for name in names:
        shape = shape_of(name)
        for lane in range(64):
            for item in range(shape.k * shape.m // 64):
                k, index = k_of(lane, item), lane % shape.m
                place = (item * bits // 32, lane, item * bits % 32)
                assert mfma_layout.a_loc(shape, bits, index, k) == place
                assert mfma_layout.b_loc(shape, bits, k, index) == place


@pytest.mark.parametrize(
    ("name", "row_of"),
    [
        ("v_mfma_f32_16x16x16_f16", lambda lane, register: 4 * (lane // 16) + register),
        ("v_mfma_f32_16x16x128_f8f6f4", lambda lane, register: 4 * (lane // 16) + register),
        (
            "v_mfma_f32_32x32x8_f16",
            lambda lane, register: 8 * (register // 4) + 4 * (lane // 32) + register % 4,
        ),
        ("v_mfma_f64_16x16x4_f64", lambda lane, register: 4 * (register // 2) + lane // 16),
    ],
)
def test_results_of_the_manuals(name: str, row_of: Callable[[int, int], int]) -> None:
    shape = shape_of(name)
    step = 2 if shape.d == "f64" else 1
    for lane in range(64):
        for register in range(0, shape.m * shape.n * step // 64, step):
            assert mfma_layout.d_loc(shape, row_of(lane, register), lane % shape.n)[:2] == (register, lane)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("v_mfma_f32_32x32x1_2b_f32", lambda b, i, j: (i % 4 + 4 * (i // 8) + 16 * b, j + 32 * (i // 4 % 2))),
        ("v_mfma_f32_16x16x4_4b_f16", lambda b, i, j: (i % 4 + 4 * b, j + 16 * (i // 4))),
        ("v_mfma_f32_4x4x4_16b_f16", lambda b, i, j: (i, j + 4 * b)),
        ("v_mfma_f64_4x4x4_4b_f64", lambda b, i, j: (0, j + 4 * b + 16 * i)),
    ],
)
def test_blocks_of_results(name: str, place: Callable[[int, int, int], tuple[int, int]]) -> None:
    """f64 4 x 4 x 4 as AMD's matrix calculator has it: the CDNA4 manual's text exchanges block and row."""
    shape = shape_of(name)
    for b, i, j in np.ndindex(shape.blocks, shape.m, shape.n):
        assert mfma_layout.d_loc(shape, i, j, b)[:2] == place(b, i, j)


@pytest.mark.parametrize(
    ("name", "bits", "sets"),
    [
        ("v_smfmac_f32_16x16x32_f16", 16, 4), ("v_smfmac_f32_32x32x16_bf16", 16, 4),
        ("v_smfmac_i32_16x16x64_i8", 8, 2),
        ("v_smfmac_f32_16x16x64_f16", 16, 2), ("v_smfmac_f32_32x32x32_bf16", 16, 2),
        ("v_smfmac_i32_16x16x128_i8", 8, 1),
    ],
)  # fmt: skip
def test_indices_follow_the_elements_of_a(name: str, bits: int, sets: int) -> None:
    """Bits 2n and 2n+1 belong to a lane's element n (CDNA4 ISA, index layout of sparse matrices)."""
    shape = shape_of(name)
    assert mfma_layout.index_sets(shape, bits) == sets
    for i, k in np.ndindex(shape.m, shape.k // 2):
        a, index = mfma_layout.a_loc(shape, bits, i, k), mfma_layout.index_loc(shape, bits, i, k)
        assert index == (0, a.lane, 2 * (a.register * 32 + a.bit) // bits)
        # The four elements of B that this one may meet lie in lanes of the same group, in the same part of it.
        b = mfma_layout.b_loc(shape, bits, 4 * (k // 2), 0)
        assert b.lane // shape.m == a.lane // shape.m
        assert b.register * 32 + b.bit == (a.register * 32 + a.bit) // (2 * bits) * (4 * bits)


def test_sparse_b_of_the_manuals() -> None:
    """k of B's runs for the doubled shapes of gfx950 (CDNA4 ISA 7.5.1.3)."""
    for name, bits, lane, register, k in (
        ("v_smfmac_f32_16x16x64_f16", 16, 16, 0, 8), ("v_smfmac_f32_16x16x64_f16", 16, 0, 4, 32),
        ("v_smfmac_f32_16x16x64_f16", 16, 48, 7, 62), ("v_smfmac_f32_32x32x32_f16", 16, 32, 4, 24),
        ("v_smfmac_i32_16x16x128_i8", 8, 16, 0, 16), ("v_smfmac_i32_16x16x128_i8", 8, 32, 4, 96),
        ("v_smfmac_i32_32x32x64_i8", 8, 32, 7, 60),
    ):  # fmt: skip
        assert mfma_layout.b_loc(shape_of(name), bits, k, 0) == (register, lane, 0)


def test_scales() -> None:
    for name in ("v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4"):
        shape = shape_of(name)
        rows, blocks = np.ogrid[: shape.m, : shape.k // mfma_layout.SCALE_BLOCK]
        assert sorted(mfma_layout.scale_lane(shape, rows, blocks).flat) == list(range(64))
    assert mfma_layout.scale_lane(shape_of("v_mfma_scale_f32_16x16x128_f8f6f4"), 15, 3) == 63
    assert mfma_layout.scale_lane(shape_of("v_mfma_scale_f32_32x32x64_f8f6f4"), 16, 0) == 16


def test_lane_controls() -> None:
    lanes = np.arange(64)
    assert (mfma_layout.a_source_lane(lanes, 0, 5) == lanes).all()
    assert (mfma_layout.a_source_lane(lanes, 1, 1) == lanes % 32 + 32).all()
    assert (mfma_layout.a_source_lane(lanes, 4, 9) == lanes % 4 + 36).all()
    expected = [
        lanes, lanes % 32, lanes % 32 + 32, (lanes + 16) % 64,
        lanes % 16, lanes % 16 + 16, lanes % 16 + 32, lanes % 16 + 48,
    ]  # fmt: skip
    for blgp, source in enumerate(expected):
        assert (mfma_layout.b_source_lane(lanes, blgp) == source).all()
