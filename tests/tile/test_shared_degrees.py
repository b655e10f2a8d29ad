"""Conflicts of every register and shared shape: HipKittens' list of conflict-free pairs, no more, no less."""

from __future__ import annotations

import itertools
from typing import Literal

import pytest

from pykittens.arch import Arch, gfx942, gfx950
from pykittens.errors import BuildError
from pykittens.tile import register_shape, shared_shape
from pykittens.tile.shared_degrees import PairCost, pair_cost

# HipKittens' shapes at 16 bits.
REGISTER_SHAPES = ("16x16", "32x32", "32x32_8", "16x32", "32x16", "32x16_4", "16x32_4")
SHARED_SHAPES = ("16x16", "16x16_swizzled", "32x32", "16x32", "32x16", "8x32")
# Conflict-free pairs of HipKittens' shapes at 16 bits on gfx950, from a replay of its own address code (the transposing
# reads under assumed phases): shared shape -> register shapes.
B128_ROWS = {
    "32x32": {"32x32_8", "32x16", "16x32"},
    "16x32": {"16x32"},
    "32x16": {"32x16", "32x32_8"},  # 32x32_8 it reads as two b64
    "16x16": {"16x32"},
}
B64_ROWS = {"16x16_swizzled": {"16x16", "16x32_4"}}
TRANSPOSED = {
    "32x32": {"32x32", "32x32_8", "16x32", "32x16", "16x32_4"},
    "16x32": {"16x32", "16x32_4", "32x32_8", "32x32"},  # 32x32 it gets wrong, at the same addresses as 32x32_8
    "8x32": {"32x32", "32x32_8", "16x32", "16x32_4"},
    "16x16": {"16x16", "32x16_4"},
    "16x16_swizzled": {"16x16", "32x16_4"},
    "32x16": {"16x16", "32x16_4"},
}
# Of these HipKittens lists 16x16 and 16x32_4; the others it writes to wrong places.
WRITTEN_B64 = {"16x16_swizzled": {"16x16", "16x32_4", "16x32", "32x16", "32x16_4", "32x32", "32x32_8"}}


def cost(
    register: str,
    layout: str,
    shared: str,
    direction: Literal["read", "write"] = "read",
    arch: Arch = gfx950,
    size: int = 2,
) -> PairCost:
    return pair_cost(arch, direction, register_shape.get(register), layout, shared_shape.get(shared), size)


def nested(register: str, shared: str) -> bool:
    """HipKittens moves a pair only if one of the shapes holds the other."""
    r, s = register_shape.get(register), shared_shape.get(shared)
    return (r.rows - s.rows) * (r.cols - s.cols) >= 0


def free_pairs(layout: str, mnemonic: str, direction: Literal["read", "write"] = "read") -> dict[str, set[str]]:
    """Conflict-free pairs among HipKittens' 16-bit shapes that are moved by one instruction."""
    found: dict[str, set[str]] = {}
    for register, shared in itertools.product(REGISTER_SHAPES, SHARED_SHAPES):
        if nested(register, shared):
            pair = cost(register, layout, shared, direction)
            if pair.degree == 1 and pair.mnemonics == (mnemonic,):
                found.setdefault(shared, set()).add(register)
    return found


@pytest.mark.parametrize(
    ("layout", "mnemonic", "direction", "expected"),
    [
        ("row", "ds_read_b128", "read", B128_ROWS),
        ("row", "ds_read_b64", "read", B64_ROWS),
        ("col", "ds_read_b64_tr_b16", "read", TRANSPOSED),
        ("row", "ds_write_b64", "write", WRITTEN_B64),
    ],
)
def test_conflict_free_pairs_are_those_of_hipkittens(
    layout: str, mnemonic: str, direction: Literal["read", "write"], expected: dict[str, set[str]]
) -> None:
    assert free_pairs(layout, mnemonic, direction) == expected


@pytest.mark.parametrize(
    ("register", "layout", "shared", "direction", "degree"),
    [
        ("16x16", "row", "16x16", "read", 2),
        ("16x16", "row", "16x16", "write", 4),
        ("16x32", "col", "16x16", "read", 2),
        ("32x16", "col", "32x16", "read", 2),
        ("16x32", "row", "8x32", "read", 2),
        ("32x16", "row", "8x32", "read", 4),
    ],
)
def test_known_conflicts(
    register: str, layout: str, shared: str, direction: Literal["read", "write"], degree: int
) -> None:
    assert cost(register, layout, shared, direction).degree == degree


def test_fp8_rows() -> None:
    """Elements of one byte in st_16x128: free with the swizzle, 4-way without."""
    swizzled = cost("16x128", "row", "16x128", size=1)
    assert (swizzled.degree, swizzled.mnemonics) == (1, ("ds_read_b128",))
    plain = shared_shape.SharedShape("plain", 16, 128)
    assert pair_cost(gfx950, "read", register_shape.get("16x128"), "row", plain, 1).degree == 4


def test_a_pair_knows_its_instructions() -> None:
    pair = cost("16x32", "row", "32x32")
    assert pair.tile == (32, 32)
    assert [move.mnemonic for move in pair.moves] == ["ds_read_b128"] * 2
    assert (pair.passes_per_base, pair.known) == (4.0, "measured")
    assert pair.moves[1].addresses[0] == pair.moves[0].addresses[0] + 1024 + 16
    assert cost("32x16", "col", "16x32").known == "assumed"
    assert cost("16x32", "row", "16x32", arch=gfx942).known == "published"
    column = cost("32x16", "col", "16x32", arch=gfx942)
    assert column.mnemonics == ("ds_read_u16",)
    assert len(column.moves) == 8 * 2


def test_pairs_that_cannot_be_moved_are_refused() -> None:
    with pytest.raises(BuildError, match="16x128 has no col layout"):
        cost("16x128", "col", "16x32")
    with pytest.raises(BuildError, match="single ones are not packed into registers"):
        cost("16x16", "col", "16x32", arch=gfx942, size=1)


@pytest.mark.parametrize(
    ("arch", "register", "layout", "shared", "size"),
    [
        (gfx942, "16x32", "row", "16x64_32_banks", 2), (gfx942, "16x32", "row", "16x32_32_banks", 2),
        (gfx942, "16x64", "row", "16x128_32_banks", 1), (gfx942, "16x128", "row", "16x128_32_banks", 1),
        (gfx950, "16x32", "row", "16x64", 2), (gfx950, "32x16", "row", "16x64", 2),
        (gfx950, "32x16", "col", "16x64", 2), (gfx950, "16x32", "col", "16x64", 2),
        (gfx950, "128x16", "col", "32x128_tr", 1), (gfx950, "128x16", "col", "32x64_tr", 1),
    ],
)  # fmt: skip
def test_solved_shapes_serve_what_they_are_for(
    arch: Arch, register: str, layout: str, shared: str, size: int
) -> None:  # fmt: skip
    found = cost(register, layout, shared, arch=arch, size=size)
    assert found.degree == 1
    assert found.mnemonics == ("ds_read_b128" if layout == "row" else f"ds_read_b64_tr_b{8 * size}",)
