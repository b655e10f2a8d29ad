"""A checked program: around each operation of a program one that checks it first (native/checked.c)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from pykittens.asm.observed import Unchecked
from pykittens.isa.constants import constant_bits
from pykittens.isa.define import Access, Counter, Unit
from pykittens.isa.effects import MODE, PC, keeps_part, loads_to_lds, mask_of, obeys_exec, reads, writes
from pykittens.isa.hazard_classes import is_lane_read, selects_lane
from pykittens.isa.instruction import Instruction
from pykittens.isa.lane_moves import source_lanes
from pykittens.isa.permlane import swapped_rows
from pykittens.isa.registers import Const, Reg, m0
from pykittens.isa.swizzle_pattern import swizzle_lanes
from pykittens.sim import memory_handlers
from pykittens.sim.bind import FIELDS, NONE, BadOperand, BindContext, split
from pykittens.sim.checked_types import DS, FLAT_MEMORY, MASK_WORDS, SCALAR_MEMORY, VM, WATCH, Role, Space
from pykittens.sim.mode import Mode
from pykittens.sim.native_build import symbol
from pykittens.sim.native_types import LANES, OP_BYTES
from pykittens.sim.program import Operations, Program

_ADDRESS_ROLES = frozenset(("addr", "vaddr", "srsrc", "soffset", "saddr", "sbase"))
_DATA_ROLES = frozenset(("data0", "data1", "data", "vdata", "sdata"))
_SPACES = {
    "buffer": Space.BUFFER, "global": Space.GLOBAL, "flat": Space.FLAT, "scratch": Space.SCRATCH,
    "scalar": Space.SCALAR,
}  # fmt: skip
_LDS_ROLES = {"load": Role.LDS_LOADS, "store": Role.LDS_STORES, "atomic": Role.LDS_ATOMIC}
_MEMORY_ROLES = {"load": Role.LOADS, "store": Role.STORES, "atomic": Role.ATOMIC_MEMORY}
_SCALAR_ROLES = {"load": Role.SCALAR_LOADS, "store": Role.SCALAR_STORES, "atomic": Role.SCALAR_ATOMIC}
_CLASSES = {Counter.VM: VM, Counter.LGKM: DS, Counter.BOTH: FLAT_MEMORY}
_NO_CLASS = 4
_LANE_FIRST, _LANE_SCALAR, _LANE_CONSTANT, _LANE_TABLE, _LANE_WRITTEN, _LANE_COPIED = range(1, 7)
_NO_LANE = 0xFF
_ALL_LANES, _ACTIVE_LANES = 2, 1
_WORD = (1 << 64) - 1


class CheckedProgram:
    """A program whose operations are checked before they run; everything else is the program's own."""

    def __init__(self, program: Program) -> None:
        self._program_of = ref(program)
        self._lock = threading.RLock()
        self._made: dict[tuple[int, bool], Operations] = {}
        self._kept: list[Operations] = []

    @property
    def _program(self) -> Program:
        program = self._program_of()
        assert program is not None, "a launch keeps its program"
        return program

    def __getattr__(self, name: str) -> Any:
        return getattr(self._program, name)

    def variant(self, key: int, late: bool) -> Operations:
        """The variant's operations, each with a checking one around it."""
        with self._lock:
            return self._variant(key, late)

    def _variant(self, key: int, late: bool) -> Operations:
        inner = self._program.variant(key, late)
        known = self._made.get((key, late))
        if known is not None and len(known) == len(inner):
            return known
        made = self._made[key, late] = inner.copy()
        watches = np.zeros(len(inner), WATCH)
        checked = symbol("checked")
        for i in range(len(inner)):
            slot = self._program.slot(i)
            if isinstance(slot, Instruction):
                watch(slot, self._program, watches[i])
                watches[i]["inner"], watches[i]["index"] = inner.ctypes.data + i * OP_BYTES, i
                made["handler"][i] = checked
                made["f"][i] = (*split(watches.ctypes.data + i * WATCH.itemsize), *(0,) * (FIELDS - 2))
        self._kept += [inner, made, watches]
        return made


