"""Flags in LDS: counters by which the waves of a workgroup tell each other how far they are, without a barrier."""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.asm.program import user_line
from pykittens.errors import BuildError

from .expression import Int
from .trace import current

FLAG_BYTES = 4


class flags:
    """``count`` counters of 32 bits in LDS: ``full = flags(2)``, ``full[t % 2]``. `clear` comes before their use."""

    def __init__(self, count: int, *, name: str | None = None) -> None:
        trace = current()
        if count < 1:
            raise BuildError("flags", f"{count} flags, at least 1 is needed", where=user_line())
        self.count = count
        self.name = name or f"flags{len(trace.shared)}"
        self.offset = 0
        """Byte offset in the workgroup's LDS, set by the allocator."""
        trace.shared.append(self)

    @property
    def bytes(self) -> int:
        return self.count * FLAG_BYTES

    def __getitem__(self, index: Int) -> Flag:
        if not isinstance(index, int) or not 0 <= index < self.count:
            raise BuildError(
                "flag-index", f"{self.name} has {self.count} flags, flag {index} is none of them", where=user_line(),
                fix="use a build-time number; unroll the loop so that t % n is one",
            )  # fmt: skip
        return Flag(self, index)


@dataclass(frozen=True, eq=False)
class Flag:
    """One of `flags`."""

    of: flags
    index: int

    @property
    def name(self) -> str:
        return f"{self.of.name}[{self.index}]"

    @property
    def offset(self) -> int:
        """Byte offset in the workgroup's LDS, once the allocator has set it."""
        return self.of.offset + self.index * FLAG_BYTES
