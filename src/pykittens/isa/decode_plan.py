"""How one encoding of one instruction is read: operand readers, modifier readers and the bits that must be zero.

A plan is made once from a definition and its format; decoding an instruction is then a walk over the plan. ``bits`` are
the encoding's dwords as one integer, first dword lowest, always with one dword more than the format's own
size so that a literal can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .define import Definition
from .formats import Format
from .instruction import Operands
from .operand_codes import LITERAL_FOLLOWS
from .registers import Const

Read = Callable[[int], Operands]
ReadModifier = Callable[[int, dict[str, object]], None]


class IllegalEncoding(Exception):
    """These bits are no instruction: an operand that does not exist. Never leaves the decoder."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to read one encoding of one definition.

    ``size`` in bytes without a literal; ``zero``: bits that must be 0; ``literal``: (lowest bit, mask) of each source
    field whose value 255 says that a literal follows; ``always_literal``: one follows in any case.
    """

    definition: Definition
    encoding: str
    size: int
    zero: int
    operands: tuple[Read, ...]
    modifiers: tuple[ReadModifier, ...] = ()
    literal: tuple[tuple[int, int], ...] = ()
    always_literal: bool = False

    def read(self, bits: int) -> tuple[Definition, tuple[Operands, ...], dict[str, object], str, int]:
        """Definition, operands, modifiers, encoding and size in bytes; raises `IllegalEncoding`."""
        if bits & self.zero:
            raise IllegalEncoding
        operands = tuple([read(bits) for read in self.operands])
        modifiers: dict[str, object] = {}
        for read_modifier in self.modifiers:
            read_modifier(bits, modifiers)
        size = self.size
        if self.always_literal or any((bits >> low) & mask == 255 for low, mask in self.literal):
            size += 4
        return self.definition, operands, modifiers, self.encoding, size


def mask_of(fmt: Format, *names: str) -> int:
    """The bits of these fields."""
    mask = 0
    for name in names:
        low, width = fmt.fields[name]
        mask |= ((1 << width) - 1) << low
    return mask


def from_table(place: tuple[int, int], table: tuple[Operands, ...], literal_at: int | None = None) -> Read:
    """Reads a field by a table of operands; codes without one are illegal.

    ``literal_at`` is the bit at which a literal dword stands, None where the encoding takes no literal.
    """
    low, width = place
    mask = (1 << width) - 1

    def read(bits: int) -> Operands:
        operand = table[(bits >> low) & mask]
        if operand is None:
            raise IllegalEncoding
        if operand is LITERAL_FOLLOWS:
            if literal_at is None:
                raise IllegalEncoding
            return Const((bits >> literal_at) & 0xFFFFFFFF, "literal")
        return operand

    return read


def constant(operand: Operands) -> Read:
    """An operand that the encoding does not hold: VCC in the short encodings, ``off``."""
    return lambda bits: operand


def read_literal(literal_at: int) -> Read:
    """The dword after the encoding."""
    return lambda bits: Const((bits >> literal_at) & 0xFFFFFFFF, "literal")
