"""The register map: lifetimes round loops and conditions, first fit, pinned tiles, and budgets that do not hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pykittens.errors import BuildError
from pykittens.isa.registers import a as agpr
from pykittens.isa.registers import s, v
from pykittens.tile import bf16, f32, loop, mma_ABt, rt, when, zero
from pykittens.tile.allocate import allocate, lifetimes
from pykittens.tile.expression import leaf
from pykittens.tile.ops import maps
from pykittens.tile.trace import Trace, tracing

N = leaf("arg", "A", "rows")


@pytest.fixture
def trace() -> Iterator[Trace]:
    """A kernel of one wave on gfx950, being traced."""
    with tracing(Trace("gfx950", (1, 1))) as current:
        yield current


def small(name: str, **options: Any) -> Any:
    """16 x 32 in bf16: 4 registers."""
    return rt(bf16, 16, 32, name=name, **options)


def accumulator(name: str, **options: Any) -> Any:
    """16 x 16 in f32: 4 registers."""
    return rt(f32, 16, 16, name=name, **options)


def places(trace: Trace, reserved: int = 2) -> dict[str, str]:
    """Where each tile lies, by name, once no two that live together overlap."""
    found = allocate(trace, reserved)
    for i, life in enumerate(found.lives):
        for other in found.lives[:i]:
            together = life.start <= other.end and other.start <= life.end
            overlap = any(r.overlaps(s) for r in life.tile.regs or () for s in other.tile.regs or ())
            assert not (together and overlap), (life.tile.name, other.tile.name)
    return {life.tile.name: " ".join(map(str, life.tile.regs or ())) for life in found.lives}


def test_tiles_that_live_one_after_another_share_registers(trace: Trace) -> None:
    x, y, c = small("x"), small("y"), accumulator("c")
    zero(c)
    zero(x)
    mma_ABt(c, x, x)
    zero(y)
    mma_ABt(c, y, y)
    assert places(trace) == {"c": "v[2:5]", "x": "v[6:9]", "y": "v[6:9]"}


def test_unused_tiles_take_nothing(trace: Trace) -> None:
    small("unused")
    found = allocate(trace, 2)
    assert (found.lives, found.vgprs, found.agprs) == ([], 2, 0)


def test_what_enters_a_loop_lives_through_it(trace: Trace) -> None:
    """x is read in the first op of the loop only; y, written later in it, must not take x's place."""
    x, y, c = small("x"), small("y"), accumulator("c")
    zero(x)
    zero(c)
    for _ in loop(N):
        mma_ABt(c, x, x)
        zero(y)
        mma_ABt(c, y, y)
    found = places(trace)
    assert found["x"] != found["y"]


def test_what_leaves_a_loop_lives_through_it(trace: Trace) -> None:
    x, y, c = small("x"), small("y"), accumulator("c")
    zero(c)
    for _ in loop(N):
        zero(y)
        mma_ABt(c, y, y)
        zero(x)
    mma_ABt(c, x, x)
    found = places(trace)
    assert found["x"] != found["y"]


def test_what_a_pass_writes_before_it_reads_is_free_in_the_rest(trace: Trace) -> None:
    x, y, c = small("x"), small("y"), accumulator("c")
    zero(c)
    for _ in loop(N):
        zero(x)
        mma_ABt(c, x, x)
        zero(y)
        mma_ABt(c, y, y)
    found = places(trace)
    assert found["x"] == found["y"]


@pytest.mark.parametrize("guard", ["when", "loop"])
def test_what_only_some_passes_write_is_carried_into_the_next(trace: Trace, guard: str) -> None:
    """x may be written in the first pass alone, so y must leave it in place."""
    x, y, c = small("x"), small("y"), accumulator("c")
    zero(c)
    for t in loop(N):
        if guard == "when":
            with when(t < 1):
                zero(x)
        else:
            for _ in loop(1 - t):
                zero(x)
        mma_ABt(c, x, x)
        zero(y)
        mma_ABt(c, y, y)
    found = places(trace)
    assert found["x"] != found["y"]


