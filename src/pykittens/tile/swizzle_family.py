"""The XOR swizzles: terms of shifted offset bits, the same as matrices over GF(2), and the simple ones in order.

A swizzle is place = offset ^ XOR of terms ``((offset % m) >> a) << b``, where m is a power of two, all bits move down,
and no bit that a term changes is read by one. These are the maps I + M over GF(2) with M strictly upper triangular and
M M = 0, so each is its own inverse: one map serves LDS addresses and the global source of a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

Term = tuple[int, int, int]
"""(modulus, right shift, left shift), as in `SharedShape.xors`."""
Masks = dict[int, int]
"""M by rows: for each offset bit that changes, the mask of the bits that are added to it."""

MOST_TERMS = 2
"""Terms of the swizzles that are listed."""


def masks_of(xors: tuple[Term, ...]) -> Masks:
    """The matrix of a swizzle."""
    masks: Masks = {}
    for modulus, right, left in xors:
        for source in range(right, modulus.bit_length() - 1):
            target = left + source - right
            masks[target] = masks.get(target, 0) ^ 1 << source
    return {target: mask for target, mask in masks.items() if mask}


def terms_of(masks: Masks) -> tuple[Term, ...]:
    """A swizzle of this matrix: a term for each unbroken run of a diagonal."""
    entries = {
        (source - target, target)
        for target, mask in masks.items()
        for source in range(mask.bit_length())
        if mask >> source & 1
    }
    terms = []
    for shift, target in sorted(entries):
        if (shift, target - 1) in entries:
            continue
        end = target
        while (shift, end) in entries:
            end += 1
        terms.append((1 << (end + shift), target + shift, target))
    return tuple(terms)


def is_swizzle(masks: Masks) -> bool:
    """Whether the map is in the family: bits move down, and what changes is not read."""
    changed = sum(1 << target for target in masks)
    return all(mask >> target + 1 << target + 1 == mask and not mask & changed for target, mask in masks.items())


def simple_swizzles(targets: range, bits: int) -> Iterator[tuple[Term, ...]]:
    """Swizzles of at most `MOST_TERMS` terms that change ``targets`` and read bits below ``bits``.

    Fewest terms first, then fewest bits, then bits from the highest places.
    """
    single = [
        (1 << end, start, target)
        for start in range(targets.start + 1, bits)
        for end in range(start + 1, bits + 1)
        for target in targets
        if target + end - start <= min(start, targets.stop)
    ]
    for count in range(MOST_TERMS + 1):
        swizzles = (xors for xors in combinations(single, count) if is_swizzle(masks_of(xors)))
        yield from sorted(swizzles, key=_simplicity)


def _simplicity(xors: tuple[Term, ...]) -> tuple[int, list[int]]:
    moved = sum(modulus.bit_length() - 1 - right for modulus, right, _ in xors)
    return moved, [-place for term in xors for place in term]
