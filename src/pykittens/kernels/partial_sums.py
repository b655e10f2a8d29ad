"""Sums over parts of K that different waves and workgroups have: added in a fixed order, whoever comes last."""

from __future__ import annotations

from collections.abc import Sequence

from pykittens import arch as chips
from pykittens.errors import InputError
from pykittens.tile import (
    arrive,
    barrier,
    cdiv,
    current,
    f32,
    i32,
    load,
    loop,
    maximum,
    minimum,
    rt,
    select,
    st,
    store,
    wait_for,
    wave,
    when,
    workspace,
    zero,
)  # fmt: skip
from pykittens.tile.expression import Int, below, equal
from pykittens.tile.ops import maps
from pykittens.tile.shared_shape import SharedShape

WAVES = 8
HALF = WAVES // 2
PART = 16
"""Rows and columns of what one wave adds up and stores."""
EXCHANGE = SharedShape("exchange", PART, PART, ((512, 7, 4),))
"""Base tiles of f32 are written and read without bank conflicts on both chips (`pk lds --solve 16x16 --bytes 4`)."""
MOST_SPLITS = 1024
TURNS = 2
"""K-tiles of each wave before K is split further: one is loaded while the other is multiplied."""


def splits_of(chosen: int | str, tiles: Int, turns: Int) -> Int:
    """Workgroups along K: as chosen, or enough for all CUs as long as each has `TURNS` turns of its waves."""
    if chosen == "auto":
        cus = chips.get(current().arch).device().cus
        return maximum(minimum(cus // maximum(tiles, 1), turns // TURNS), 1)
    if isinstance(chosen, str) and chosen.isdecimal():
        chosen = int(chosen)
    if not isinstance(chosen, int) or isinstance(chosen, bool) or not 1 <= chosen <= MOST_SPLITS:
        raise InputError(
            "option-value", f"splits is {chosen!r}", fix=f"use auto, or 1 to {MOST_SPLITS} workgroups along K"
        )
    return chosen


def add_waves(total: rt, others: Sequence[rt], c: rt) -> None:
    """``total`` of wave w becomes part w of the sum of all waves' ``c``: half of the waves add those of the others,
    then each part adds up these sums in order.
    """
    sums = st(f32, HALF * c.rows, c.cols, EXCHANGE, name="sums")
    down, across, slot = c.rows // PART, c.cols // PART, wave.index % HALF
    with when(wave.index >= HALF):
        store(sums.subtile(c.rows, c.cols, slot, 0), c)
    wait_for(sums)
    barrier()
    with when(wave.index < HALF):
        for i in range(down):
            for j in range(across):
                load(others[j], sums.subtile(PART, PART, slot * down + i, j))
                part = c.subtile(PART, PART, i, j)
                maps.add(part, part, others[j])
    barrier()
    with when(wave.index < HALF):
        store(sums.subtile(c.rows, c.cols, slot, 0), c)
    wait_for(sums)
    barrier()
    with when(wave.index < down * across):
        for n, other in enumerate(others):
            load(other, sums.subtile(PART, PART, n * down + wave.index // across, wave.index % across))
        maps.copy(total, others[0])
        for n in range(1, HALF):
            maps.add(total, total, others[n])


def add_workgroups(total: rt, others: Sequence[rt], place: Int, places: Int, split: Int, splits: Int) -> Int:
    """Whether this wave is the last of ``splits`` workgroups to have ``total`` for ``place``; the last one's becomes
    the sum of all, always in the same order.
    """
    several = below(1, splits)
    partials = workspace("partials", f32, (select(several, splits, 0) * places * PART, PART))
    with when(several):
        store(partials.tile(split * places + place, 0), total)
    last = equal(arrive(workspace("arrived", i32, (places,)), place, splits), splits - 1)
    with when(last & several):
        zero(total)
        for group in loop(cdiv(splits, HALF)):
            for n, other in enumerate(others):  # what lies beyond the last split is 0
                load(other, partials.tile((HALF * group + n) * places + place, 0))
            for other in others:
                maps.add(total, total, other)
    return last
