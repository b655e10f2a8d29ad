"""Which matrix instructions a launch executes: their FLOP, and the tile side and type that most of these use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pykittens.isa.instruction import Instruction

_FORMATS = ("fp8", "bf8", "fp6", "bf6", "fp4")
"""Of f8f6f4, by the number that an instruction gives for its operand A."""


@dataclass(frozen=True)
class MatrixWork:
    """flops: of all together. side: 16 or 32, rows of an MFMA's tile. type: of operand A, ``"bf16"`` or so."""

    flops: float
    side: int
    type: str


NO_MATRIX_WORK = MatrixWork(0.0, 16, "bf16")


def matrix_work(executed: Iterable[tuple[Instruction, float]]) -> MatrixWork:
    """Of instructions and how often each is executed; others than MFMAs count nothing."""
    kinds: dict[tuple[int, str], float] = {}
    for instruction, count in executed:
        shape = instruction.definition.mfma
        if shape is None or not count:
            continue
        kind = 32 if shape.m == 32 else 16, _type(instruction)
        kinds[kind] = kinds.get(kind, 0.0) + 2.0 * shape.m * shape.n * shape.k * shape.blocks * count
    if not kinds:
        return NO_MATRIX_WORK
    side, name = max(kinds, key=lambda kind: kinds[kind])
    return MatrixWork(sum(kinds.values()), side, name)


def _type(instruction: Instruction) -> str:
    shape = instruction.definition.mfma
    assert shape is not None
    if shape.a != "f8f6f4":
        return shape.a
    number = instruction.modifiers.get("cbsz", 0)
    return _FORMATS[number] if isinstance(number, int) and number < len(_FORMATS) else "fp8"
