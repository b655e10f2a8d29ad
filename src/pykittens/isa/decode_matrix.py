"""Decoding plans of the matrix instructions, of 8 bytes or, with scales, of 16."""

from __future__ import annotations

from .decode_modifiers import number, per_source
from .decode_plan import Plan, Read, ReadModifier, from_table, mask_of
from .define import Definition
from .formats import FORMATS, MFMA, Format
from .instruction import Operands
from .mfma import operand_registers
from .operand_codes import sources, vector_registers

_SCALES = FORMATS["VOP3P"]
"""The 8 bytes before a scaled matrix instruction are a VOP3P of two sources, the scales."""


def _place(fmt: Format, name: str, shift: int) -> tuple[int, int]:
    low, width = fmt.fields[name]
    return low + shift, width


def _registers(dwords: int, place: tuple[int, int], acc_at: int, constants: bool = False) -> Read:
    """Vector or, by a bit, accumulation registers; for C an inline constant too."""
    none: tuple[Operands, ...] = (None,) * 256 if place[1] == 9 else ()
    if constants:
        none = (None,) * 128 + sources(dwords)[128:209] + (None,) * 31 + sources(dwords)[240:249] + (None,) * 7
    vector = from_table(place, none + vector_registers(dwords))
    accumulation = from_table(place, none + vector_registers(dwords, "a"))
    return lambda bits: accumulation(bits) if (bits >> acc_at) & 1 else vector(bits)


def _of_format(definition: Definition, index: int, field: str, shift: int) -> Read:
    """A or B of an f8f6f4 instruction, whose width follows from its format."""
    name = "cbsz" if index == 1 else "blgp"
    low, width = _place(MFMA, name, shift)
    acc_at = MFMA.fields["acc"][0] + index - 1 + shift
    by_width: dict[int, Read] = {}
    readers = []
    for code in range(1 << width):
        dwords = operand_registers(definition, {name: code})[index]
        if dwords not in by_width:
            by_width[dwords] = _registers(dwords, _place(MFMA, field, shift), acc_at)
        readers.append(by_width[dwords])
    return lambda bits: readers[(bits >> low) & ((1 << width) - 1)](bits)


def plan_matrix(definition: Definition) -> Plan:
    """An MFMA or SMFMAC instruction; a scaled one has its scales in front."""
    shape = definition.mfma
    if shape is None:
        raise AssertionError(f"{definition.name} is no matrix instruction")
    shift = 8 * _SCALES.size if shape.scaled else 0
    widths = [o.dwords for o in (*definition.explicit_dsts, *definition.explicit_srcs)]
    c_and_d = _place(MFMA, "acc_cd", shift)[0]
    acc = _place(MFMA, "acc", shift)[0]
    operands = [_registers(widths[0], _place(MFMA, "vdst", shift), c_and_d)]
    for i in (1, 2):
        if shape.a == "f8f6f4":
            operands.append(_of_format(definition, i, f"src{i - 1}", shift))
        else:
            operands.append(_registers(widths[i], _place(MFMA, f"src{i - 1}", shift), acc + i - 1))
    if shape.sparse:
        operands.append(from_table(_place(MFMA, "src2", shift), (None,) * 256 + vector_registers(1)))
    else:
        operands.append(_registers(widths[3], _place(MFMA, "src2", shift), c_and_d, constants=True))
    modifiers: list[ReadModifier] = []
    unused = 0
    if shape.scaled:
        for name in ("src0", "src1"):
            operands.append(from_table(_SCALES.fields[name], (None,) * 256 + vector_registers(1)))
        for name in ("op_sel", "op_sel_hi"):
            low = _SCALES.fields[name][0]
            modifiers.append(per_source(name, (low, low + 1), (0, 0)))
    names = ["cbsz", "abid", "blgp"]
    if shape.d == "f64":
        low, width = _place(MFMA, "blgp", shift)
        modifiers.append(per_source("neg", tuple(range(low, low + width)), (0, 0, 0)))
        names.remove("blgp")
    if shape.a == "f8f6f4":
        # The lowest bit of abid says that scales stand before: they are part of the instruction then.
        names.remove("abid")
        low, width = _place(MFMA, "abid", shift)
        unused |= ((1 << width) - 1 - bool(shape.scaled)) << low
    if shape.sparse:
        names.remove("blgp")
        unused |= mask_of(MFMA, "blgp")
    modifiers += [number(name, _place(MFMA, name, shift)) for name in names]
    return Plan(
        definition,
        "",
        _SCALES.size + MFMA.size if shape.scaled else MFMA.size,
        unused,
        tuple(operands),
        tuple(modifiers),
    )


def has_scales(bits: int) -> bool:
    """Whether a matrix instruction at these bits says that scales stand before it."""
    return bool((bits >> MFMA.fields["abid"][0]) & 1)
