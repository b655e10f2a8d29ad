"""What an operand sees of a constant: the same encoding means different bits to operands of different types."""

from __future__ import annotations

import struct

import numpy as np

from .define import Operand
from .exact_float import narrow_to_bf16
from .instruction import Instruction
from .registers import Const
from .types import TYPES

APERTURE_BYTES = 1 << 32
APERTURES = {
    235: 1 << 48, 236: (1 << 48) + APERTURE_BYTES - 1, 237: 2 << 48, 238: (2 << 48) + APERTURE_BYTES - 1,
}  # fmt: skip
"""Sources that are addresses, first and last, of LDS and scratch as FLAT sees them (as the Linux driver sets them)."""


def constant_bits(constant: Const, operand: Operand, element: str | None = None) -> int:
    """The bits, 64 for an operand of 64 bits and else 32, that an operand of this kind reads.

    ``element`` is the type it is read as, where that is not the operand's own. Inline floats are numbers of that type;
    for 64-bit integers they are f64, for 16-bit ones the low half of the f32 (llvm: AMDGPUAsmParser). A literal is the
    high half of an f64 and otherwise extended by the type's signedness (ISA manual, "Literal constant"). The second
    half of a packed operand sees 0, or the sign of a 32-bit integer.
    """
    type = operand.type if element is None else TYPES[element]
    wide = operand.packed == 1 and (operand.bits if element is None else type.bits) == 64
    if constant.form == "float":
        return _inline_float(constant.bits, type.name, wide)
    if not wide:
        return constant.bits
    if constant.form == "literal" and type.is_float:
        return constant.bits << 32
    negative = constant.bits >> 31 and (constant.form == "int" or type.signed)
    return constant.bits | (0xFFFFFFFF << 32 if negative else 0)


def operand_bits(instruction: Instruction, slot: int) -> int:
    """The bits, 64 or 32, that an ALU instruction reads of its operand ``slot``, which is a constant.

    Mix instructions see an inline float as an f16 where op_sel_hi makes the source a half (llvm: SIFoldOperands).
    """
    d, constant = instruction.definition, instruction.operands[slot]
    assert isinstance(constant, Const)
    operand = (d.explicit_dsts + d.explicit_srcs)[slot]
    halves = instruction.modifiers.get("op_sel_hi", (1, 1, 1))
    source = slot - len(d.explicit_dsts)
    is_half = d.has("mix") and isinstance(halves, tuple) and bool(halves[source])
    return constant_bits(constant, operand, "f16" if is_half else None)


def aperture_bits(code: int, bits: int) -> int:
    """The source ``code`` of `APERTURES` as 64 or 32 bits; the 32-bit one is the low half (llvm: SIISelLowering)."""
    return APERTURES[code] & ((1 << bits) - 1)


def _inline_float(bits: int, element: str, wide: bool) -> int:
    number: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    if wide:
        # 1/(2π) is the one that f64 has more exactly.
        exact = 0x3FC45F306DC9C882 if bits == 0x3E22F983 else struct.unpack("<Q", struct.pack("<d", number))[0]
        return int(exact)
    if element == "f16":
        return int(np.float16(number).view(np.uint16))
    if element == "bf16":
        return int(narrow_to_bf16(np.asarray(number, np.float64)))
    return bits