_checked: WeakKeyDictionary[Program, CheckedProgram] = WeakKeyDictionary()
_lock = threading.Lock()


def checked_program(program: Program) -> CheckedProgram:
    """The checked form of a program, made once."""
    with _lock:
        found = _checked.get(program)
        if found is None:
            found = _checked[program] = CheckedProgram(program)
        return found


def watch(instruction: Instruction, program: Program, at: Any) -> None:
    """Write what the checker needs to know about an instruction into a record of type `WATCH`."""
    definition, access = instruction.definition, instruction.definition.access
    read, written = reads(instruction), writes(instruction)
    _put_mask(at, "reads", read, program)
    _put_mask(at, "writes", written, program)
    at["class"], at["row"], at["space"], at["data"] = _NO_CLASS, NONE, Space.NONE, NONE
    if access is None:
        at["role"] = _plain_role(instruction, written)
        at["exact"] = _exact(instruction)
        if at["role"] == Role.READS_LANE:
            _watch_lanes(instruction, at)
        elif selects_lane(definition, instruction.encoding):
            at["single"] = _LANE_WRITTEN
        elif at["role"] == Role.ARITHMETIC and len(definition.explicit_srcs) == 1:
            at["single"] = _LANE_COPIED
        if at["role"] == Role.WAITS:
            for name in ("vmcnt", "lgkmcnt"):
                count = instruction.modifiers.get(name)
                at[name] = count if isinstance(count, int) else NONE
        return
    if definition.counter is not None:
        at["class"] = SCALAR_MEMORY if access.space == "scalar" else _CLASSES[definition.counter]
    _watch_results(written, program, at)
    if access.kind == "control":
        discards = access.op == "discard"
        at["role"], at["single"] = Role.GIVES_UP if discards else Role.PLAIN, Unchecked.DISCARDS if discards else 0
    elif access.kind == "permute":
        at["role"] = Role.PERMUTES
        if access.op == "pull":
            addr = instruction.srcs[0]
            assert isinstance(addr, Reg)
            at["row"], at["offset"][0] = _row(addr, program), _number(instruction, "offset")
        elif access.op == "swizzle":
            _put_lanes(at, swizzle_lanes(_number(instruction, "offset")))
    elif access.kind == "clock":
        at["role"] = Role.SCALAR_LOADS
    else:
        _watch_access(instruction, access, program, at)


def _plain_role(instruction: Instruction, written: list[Reg]) -> Role:
    d = instruction.definition
    for flag, role in (("waitcnt", Role.WAITS), ("barrier", Role.ARRIVES), ("ends", Role.ENDS)):
        if d.has(flag):
            return role
    if d.has("branch"):
        return Role.BRANCHES
    if is_lane_read(d, instruction.encoding) or instruction.encoding == "dpp" or swapped_rows(d):
        return Role.READS_LANE
    computes = (d.meaning is not None or d.mfma is not None) and not {MODE, PC} & set(written)
    return Role.ARITHMETIC if computes else Role.PLAIN


def _exact(instruction: Instruction) -> int:
    """Which lanes of its destinations an instruction of arithmetic writes whole; 0 if that depends."""
    d = instruction.definition
    if d.unit not in (Unit.VALU, Unit.TRANS) or not obeys_exec(d):
        return _ALL_LANES
    return 0 if keeps_part(instruction) or instruction.encoding == "dpp" or d.has("lane_permute") else _ACTIVE_LANES


def _watch_lanes(instruction: Instruction, at: Any) -> None:
    """Which lanes an instruction reads beside its own."""
    if instruction.encoding == "dpp":
        control = instruction.modifiers["dpp_ctrl"]
        assert isinstance(control, tuple)
        _put_lanes(at, source_lanes(control))
        return
    row = swapped_rows(instruction.definition)
    if row:
        _put_lanes(at, [lane ^ row for lane in range(LANES)])
        return
    lane = instruction.srcs[1] if len(instruction.srcs) > 1 else None
    if isinstance(lane, Reg):
        at["single"], at["offset"][0] = _LANE_SCALAR, lane.index
    elif isinstance(lane, Const):
        operand = instruction.definition.explicit_srcs[1]
        at["single"], at["offset"][0] = _LANE_CONSTANT, constant_bits(lane, operand) & 63
    else:
        at["single"] = _LANE_FIRST


