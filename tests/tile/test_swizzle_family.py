"""XOR swizzles as terms and as matrices: the same maps, each its own inverse, listed from the simplest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykittens.tile.shared_shape import SHAPES, SharedShape
from pykittens.tile.swizzle_family import Masks, is_swizzle, masks_of, simple_swizzles, terms_of

BITS = 10


def applied(masks: Masks, offsets: np.ndarray) -> np.ndarray:
    """The map I + M on numbers, bit by bit."""
    places = offsets.copy()
    for target, mask in masks.items():
        for source in range(mask.bit_length()):
            if mask >> source & 1:
                places ^= (offsets >> source & 1) << target
    return places


@st.composite
def matrices(draw: st.DrawFn) -> Masks:
    """Any matrix of the family on `BITS` bits."""
    changed = draw(st.sets(st.integers(0, BITS - 2)))
    readable = [bit for bit in range(BITS) if bit not in changed]
    masks = {}
    for target in sorted(changed):
        higher = [bit for bit in readable if bit > target]
        masks[target] = sum(1 << bit for bit in (draw(st.sets(st.sampled_from(higher))) if higher else ()))
    return {target: mask for target, mask in masks.items() if mask}


@given(matrices())
def test_terms_and_matrices_are_one_map(masks: Masks) -> None:
    assert is_swizzle(masks)
    shape = SharedShape("any", 1 << BITS, 1, terms_of(masks))
    offsets = np.arange(1 << BITS)
    places = np.asarray(shape.swizzle(offsets))  # type: ignore[arg-type]
    assert masks_of(shape.xors) == masks
    assert np.array_equal(places, applied(masks, offsets))
    assert np.array_equal(applied(masks, places), offsets)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=lambda each: each.name)
def test_hipkittens_swizzles_are_in_the_family(shape: SharedShape) -> None:
    assert is_swizzle(masks_of(shape.xors))
    assert masks_of(terms_of(masks_of(shape.xors))) == masks_of(shape.xors)


@pytest.mark.parametrize("masks", [{3: 1 << 2}, {3: 1 << 3}, {3: 1 << 5, 2: 1 << 3}, {2: 1 << 3, 3: 1 << 5}])
def test_other_maps_are_not(masks: Masks) -> None:
    """Bits that move up or stay, or that are read after they changed."""
    assert not is_swizzle(masks)


def test_terms_that_cancel_are_no_change() -> None:
    assert masks_of(((1024, 9, 5), (1024, 9, 5))) == {}
    assert masks_of(((1024, 8, 4),)) == {4: 1 << 8, 5: 1 << 9}
    assert terms_of({4: 1 << 8, 5: 1 << 9}) == ((1024, 8, 4),)
    assert terms_of({4: 1 << 10, 5: 1 << 9}) == ((1024, 9, 5), (2048, 10, 4))


def test_simple_swizzles_come_in_order_and_are_complete() -> None:
    targets = range(4, 7)
    found = list(simple_swizzles(targets, BITS))
    assert found[0] == ()
    assert [len(xors) for xors in found] == sorted(len(xors) for xors in found)
    bits = [sum(modulus.bit_length() - 1 - right for modulus, right, _ in xors) for xors in found if len(xors) == 1]
    assert bits == sorted(bits)
    # Every single-bit term from any higher bit, and every swizzle keeps to the targets.
    assert {((2 << source, source, target),) for target in targets for source in range(target + 1, BITS)} <= set(found)
    assert all(is_swizzle(masks_of(xors)) and set(masks_of(xors)) <= set(targets) for xors in found)
    assert {SHAPES["16x32"].xors, ((1024, 7, 4),), ((512, 8, 6), (1024, 9, 4))} <= set(found)
