"""Pools of free registers for run-time values and temporaries of a kernel."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection

from pykittens.errors import BuildError
from pykittens.isa.registers import Reg


class RegisterPool:
    """Registers of one file, handed out lowest first; ``high`` is one past the highest ever taken."""

    def __init__(self, file: str, free: list[int], what: str) -> None:
        self.file, self.what = file, what
        self._free = sorted(set(free))
        self.high = 0

    def take(self, count: int = 1, align: int | None = None, avoid: Collection[int] = ()) -> Reg:
        """``count`` consecutive registers; wide ones start at a multiple of ``align`` (default: 2 for more than one).

        None of them is in ``avoid``, free or not.
        """
        step = align or (1 if count == 1 else 4 if self.file == "s" and count >= 4 else 2)
        free = self._free if count == 1 and not avoid else set(self._free).difference(avoid)
        for place, first in enumerate(self._free):
            if first % step == 0 and all(first + i in free for i in range(count)):
                del self._free[place : place + count]
                self.high = max(self.high, first + count)
                return Reg(self.file, first, count)
        raise BuildError(
            "register-budget", f"no {count} free {self.what} in a row are left, {len(self._free)} are free in all",
            fix="use smaller or fewer tiles",
        )  # fmt: skip

    def give(self, reg: Reg) -> None:
        """Registers that are free again."""
        place = bisect_left(self._free, reg.index)
        self._free[place:place] = range(reg.index, reg.index + reg.count)
