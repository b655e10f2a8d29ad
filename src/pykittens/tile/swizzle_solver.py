"""Finds an XOR swizzle without bank conflicts for the patterns that share one LDS tile, or proves that there is none.

The family is that of swizzle_family.py. Bits inside the widest access of any pattern stay where they are, and only bits
of the subtile are read and changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from pykittens.errors import InputError

from .shared_shape import SharedShape
from .swizzle_family import Masks, Term, masks_of, simple_swizzles, terms_of
from .swizzle_patterns import DWORD_BITS, Demand, Pattern, independent


@dataclass(frozen=True)
class Problem:
    """Patterns that share subtiles of ``rows`` x ``cols`` elements of ``size`` bytes; all powers of two."""

    rows: int
    cols: int
    size: int
    patterns: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        if any(number < 1 or number & (number - 1) for number in (self.rows, self.cols, self.size)):
            raise InputError(
                "swizzle-size", f"subtiles of {self.rows}x{self.cols} elements of {self.size} bytes",
                fix="use powers of two",
            )  # fmt: skip
        if not self.patterns:
            raise InputError("swizzle-patterns", "no access patterns are given")
        if self.cols * self.size < 1 << self.first:
            raise InputError(
                "swizzle-size", f"rows of {self.cols * self.size} bytes, an access moves {1 << self.first}",
                fix="use wider subtiles",
            )  # fmt: skip

    @cached_property
    def bits(self) -> int:
        """Offset bits of a subtile."""
        return (self.rows * self.cols * self.size).bit_length() - 1

    @cached_property
    def first(self) -> int:
        """The lowest bit that may change: the widest access stays in one piece."""
        return max(DWORD_BITS, *((pattern.lane_bytes - 1).bit_length() for pattern in self.patterns))

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """What all patterns demand, each thing once."""
        return tuple(dict.fromkeys(demand for pattern in self.patterns for demand in pattern.demands()))

    @cached_property
    def targets(self) -> range:
        """Bits that are worth changing: up to the highest bank bit of any pattern."""
        last = max((demand.bank_bits for demand in self.demands), default=0) + DWORD_BITS
        return range(self.first, max(self.first, min(last, self.bits)))

    def of(self, patterns: tuple[Pattern, ...]) -> Problem:
        """The same subtiles with other patterns."""
        return Problem(self.rows, self.cols, self.size, patterns)

    def swizzled(self, xors: tuple[Term, ...]) -> SharedShape:
        """The subtile with this swizzle."""
        return SharedShape(f"{self.rows}x{self.cols}", self.rows, self.cols, xors)

    def passes(self, masks: Masks) -> int:
        """Passes of all demands together under a swizzle; as many as there are demands if nothing conflicts."""
        return sum(demand.passes(masks) for demand in self.demands)

    def serves(self, masks: Masks) -> bool:
        """Whether a swizzle is free of conflicts."""
        return self.passes(masks) == len(self.demands)


@dataclass(frozen=True)
class Solution:
    """What `solve` found.

    shape: the subtile with the best swizzle. conflict_free: whether that serves every pattern in one pass a phase.
    passes: passes of the worst phase under it, for each pattern by name.
    together: the names of a smallest set of patterns that no swizzle serves together; empty if one serves all.
    proof: why none does; empty likewise.
    """

    shape: SharedShape
    conflict_free: bool
    passes: dict[str, int]
    together: tuple[str, ...] = ()
    proof: str = ""


def solve(problem: Problem) -> Solution:
    """The simplest conflict-free swizzle (fewest terms, fewest bits, then the highest places), or the best and a proof.

    Raises Unsupported for patterns or phases that are not linear in the lane's bits.
    """
    best = _best_simple(problem)
    if not problem.serves(masks_of(best)):
        found, _ = _search(problem)
        if found is None:
            together = _smallest(problem)
            names = tuple(pattern.what for pattern in together)
            return _solution(problem, best, False, names, _proof(problem.of(together)))
        best = terms_of(found)
    return _solution(problem, best, True)


def conflict_free_swizzles(problem: Problem) -> Iterator[tuple[Term, ...]]:
    """Every conflict-free swizzle of at most two terms, the simplest first; one map may come in several spellings."""
    for xors in simple_swizzles(problem.targets, problem.bits):
        if problem.serves(masks_of(xors)):
            yield xors


def _solution(
    problem: Problem, xors: tuple[Term, ...], free: bool, together: tuple[str, ...] = (), proof: str = ""
) -> Solution:
    passes = {pattern.what: pattern.passes(masks_of(xors)) for pattern in problem.patterns}
    return Solution(problem.swizzled(xors), free, passes, together, proof)


def _best_simple(problem: Problem) -> tuple[Term, ...]:
    """Of the swizzles of few terms the one with the fewest passes, the simplest of several."""
    best: tuple[Term, ...] = ()
    least = problem.passes({})
    for xors in simple_swizzles(problem.targets, problem.bits):
        if least == len(problem.demands):
            break
        passes = problem.passes(masks_of(xors))
        if passes < least:
            best, least = xors, passes
    return best


def _search(problem: Problem) -> tuple[Masks | None, int]:
    """(a conflict-free swizzle of the whole family or None, choices tried): all that can still succeed are tried.

    A row of M is chosen for each bit that may change, the highest first. Bank bits that all demands share need not be
    read: adding such a bit, itself unchanged, to another bank bit leaves their span, and so every rank, as it was.
    """
    demands, targets = problem.demands, problem.targets[::-1]
    lowest_source = DWORD_BITS + min((demand.bank_bits for demand in demands), default=0)
    tried = 0

    def rows(target: int, changed: int) -> list[int]:
        """Masks for a target: one for each effect on the demands and on which bits may still change."""
        sources = [bit for bit in range(max(target + 1, lowest_source), problem.bits) if not changed >> bit & 1]
        effects: dict[tuple[int, ...], int] = {}
        for pick in range(1 << len(sources)):
            mask = sum(1 << bit for place, bit in enumerate(sources) if pick >> place & 1)
            effect = (min(mask, 1), *(demand.row(1 << target | mask) for demand in demands if demand.has(target)))
            effects.setdefault(effect, mask)
        return list(effects.values())

    def descend(place: int, masks: Masks, spans: list[list[int]]) -> Masks | None:
        nonlocal tried
        if any(demand.beyond(span, targets[place:]) for demand, span in zip(demands, spans, strict=True)):
            return None
        if place == len(targets):
            return masks
        target = targets[place]
        for mask in rows(target, sum(1 << bit for bit in masks)):
            tried += 1
            grown = [
                independent([*span, demand.row(1 << target | mask)]) if demand.has(target) else span
                for demand, span in zip(demands, spans, strict=True)
            ]
            found = descend(place + 1, {**masks, target: mask} if mask else masks, grown)
            if found is not None:
                return found
        return None

    fixed = [independent(demand.row(1 << bit) for bit in demand.banks if bit not in targets) for demand in demands]
    return descend(0, {}, fixed), tried


def _smallest(problem: Problem) -> tuple[Pattern, ...]:
    """A smallest set of the patterns that no swizzle serves together."""
    subsets = (
        subset
        for count in range(1, len(problem.patterns) + 1)
        for subset in combinations(problem.patterns, count)
        if _search(problem.of(subset))[0] is None
    )
    return next(subsets)


def _proof(problem: Problem) -> str:
    """Why no swizzle serves the patterns: too few banks can be reached by one, or all choices fail."""
    widest = max(problem.patterns, key=lambda pattern: pattern.lane_bytes)
    for pattern in problem.patterns:
        for demand in pattern.demands():
            fixed = independent(demand.row(1 << bit) for bit in demand.banks if bit not in problem.targets)
            free = sum(bit in problem.targets for bit in demand.banks)
            short = len(demand.basis) - len(fixed) - free
            if short > 0:
                piece = 1 << problem.first
                return (
                    f"{widest.what} keeps {piece} bytes together; however these pieces are permuted, the "
                    f"{1 << len(demand.basis)} dwords of a phase of {pattern.what} reach {1 << len(fixed) + free} of "
                    f"{1 << demand.bank_bits} banks, which takes {1 << short} passes at least"
                )
            inside = independent(demand.row(1 << bit) for bit in {*range(problem.bits), *demand.banks})
            apart = len(demand.basis) - len(inside)
            if apart > 0:
                return (
                    f"{1 << apart} lanes of a phase of {pattern.what} want the same offset in different subtiles of "
                    f"{1 << problem.bits} bytes, which lie {1 << apart} deep in one bank whatever a subtile's swizzle"
                )
    _, tried = _search(problem)
    return f"all swizzles fail: {tried} choices of the bits {problem.first} to {problem.targets.stop - 1} were tried"
