"""Sample Instructions of a definition: every encoding, operands and modifiers of every kind, as LLVM takes them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.isa.sample_memory import memory_sample
from tests.isa.sample_operands import scalar, scalar_source
from tests.isa.sample_vector import matrix_sample, vector_sample

from pykittens.isa.define import Definition
from pykittens.isa.formats import FORMATS, VOP3_BASE
from pykittens.isa.instruction import Instruction, Operands
from pykittens.isa.registers import Const, Label
from pykittens.isa.types import label

MESSAGES = (0x01, 0x03, 0x12, 0x123, 0x04, 0x0A, 0x2F)
"""Operands of s_sendmsg that name a message."""


def encodings_of(definition: Definition) -> tuple[str, ...]:
    """The encodings that an instruction has (as in `Instruction.encoding`)."""
    if definition.format not in VOP3_BASE:
        return ("",)
    choices = ("e64", "sdwa") if definition.format == "VOPC" else ("e64", "sdwa", "dpp")
    if not definition.explicit_dsts:
        # Without operands the text is the same for all encodings, and the assembler takes the shortest.
        choices = ()
    return ("e32", *(name for name in choices if not definition.has(f"no_{name}")))


def samples(definition: Definition, arch: str, count: int = 8, seed: int = 0) -> Iterator[Instruction]:
    """``count`` Instructions of each encoding that the definition has on ``arch``, the same ones every time."""
    rnd = Random(f"{seed} {definition.name} {arch}")
    for encoding in encodings_of(definition):
        for _ in range(count):
            if definition.access is not None:
                yield memory_sample(rnd, definition, arch)
            elif definition.mfma is not None:
                yield matrix_sample(rnd, definition)
            elif definition.format.startswith("VOP"):
                yield vector_sample(rnd, definition, encoding)
            else:
                yield _scalar_sample(rnd, definition)


def _scalar_sample(rnd: Random, definition: Definition) -> Instruction:
    operands: list[Operands] = [scalar(rnd, operand.dwords) for operand in definition.explicit_dsts]
    sources = definition.explicit_srcs
    size = short = FORMATS[definition.format].size
    registers = definition.format == "SOPK" or definition.has("indirect") or definition.has("relative_src")
    registers |= definition.has("branch")
    for i, operand in enumerate(sources):
        if operand.type is label:
            dwords = rnd.choice((0, 1, 0x7FFF, 0x8000, 0xFFFF))
            operands.append(Label(str(dwords), 4 * (dwords - 0x10000 * (dwords >> 15))))
        elif definition.has("literal") and i == len(sources) - 1:
            operands.append(Const(rnd.choice((0x12345678, 5, 0x3F800000)), "literal"))
            size = 8
        elif registers:
            operands.append(scalar(rnd, operand.dwords))
        else:
            operands.append(scalar_source(rnd, operand, literals=size == short))
            size = short + 4 * any(isinstance(o, Const) and o.form == "literal" for o in operands)
    return Instruction(definition, tuple(operands), _scalar_modifiers(rnd, definition), "", -1, size)


def _scalar_modifiers(rnd: Random, definition: Definition) -> dict[str, object]:
    names = {operand.implicit for operand in definition.srcs}
    if "gpr_idx" in names:
        return {"gpr_idx": rnd.randrange(16)}
    if "simm16" not in names:
        return {}
    if definition.has("waitcnt"):
        counts = {"vmcnt": rnd.randrange(64), "expcnt": rnd.randrange(8), "lgkmcnt": rnd.randrange(16)}
        most = {"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15}
        return {name: n for name, n in counts.items() if n != most[name] and rnd.random() < 0.7}
    return {"simm16": rnd.choice(MESSAGES) if definition.has("message") else rnd.choice((0, 1, 10, 0x41, 0xFFFF))}
