"""An instruction as text: exactly what llvm-objdump prints and LLVM's assembler accepts."""

from __future__ import annotations

from collections.abc import Mapping

from .define import Operand
from .instruction import Instruction, Operands
from .registers import Const, Label
from .text_modifiers import modifiers_text
from .text_names import hwreg_text, index_mode_text, message_text, waitcnt_text
from .text_operands import number_text, operand_text, plain_literal_text, with_modifiers
from .types import label

_SUFFIXES = {"e32": "_e32", "e64": "_e64", "sdwa": "_sdwa", "dpp": "_dpp"}


def text(instruction: Instruction, labels: Mapping[int, str] | None = None) -> str:
    """One line of assembly, without a comment.

    ``labels`` gives names to addresses: a decoded branch to one of them prints the name, else its distance in dwords as
    unsigned 16 bits, which the assembler takes too.
    """
    definition = instruction.definition
    if definition.has("illegal"):
        return _illegal_text(instruction)
    operands = ", ".join(_operands(instruction, labels))
    modifiers = modifiers_text(instruction)
    return f"{_mnemonic(instruction)} {operands}{modifiers}" if operands else f"{_mnemonic(instruction)}{modifiers}"


def _illegal_text(instruction: Instruction) -> str:
    word = instruction.operands[0]
    bits = word.bits if isinstance(word, Const) else 0
    if instruction.size < 4:
        return ".byte " + ", ".join(f"{byte:#04x}" for byte in bits.to_bytes(instruction.size, "little"))
    return f".long {bits:#010x}"


def _mnemonic(instruction: Instruction) -> str:
    """The name, with the encoding where the instruction has more than one of them and operands to tell them apart."""
    definition = instruction.definition
    single = all(definition.has(flag) for flag in ("no_e64", "no_sdwa", "no_dpp"))
    operands = definition.explicit_dsts + definition.explicit_srcs
    return definition.name + ("" if single or not operands else _SUFFIXES.get(instruction.encoding, ""))


def _operands(instruction: Instruction, labels: Mapping[int, str] | None) -> list[str]:
    """The operands' texts in the order of the signature, where immediates have a place too."""
    definition = instruction.definition
    dsts = len(definition.explicit_dsts)
    found = [
        operand_text(value, operand)
        for value, operand in zip(instruction.operands[:dsts], definition.explicit_dsts, strict=True)
        if value is not None
    ]
    values = iter(instruction.operands[dsts:])
    index = 0
    for operand in definition.srcs:
        if operand.implicit == "simm16":
            found += _simm16(instruction)
        elif operand.implicit == "gpr_idx":
            found.append(index_mode_text(_int(instruction, "gpr_idx")))
        elif operand.implicit is None:
            found.append(_source(instruction, operand, next(values), index, labels))
            index += 1
    return found


def _int(instruction: Instruction, name: str) -> int:
    value = instruction.modifiers.get(name, 0)
    if not isinstance(value, int):
        raise AssertionError(f"{name} of {instruction.name} is {value!r}, not a number")
    return value


def _simm16(instruction: Instruction) -> list[str]:
    definition = instruction.definition
    if definition.has("waitcnt"):
        return [waitcnt_text(instruction.modifiers)]
    value = _int(instruction, "simm16")
    if definition.has("hwreg_read") or definition.has("hwreg_write"):
        return [hwreg_text(value)]
    if definition.has("message"):
        return [message_text(value)]
    if definition.has("ends"):
        return [str(value)] if value else []
    return [hex(value) if definition.format == "SOPK" else number_text(value)]


def _source(
    instruction: Instruction, operand: Operand, value: Operands, index: int, labels: Mapping[int, str] | None
) -> str:
    definition = instruction.definition
    if operand.type is label:
        return _target(instruction, value, labels)
    role = definition.access.roles[index] if definition.access is not None else None
    if definition.format == "SMEM" and role == "soffset":
        return _scalar_offset(instruction, operand, value)
    if role == "probe" and isinstance(value, Const):
        return number_text(value.bits)
    if definition.has("literal") and index == len(definition.explicit_srcs) - 1 and isinstance(value, Const):
        return plain_literal_text(value)
    shown = operand_text(value, operand, definition.has(f"literal{index}"))
    if definition.mfma is not None:
        return shown
    neg, absolute = ("neg_lo", "neg_hi") if definition.has("mix") else ("neg", "abs")
    bits = [_bit(instruction, name, index) for name in (neg, absolute, "sext")]
    return with_modifiers(shown, isinstance(value, Const), *bits)


def _bit(instruction: Instruction, name: str, index: int) -> int:
    """One source's entry of a modifier that has one per source."""
    value = instruction.modifiers.get(name)
    return int(value[index]) if isinstance(value, tuple) else 0


def _scalar_offset(instruction: Instruction, operand: Operand, value: Operands) -> str:
    """The offset of a scalar access: a constant, a register, or a register and a constant."""
    offset = instruction.modifiers.get("offset")
    if value is None:
        return hex(_int(instruction, "offset"))
    shown = operand_text(value, operand)
    return shown if offset is None else f"{shown} offset:{_int(instruction, 'offset'):#x}"


def _target(instruction: Instruction, value: Operands, labels: Mapping[int, str] | None) -> str:
    if isinstance(value, Label) and value.offset is not None and labels:
        return labels.get(instruction.pc + instruction.size + value.offset, str(value))
    return str(value)
