"""Hazards that the counting rule reports and that the hardware, for all we know, has no trouble with.

The rule of manual and LLVM counts instructions and looks at registers alone. What is known beyond it makes a finding a
note, here; the assembler keeps to the rule.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from pykittens.check.code import KernelCode
from pykittens.isa.define import Unit
from pykittens.isa.effects import SCALAR_BITS, VECTOR_BITS, loads_to_lds, mask_of, reads
from pykittens.isa.hazard_classes import M0, Facts, is_dpp
from pykittens.isa.hazards import Missing, Profile, wait_states
from pykittens.isa.registers import Reg


def disputed(code: KernelCode, profiles: Mapping[Hashable, Profile], n: int, missing: Missing) -> str:
    """Why the hazard between ``missing.producer`` and instruction ``n`` may be none, in words; empty if it is one."""
    producer, consumer = profiles[missing.producer].facts, profiles[n].facts
    shared = missing.row.producer.registers(producer) & missing.row.consumer.registers(consumer)
    if shared == M0 and loads_to_lds(consumer.instruction):
        return "shipped kernels copy to LDS at once"
    if missing.row.consumer.holds is is_dpp and shared & VECTOR_BITS and not shared & _crossed(consumer):
        return "the source that crosses lanes is another"
    between = _between(code, missing.producer, n)
    if between is not None:
        if shared & SCALAR_BITS and _read_by_salu(code, between) & shared == shared:
            return "the SALU has read it in between"
        if producer.definition.mfma is not None:
            slots = _slots(profiles, missing.producer, between, n)
            if slots >= missing.agreed:
                return f"{slots} pass while the matrix instructions between are issued"
    return ""


def _between(code: KernelCode, producer: Hashable, n: int) -> range | None:
    """The instructions between two of the same block, in order; None for others."""
    assert isinstance(producer, int)
    together = any(block.start <= producer < n < block.stop for block in code.graph)
    return range(producer + 1, n) if together else None


def _crossed(consumer: Facts) -> int:
    """The registers that a DPP instruction reads from other lanes: its first source alone."""
    first = consumer.instruction.srcs[0]
    return mask_of([first], consumer.accum_offset) if isinstance(first, Reg) else 0


def _read_by_salu(code: KernelCode, between: range) -> int:
    """What scalar instructions have read, for which the hardware waits."""
    bits = 0
    for n in between:
        if code.instructions[n].definition.unit is Unit.SALU:
            bits |= mask_of(reads(code.instructions[n]))
    return bits


def _slots(profiles: Mapping[Hashable, Profile], producer: Hashable, between: range, n: int) -> int:
    """Issue slots of 4 cycles between two instructions: a matrix instruction waits until the one before has passed."""
    slot, free = 0, profiles[producer].facts.passes
    for i in between:
        facts = profiles[i].facts
        slot += 1
        if facts.definition.mfma is not None:
            slot = max(slot, free)
            free = slot + facts.passes
        slot += wait_states(facts.instruction) - 1
    if profiles[n].facts.definition.mfma is not None:
        slot = max(slot, free - 1)
    return slot
