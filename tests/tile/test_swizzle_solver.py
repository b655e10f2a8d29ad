"""The solver finds HipKittens' swizzles from the patterns alone, and its proofs agree with trying everything."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

import numpy as np
import pytest
from tests.tile.test_swizzle_patterns import degree

from pykittens.arch import gfx942, gfx950
from pykittens.errors import InputError
from pykittens.tile.shared_shape import SHAPES
from pykittens.tile.swizzle_family import Masks, is_swizzle, masks_of
from pykittens.tile.swizzle_patterns import Pattern, custom, lane_order_copy, register_read, register_write
from pykittens.tile.swizzle_solver import Problem, conflict_free_swizzles, solve

# What HipKittens moves with each shape: (register shape, layout) of reads and of writes, bytes a lane of the copy and
# bytes an element.
USES = {
    "16x32": ([("16x32", "row"), ("16x32", "col"), ("16x32_4", "col"), ("32x32_8", "col")], [], 16, 2),
    "32x32": (
        [
            *((each, "row") for each in ("16x32", "32x16", "32x32_8")),
            *((each, "col") for each in ("16x32", "32x16", "32x32", "16x32_4")),
        ],
        [],
        16,
        2,
    ),
    "32x16": ([("32x16", "row"), ("16x16", "col"), ("32x16_4", "col")], [], 16, 2),
    "16x16": ([("16x32", "row"), ("16x16", "col"), ("32x16_4", "col")], [], 16, 2),
    "16x16_swizzled": (
        [("16x16", "row"), ("16x32_4", "row"), ("16x16", "col"), ("32x16_4", "col")],
        [("16x16", "row"), ("16x32_4", "row")],
        4,
        2,
    ),
    "8x32": ([("16x32", "col"), ("16x32_4", "col"), ("32x32", "col"), ("32x32_8", "col")], [], 16, 2),
    "16x128": ([("16x128", "row")], [], 16, 1),
}


def uses(name: str) -> Problem:
    reads, writes, copy, size = USES[name]
    shape = SHAPES[name]
    subtile = shape.rows, shape.cols
    patterns = [register_read(gfx950, r, layout, subtile, size) for r, layout in reads]
    patterns += [register_write(gfx950, r, layout, subtile, size) for r, layout in writes]
    return Problem(*subtile, size, (*patterns, lane_order_copy(gfx950, copy)))


@pytest.mark.parametrize("name", USES)
def test_hipkittens_swizzles_are_found_again(name: str) -> None:
    problem = uses(name)
    solution = solve(problem)
    assert solution.conflict_free
    assert set(solution.passes.values()) == {1}
    assert (solution.proof, solution.together) == ("", ())
    assert len(solution.shape.xors) <= len(SHAPES[name].xors)
    ours = [masks_of(xors) for xors in conflict_free_swizzles(problem)]
    assert masks_of(SHAPES[name].xors) in ours


@pytest.mark.parametrize("name", [name for name in USES if name != "16x128"])
def test_the_simplest_swizzle_is_hipkittens_own(name: str) -> None:
    """Of equal ones those of the highest rows, as HipKittens chose; for fp8 fewer bits do than it moves."""
    assert solve(uses(name)).shape.xors == SHAPES[name].xors


def test_fp8_and_fp6_swizzles() -> None:
    assert solve(uses("16x128")).shape.xors == ((1024, 8, 5),)
    assert next(conflict_free_swizzles(uses("16x128"))) == ((1024, 8, 5),)
    # fp6 rows of 128 elements in eight 16-byte slots of 12 bytes: HipKittens' slot ^= row % 8.
    lane = np.arange(64)
    slots = [128 * (lane % 16) + 32 * (lane // 16) + 16 * half for half in range(2)]
    problem = Problem(16, 128, 1, (custom(gfx950, "fp6 rows", "read", 12, slots), lane_order_copy(gfx950)))
    assert masks_of(((1024, 7, 4),)) in [masks_of(xors) for xors in conflict_free_swizzles(problem)]
    assert problem.passes({}) == 4


@pytest.mark.parametrize("subtile", [(16, 32), (16, 16), (32, 32), (16, 128)])
def test_the_papers_counterexample(subtile: tuple[int, int]) -> None:
    """Rows written as rt_16x16 by ds_write_b64 and read as rt_16x32 by ds_read_b128: no swizzle serves both."""
    read, write = register_read(gfx950, "16x32", "row", subtile), register_write(gfx950, "16x16", "row", subtile)
    solution = solve(Problem(*subtile, 2, (read, write, lane_order_copy(gfx950))))
    assert not solution.conflict_free
    assert solution.together == (read.what, write.what)
    assert solution.passes == {read.what: 1, write.what: 2, "copy of 16 bytes a lane": 1}
    assert solution.proof == (
        "ds_read_b128 of rt_16x32 row keeps 16 bytes together; however these pieces are permuted, the 32 dwords of a "
        "phase of ds_write_b64 of rt_16x16 row reach 16 of 32 banks, which takes 2 passes at least"
    )
    # Each alone is served, and so is the pair once the rows are read in halves.
    for patterns in ((read,), (write,), (register_read(gfx950, "16x32", "row", subtile, lane_bytes=8), write)):
        alone = solve(Problem(*subtile, 2, patterns))
        assert alone.conflict_free
        assert all(degree(gfx950, pattern, alone.shape, 2) == 1 for pattern in patterns)


def test_the_counterexample_holds_for_any_permutation_of_pieces() -> None:
    """The proof's claim, tried on permutations that are not linear at all: the write never takes one pass."""
    write = register_write(gfx950, "16x16", "row", (16, 32))
    rng = np.random.default_rng(1)
    for _ in range(50):
        pieces = rng.permutation(64)
        offsets = np.array(write.offsets[0])
        places = pieces[offsets // 16] * 16 + offsets % 16
        banks = [
            {int(p) // 4 % 32 for lane in phase for p in (places[lane], places[lane] + 4)}
            for phase in write.access.phases
        ]
        assert all(len(each) <= 16 for each in banks)


def test_lanes_in_different_subtiles_cannot_be_told_apart() -> None:
    """32 rows from subtiles of 8: four lanes of a phase want the same offset of four subtiles."""
    (read,) = patterns = (register_read(gfx950, "32x32", "row", (8, 32)),)
    solution = solve(Problem(8, 32, 2, patterns))
    assert not solution.conflict_free
    assert re.match(r"4 lanes of a phase of .* want the same offset in different subtiles of 512 bytes", solution.proof)
    assert solution.passes == {read.what: 4}


def test_gfx942_has_swizzles_of_its_own() -> None:
    subtile = (32, 32)
    patterns = (
        register_read(gfx942, "16x16", "row", subtile),
        register_write(gfx942, "16x16", "row", subtile),
        lane_order_copy(gfx942, 8),
    )
    solution = solve(Problem(*subtile, 2, patterns))
    assert solution.conflict_free
    assert [degree(gfx942, pattern, solution.shape, 2) for pattern in patterns[:2]] == [1, 1]


# -- against trying everything ----------------------------------------------------------------------------------


def all_swizzles(first: int, last: int, bits: int) -> Iterator[Masks]:
    """Every matrix of the family that changes bits ``first`` to ``last`` and reads bits below ``bits``."""
    targets = range(first, last + 1)
    for masks in itertools.product(*(range(0, 1 << bits, 2 << target) for target in targets)):
        rows = {target: mask for target, mask in zip(targets, masks, strict=True) if mask}
        if is_swizzle(rows):
            yield rows


def random_pattern(rng: random.Random, name: str, bits: int) -> Pattern:
    """A linear pattern of six different offset bits, some of them mixed."""
    direction, lane_bytes = rng.choice([("read", 16), ("write", 8), ("read", 8)])
    places = rng.sample(range((lane_bytes - 1).bit_length(), bits), 5)
    units = [1 << place for place in places] + [0]
    rng.shuffle(units)
    for i in range(6):
        if rng.random() < 0.3:
            units[i] ^= units[rng.randrange(6)] & ~units[i]
    offsets = [0] * 64
    for lane in range(64):
        for i, unit in enumerate(units):
            offsets[lane] ^= unit if lane >> i & 1 else 0
    return custom(gfx950, name, direction, lane_bytes, [offsets])


def test_answers_are_those_of_trying_everything() -> None:
    """Random problems in subtiles of 512 bytes; all three kinds of answer occur."""
    rng = random.Random(7)
    kinds = set()
    every = list(all_swizzles(4, 7, 9))
    for _ in range(60):
        patterns = tuple(random_pattern(rng, f"p{i}", 9) for i in range(rng.choice([1, 2, 3])))
        problem = Problem(16, 16, 2, (*patterns, lane_order_copy(gfx950)))
        solution = solve(problem)
        assert solution.conflict_free == any(problem.serves(masks) for masks in every)
        for pattern in patterns:
            assert degree(gfx950, pattern, solution.shape, 2) == solution.passes[pattern.what]
        kinds.add((solution.conflict_free, len(solution.shape.xors) > 2, "choices" in solution.proof))
        assert bool(solution.proof) == (not solution.conflict_free)
        if solution.together and "choices" in solution.proof:
            assert set(solution.together) <= {pattern.what for pattern in problem.patterns}
    assert {kind[0] for kind in kinds} == {True, False}
    assert (False, False, True) in kinds


def test_more_than_two_terms_are_found_bit_by_bit() -> None:
    """One pattern for each of three single bits, in different columns: no two terms serve all."""
    rng = random.Random(2)
    for _ in range(200):
        patterns = tuple(random_pattern(rng, f"p{i}", 10) for i in range(4))
        problem = Problem(16, 32, 2, patterns)
        solution = solve(problem)
        if solution.conflict_free and next(conflict_free_swizzles(problem), None) is None:
            assert len(solution.shape.xors) > 2
            assert all(degree(gfx950, pattern, solution.shape, 2) == 1 for pattern in patterns)
            return
    raise AssertionError("no random problem needs more than two terms")


def test_wrong_problems_are_refused() -> None:
    copy = lane_order_copy(gfx950)
    with pytest.raises(InputError, match=r"subtiles of 24x32 elements of 2 bytes; use powers of two"):
        Problem(24, 32, 2, (copy,))
    with pytest.raises(InputError, match="no access patterns are given"):
        Problem(16, 32, 2, ())
    with pytest.raises(InputError, match="rows of 8 bytes, an access moves 16; use wider subtiles"):
        Problem(16, 4, 2, (copy,))
    assert solve(Problem(16, 32, 2, (copy,))).shape.xors == ()
