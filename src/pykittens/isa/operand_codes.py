"""Operand fields to operands: scalar registers, vector registers, constants, as the encodings number them.

Source: CDNA3 and CDNA4 ISA manuals, table "Scalar operands". A code that no instruction may name gives None.
"""

from __future__ import annotations

import struct
from functools import cache

from .formats import LITERAL
from .instruction import Operands
from .registers import NAMED_SOURCES, Const, Reg, Special

INLINE_FLOATS: dict[int, float] = {
    240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0, 248: 0.15915494309189532,
}  # fmt: skip
"""Inline float constants by code; the last one is 1/(2 pi) rounded to f64."""

LITERAL_FOLLOWS = Const(0, "literal")
"""Stands in a table of sources for "the next dword"."""

_LDS_DIRECT = 254
"""A source of older chips, which these do not have (llvm)."""


def f32_bits(value: float) -> int:
    """The f32 bit pattern nearest to ``value``."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def inline_constant(code: int) -> Const | None:
    """The constant that a source code stands for, or None."""
    if 128 <= code <= 192:
        return Const(code - 128)
    if 193 <= code <= 208:
        return Const((192 - code) & 0xFFFFFFFF)
    if code in INLINE_FLOATS:
        return Const(f32_bits(INLINE_FLOATS[code]), "float")
    return None


def scalar_register(code: int, dwords: int = 1) -> Reg | None:
    """The scalar register with this code (s0, vcc, ttmp, m0, exec, …), or ``dwords`` aligned ones from it on."""
    last = code + dwords - 1
    if code % min(dwords, 4):
        return None
    if code < 108:
        # Ranges of more than two registers cannot reach past s101; pairs can name vcc and its like.
        return Reg("s", code, dwords) if last <= (101 if dwords > 2 else 107) else None
    if code < 124:
        return Reg("s", code, dwords) if last < 124 else None
    if code == 124:
        return Reg("s", code) if dwords == 1 else None
    return Reg("s", code, dwords) if code in (126, 127) and last <= 127 else None


def vector_register(code: int, dwords: int = 1, file: str = "v", aligned: bool = True) -> Reg | None:
    """``dwords`` vector (or accumulation) registers from ``code``; ranges start at even numbers where ``aligned``."""
    if code + dwords > 256 or (aligned and dwords > 1 and code % 2):
        return None
    return Reg(file, code, dwords)


def _source(code: int, dwords: int) -> Operands:
    if code < 128:
        return scalar_register(code, dwords)
    if code in NAMED_SOURCES and code != _LDS_DIRECT:
        return Special(code)
    if code == LITERAL:
        return LITERAL_FOLLOWS
    if code < 256:
        return inline_constant(code)
    return vector_register(code - 256, dwords)


@cache
def sources(dwords: int) -> tuple[Operands, ...]:
    """What each value 0..511 of a 9-bit source field means for an operand of this width."""
    return tuple(_source(code, dwords) for code in range(512))


@cache
def scalar_sources(dwords: int) -> tuple[Operands, ...]:
    """The same for an 8-bit field: all but the vector registers."""
    return sources(dwords)[:256]


@cache
def scalar_registers(dwords: int) -> tuple[Operands, ...]:
    """What each value of a 7-bit scalar register field means."""
    return tuple(scalar_register(code, dwords) for code in range(128))


@cache
def vector_registers(dwords: int, file: str = "v", aligned: bool = True) -> tuple[Operands, ...]:
    """What each value of an 8-bit vector register field means."""
    return tuple(vector_register(code, dwords, file, aligned) for code in range(256))