def _put_lanes(at: Any, lanes: Sequence[int | None]) -> None:
    """Each lane reads a lane of its own, or none."""
    at["single"] = _LANE_TABLE
    at["lanes"] = [_NO_LANE if lane is None else lane for lane in lanes]


def _put_mask(at: Any, name: str, registers: list[Reg], program: Program) -> None:
    bits = mask_of(registers, program.accum_offset)
    at[name] = [bits >> 64 * i & _WORD for i in range(MASK_WORDS)]


def _watch_results(written: list[Reg], program: Program, at: Any) -> None:
    """The registers that a memory instruction's result goes to."""
    for register in written:
        if register.file in ("v", "a", "s"):
            bits = mask_of([register], program.accum_offset)
            at["first_result"], at["results"] = (bits & -bits).bit_length() - 1, bits.bit_count()
            return


def _watch_access(instruction: Instruction, access: Access, program: Program, at: Any) -> None:
    roles = dict(zip(access.roles, instruction.srcs, strict=True))
    address = [r for role, r in roles.items() if role in _ADDRESS_ROLES and isinstance(r, Reg)]
    to_lds = loads_to_lds(instruction)
    _put_mask(at, "address", [*address, *([m0] if to_lds or access.m0 else [])], program)
    at["format"], at["swaps"] = access.formatted, access.op == "swap"
    at["extent"], at["halves"] = access.bytes, {None: 0, "lo": 1, "hi": 2}[access.half]
    stored = [r for role, r in roles.items() if role in _DATA_ROLES and isinstance(r, Reg)]
    at["data"][: len(stored)] = [_row(r, program) for r in stored[:2]]
    if access.space == "lds":
        at["space"], at["role"] = Space.LDS, _LDS_ROLES[access.kind]
        _watch_lds(instruction, access, roles.get("addr"), program, at)
        return
    at["space"] = _SPACES[access.space]
    if access.space == "scalar":
        at["role"] = _SCALAR_ROLES[access.kind]
        base = roles["sbase"]
        if isinstance(base, Reg) and base.count == 4:
            at["space"] = Space.SCALAR_BUFFER
    elif to_lds:
        at["role"], at["pieces"] = Role.LOADS_TO_LDS, 1
        at["bytes"], at["m0"] = max(4, access.bytes), 0x3FFFF
        at["pitch"], at["offset"][0] = 16 if access.bytes > 4 else 4, _number(instruction, "offset") & 0xFFFFFFFF
    else:
        at["role"] = _MEMORY_ROLES[access.kind]
    try:
        fields = memory_handlers.bind(instruction, BindContext(program.arch, program.accum_offset, Mode(), int)).fields
    except BadOperand:
        at["space"] = Space.NONE  # executing it is a fault
        return
    at["access"][: len(fields)] = fields


def _watch_lds(instruction: Instruction, access: Access, addr: Any, program: Program, at: Any) -> None:
    """Where the lanes' accesses to LDS are: see ds.py."""
    if isinstance(addr, Reg):
        at["row"] = _row(addr, program)
    if access.stride:
        unit = access.stride * access.bits // 8
        at["pieces"], at["bytes"] = 2, access.bits // 8
        at["offset"] = [_number(instruction, name) * unit for name in ("offset0", "offset1")]
        return
    at["pieces"], at["bytes"], at["offset"][0] = 1, access.bytes, _number(instruction, "offset")
    at["transpose"] = access.transpose
    if access.m0:
        at["m0"], at["single"] = 0xFFFF, access.kind == "atomic"
        at["pitch"] = 0 if at["single"] else 4


def _row(register: Reg, program: Program) -> int:
    return register.index + (program.accum_offset if register.file == "a" else 0)


def _number(instruction: Instruction, name: str) -> int:
    value = instruction.modifiers.get(name, 0)
    return value if isinstance(value, int) else 0
