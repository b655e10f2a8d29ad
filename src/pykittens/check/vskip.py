"""Which vector instructions ``s_setvskip`` may have skipped: they prove nothing, since they may not be executed."""

from __future__ import annotations

from collections.abc import Sequence

from pykittens.asm.control_flow import Block, forward
from pykittens.isa.define import Unit
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Const

_VECTOR = (Unit.VALU, Unit.TRANS, Unit.MFMA, Unit.LDS, Unit.VMEM)


def may_be_skipped(instructions: Sequence[Instruction], graph: Sequence[Block]) -> frozenset[int]:
    """Vector instructions that are executed while skipping may be on."""
    switches = {n: _may_skip(i) for n, i in enumerate(instructions) if i.definition.has("vskip")}
    if not switches:
        return frozenset()

    def through(block: int, skips: bool) -> bool:
        for n in range(graph[block].start, graph[block].stop):
            skips = switches.get(n, skips)
        return skips

    entries = forward(graph, False, through, bool.__or__)
    found: set[int] = set()
    for block, entry in zip(graph, entries, strict=True):
        skips = bool(entry)
        for n in range(block.start, block.stop):
            skips = switches.get(n, skips)
            if skips and instructions[n].definition.unit in _VECTOR:
                found.add(n)
    return frozenset(found)


def _may_skip(instruction: Instruction) -> bool:
    """Whether an ``s_setvskip`` may turn skipping on: it copies one bit of its first source."""
    mask, bit = instruction.srcs
    if isinstance(mask, Const) and isinstance(bit, Const):
        return bool(mask.bits >> (bit.bits & 31) & 1)
    return True
