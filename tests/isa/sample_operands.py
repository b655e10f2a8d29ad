"""Operands for sample Instructions: registers, constants and specials of a given width, drawn with a seed."""

from __future__ import annotations

from random import Random

from pykittens.isa.define import Operand
from pykittens.isa.instruction import Operands
from pykittens.isa.operand_codes import INLINE_FLOATS, f32_bits
from pykittens.isa.registers import Const, Reg, Special, exec_, m0, vcc

_INTEGERS = tuple(Const(value & 0xFFFFFFFF) for value in (0, 1, 7, 64, -1, -16))
_FLOATS = tuple(Const(f32_bits(value), "float") for value in INLINE_FLOATS.values())
_SPECIALS = tuple(Special(code) for code in (235, 236, 237, 238, 239, 251, 252, 253))
_HALVES = tuple(Reg("s", index) for index in (102, 103, 106, 107, 126, 127))


def vector(rnd: Random, dwords: int, file: str = "v") -> Reg:
    """Vector or accumulation registers; ranges start at even numbers."""
    last = 256 - dwords
    index = rnd.choice((0, 2, last, rnd.randint(0, last)))
    return Reg(file, index - index % 2 if dwords > 1 else index, dwords)


def scalar(rnd: Random, dwords: int, plain: bool = False) -> Reg:
    """Scalar registers; ``plain`` ones are not M0, EXEC and the like."""
    step = min(dwords, 4)
    last = (102 - dwords) // step * step
    choices = [Reg("s", rnd.choice((0, 2 * step, last, rnd.randint(0, last // step) * step)), dwords)]
    if dwords <= 4:
        choices.append(Reg("s", 108 + 4 * rnd.randint(0, 3), dwords))
    if dwords == 2:
        choices += [vcc] if plain else [vcc, exec_]
    if dwords == 1:
        choices += [Reg("s", 106)] if plain else [*_HALVES, m0]
    return rnd.choice((choices[0], rnd.choice(choices)))


def destination_pair(rnd: Random) -> Reg:
    """Where a lane mask goes."""
    return rnd.choice((scalar(rnd, 2, plain=True), vcc))


def inline(rnd: Random, operand: Operand) -> Const:
    """An inline constant. Integers of 16 bits take no floats: LLVM prints these as what would be a literal."""
    integer16 = operand.bits == 16 and not operand.type.is_float
    return rnd.choice(_INTEGERS if integer16 else (*_INTEGERS, *_FLOATS))


def literal(rnd: Random, operand: Operand) -> Const:
    """A literal, now and then one that has an inline form as well."""
    if operand.bits == 16:
        return Const(rnd.choice((0x1234, 0xABCD, 0x7F)), "literal")
    if operand.type.is_float and operand.bits == 64:
        return Const(rnd.choice((0x40000001, 0xC1234567)), "literal")
    return Const(rnd.choice((0x12345678, 0xDEADBEEF, 0x41, 5, 0x80000000)), "literal")


def special(rnd: Random, operand: Operand) -> Special:
    """A source that the hardware computes."""
    return rnd.choice(_SPECIALS if operand.dwords == 1 else _SPECIALS[:4])


def scalar_source(rnd: Random, operand: Operand, literals: bool) -> Operands:
    """Whatever a scalar instruction may read."""
    kinds = ["register", "register", "inline", "special"] + (["literal"] if literals else [])
    kind = rnd.choice(kinds)
    if kind == "register":
        return scalar(rnd, operand.dwords)
    return {"inline": inline, "special": special, "literal": literal}[kind](rnd, operand)
