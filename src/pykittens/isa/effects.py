"""What an instruction reads and writes, as registers: the one source of def and use for waits, wait states and checks.

Beside ``s``, ``v`` and ``a`` registers there are three that have no operand number: ``scc``, ``mode`` and ``pc``, as
one-register files of these names.

Sets of registers are also numbers, one bit a register (`mask_of`), because programs of 32,000 instructions are
compared with each other. Registers that depend on M0 (``s_movrel*``, VALU operands under ``s_set_gpr_idx_on``) count
as the one that the instruction names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from .define import Definition, Unit
from .instruction import Instruction
from .registers import Reg, Special, exec_, m0, vcc

SCC, MODE, PC = Reg("scc", 0), Reg("mode", 0), Reg("pc", 0)
FLAT_SCRATCH = Reg("s", 102, 2)
_IMPLICIT = {"scc": SCC, "vcc": vcc, "vccz": vcc, "exec": exec_, "m0": m0, "mode": MODE, "pc": PC}
_SPECIAL = {251: vcc, 252: exec_, 253: SCC}
_OBEYS_EXEC = frozenset((Unit.VALU, Unit.TRANS, Unit.LDS, Unit.VMEM))
_LANES_MISSED = frozenset(("row_shl", "row_shr", "row_bcast", "wave_shl", "wave_shr"))

VECTOR_ROWS = 512
_FIRST_BIT = {"v": 0, "a": 256, "s": VECTOR_ROWS, "scc": VECTOR_ROWS + 128, "mode": VECTOR_ROWS + 129}
_FIRST_BIT["pc"] = VECTOR_ROWS + 130
FIRST_FREE_BIT = VECTOR_ROWS + 131
VECTOR_BITS = (1 << VECTOR_ROWS) - 1
SCALAR_BITS = ((1 << 128) - 1) << VECTOR_ROWS


@cache
def mask(reg: Reg, accum_offset: int = 256) -> int:
    """The registers of ``reg`` as bits: v0 at bit 0, a0 at ``accum_offset`` (they share one file), s0 at 512."""
    first = accum_offset if reg.file == "a" else _FIRST_BIT[reg.file]
    return ((1 << reg.count) - 1) << (first + reg.index)


def mask_of(registers: Iterable[Reg], accum_offset: int = 256) -> int:
    """A set of registers as bits."""
    bits = 0
    for reg in registers:
        bits |= mask(reg, accum_offset)
    return bits


@dataclass(frozen=True, slots=True)
class _Implied:
    """What every instruction of a definition reads and writes without naming it."""

    reads: tuple[Reg, ...]
    writes: tuple[Reg, ...]
    reads_old: bool
    destinations: int


_IMPLIED: dict[str, _Implied] = {}


def _implied(definition: Definition) -> _Implied:
    found = _IMPLIED.get(definition.name)
    if found is None:
        read = [_IMPLICIT[o.implicit] for o in definition.srcs if o.implicit in _IMPLICIT]
        if obeys_exec(definition):
            read.append(exec_)
        if definition.access is not None and definition.access.space in ("flat", "scratch"):
            read.append(FLAT_SCRATCH)
        found = _IMPLIED[definition.name] = _Implied(
            tuple(read),
            tuple(_IMPLICIT[o.implicit] for o in definition.dsts if o.implicit in _IMPLICIT),
            any(o.implicit in ("dst", "dst1") for o in definition.srcs),
            len(definition.explicit_dsts),
        )
    return found


def obeys_exec(definition: Definition) -> bool:
    """Whether EXEC selects the lanes that this instruction works on."""
    return definition.unit in _OBEYS_EXEC and not definition.has("no_exec")


def loads_to_lds(instruction: Instruction) -> bool:
    """Whether the data of this load goes to LDS, past the registers."""
    access = instruction.definition.access
    if access is None or not access.to_lds:
        return False
    return not instruction.definition.explicit_dsts or bool(instruction.modifiers.get("lds"))


def returns_old_value(instruction: Instruction) -> bool:
    """Whether an atomic brings back what memory held."""
    access = instruction.definition.access
    if access is None or access.returns is None:
        return False
    m = instruction.modifiers
    return access.returns == "always" or bool(m.get("sc0") or m.get("glc"))


def keeps_part(instruction: Instruction) -> bool:
    """Whether the destination keeps bits in active lanes that the instruction does not write.

    True for d16 loads, for op_sel or SDWA destinations narrower than the register, and for DPP lanes left out.
    """
    d, m = instruction.definition, instruction.modifiers
    if d.access is not None:
        return d.access.kind == "load" and d.access.half is not None
    if d.has("keeps_high") or d.has("hi_half") or m.get("dst_unused") == "UNUSED_PRESERVE":
        return True
    if instruction.encoding == "dpp":
        pattern = m.get("dpp_ctrl")
        misses = isinstance(pattern, tuple) and pattern[0] in _LANES_MISSED and not m.get("bound_ctrl")
        return misses or m.get("row_mask", 15) != 15 or m.get("bank_mask", 15) != 15
    return False


def reads(instruction: Instruction) -> list[Reg]:
    """Registers whose values the instruction needs, EXEC included where it selects lanes."""
    implied, operands = _implied(instruction.definition), instruction.operands
    found = list(implied.reads)
    old = implied.reads_old or keeps_part(instruction)
    for operand in operands if old else operands[implied.destinations :]:
        if isinstance(operand, Reg):
            found.append(operand)
        elif isinstance(operand, Special) and operand.code in _SPECIAL:
            found.append(_SPECIAL[operand.code])
    if m0 not in found and loads_to_lds(instruction):
        found.append(m0)
    return found


def writes(instruction: Instruction) -> list[Reg]:
    """Registers that the instruction changes."""
    implied = _implied(instruction.definition)
    found = [o for o in instruction.operands[: implied.destinations] if isinstance(o, Reg)]
    found += implied.writes
    access = instruction.definition.access
    if access is not None and access.returns == "in_place" and returns_old_value(instruction):
        data = instruction.srcs[0]
        if isinstance(data, Reg):
            found.append(data[0 : max(1, access.bytes // 4) - 1])
    return found
