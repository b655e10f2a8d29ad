"""Scalar registers whose values follow from the code alone, along a straight line: so jumps to them are followed.

Compilers reach far code and functions by ``s_getpc_b64``, additions of constants, and ``s_setpc_b64`` or
``s_swappc_b64``. The arithmetic is the instructions' own meaning.
"""

from __future__ import annotations

import numpy as np

from pykittens.isa.constants import operand_bits
from pykittens.isa.effects import SCC, writes
from pykittens.isa.float_mode import FloatMode
from pykittens.isa.instruction import Instruction
from pykittens.isa.numpy_evaluator import NumpyEvaluator, dtype_of
from pykittens.isa.registers import Const, Reg
from pykittens.isa.semantics import execute, is_alu
from pykittens.isa.types import Type, u1, u32, u64
from pykittens.isa.value import Value

_SCC = -1
"""The key of SCC beside the numbers of SGPRs."""


class _Unknown(Exception):
    """A value is needed that the code alone does not tell."""


class ScalarConstants:
    """What is known after the instructions seen so far; nothing is until the first ``s_getpc_b64``."""

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self._known: dict[int, int] = {}

    def forget(self) -> None:
        """A path begins."""
        self._known.clear()

    def after(self, instruction: Instruction) -> None:
        """This instruction has been executed."""
        d = instruction.definition
        if d.has("getpc") or d.has("call"):
            end = instruction.pc + instruction.size
            pair = _register(instruction.operands[0])
            self._known |= {pair: end & 0xFFFFFFFF, pair + 1: end >> 32}
        elif self._known:
            computed = self._computed(instruction)
            for reg in writes(instruction):
                for n in range(reg.index, reg.index + reg.count) if reg.file == "s" else ():
                    self._known.pop(n, None)
                if reg == SCC:
                    self._known.pop(_SCC, None)
            self._known |= computed

    def _computed(self, instruction: Instruction) -> dict[int, int]:
        if instruction.definition.format not in ("SOP1", "SOP2", "SOPK", "SOPC") or not is_alu(instruction.definition):
            return {}
        machine = _Machine(self, instruction)
        try:
            execute(instruction, machine)
        except _Unknown:
            return {}
        return machine.written

    def target(self, instruction: Instruction) -> int | None:
        """Where a jump to a pair of registers leads; None if that is not known."""
        pair = self.source_of(instruction)
        if pair not in self._known or pair + 1 not in self._known:
            return None
        return self._known[pair] | self._known[pair + 1] << 32

    def value(self, key: int) -> int:
        if key not in self._known:
            raise _Unknown
        return self._known[key]

    @staticmethod
    def source_of(instruction: Instruction) -> int:
        """The first register of the pair that a jump reads; SCC's key where it reads none."""
        sources = [s for s in instruction.srcs if isinstance(s, Reg)]
        return sources[0].index if sources else _SCC

    @staticmethod
    def saved_in(instruction: Instruction) -> int:
        """The first register of the pair that a call saves its return address in."""
        return _register(instruction.operands[0])


def _register(operand: object) -> int:
    assert isinstance(operand, Reg)
    return operand.index


class _Machine:
    """The `isa.machine.Machine` of scalar instructions on known values."""

    def __init__(self, constants: ScalarConstants, instruction: Instruction) -> None:
        self.ev, self.mode, self.arch = NumpyEvaluator(), FloatMode(), constants.arch
        self._constants, self._instruction = constants, instruction
        self.written: dict[int, int] = {}

    def _value(self, number: int, type: Type) -> Value:
        return Value(self.ev, type, np.asarray(number, dtype_of(type)))

    def _reg(self, slot: int) -> int:
        return _register(self._instruction.operands[slot])

    def register(self, slot: int, dword: int) -> Value:
        return self._value(self._constants.value(self._reg(slot) + dword), u32)

    def pair(self, slot: int) -> Value:
        low, high = (self._constants.value(self._reg(slot) + dword) for dword in (0, 1))
        return self._value(low | high << 32, u64)

    def constant(self, slot: int, bits: int) -> Value:
        if not isinstance(self._instruction.operands[slot], Const):
            raise _Unknown
        return self._value(operand_bits(self._instruction, slot), u64 if bits == 64 else u32)

    def immediate(self, name: str) -> Value:
        number = self._instruction.modifiers.get(name, 0)
        assert isinstance(number, int)
        signed = number - (1 << 16) if name == "simm16" and number >> 15 else number
        return self._value(signed & 0xFFFFFFFF, u32)

    def state(self, name: str) -> Value:
        if name != "scc":
            raise _Unknown
        return self._value(self._constants.value(_SCC), u1)

    def write(self, slot: int, dword: int, value: Value, lanes: Value | None) -> None:
        self.written[self._reg(slot) + dword] = int(value.raw)

    def write_pair(self, slot: int, value: Value) -> None:
        for dword in (0, 1):
            self.written[self._reg(slot) + dword] = int(value.raw) >> 32 * dword & 0xFFFFFFFF

    def set_state(self, name: str, value: Value) -> None:
        if name == "scc":
            self.written[_SCC] = int(value.raw)
