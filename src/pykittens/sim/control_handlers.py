"""Binds control flow and what else acts on the wave itself, not on data: native/control.c does it."""

from __future__ import annotations

from pykittens.isa.constants import constant_bits
from pykittens.isa.define import Definition
from pykittens.isa.instruction import Instruction, Operands
from pykittens.isa.registers import Const, Label, Reg
from pykittens.sim.bind import NONE, BadOperand, BindContext, Bound, bound, split
from pykittens.sim.native_build import symbol
from pykittens.sim.native_types import Code

_NOTHING = frozenset(("nop", "priority", "hint", "message"))
_FLAGS = _NOTHING | frozenset((
    "branch", "getpc", "ends", "barrier", "waitcnt", "sleep", "halt", "trap", "hwreg_read", "hwreg_write",
    "relative_src", "relative_dst", "unsupported_in_sim",
))  # fmt: skip
_BREAKPOINT = 3
"""The trap of ``__builtin_debugtrap``."""


def binds(definition: Definition) -> bool:
    """Whether this module binds instructions of the definition."""
    return bool(definition.flags & _FLAGS) and definition.access is None


def fault(code: Code, number: int = 0) -> Bound:
    """An operation that stops the launch."""
    return Bound(symbol("control_fault"), (code, number))


def bind(instruction: Instruction, context: BindContext) -> Bound:
    """The operation of an instruction that `binds` accepts."""
    definition = instruction.definition
    if definition.has("unsupported_in_sim"):
        return fault(Code.NOT_SIMULATED)
    if definition.has("branch"):
        return _branch(instruction, context)
    if definition.has("getpc"):
        return bound(symbol("control_getpc"), instruction, _scalar(instruction.dsts[0], context), *_next(instruction))
    if definition.has("waitcnt"):
        counts = [instruction.modifiers.get(key, NONE) for key in ("vmcnt", "lgkmcnt")]
        return bound(symbol("control_wait"), instruction, *(n if isinstance(n, int) else NONE for n in counts))
    if definition.has("hwreg_read") or definition.has("hwreg_write"):
        return _hardware_register(instruction, context)
    if definition.has("relative_src") or definition.has("relative_dst"):
        return _relative(instruction, context)
    for flag, name in (("ends", "control_end"), ("barrier", "control_barrier"), ("sleep", "control_sleep")):
        if definition.has(flag):
            return Bound(symbol(name))
    for flag, code in (("trap", Code.TRAP), ("halt", Code.HALT)):
        if definition.has(flag) and not calls_debugger(instruction):
            return fault(code, _simm16(instruction))
    return Bound(symbol("control_nothing"))


def target(instruction: Instruction) -> int:
    """The byte address that a branch with a label goes to."""
    for operand in instruction.operands:
        if isinstance(operand, Label) and operand.offset is not None:
            return instruction.pc + instruction.size + operand.offset
    raise AssertionError(f"{instruction.name} has no label with an offset")


def calls_debugger(instruction: Instruction) -> bool:
    """Whether it is the trap of a breakpoint, from which the wave goes on if no debugger is there (llvm: trap ABI)."""
    return instruction.definition.has("trap") and _simm16(instruction) == _BREAKPOINT


def _simm16(instruction: Instruction) -> int:
    value = instruction.modifiers.get("simm16", 0)
    return value if isinstance(value, int) else 0


def _next(instruction: Instruction) -> tuple[int, int]:
    return split(instruction.pc + instruction.size)


def _scalar(operand: Operands, context: BindContext) -> int:
    if not isinstance(operand, Reg) or operand.file != "s":
        raise BadOperand(f"{operand} is no s register")
    return context.scalar(operand)


def _branch(instruction: Instruction, context: BindContext) -> Bound:
    definition = instruction.definition
    if definition.has("indirect"):
        source = _scalar(instruction.srcs[0], context)
        if definition.has("call"):
            saved = _scalar(instruction.dsts[0], context)
            return bound(symbol("control_swappc"), instruction, saved, source, *_next(instruction))
        return bound(symbol("control_setpc"), instruction, source)
    index = context.index_of(target(instruction))
    if definition.has("call"):
        saved = _scalar(instruction.dsts[0], context)
        return bound(symbol("control_call"), instruction, index, saved, *_next(instruction))
    if not definition.has("conditional"):
        return bound(symbol("control_branch"), instruction, index)
    condition = next(o.implicit for o in definition.srcs if o.implicit is not None)
    if definition.meaning is None:
        raise AssertionError(f"{instruction.name} does not say when it branches")
    taken_if = int(bool(definition.meaning(1)))  # the meaning works on plain numbers too: is it taken when true?
    return bound(symbol(f"control_branch_{condition}"), instruction, index, taken_if)


def _hardware_register(instruction: Instruction, context: BindContext) -> Bound:
    """``simm16``: register number 5:0, first bit 10:6, width less one 15:11."""
    simm16 = _simm16(instruction)
    place = (simm16 & 63, simm16 >> 6 & 31, (simm16 >> 11 & 31) + 1)
    if instruction.definition.has("hwreg_read"):
        return bound(symbol("control_getreg"), instruction, _scalar(instruction.dsts[0], context), *place)
    value = instruction.srcs[0]
    if isinstance(value, Const):
        return bound(symbol("control_setreg"), instruction, value.bits, *place, 1)
    return bound(symbol("control_setreg"), instruction, _scalar(value, context), *place, 0)


def _relative(instruction: Instruction, context: BindContext) -> Bound:
    definition = instruction.definition
    name = f"control_move_relative_{'source' if definition.has('relative_src') else 'destination'}"
    operand, source = definition.explicit_srcs[0], instruction.srcs[0]
    constant, number = 0, NONE
    if isinstance(source, Const):
        constant = constant_bits(source, operand)
    else:
        number = _scalar(source, context)
    destination = _scalar(instruction.dsts[0], context)
    return bound(symbol(name), instruction, destination, number, operand.dwords, *split(constant))
