"""Operations around operations: results that land late (native/pending.c), and switches of the program's variant."""

from __future__ import annotations

from pykittens.isa.define import Access, Counter
from pykittens.isa.effects import writes
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Reg, m0
from pykittens.sim.bind import BindContext, Bound
from pykittens.sim.native_build import symbol

_NO_RESULT, _VECTOR, _SCALAR, _TO_LDS = range(4)
_IN_VM, _IN_LGKM, _ANY_ORDER = 1, 2, 4
"""Numbers of native/pending.c."""


def wrapper(instruction: Instruction, context: BindContext, late: bool) -> Bound | None:
    """The operation that takes this one's place and runs it; its first two fields, its address, are left out."""
    definition = instruction.definition
    if definition.has("hwreg_write"):
        return None
    written = writes(instruction)
    if any(r.file == "mode" for r in written) or (context.mode.gpr_idx and any(r.overlaps(m0) for r in written)):
        return Bound(symbol("control_switch"))
    access = definition.access
    if not late or access is None or definition.counter is None:
        return None
    return Bound(symbol("late"), _entry(instruction, access, context))


def _entry(instruction: Instruction, access: Access, context: BindContext) -> tuple[int, ...]:
    """Kind, counters, weight, first register or LDS constant, count, bits."""
    counters = {
        Counter.VM: _IN_VM, Counter.LGKM: _IN_LGKM, Counter.BOTH: _IN_VM | _IN_LGKM | _ANY_ORDER,
    }[instruction.definition.counter or Counter.VM]  # fmt: skip
    if access.space == "scalar":
        weight = 1 if access.count * access.bits <= 32 else 2
        result = _result(instruction, access)
        place = (result.index, result.count) if result else (0, 0)
        return (_SCALAR if result else _NO_RESULT, _IN_LGKM | _ANY_ORDER, weight, *place, 0xFFFFFFFF)
    if access.kind == "load" and access.to_lds and (not instruction.dsts or instruction.dsts[0] is None):
        offset = instruction.modifiers.get("offset", 0)
        size = max(4, access.bytes)
        return _TO_LDS, counters, 1, (offset if isinstance(offset, int) else 0) & 0xFFFFFFFF, size, 0xFFFFFFFF
    destination = _result(instruction, access)
    if destination is None:
        return _NO_RESULT, counters, 1, 0, 0, 0
    bits = {None: 0xFFFFFFFF, "lo": 0x0000FFFF, "hi": 0xFFFF0000}[access.half]
    return _VECTOR, counters, 1, context.row(destination), destination.count, bits


def _result(instruction: Instruction, access: Access) -> Reg | None:
    """The registers that the instruction's result goes to."""
    if instruction.dsts and isinstance(instruction.dsts[0], Reg):
        return instruction.dsts[0]
    if access.kind == "atomic" and access.returns == "in_place":
        data = instruction.srcs[0]
        if (instruction.modifiers.get("sc0") or instruction.modifiers.get("glc")) and isinstance(data, Reg):
            return Reg(data.file, data.index, access.bits * access.count // 32)
    return None
