"""Where paths meet: what is known on both, wave by wave."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from pykittens.check.numbers import SCC_KEY, Arithmetic, Knowledge, Number
from pykittens.isa.effects import VECTOR_ROWS


def join(known: Knowledge, incoming: Knowledge, owner: Hashable, arithmetic: Arithmetic) -> bool:
    """Whether what ``incoming`` brings changes ``known``, which is what paths before it have brought to ``owner``.

    A scalar register that differs holds an unknown number of the owner's from now on, a vector register nothing.
    Numbers of the owner's that come in are from its last turn, and older than those it has now.
    """
    both, new = known.waves & incoming.waves, incoming.waves & ~known.waves
    changed = bool(new)
    known.waves |= incoming.waves
    for key, mine in list(known.registers.items()):
        if mine.symbol == (owner, key):
            continue
        theirs = incoming.registers.get(key)
        if theirs is mine:
            continue
        merged = _merged(mine, theirs, both, new, owner, arithmetic)
        if merged is mine:
            continue
        changed = True
        if merged is not None:
            known.registers[key] = merged
        elif VECTOR_ROWS <= key < SCC_KEY:
            known.registers[key] = arithmetic.fresh(owner, key)
        else:
            del known.registers[key]
    facts = {p: truth for p, truth in known.facts.items() if incoming.facts.get(p) == truth}
    if len(facts) < len(known.facts):
        known.facts, changed = facts, True
    if known.condition is not None and known.condition != incoming.condition:
        known.condition, changed = None, True
    return changed


def _merged(
    mine: Number, theirs: Number | None, both: int, new: int, owner: Hashable, arithmetic: Arithmetic
) -> Number | None:
    if theirs is None or theirs.symbol != mine.symbol or (theirs.symbol is not None and theirs.symbol[0] == owner):
        return None
    if ((mine.words != theirs.words) & arithmetic.here(both)).any():
        return None
    if not ((mine.words != theirs.words) & arithmetic.here(new)).any():
        return mine
    return arithmetic.numbers.make(mine.symbol, np.where(arithmetic.here(new), theirs.words, mine.words))