def test_a_condition_around_the_whole_loop_is_none_inside_it(trace: Trace) -> None:
    x, y, c = small("x"), small("y"), accumulator("c")
    zero(c)
    with when(N > 3):
        for _ in loop(N):
            zero(x)
            mma_ABt(c, x, x)
            zero(y)
            mma_ABt(c, y, y)
    found = places(trace)
    assert found["x"] == found["y"]


def test_reading_first_carries_round_the_loop(trace: Trace) -> None:
    """The next pass reads what this one wrote last."""
    x, y, c = small("x"), small("y"), accumulator("c")
    for _ in loop(N):
        mma_ABt(c, x, x)
        zero(y)
        mma_ABt(c, y, y)
        zero(x)
    found = places(trace)
    assert found["x"] != found["y"]


def test_inner_loops_extend_to_outer_ones(trace: Trace) -> None:
    x, c = small("x"), accumulator("c")
    zero(c)
    for _ in loop(N):
        for _ in loop(N):
            mma_ABt(c, x, x)
        zero(x)
    life = next(life for life in lifetimes(trace.nodes) if life.tile is x)
    whole = next(life for life in lifetimes(trace.nodes) if life.tile is c)
    assert life.end == whole.end


def test_files_are_apart(trace: Trace) -> None:
    x, c = small("x"), accumulator("c", file="agpr")
    zero(x)
    zero(c)
    mma_ABt(c, x, x)
    found = allocate(trace, 2)
    assert {life.tile.name: str(life.tile.regs[0]) for life in found.lives if life.tile.regs} == {
        "c": "a[0:3]",
        "x": "v[2:5]",
    }
    assert (found.vgprs, found.agprs) == (6, 4)
    assert [line.split()[0] for line in found.text()] == ["x", "c"]


def test_tiles_start_at_even_registers(trace: Trace) -> None:
    x = small("x")
    zero(x)
    assert places(trace, reserved=3) == {"x": "v[4:7]"}


def test_pinned_tiles_stay_and_others_go_around_them(trace: Trace) -> None:
    x, y, c = small("x", regs=v[4:7]), small("y"), accumulator("c", regs=agpr[8:11], file="agpr")
    zero(x)
    zero(y)
    zero(c)
    mma_ABt(c, x, y)
    assert places(trace) == {"x": "v[4:7]", "y": "v[8:11]", "c": "a[8:11]"}


def test_a_tile_may_lie_in_several_pieces(trace: Trace) -> None:
    x = rt(bf16, 32, 32, name="x", regs=(v[20:23], v[40:43]))
    zero(x)
    allocate(trace, 2)
    assert (x.base(0, 0), x.base(1, 0)) == (v[20:23], v[40:43])


def test_pinned_tiles_that_overlap_are_refused_with_both_places(trace: Trace) -> None:
    x, y = small("x", regs=v[4:7]), small("y", regs=v[6:9])
    zero(x)
    zero(y)
    mma_ABt(accumulator("c"), x, y)
    with pytest.raises(BuildError, match=r"y is pinned to v\[6:9\], x holds v\[4:7\] at the same time") as caught:
        allocate(trace, 2)
    assert caught.value.where is not None
    assert "test_allocate.py" in caught.value.where


def test_pinned_tiles_may_share_when_they_do_not_live_together(trace: Trace) -> None:
    x, y, c = small("x", regs=v[4:7]), small("y", regs=v[4:7]), accumulator("c")
    zero(x)
    mma_ABt(c, x, x)
    zero(y)
    mma_ABt(c, y, y)
    assert places(trace)["y"] == "v[4:7]"


def test_pinned_sizes_must_fit(trace: Trace) -> None:
    zero(small("x", regs=v[4:6]))
    with pytest.raises(BuildError, match="x needs 4 registers, 3 are pinned"):
        allocate(trace, 2)


def test_a_budget_that_does_not_hold_lists_what_is_alive(trace: Trace) -> None:
    big = rt(f32, 112, 128, name="big")
    more = rt(f32, 32, 64, name="more")
    zero(big)
    zero(more)
    for tile in (big, more):
        zero(tile)
    with pytest.raises(BuildError, match=r"more needs 32 vgprs, 30 are left \(alive here: big 224 \(test_a") as caught:
        allocate(trace, 2)
    assert caught.value.code == "register-budget"


