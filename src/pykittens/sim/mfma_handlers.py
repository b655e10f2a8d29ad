"""Binds matrix instructions to the native routines of native/mfma.c and native/mfma_f64.c."""

from __future__ import annotations

from pykittens.isa import mfma, mfma_layout
from pykittens.isa.constants import constant_bits
from pykittens.isa.define import Mfma, Operand
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Const, Reg
from pykittens.isa.types import TYPES
from pykittens.sim.bind import BadOperand, BindContext, Bound, bound, split
from pykittens.sim.native_build import symbol

_ELEMENTS = (
    "f32", "xf32", "f16", "bf16", "i8", "e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e2m3fn", "e3m2fn", "e2m1fn",
)  # fmt: skip
"""Numbered as `enum Element` of native/small_floats.h."""

_C_CONSTANT, _C_KEPT, _CLAMP, _FLUSH, _SCALED = (1 << bit for bit in range(5))
_NEGATE = (32, 64, 128)
_SCALE_BYTE = (8, 10)
"""Flags of an operation: `enum Flag` of native/mfma.h."""


def bind(instruction: Instruction, context: BindContext) -> Bound:
    """The operation of an instruction whose definition has ``mfma``.

    Raises `BadOperand` where its operands or modifiers mean nothing: too few registers, an f8f6f4 format above 4, or a
    broadcast that the ISA manual calls undefined.
    """
    shape = instruction.definition.mfma
    if shape is None:
        raise AssertionError(f"{instruction.name} is no matrix instruction")
    d, a, b = (_row(instruction, i, context) for i in range(3))
    c, constant, flags = _third(instruction, shape, d, context)
    if context.mode.fp16_ovfl:
        flags |= _CLAMP | _C_KEPT
    if shape.d == "f64":
        flags |= sum(flag for flag, negated in zip(_NEGATE, _bits(instruction, "neg", 3), strict=True) if negated)
        low, high = split(constant)
        return bound(symbol("mfma_f64"), instruction, a, b, c, d, low, high, 0, shape.m, shape.k, shape.blocks, flags)
    if context.mode.f32_denorm_flush_in:
        flags |= _FLUSH
    scales = [0, 0]
    if shape.scaled:
        flags |= _SCALED
        selected = zip(_bits(instruction, "op_sel", 2), _bits(instruction, "op_sel_hi", 2), _SCALE_BYTE, strict=True)
        flags |= sum((low + 2 * high) << place for low, high, place in selected)
        scales = [_row(instruction, i, context) for i in (4, 5)]
    elements, lanes = _elements(instruction, context), _lane_control(instruction, shape)
    types = [_ELEMENTS.index(element) for element in elements]
    place = (a, b, c, d, constant, *types, shape.m, shape.k, shape.blocks, flags, lanes, *scales)
    return bound(symbol(_routine(shape, flags, lanes)), instruction, *place)


def _routine(shape: Mfma, flags: int, lanes: int) -> str:
    """The native function: there are faster ones for plain 16-bit floats."""
    if shape.sparse:
        return "smfmac"
    plain = shape.a in ("f16", "bf16") and shape.blocks == 1 and not flags & ~_FLUSH and not lanes
    return f"mfma_{shape.a}_{shape.m}x{shape.k}" if plain else "mfma"


def _row(instruction: Instruction, operand: int, context: BindContext) -> int:
    """The first row of an operand that is registers, as many as the instruction needs."""
    register = instruction.operands[operand]
    needed = mfma.operand_registers(instruction.definition, instruction.modifiers)[operand]
    if not isinstance(register, Reg) or register.file not in ("v", "a"):
        raise BadOperand(f"operand {operand} is {register}, not v or a registers")
    if register.count != needed:
        raise BadOperand(f"{register} is {register.count} registers, the instruction needs {needed}")
    return context.row(register)


def _third(instruction: Instruction, shape: Mfma, d: int, context: BindContext) -> tuple[int, int, int]:
    """(row, constant, flags) of C, or of the index register of a sparse instruction."""
    value = instruction.operands[3]
    if isinstance(value, Const) and not shape.sparse:
        return 0, constant_bits(value, Operand(TYPES[shape.d])), _C_CONSTANT
    c = _row(instruction, 3, context)
    count = mfma.operand_registers(instruction.definition, instruction.modifiers)[0]
    overlap = not shape.sparse and c != d and abs(c - d) < count
    return c, 0, _C_KEPT if overlap else 0


def _elements(instruction: Instruction, context: BindContext) -> tuple[str, str]:
    try:
        return mfma.element_formats(instruction.definition, instruction.modifiers, context.arch)
    except KeyError as error:
        raise BadOperand(error.args[0]) from None


def _lane_control(instruction: Instruction, shape: Mfma) -> int:
    """How lanes of A and B are exchanged; of a sparse instruction, the lowest bit of its indices."""
    if shape.a == "f8f6f4":
        return 0
    cbsz, abid, blgp = (_number(instruction, key) for key in ("cbsz", "abid", "blgp"))
    if shape.sparse:
        sets = mfma_layout.index_sets(shape, mfma.ELEMENT_BITS[shape.a])
        return 0 if cbsz else 32 // sets * (abid % sets)
    if cbsz == 0:
        return blgp << 8
    if cbsz > 4 or abid >> cbsz:
        raise BadOperand(
            f"cbsz:{cbsz} abid:{abid} broadcasts no lanes that exist; abid must be below {1 << min(cbsz, 4)}"
        )
    return cbsz | abid << 4 | blgp << 8


def _number(instruction: Instruction, key: str) -> int:
    value = instruction.modifiers.get(key, 0)
    return value if isinstance(value, int) else 0


def _bits(instruction: Instruction, key: str, count: int) -> tuple[int, ...]:
    """A modifier with one bit per source."""
    value = instruction.modifiers.get(key, (0,) * count)
    return value[:count] if isinstance(value, tuple) else (0,) * count
