"""Registers that an instruction names and others that it means: under ``s_set_gpr_idx_on``, and of ``s_movrel*``.

A number is added to the register's: M0's, or that of the last ``s_set_gpr_idx_on``. Where it is known for every wave,
these registers are told, otherwise all that it may be: up to 255 further for vector registers, up to s101 for scalars.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pykittens.asm.control_flow import Block, forward
from pykittens.isa.define import Definition, Unit
from pykittens.isa.effects import VECTOR_BITS, VECTOR_ROWS, mask, mask_of, writes
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Const, Reg, m0

_ALL_OPERANDS, _DESTINATION = 15, 3
_FURTHEST = 255
_SCALARS = 102
_MODE, _GPR_IDX_EN = 1, 27


@dataclass(frozen=True)
class Indexed:
    """An instruction that means other registers than it names.

    moved: (operand, whether it is written); fixed: sources that it means as it names them; by: the instructions, by
    number, that know what is added (`index_of`), or None where that is not told or differs in what it is added to.
    """

    moved: tuple[tuple[Reg, bool], ...]
    fixed: tuple[Reg, ...]
    by: frozenset[int] | None


def indexed(instructions: Sequence[Instruction], graph: Sequence[Block]) -> dict[int, Indexed]:
    """The instructions whose registers may depend on M0, by number."""
    found: dict[int, Indexed] = {}
    for n, instruction in enumerate(instructions):
        d = instruction.definition
        if d.has("relative_src") or d.has("relative_dst"):
            written = d.has("relative_dst")
            moved = instruction.dsts if written else instruction.srcs
            fixed = tuple(o for o in instruction.srcs if isinstance(o, Reg)) if written else ()
            named = tuple((o, written) for o in moved if isinstance(o, Reg))
            found[n] = Indexed(named, fixed, frozenset((n,)))
    switches = [n for n, i in enumerate(instructions) if _switches(i) is not None]
    if not switches:
        return found
    for n, modes in _modes(instructions, graph).items():
        moved_by = [_moved(instructions[n], bits) for bits, _ in modes]
        every = tuple(dict.fromkeys(o for moved, _ in moved_by for o in moved))
        unmoved = tuple(dict.fromkeys(o for _, others in moved_by for o in others))
        if every:
            by = frozenset(set_by for _, set_by in modes if set_by is not None)
            told = all(moved == moved_by[0] for moved in moved_by) and all(set_by is not None for _, set_by in modes)
            found[n] = Indexed(every, unmoved, by if told else None)
    return found


def _moved(instruction: Instruction, bits: int) -> tuple[tuple[tuple[Reg, bool], ...], tuple[Reg, ...]]:
    """The vector operands that these bits of the mode move, and the sources that they leave."""
    destinations = len(instruction.definition.explicit_dsts)
    moved, fixed = [], []
    for slot, operand in enumerate(instruction.operands):
        if isinstance(operand, Reg):
            written = slot < destinations
            bit = _DESTINATION if written else slot - destinations
            if operand.file != "s" and bits >> bit & 1:
                moved.append((operand, written))
            elif not written:
                fixed.append(operand)
    return tuple(moved), tuple(fixed)


def index_of(instruction: Instruction) -> Reg | int:
    """What an instruction of `Indexed.by` adds to registers: a number, or that in a register."""
    if _switches(instruction) is None:
        return m0
    index = instruction.srcs[0]
    return index if isinstance(index, Reg) else index.bits if isinstance(index, Const) else m0


_Modes = frozenset[tuple[int, int | None]]
"""What the mode may be: the operands that are moved, as bits (0: off), and the instruction that set the index."""
_OFF: _Modes = frozenset(((0, None),))


def _modes(instructions: Sequence[Instruction], graph: Sequence[Block]) -> dict[int, _Modes]:
    """VALU instructions that may be executed while registers are indexed, with what the mode may be."""

    def through(block: int, modes: _Modes) -> _Modes:
        for n in range(graph[block].start, graph[block].stop):
            modes = _after(instructions[n], n, modes)
        return modes

    def join(a: _Modes, b: _Modes) -> _Modes:
        return a | b

    entries = forward(graph, _OFF, through, join)
    found = {}
    for block, entry in zip(graph, entries, strict=True):
        modes = entry or _OFF
        for n in range(block.start, block.stop):
            if modes != _OFF and instructions[n].definition.unit in (Unit.VALU, Unit.TRANS):
                found[n] = modes
            modes = _after(instructions[n], n, modes)
    return found


def _after(instruction: Instruction, n: int, modes: _Modes) -> _Modes:
    switch = _switches(instruction)
    if switch == "on":
        return frozenset(((_number(instruction, "gpr_idx"), n),))
    if switch == "off":
        return _OFF
    if switch == "select":
        return frozenset((_number(instruction, "gpr_idx") if bits else 0, by) for bits, by in modes)
    if switch == "unknown":
        return frozenset(((0, None), (_ALL_OPERANDS, None)))
    if modes != _OFF and m0 in writes(instruction):
        kept = _keeps_mode(instruction.definition)
        return frozenset((bits if kept or not bits else _ALL_OPERANDS, None) for bits, _ in modes)
    return modes


def _switches(instruction: Instruction) -> str | None:
    """What an instruction does to the mode: ``on``, ``off``, ``select`` what is moved, or ``unknown``."""
    d = instruction.definition
    if d.has("gpr_idx"):
        changed = {o.implicit for o in d.dsts}
        return "on" if changed == {"m0", "mode"} else "off" if changed == {"mode"} else "select"
    if d.has("hwreg_write"):
        field = _number(instruction, "simm16")
        low, width = field >> 6 & 31, (field >> 11) + 1
        return "unknown" if field & 63 == _MODE and low <= _GPR_IDX_EN < low + width else None
    return None


def _keeps_mode(d: Definition) -> bool:
    """Whether it writes the index in M0 and keeps what says which operands are moved."""
    return all(any(o.implicit == "m0" for o in side) for side in (d.dsts, d.srcs))


def _number(instruction: Instruction, name: str) -> int:
    value = instruction.modifiers.get(name, 0)
    assert isinstance(value, int)
    return value


@dataclass(frozen=True)
class Meant:
    """Registers as bits: what an instruction reads and writes, and of these what it reads one of, as M0 says."""

    read: int
    written: int
    may_read: int = 0


def meant(read: int, written: int, one: Indexed, indices: Iterable[int] | None, accum_offset: int, rows: int) -> Meant:
    """What an indexed instruction reads and writes, given what it names.

    indices: what may be added, where that is known. rows: vector registers allocated.
    """
    may_read = 0
    known = frozenset(indices) if indices is not None else None
    fixed = mask_of(one.fixed, accum_offset)
    for reg, is_written in one.moved:
        named = mask(reg, accum_offset)
        others = named | _beyond(reg, accum_offset, rows) if known is None else 0
        for index in known or ():
            others |= _moved_by(reg, index, accum_offset)
        if is_written:
            written = written & ~named | others
        else:
            read = read & ~named | others | fixed
            may_read |= others if known is None or len(known) > 1 else 0
    return Meant(read, written, may_read & ~fixed)


def _moved_by(reg: Reg, index: int, accum_offset: int) -> int:
    """The register that M0 makes of this one."""
    if reg.file == "s":
        return mask(Reg("s", reg.index + index, reg.count)) if reg.last + index < _SCALARS else 0
    row = mask(reg, accum_offset).bit_length() - reg.count
    return ((1 << reg.count) - 1) << row + (index & 0xFF) & VECTOR_BITS


def _beyond(reg: Reg, accum_offset: int, rows: int) -> int:
    """All registers that M0 can make of this one."""
    if reg.file == "s":
        return ((1 << _SCALARS) - 1 >> reg.index << reg.index) << VECTOR_ROWS
    row = mask(reg, accum_offset).bit_length() - reg.count
    end = min(row + _FURTHEST + reg.count, max(rows, row + reg.count), VECTOR_ROWS)
    return (1 << end) - (1 << row)