@pytest.mark.parametrize(
    ("regs", "what"),
    [
        (v[21:24], r"regs has v\[21:24\], which starts at the odd 21"),
        (v[254:257], r"regs has v\[254:257\], the registers of a file are 0 to 255"),
        (s[20:23], r"regs has s\[20:23\], tiles lie in v or a registers"),
        (("v20", "v21"), "regs has v20, tiles lie in v or a registers"),
        ((v[20:23], agpr[9:12]), r"regs has a\[9:12\], which starts at the odd 9"),
    ],
)
def test_pins_that_no_tile_can_have_are_refused_where_the_tile_is_made(trace: Trace, regs: Any, what: str) -> None:
    with pytest.raises(BuildError, match=what) as caught:
        small("x", regs=regs)
    assert caught.value.where is not None
    assert "test_allocate.py" in caught.value.where


def test_a_pin_may_not_overlap_itself(trace: Trace) -> None:
    zero(rt(bf16, 32, 32, name="x", regs=(v[20:23], v[22:25])))
    with pytest.raises(BuildError, match=r"x is pinned to v\[22:25\], x holds v\[20:23\] at the same time"):
        allocate(trace, 2)


def test_pins_say_which_file_a_tile_is_in(trace: Trace) -> None:
    """The VALU computes in VGPRs, so a map refuses what is pinned elsewhere, before it is placed."""
    files = {"vgpr": v[20:23], "agpr": agpr[20:23]}
    assert {name: small(name, regs=regs).file for name, regs in files.items()} == {"vgpr": "vgpr", "agpr": "agpr"}
    both = rt(f32, 16, 32, name="both", regs=(v[24:27], agpr[24:27]))
    for tile in (accumulator("c", regs=agpr[20:23]), both):
        with pytest.raises(BuildError, match=f"{tile.name} holds f32 in .*agprs"):
            maps.add(tile, tile, tile)


def alternate(trace: Trace, *tiles: Any) -> None:
    """Each tile is written and used before the next."""
    c = rt(f32, tiles[0].rows, tiles[0].rows, name="c", regs=v[200 : 199 + tiles[0].rows ** 2 // 64])
    zero(c)
    for tile in tiles:
        zero(tile)
        mma_ABt(c, tile, tile)


def test_tiles_lie_over_each_other_also_over_what_nothing_uses(trace: Trace) -> None:
    x, unused = small("x"), small("unused")
    y, z = small("y", over=unused), small("z", over=small("between", over=x))
    alternate(trace, x, y, z)
    found = places(trace)
    assert found["x"] == found["z"] == "v[2:5]"
    assert found["y"] == "v[2:5]"  # what lies under it is needed for no longer than itself


def test_a_tile_lies_over_pins_of_both_files(trace: Trace) -> None:
    x = rt(bf16, 32, 32, name="x", regs=(v[20:23], agpr[20:23]))
    alternate(trace, x, rt(bf16, 32, 32, name="y", over=x))
    assert places(trace)["y"] == "v[20:23] a[20:23]"


def test_two_tiles_over_a_third_may_not_live_together(trace: Trace) -> None:
    x = small("x")
    y, z, c = small("y", over=x), small("z", over=x), accumulator("c")
    zero(y)
    zero(z)
    mma_ABt(c, y, z)
    with pytest.raises(BuildError, match=r"z lies over x in v\[2:5\], y holds v\[2:5\] at the same time"):
        allocate(trace, 2)


def test_what_a_tile_cannot_lie_over_is_refused(trace: Trace) -> None:
    x = rt(bf16, 32, 32, name="x")
    for over, regs, what in (
        (x.subtile(16, 32, 1, 0), None, "over is x, or a part of it"),
        (3, None, "over is 3"),
        (x, v[20:23], "a tile over x is pinned too"),
    ):
        with pytest.raises(BuildError, match=what):
            small("y", over=over, regs=regs)
