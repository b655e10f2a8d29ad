"""Readers of modifiers: bits of an encoding to entries of `Instruction.modifiers`, where they are not the default."""

from __future__ import annotations

from .decode_plan import ReadModifier
from .define import Definition
from .vector_modifiers import OMOD, takes_neg


def flag(name: str, place: tuple[int, int]) -> ReadModifier:
    """A one-bit modifier: True where set."""
    low = place[0]

    def read(bits: int, out: dict[str, object]) -> None:
        if (bits >> low) & 1:
            out[name] = True

    return read


def number(name: str, place: tuple[int, int], default: int | None = 0) -> ReadModifier:
    """A modifier that is a number, left out where it has its default value."""
    low, width = place
    mask = (1 << width) - 1

    def read(bits: int, out: dict[str, object]) -> None:
        value = (bits >> low) & mask
        if value != default:
            out[name] = value

    return read


def signed_number(name: str, place: tuple[int, int]) -> ReadModifier:
    """A two's complement number, left out where it is 0."""
    low, width = place
    mask, sign = (1 << width) - 1, 1 << (width - 1)

    def read(bits: int, out: dict[str, object]) -> None:
        value = (((bits >> low) & mask) ^ sign) - sign
        if value:
            out[name] = value

    return read


def per_source(name: str, lows: tuple[int, ...], default: tuple[int, ...]) -> ReadModifier:
    """A tuple of single bits, one per source, left out where it is the default."""

    def read(bits: int, out: dict[str, object]) -> None:
        value = tuple([(bits >> low) & 1 for low in lows])
        if value != default:
            out[name] = value

    return read


def neg_abs(definition: Definition, name: str, lows: tuple[int, ...]) -> ReadModifier:
    """neg or abs of each explicit source; bits of sources that have none count as 0."""
    operands = definition.explicit_srcs
    places = tuple(
        lows[i] if i < len(lows) and takes_neg(definition, operand) else None for i, operand in enumerate(operands)
    )
    default = (0,) * len(operands)

    def read(bits: int, out: dict[str, object]) -> None:
        value = tuple([0 if low is None else (bits >> low) & 1 for low in places])
        if value != default:
            out[name] = value

    return read


def omod(low: int) -> ReadModifier:
    """The output multiplier, a factor."""

    def read(bits: int, out: dict[str, object]) -> None:
        code = (bits >> low) & 3
        if code:
            out["omul"] = OMOD[code]

    return read


def bits_of(place: tuple[int, int]) -> tuple[int, ...]:
    """The numbers of a field's bits."""
    return tuple(range(place[0], place[0] + place[1]))


def read_bitop3(bits: int, out: dict[str, object]) -> None:
    """The truth table lies in the fields of omod, abs and neg."""
    table = ((bits >> 59) & 3) << 6 | ((bits >> 8) & 7) << 3 | (bits >> 61) & 7
    if table:
        out["bitop3"] = table


def op_sel(low: int) -> ReadModifier:
    """Four bits, of sources 0 to 2 and the destination."""

    def read(bits: int, out: dict[str, object]) -> None:
        value = tuple([(bits >> low + i) & 1 for i in range(4)])
        if any(value):
            out["op_sel"] = value

    return read
