"""Binding: from a decoded instruction to a native handler and the numbers in its operation.

A binder takes an `Instruction` and a `BindContext` and gives a `Bound`; `program.py` asks the binders in turn and
writes what they give into the 64-byte operations that the run loop walks (native/wave.h).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pykittens.isa.registers import Reg

if TYPE_CHECKING:
    from pykittens.isa.instruction import Instruction
    from pykittens.sim.mode import Mode

NONE = 0xFFFFFFFF
"""In an operation: no register."""
FIELDS = 14
"""32-bit numbers that an operation carries besides its handler's address."""
VECTOR_ROWS = 512
"""Registers of a lane, v and a together."""
SCALARS = 128
"""Scalar registers by operand number, VCC, M0, EXEC and the trap handler's included."""


class Bound(NamedTuple):
    """What an operation is made of: the handler's address and at most `FIELDS` unsigned 32-bit numbers for it."""

    handler: int
    fields: tuple[int, ...] = ()


@dataclass(frozen=True)
class BindContext:
    """What binding depends on besides the instruction.

    arch: ``"gfx942"`` or ``"gfx950"``. accum_offset: the row of a0. mode: the variant of the program being made.
    index_of: byte address of an instruction to the index of its operation (it raises `Unreachable` for an address
    that was not decoded).
    """

    arch: str
    accum_offset: int
    mode: Mode
    index_of: Callable[[int], int]

    def row(self, register: Reg) -> int:
        """The first row of a v or a register in the one file of 512 rows.

        Raises `BadOperand` where the range leaves the file.
        """
        first = register.index + (self.accum_offset if register.file == "a" else 0)
        if first + register.count > VECTOR_ROWS:
            raise BadOperand(f"{register} ends at row {first + register.count - 1} of {VECTOR_ROWS}")
        return first

    def scalar(self, register: Reg) -> int:
        """The first number of a scalar register; raises `BadOperand` where the range leaves the file."""
        if register.index + register.count > SCALARS:
            raise BadOperand(f"{register} ends at scalar {register.last} of {SCALARS}")
        return register.index


class BadOperand(Exception):
    """An operand that this instruction cannot have; executing it is a fault with this text."""


class Unreachable(Exception):
    """No instruction was decoded at this byte address (the only argument)."""


def split(value: int) -> tuple[int, int]:
    """A 64-bit number as the (low, high) pair that operations carry."""
    return value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF


def bound(handler: int, instruction: Instruction, *fields: int) -> Bound:
    """A `Bound` with every field as 32 bits; AssertionError if there are too many for an operation."""
    if len(fields) > FIELDS:
        raise AssertionError(f"{instruction.name} needs {len(fields)} fields, an operation has {FIELDS}")
    return Bound(handler, tuple(number & 0xFFFFFFFF for number in fields))
