"""`read_arguments`: arguments that a kernel needs at its end alone take no registers before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.asm.program import user_line
from pykittens.errors import BuildError

from ..arguments import Argument, load_arguments
from ..op import Op, Touches
from ..trace import OpCall, current

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference


class ReadArguments(Op):
    """The arguments are in registers until the block, loop or condition ends."""

    name = "read_arguments"

    def check(self, *arguments: Argument) -> None:
        """Nothing: `read_arguments` has found them."""

    def touches(self, *arguments: Argument) -> Touches:
        return Touches()

    def lower(self, emit: Lowering, *arguments: Argument) -> None:
        load_arguments(emit, list(arguments), lambda count: emit.hold("s", count))

    def reference(self, run: Reference, *arguments: Argument) -> None:
        """The reference knows all arguments from the start."""


_read = ReadArguments()


def read_arguments(*names: str) -> OpCall:
    """Read these late arguments (`argument`); they may be used until the current block, loop or condition ends."""
    late = {a.name: a for a in current().arguments if a.late}
    unknown = [name for name in names if name not in late]
    if unknown:
        raise BuildError(
            "late-argument", f"{unknown[0]} is no late argument of the kernel", where=user_line(),
            fix="declare it by pk.argument(..., late=True)",
        )  # fmt: skip
    return _read(*(late[name] for name in names))
