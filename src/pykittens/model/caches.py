"""Hit rates of the L2 caches and of the memory-side cache, from which workgroups read which panels.

A panel is what a group of loads reads over a workgroup's life (the rows of A under its tiles, say). Workgroups run in
rounds, as many at a time as the chip holds; those of a round stream along their panels side by side, so a panel that
several of them share on one XCD misses that XCD's L2 once. Between rounds both caches keep what was used last (LRU):
a panel is still there if the different bytes touched since fit the cache. No constant is fitted; drift between
workgroups of a round is neglected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

Array = np.ndarray

NOT_READ = -1
"""The label of a workgroup that does not read a panel."""
_STEPS = 64
"""Places along a panel at which a reuse distance is compared with a cache's size."""


@dataclass(frozen=True)
class Panels:
    """Loads that read one panel in each workgroup: ``labels`` (workgroups,) says which, `NOT_READ` none.

    nbytes: different bytes of a panel. requested: bytes that a workgroup asks the L2 for; more than ``nbytes`` where
    it reads the panel several times.
    """

    labels: Array
    nbytes: float
    requested: float


@dataclass(frozen=True)
class CacheRates:
    """What the caches do in one launch; bytes are of loads, over the whole device.

    l2_hit: of the requested bytes. llc_hit: of the L2's misses; both are 0 to 1, and 1 where nothing is asked for.
    """

    l2_hit: float
    llc_hit: float
    requested_bytes: float
    l2_miss_bytes: float
    hbm_bytes: float
    rounds: int

    def scaled(self, factor: float) -> CacheRates:
        """For so many times the workgroups, of the same kind."""
        requested, l2, hbm = (factor * n for n in (self.requested_bytes, self.l2_miss_bytes, self.hbm_bytes))
        return replace(self, requested_bytes=requested, l2_miss_bytes=l2, hbm_bytes=hbm)


def cache_rates(
    panels: Sequence[Panels], workgroups: int, slots: int, xcds: int, l2_bytes: int, llc_bytes: int, *,
    warm: bool = False,
) -> CacheRates:  # fmt: skip
    """Hit rates of ``workgroups`` in launch order, workgroup w on XCD w % xcds, ``slots`` at a time on each XCD.

    The caches hold nothing when the launch starts, as in benchmarks that take several sets of tensors in turn.
    ``warm``: the launch before has left all that is read in the memory-side cache, if it fits. What is written takes no
    room there: that cache is never dirty.
    """
    on_one = -(-workgroups // xcds)
    rounds = max(1, -(-on_one // slots))
    if not panels:
        return CacheRates(1.0, 1.0, 0.0, 0.0, 0.0, rounds)
    round_of = np.arange(workgroups) // xcds // slots
    xcd_of = np.arange(workgroups) % xcds
    requested = sum(each.requested * int((each.labels != NOT_READ).sum()) for each in panels)
    sizes, places = _numbered(panels)
    misses: list[tuple[Array, Array, Array]] = []
    for xcd in range(xcds):
        here = xcd_of == xcd
        when, what = _touched(places[:, here], round_of[here])
        misses.append((when, what, _missing(when, what, sizes, l2_bytes)))
    rounds_, panels_, shares = (np.concatenate(each) for each in zip(*misses, strict=True))
    # Sizes are means over traced workgroups: a sum of fractions may come out a rounding above what was asked for.
    l2_miss = min(float((sizes[panels_] * shares).sum()), requested)
    # In the memory-side cache the first XCD of a round brings a panel in for all.
    first_rounds, first_panels = _pairs(rounds_, panels_)
    where = _index_in(first_rounds, first_panels, rounds_, panels_)
    most = np.zeros(len(first_rounds))
    np.maximum.at(most, where, shares)
    absent = _missing(first_rounds, first_panels, sizes, llc_bytes)
    if warm and sizes.sum() <= llc_bytes:
        absent[:] = 0.0
    hbm = min(float((sizes[first_panels] * absent * most).sum()), l2_miss)
    return CacheRates(
        1 - l2_miss / requested if requested else 1.0, 1 - hbm / l2_miss if l2_miss else 1.0, requested, l2_miss, hbm,
        rounds,
    )  # fmt: skip


def _numbered(panels: Sequence[Panels]) -> tuple[Array, Array]:
    """Bytes of every panel by number, and (groups of loads, workgroups) numbers."""
    sizes: list[Array] = []
    places = []
    for each in panels:
        read = each.labels != NOT_READ
        names, which = np.unique(each.labels[read], return_inverse=True)
        place = np.full(len(read), NOT_READ, np.int64)
        place[read] = which + sum(map(len, sizes))
        places.append(place)
        sizes.append(np.full(len(names), each.nbytes))
    return np.concatenate(sizes), np.stack(places)


def _touched(places: Array, rounds: Array) -> tuple[Array, Array]:
    """Every (round, panel) once, in order."""
    read = places != NOT_READ
    return _pairs(np.broadcast_to(rounds, places.shape)[read], places[read])


def _pairs(rounds: Array, panels: Array) -> tuple[Array, Array]:
    keys = np.unique(rounds.astype(np.int64) << 32 | panels.astype(np.int64))
    return keys >> 32, keys & 0xFFFFFFFF


def _index_in(rounds: Array, panels: Array, some_rounds: Array, some_panels: Array) -> Array:
    places: Array = np.searchsorted(rounds << 32 | panels, some_rounds << 32 | some_panels)
    return places


def _missing(rounds: Array, panels: Array, sizes: Array, capacity: int) -> Array:
    """For every (round, panel), which part of the panel has left the cache since the round that touched it last."""
    by_panel = np.lexsort((rounds, panels))
    before = np.full(len(rounds), -1, np.int64)
    same = panels[by_panel][1:] == panels[by_panel][:-1]
    before[by_panel[1:]] = np.where(same, rounds[by_panel][:-1], -1)
    missing = np.ones(len(rounds))
    kept: dict[tuple[int, int], float] = {}
    sets = {int(r): panels[rounds == r] for r in np.unique(rounds)}
    total = {r: float(sizes[each].sum()) for r, each in sets.items()}
    for i in np.flatnonzero(before >= 0):
        span = int(before[i]), int(rounds[i])
        if span not in kept:
            kept[span] = _kept(*span, sets, total, sizes, capacity)
        missing[i] = 1 - kept[span]
    return missing


def _kept(
    first: int, second: int, sets: dict[int, Array], total: dict[int, float], sizes: Array, capacity: int
) -> float:
    """Which part of a panel touched in two rounds is still there in the second.

    At part k of its length, what was touched since is: all of the rounds between, of the first round what lies behind
    k, of the second what lies before it.
    """
    between = [sets[r] for r in range(first + 1, second) if r in sets]
    if any(total[r] > capacity for r in range(first + 1, second) if r in total):
        return 0.0
    whole = np.unique(np.concatenate([*between, np.intersect1d(sets[first], sets[second])]))
    fixed = float(sizes[whole].sum())
    leaving = float(sizes[np.setdiff1d(sets[first], whole)].sum())
    coming = float(sizes[np.setdiff1d(sets[second], whole)].sum())
    k = (np.arange(_STEPS) + 0.5) / _STEPS
    return float(np.mean(fixed + leaving * (1 - k) + coming * k <= capacity))
