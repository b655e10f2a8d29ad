"""Registers that an instruction names and others that it means: under ``s_set_gpr_idx_on``, and of ``s_movrel*``.

A number is added to the register's: M0's, or that of the last ``s_set_gpr_idx_on``. Where it is known for every wave,
these registers are told, otherwise all that it may be: up to 255 further for vector registers, up to s101 for scalars.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    """One way in which an instruction means other registers than it names.

    moved: (operand, whether it is written); fixed: sources that it means as it names them; by: the instruction, by
    number, that tells what is added (`index_of`); None where that is not known. Nothing is moved where indexing is off.
    """

    moved: tuple[tuple[Reg, bool], ...]
    fixed: tuple[Reg, ...]
    by: int | None


def indexed(instructions: Sequence[Instruction], graph: Sequence[Block]) -> dict[int, tuple[Indexed, ...]]:
    """The instructions whose registers may depend on an index, by number, and all ways in which they may."""
    found: dict[int, tuple[Indexed, ...]] = {}
    for n, instruction in enumerate(instructions):
        d = instruction.definition
        if d.has("relative_src") or d.has("relative_dst"):
            written = d.has("relative_dst")
            moved = instruction.dsts if written else instruction.srcs
            fixed = tuple(o for o in instruction.srcs if isinstance(o, Reg)) if written else ()
            found[n] = (Indexed(tuple((o, written) for o in moved if isinstance(o, Reg)), fixed, n),)
    switches = [n for n, i in enumerate(instructions) if _switches(i) is not None]
    if not switches:
        return found
    for n, modes in _modes(instructions, graph).items():
        ways = tuple(Indexed(*_moved(instructions[n], bits), by) for bits, by in sorted(modes, key=str))
        if any(way.moved for way in ways):
            found[n] = ways
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
    """Registers as bits: what an instruction reads and writes, and of these what it reads one of, as the index says."""

    read: int
    written: int
    may_read: int = 0


def meant(
    read: int,
    written: int,
    ways: Sequence[Indexed],
    indices: Mapping[int, Iterable[int] | None],
    accum_offset: int,
    rows: int,
) -> Meant:
    """What an indexed instruction reads and writes, given what it names.

    indices: what may be added, by the instruction that tells it, where it is known. rows: vector registers allocated.
    """
    reads, writes, certain = 0, 0, -1
    for way in ways:
        index = indices.get(way.by) if way.by is not None else None
        known = frozenset(index) if index is not None else None
        alone = known is not None and len(known) == 1
        way_read, way_written, always = read, written, read
        for reg, is_written in way.moved:
            named = mask(reg, accum_offset)
            others = named | _beyond(reg, accum_offset, rows) if known is None else 0
            for number in known or ():
                others |= _moved_by(reg, number, accum_offset)
            if is_written:
                way_written = way_written & ~named | others
            else:
                kept = mask_of(way.fixed, accum_offset)
                way_read = way_read & ~named | others | kept
                always = always & ~named | (others if alone else 0) | kept
        reads, writes, certain = reads | way_read, writes | way_written, certain & always
    return Meant(reads, writes, reads & ~certain)


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
