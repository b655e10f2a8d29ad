"""What a wave has under way: for each memory access, the loosest counter value that proves that it has completed.

vmcnt counts down in order. lgkmcnt does so for LDS accesses among themselves, while scalar ones come back in any order
and only 0 proves anything of them; a FLAT access counts in both and needs 0 in both. A later access counts towards an
earlier one only where the two come back in order, so that the values hold whatever else is under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pykittens.isa.define import Counter, Unit
from pykittens.isa.instruction import Instruction

CAPS = {"vmcnt": 63, "lgkmcnt": 15}
"""The counters' maxima; to wait for that value is to wait for nothing."""

_ANY_ORDER = -1
"""The value of an access that only an empty counter proves complete, whatever comes after it."""


def accesses(instruction: Instruction) -> dict[str, bool]:
    """The counters that an instruction raises, and whether it comes back in order with the others of its kind.

    Cache upkeep raises none here: whether it counts is told of some of it alone (llvm), and not to rely on it is safe.
    """
    d = instruction.definition
    if d.counter is None or d.access is None or d.access.kind == "control":
        return {}
    if d.counter is Counter.BOTH:
        return {"vmcnt": False, "lgkmcnt": False}
    if d.counter is Counter.VM:
        return {"vmcnt": True}
    return {"lgkmcnt": d.unit is Unit.LDS}


@dataclass
class Pending:
    """Accesses (by item number) under way: counter to item to the value that proves its completion."""

    counts: dict[str, dict[int, int]] = field(default_factory=lambda: {name: {} for name in CAPS})

    def copy(self) -> Pending:
        return Pending({name: dict(items) for name, items in self.counts.items()})

    def join(self, other: Pending) -> Pending:
        """What may be under way on one path or the other."""
        joined = self.copy()
        for name, items in other.counts.items():
            mine = joined.counts[name]
            for item, count in items.items():
                mine[item] = min(count, mine.get(item, count))
        return joined

    def issue(self, item: int, counters: Mapping[str, bool], tracked: bool) -> None:
        """The access of this item starts, with `accesses` as ``counters``; it is kept if something can depend on it."""
        for name, in_order in counters.items():
            items = self.counts[name]
            if in_order:
                for other, count in items.items():
                    if count != _ANY_ORDER:
                        items[other] = min(count + 1, CAPS[name])
            if tracked:
                items[item] = 0 if in_order else _ANY_ORDER

    def waited(self, waits: Mapping[str, object]) -> None:
        """An ``s_waitcnt`` with these counter values has passed."""
        for name, items in self.counts.items():
            value = waits.get(name)
            if isinstance(value, int) and value < CAPS[name]:
                for item in [i for i, count in items.items() if max(count, 0) >= value]:
                    del items[item]

    def needed(self, items: Iterable[int]) -> dict[str, int]:
        """The loosest counter values that prove that all of these have completed."""
        found: dict[str, int] = {}
        for item in items:
            for name, counts in self.counts.items():
                if item in counts:
                    # A counter at its maximum proves nothing, so the next lower value is the loosest wait there is.
                    found[name] = min(max(counts[item], 0), found.get(name, CAPS[name] - 1))
        return found

    def under_way(self, item: int) -> bool:
        return any(item in items for items in self.counts.values())

    def items(self) -> set[int]:
        return {item for items in self.counts.values() for item in items}
