"""Names of registers for people, from bits of `effects.mask_of`: ``v[4:7]``, ``a0``, ``s[2:3]``, ``vcc``."""

from __future__ import annotations

from pykittens.isa.effects import SCALAR_BITS, VECTOR_BITS, VECTOR_ROWS
from pykittens.isa.registers import Reg

_OTHERS = ("scc", "mode", "pc")
_SHOWN = 4


def names_of(bits: int, accum_offset: int) -> str:
    """The registers of a set as ranges, the first few of them; rows from ``accum_offset`` on are a registers."""
    spans = [
        *_spans(bits & ((1 << accum_offset) - 1), "v", 0),
        *_spans(bits & VECTOR_BITS & ~((1 << accum_offset) - 1), "a", accum_offset),
        *_spans(bits & SCALAR_BITS, "s", VECTOR_ROWS),
        *(name for n, name in enumerate(_OTHERS) if bits >> VECTOR_ROWS + 128 + n & 1),
    ]
    more = f" and {len(spans) - _SHOWN} more" if len(spans) > _SHOWN else ""
    return ", ".join(spans[:_SHOWN]) + more


def _spans(bits: int, file: str, first: int) -> list[str]:
    bits >>= first
    spans = []
    index = 0
    while bits:
        skip = (bits & -bits).bit_length() - 1
        bits >>= skip
        index += skip
        count = (~bits & (bits + 1)).bit_length() - 1
        spans.append(str(Reg(file, index, count)))
        bits >>= count
        index += count
    return spans
