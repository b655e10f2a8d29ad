"""A kernel's machine code as operations: finds the reachable instructions and makes the variants of the program.

Code is decoded from the entry along branches; what only a computed jump reaches is decoded when a wave gets there.
A variant is the same list of operations bound for one state of the wave's mode (native/control.c: variant_key), made
when a wave first needs it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykittens.errors import Unsupported
from pykittens.isa.decode import decode_one
from pykittens.isa.define import Unit
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Reg
from pykittens.sim import alu_handlers, control_handlers, memory_handlers, mfma_handlers
from pykittens.sim.bind import FIELDS, NONE, VECTOR_ROWS, BadOperand, BindContext, Bound, Unreachable, split
from pykittens.sim.forms import form_of
from pykittens.sim.landing import wrapper
from pykittens.sim.mode import GPR_IDX_EN, VSKIP, Mode
from pykittens.sim.native_build import symbol
from pykittens.sim.native_types import OP_BYTES, Code
from pykittens.sim.nearest_form import nearest_form

_OPERATION = np.dtype([("handler", "<u8"), ("f", "<u4", FIELDS)])
_VECTOR_UNITS = frozenset((Unit.VALU, Unit.TRANS, Unit.MFMA, Unit.LDS, Unit.VMEM))
_ZEROS = (0,) * FIELDS
Operations = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Join:
    """No instruction: code that was decoded later goes on at ``target``, a byte address."""

    target: int


@dataclass(frozen=True)
class EndOfCode:
    """No instruction: what lies behind the last byte of code, at ``pc``."""

    pc: int


Slot = Instruction | Join | EndOfCode
Binder = Callable[[Instruction, BindContext], Bound]

_FLOAT_BITS = 0x008003FF
"""Of MODE: rounding, denormals, DX10_CLAMP, IEEE and FP16_OVFL."""
_INDEXED = 0xF000
"""Of M0: the operands that are indexed; these bits of MODE, exceptions, select nothing."""


def variant_key(mode: int, m0: int) -> int:
    """What of MODE and M0 selects a variant, as native/control.c has it."""
    key = mode & (_FLOAT_BITS | 1 << GPR_IDX_EN | 1 << VSKIP)
    return key | (m0 & _INDEXED if mode >> GPR_IDX_EN & 1 else 0)


def _mode_of(key: int) -> Mode:
    return Mode.from_bits(key & ~_INDEXED, key & _INDEXED)


def falls_through(instruction: Instruction) -> bool:
    """Whether the next instruction may run after this one, or after the call that this one is."""
    d = instruction.definition
    if d.has("ends") or d.has("illegal") or d.has("halt"):
        return False
    if d.has("trap"):
        return control_handlers.calls_debugger(instruction)
    return not d.has("branch") or d.has("conditional") or d.has("call")


def _rows(instruction: Instruction, accum_offset: int) -> int:
    """One more than the highest register row that the instruction may touch, as far as that is known beforehand."""
    if instruction.definition.has("gpr_idx"):
        return VECTOR_ROWS
    ends = [
        operand.index + operand.count + (accum_offset if operand.file == "a" else 0)
        for operand in instruction.operands
        if isinstance(operand, Reg) and operand.file in ("v", "a")
    ]
    return min(VECTOR_ROWS, max(ends, default=0))


def binder_of(instruction: Instruction) -> Binder | None:
    """Whose instruction it is."""
    definition = instruction.definition
    if definition.has("illegal"):
        return None
    if definition.access is not None:
        return memory_handlers.bind
    if definition.mfma is not None:
        return mfma_handlers.bind
    if control_handlers.binds(definition):
        return control_handlers.bind
    return None if definition.meaning is None else alu_handlers.bind


def _skipped(instruction: Instruction, mode: Mode) -> bool:
    """Whether VSKIP makes the instruction do nothing."""
    return mode.vskip and instruction.definition.unit in _VECTOR_UNITS


def _array(bounds: list[Bound]) -> Operations:
    made = np.empty(len(bounds), _OPERATION)
    numbers: list[int] = []
    for _, fields in bounds:
        numbers += fields
        numbers += _ZEROS[len(fields) :]
    made["handler"] = [handler for handler, _ in bounds]
    made["f"] = np.array(numbers, np.uint32).reshape(len(bounds), FIELDS)
    return made


class Program:
    """The operations of one kernel, shared by all launches of it.

    code: machine code loaded at byte address ``base``. entry: address of the first instruction. rows: registers of a
    lane that the code names, v and a together.
    """

    def __init__(self, code: bytes, base: int, entry: int, arch: str, accum_offset: int) -> None:
        self.code, self.base, self.arch, self.accum_offset = code, base, arch, accum_offset
        self.entry = entry
        self.slots: list[Slot] = []
        self.rows = 1
        self.index_of = np.full((len(code) + 3) // 4, NONE, np.uint32)
        self._variants: dict[tuple[int, bool], Operations] = {}
        self._kept: list[Operations] = []
        self._problems: dict[int, str] = {}
        self._lock = threading.RLock()
        self._decode(entry)

    # -- what a launch asks ----------------------------------------------------------------------------------
    def index(self, pc: int) -> int:
        """The operation of the instruction at a byte address; it is decoded if it was not. Raises `Unreachable`."""
        with self._lock:
            offset = pc - self.base
            if not 0 <= offset < len(self.code) or offset % 4:
                raise Unreachable(pc)
            if self.index_of[offset // 4] == NONE:
                self._decode(pc)
            return int(self.index_of[offset // 4])

    def variant(self, key: int, late: bool) -> Operations:
        """The operations of a variant (`variant_key`); an array that never changes. ``late``: results land late."""
        with self._lock:
            made = self._variants.get((key, late))
            if made is None or len(made) < len(self.slots):
                done = 0 if made is None else len(made)
                fresh = self._bind(self.slots[done:], _mode_of(key), late)
                made = fresh if made is None else np.concatenate((made, fresh))
                self._variants[key, late] = made
                self._kept.append(made)
            return made

    def slot(self, index: int) -> Slot:
        return self.slots[index]

    def problem(self, index: int) -> str:
        """Why the operation cannot be executed, for one that is illegal."""
        return self._problems.get(index, "")

    # -- decoding --------------------------------------------------------------------------------------------
    def _decode(self, start: int) -> None:
        """Add everything that is reachable from an address and not known yet."""
        found: dict[int, Instruction] = {}
        todo = [start]
        while todo:
            pc = todo.pop()
            while self._is_new(pc, found):
                instruction = decode_one(self.code, pc - self.base, self.arch, pc)
                found[pc] = instruction
                flow = instruction.definition
                if flow.has("branch") and not flow.has("indirect") and not flow.has("unsupported_in_sim"):
                    todo.append(control_handlers.target(instruction))
                if not falls_through(instruction):
                    break
                pc += instruction.size
        self._place(found)

    def _is_new(self, pc: int, found: dict[int, Instruction]) -> bool:
        offset = pc - self.base
        return (
            0 <= offset < len(self.code) and offset % 4 == 0 and pc not in found and self.index_of[offset // 4] == NONE
        )

    def _place(self, found: dict[int, Instruction]) -> None:
        order = sorted(found)
        for pc, following in zip(order, [*order[1:], None], strict=True):
            instruction = found[pc]
            self.index_of[(pc - self.base) // 4] = len(self.slots)
            self.slots.append(instruction)
            self.rows = max(self.rows, _rows(instruction, self.accum_offset))
            after = pc + instruction.size
            if falls_through(instruction) and after != following:
                inside = after - self.base < len(self.code)
                self.slots.append(Join(after) if inside else EndOfCode(after))

    # -- binding ---------------------------------------------------------------------------------------------
    def _bind(self, slots: list[Slot], mode: Mode, late: bool) -> Operations:
        context = BindContext(self.arch, self.accum_offset, mode, self._known_index)
        self._compile(slots, mode)
        first = len(self.slots) - len(slots)
        bounds = [self._bound(slot, first + i, context) for i, slot in enumerate(slots)]
        inner = _array(bounds)
        self._kept.append(inner)
        for i, slot in enumerate(slots):
            around = None
            if isinstance(slot, Instruction) and not _skipped(slot, mode) and first + i not in self._problems:
                around = wrapper(slot, context, late)
            if around is not None:  # the wrapped operation stays in `inner`, at an address that does not move
                bounds[i] = around._replace(fields=(*split(inner.ctypes.data + i * OP_BYTES), *around.fields))
        return _array(bounds)

    def _nearest(self, slot: Instruction) -> str:
        if slot.definition.has("illegal"):
            start = slot.pc - self.base
            return nearest_form(int.from_bytes(self.code[start : start + 4], "little"), self.arch)
        return f"{slot.name} has no meaning here"

    def _known_index(self, pc: int) -> int:
        offset = pc - self.base
        if not 0 <= offset < len(self.code) or offset % 4:
            raise Unreachable(pc)
        return int(self.index_of[offset // 4])

    def _compile(self, slots: list[Slot], mode: Mode) -> None:
        """Compile what is missing of the arithmetic in one go."""
        forms = []
        for slot in slots:
            if isinstance(slot, Instruction) and binder_of(slot) is alu_handlers.bind and not _skipped(slot, mode):
                try:
                    forms.append(form_of(slot, self.arch, mode))
                except Unsupported:
                    continue
        alu_handlers.compile_forms(forms)

    def _bound(self, slot: Slot, index: int, context: BindContext) -> Bound:
        if isinstance(slot, Join):
            return Bound(symbol("control_join"), (self._known_index(slot.target),))
        if isinstance(slot, EndOfCode):
            return control_handlers.fault(Code.END_OF_CODE)
        if _skipped(slot, context.mode):
            return Bound(symbol("control_nothing"))
        try:
            binder = binder_of(slot)
            if binder is None:
                raise BadOperand(f"this is no instruction: {self._nearest(slot)}")
            return binder(slot, context)
        except (BadOperand, Unsupported) as problem:
            self._problems[index] = problem.what if isinstance(problem, Unsupported) else str(problem)
        except Unreachable as outside:
            self._problems[index] = f"the target {outside.args[0] - self.base:#x} lies outside the code"
        return control_handlers.fault(Code.ILLEGAL)
