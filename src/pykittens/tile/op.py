"""A tile op: its name, what it computes (the reference) and what it becomes (the lowering), side by side.

An op is defined in one place, by one subclass of `Op` in `tile/ops/`. `check` refuses wrong tiles while tracing,
`touches` says which tiles the op reads and writes (lifetimes and waits come from it), `lower` writes machine
instructions and `reference` does the same to NumPy arrays.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from pykittens.asm.program import user_line
from pykittens.errors import BuildError

from .trace import OpCall, current

if TYPE_CHECKING:
    from .lowering import Lowering
    from .reference import Reference


@dataclass
class Touches:
    """The tiles an op reads and writes; a tile in both is updated in place."""

    reads: list[Any] = field(default_factory=list)
    writes: list[Any] = field(default_factory=list)


class Op(ABC):
    """One verb of the tile language. Subclasses are stateless; arguments come with each call."""

    name: ClassVar[str]
    computes: ClassVar[bool] = False
    """Whether the op belongs to a schedule's compute part, not to its memory part."""

    def __call__(self, *args: Any, **options: Any) -> OpCall:
        """Check the arguments and record the op in the kernel being traced; schedules take the record as the op."""
        try:
            _signature(type(self).check).bind(self, *args, **options)
        except TypeError as error:
            takes = ", ".join(list(_signature(type(self).check).parameters)[1:])
            raise BuildError(
                "op-arguments", f"{self.name}: {error}", where=user_line(), fix=f"it takes ({takes})"
            ) from None
        self.check(*args, **options)
        return current().record(self, args, options)

    @abstractmethod
    def check(self, *args: Any, **options: Any) -> None:
        """Raise `BuildError` for arguments that this op does not take."""

    @abstractmethod
    def touches(self, *args: Any, **options: Any) -> Touches:
        """The tiles that the op reads and writes."""

    @abstractmethod
    def lower(self, emit: Lowering, *args: Any, **options: Any) -> None:
        """Write the op's machine instructions."""

    @abstractmethod
    def reference(self, run: Reference, *args: Any, **options: Any) -> None:
        """Do to NumPy arrays what the instructions do to tiles."""


@cache
def _signature(check: Callable[..., None]) -> inspect.Signature:
    """What an op takes, ``self`` first."""
    return inspect.signature(check)
