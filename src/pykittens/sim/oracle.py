"""A wave in NumPy that executes ALU instructions by their meaning, slowly: the oracle for native handlers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pykittens.isa.constants import aperture_bits, operand_bits
from pykittens.isa.instruction import Instruction
from pykittens.isa.numpy_evaluator import LANES, NumpyEvaluator
from pykittens.isa.registers import NAMED_SCALARS, Reg, Special
from pykittens.isa.semantics import execute
from pykittens.isa.types import u1, u32, u64
from pykittens.isa.value import Value
from pykittens.sim.bind import SCALARS, VECTOR_ROWS
from pykittens.sim.mode import Mode

Words = np.ndarray[Any, np.dtype[np.uint32]]
_PAIRS = {"vcc": NAMED_SCALARS["vcc"][0], "exec": NAMED_SCALARS["exec"][0]}
_M0 = NAMED_SCALARS["m0"][0]


@dataclass
class Wave:
    """The registers of a wave: ``sgpr`` u32[128] by operand number, ``vgpr`` u32[512, 64], a0 at ``accum_offset``."""

    sgpr: Words = field(default_factory=lambda: np.zeros(SCALARS, np.uint32))
    vgpr: Words = field(default_factory=lambda: np.zeros((VECTOR_ROWS, LANES), np.uint32))
    scc: int = 0
    mode: int = 0
    accum_offset: int = 256

    def copy(self) -> Wave:
        return Wave(self.sgpr.copy(), self.vgpr.copy(), self.scc, self.mode, self.accum_offset)

    def run(self, instruction: Instruction, arch: str, mode: Mode) -> None:
        """Execute one ALU instruction."""
        machine = _Machine(self, instruction, arch, mode)
        execute(instruction, machine)
        for target, key, words in machine.stores:
            target[key] = words


class _Machine:
    """`Machine` on a `Wave`."""

    def __init__(self, wave: Wave, instruction: Instruction, arch: str, mode: Mode) -> None:
        self.ev, self.wave, self.instruction, self.arch, self.mode = NumpyEvaluator(), wave, instruction, arch, mode
        self.stores: list[tuple[Any, Any, Any]] = []
        d = instruction.definition
        self._destinations = len(d.explicit_dsts)

    def _given(self, slot: int) -> Reg:
        given = self.instruction.operands[slot]
        assert isinstance(given, Reg)
        return given

    def _row(self, slot: int, dword: int) -> int:
        given = self._given(slot)
        row = given.index + (self.wave.accum_offset if given.file == "a" else 0) + dword
        bit = 3 if slot < self._destinations else slot - self._destinations
        return (row + (int(self.wave.sgpr[_M0]) & 0xFF)) % VECTOR_ROWS if self.mode.gpr_idx >> bit & 1 else row

    def register(self, slot: int, dword: int) -> Value:
        if self._given(slot).file == "s":
            return self._value(self.wave.sgpr[self._given(slot).index + dword])
        return self._value(self.wave.vgpr[self._row(slot, dword)].copy())

    def _value(self, words: Any) -> Value:
        return Value(self.ev, u32, np.asarray(words, np.uint32))

    def pair(self, slot: int) -> Value:
        low, high = self.register(slot, 0), self.register(slot, 1)
        return low.resize(u64) | (high.resize(u64) << 32)

    def constant(self, slot: int, bits: int) -> Value:
        given, type = self.instruction.operands[slot], u64 if bits == 64 else u32
        if isinstance(given, Special):
            return Value(self.ev, type, self.ev.const(type, aperture_bits(given.code, bits)))
        return Value(self.ev, type, self.ev.const(type, operand_bits(self.instruction, slot)))

    def immediate(self, name: str) -> Value:
        number = self.instruction.modifiers[name]
        assert isinstance(number, int)
        return Value(self.ev, u32, self.ev.const(u32, number))

    def state(self, name: str) -> Value:
        if name in _PAIRS:
            low, high = (self._value(self.wave.sgpr[_PAIRS[name] + dword]) for dword in (0, 1))
            return low.resize(u64) | (high.resize(u64) << 32)
        if name == "m0":
            return self._value(self.wave.sgpr[_M0])
        if name == "scc":
            return Value(self.ev, u1, np.asarray(bool(self.wave.scc)))
        return self._value(self.wave.mode)

    def write(self, slot: int, dword: int, value: Value, lanes: Value | None) -> None:
        if self._given(slot).file == "s":
            self.stores.append((self.wave.sgpr, self._given(slot).index + dword, value.raw))
            return
        old = self.wave.vgpr[self._row(slot, dword)]
        new = value.raw if lanes is None else np.where(lanes.raw, value.raw, old)
        self.stores.append((self.wave.vgpr, self._row(slot, dword), new))

    def write_pair(self, slot: int, value: Value) -> None:
        for dword in (0, 1):
            self.stores.append(
                (self.wave.sgpr, self._given(slot).index + dword, int(value.raw) >> 32 * dword & 0xFFFFFFFF)
            )

    def set_state(self, name: str, value: Value) -> None:
        bits = int(value.raw)
        if name in _PAIRS:
            self.stores += [(self.wave.sgpr, _PAIRS[name] + dword, bits >> 32 * dword & 0xFFFFFFFF) for dword in (0, 1)]
        elif name == "m0":
            self.stores.append((self.wave.sgpr, _M0, bits))
        else:
            self.stores.append((self.wave.__dict__, name, bits))
