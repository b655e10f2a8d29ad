"""What is known of register values along a path: numbers for every wave and lane, or one unknown number plus those.

The unknown number of a value is its ``symbol``: what one instruction loaded, or what a register holds where paths meet.
A symbol stands for the newest such number alone: when its instruction is executed again, what still holds the older one
is forgotten. Arithmetic is the instructions' own meaning, on all waves at once; what it does to a symbol is found by
trying several numbers for it, among them the least and the largest, and each bit as 0 and as 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pykittens.check.all_waves import AllWavesEvaluator
from pykittens.isa.constants import aperture_bits, operand_bits
from pykittens.isa.define import Definition, Unit
from pykittens.isa.effects import MODE, SCC, VECTOR_ROWS, keeps_part, mask
from pykittens.isa.float_mode import FloatMode
from pykittens.isa.instruction import Instruction
from pykittens.isa.numpy_evaluator import LANES, dtype_of
from pykittens.isa.registers import Reg, Special, exec_, m0, vcc
from pykittens.isa.semantics import execute, is_alu
from pykittens.isa.sources import Sources
from pykittens.isa.types import Type, u1, u32, u64
from pykittens.isa.value import Value

Words = np.ndarray[Any, Any]
Symbol = tuple[Hashable, int]
"""Who owns the unknown number (an instruction or a node of the graph), and the register it was first in."""


def key_of(reg: Reg, accum_offset: int = 256) -> int:
    """The number of a register among all, as its bit in `effects.mask_of`."""
    return mask(reg, accum_offset).bit_length() - reg.count


SCC_KEY, EXEC_KEY, VCC_KEY, M0_KEY = (key_of(reg) for reg in (SCC, exec_, vcc, m0))
_MODE_KEY = key_of(MODE)
_PROBES = np.array(
    [0, 0xFFFFFFFF, 1, 0xFFFFFFFE, 0x6C8E9CF5, 0x9371630A, 0x80000000, 0x7FFFFFFF], np.uint32
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """``words``: u32 of shape (waves, 1) in a scalar register, (waves, 64) in a vector one; plus ``symbol``, if any.

    Made by `Numbers` alone, so that equal ones are the same object.
    """

    symbol: Symbol | None
    words: Words


Predicate = tuple[str, tuple[Number | int, ...]]
"""A scalar comparison that the code alone does not decide: its name and what it compares."""


class Numbers:
    """Makes numbers, each once."""

    def __init__(self) -> None:
        self._made: dict[tuple[Symbol | None, tuple[int, ...], bytes], Number] = {}

    def make(self, symbol: Symbol | None, words: Words) -> Number:
        key = symbol, words.shape, words.tobytes()
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Number(symbol, words)
        return found


@dataclass
class Knowledge:
    """``registers`` by `key_of`; ``waves``: who may be here, as bits; ``facts``: comparisons that the path has decided.

    SCC may hold a comparison, true or false as that is.
    """

    registers: dict[int, Number] = field(default_factory=dict)
    waves: int = 0
    facts: dict[Predicate, bool] = field(default_factory=dict)
    condition: Predicate | None = None

    def copy(self) -> Knowledge:
        return Knowledge(dict(self.registers), self.waves, dict(self.facts), self.condition)

    def forget_symbols(self, owner: Hashable) -> None:
        """The owner's unknown numbers are made anew."""
        old = [k for k, number in self.registers.items() if number.symbol is not None and number.symbol[0] == owner]
        for key in old:
            del self.registers[key]
        if any(_mentions(predicate, owner) for predicate in self.facts):
            self.facts = {p: truth for p, truth in self.facts.items() if not _mentions(p, owner)}
        if self.condition is not None and _mentions(self.condition, owner):
            self.condition = None


def _mentions(predicate: Predicate, owner: Hashable) -> bool:
    return any(isinstance(n, Number) and n.symbol is not None and n.symbol[0] == owner for n in predicate[1])


class Unknown(Exception):
    """A value is needed that the code alone does not tell."""


def computable(definition: Definition) -> bool:
    """Whether `Arithmetic` executes it: whole numbers alone."""
    operands = (*definition.dsts, *definition.srcs)
    return (
        is_alu(definition)
        and definition.unit in (Unit.SALU, Unit.VALU)
        and not any(o.type.is_float for o in operands)
        and not definition.has("relative_src")
        and not definition.has("relative_dst")
    )


class Arithmetic:
    """Executes instructions on what is known."""

    def __init__(self, arch: str, accum_offset: int, waves: int) -> None:
        self.arch, self.accum_offset, self.waves = arch, accum_offset, waves
        self.numbers = Numbers()
        self.ev = AllWavesEvaluator()
        self._bits = np.array([[1 << w] for w in range(waves)], np.int64)

    def here(self, waves: int) -> Words:
        """Which waves are meant, as (waves, 1) bools."""
        return np.asarray(self._bits & waves != 0)

    def fresh(self, owner: Hashable, key: int) -> Number:
        """An unknown scalar."""
        return self.numbers.make((owner, key), np.zeros((self.waves, 1), np.uint32))

    def execute(
        self, known: Knowledge, instruction: Instruction, owner: Hashable, written: Iterable[int], computes: bool
    ) -> None:
        """``instruction``, which writes the registers with keys ``written``, is executed; it owns its unknown results.

        computes: whether its results may be told from its sources; it is `computable` then.
        """
        results: dict[int, Number] = {}
        condition = None
        if computes:
            machine = _Machine(self, known, instruction)
            try:
                execute(instruction, machine)
                results = machine.results()
            except Unknown:
                results = {}
            if SCC_KEY not in results:
                condition = _comparison(known, instruction, self.accum_offset)
        known.forget_symbols(owner)
        for key in written:
            if key in results:
                known.registers[key] = results[key]
            elif VECTOR_ROWS <= key < SCC_KEY:
                known.registers[key] = self.fresh(owner, key)
            else:
                known.registers.pop(key, None)
            if key == SCC_KEY:
                known.condition = condition

    def taken(self, known: Knowledge, branch: Instruction) -> int | None:
        """The waves, as bits, that a conditional branch is taken by; None where that is not known."""
        if branch.definition.meaning is None:
            return None
        machine = _Machine(self, known, branch)
        try:
            condition = branch.definition.meaning(*Sources(branch, machine).values(None))
        except Unknown:
            return None
        truth = np.broadcast_to(condition.raw, (self.waves, 1))
        return int(np.sum(np.where(truth, self._bits, 0))) & known.waves

    def taken_with(self, branch: Instruction, scc: bool) -> bool:
        """Whether a branch on SCC is taken with this SCC."""
        assert branch.definition.meaning is not None
        return bool(branch.definition.meaning(Value(self.ev, u1, np.asarray(scc))).raw)


def _comparison(known: Knowledge, instruction: Instruction, accum_offset: int) -> Predicate | None:
    d = instruction.definition
    if d.format != "SOPC" or [o.implicit for o in d.dsts] != ["scc"]:
        return None
    compared: list[Number | int] = []
    for slot, operand in enumerate(instruction.srcs):
        if isinstance(operand, Reg):
            for n in range(operand.count):
                number = known.registers.get(key_of(operand, accum_offset) + n)
                if number is None:
                    return None
                compared.append(number)
        elif isinstance(operand, Special):
            return None
        else:
            compared.append(operand_bits(instruction, slot))
    return d.name, tuple(compared)


class _Machine:
    """The `isa.machine.Machine` of one instruction on known values of all waves."""

    def __init__(self, arithmetic: Arithmetic, known: Knowledge, instruction: Instruction) -> None:
        self.ev, self.mode, self.arch = arithmetic.ev, FloatMode(), arithmetic.arch
        self._arithmetic, self._known, self._instruction = arithmetic, known, instruction
        self._symbol: Symbol | None = None
        self._tried: Words = np.zeros((1, 1, 1), np.uint32)
        self._raw: dict[int, Words] = {}

    def _value(self, key: int, symbols: bool = True) -> Value:
        number = self._known.registers.get(key)
        if number is None:
            raise Unknown
        words = number.words
        if number.symbol is not None:
            if not symbols or self._symbol not in (None, number.symbol):
                raise Unknown
            if self._symbol is None:
                # Such numbers for the symbol that this register holds each of the probes, in every lane.
                self._symbol, self._tried = number.symbol, _PROBES[:, None, None] - words
            words = self._tried + words
        return Value(self.ev, u32, words)

    def _key(self, slot: int) -> int:
        reg = self._instruction.operands[slot]
        assert isinstance(reg, Reg)
        return key_of(reg, self._arithmetic.accum_offset)

    def _pair(self, key: int, symbols: bool = True) -> Value:
        low, high = (self._value(key + dword, symbols) for dword in (0, 1))
        return low.resize(u64) | (high.resize(u64) << 32)

    def register(self, slot: int, dword: int) -> Value:
        return self._value(self._key(slot) + dword)

    def pair(self, slot: int) -> Value:
        return self._pair(self._key(slot))

    def constant(self, slot: int, bits: int) -> Value:
        given = self._instruction.operands[slot]
        number = (
            aperture_bits(given.code, bits) if isinstance(given, Special) else operand_bits(self._instruction, slot)
        )
        return self._number(u64 if bits == 64 else u32, number)

    def _number(self, type: Type, number: int) -> Value:
        return Value(self.ev, type, np.asarray(number, dtype_of(type)))

    def immediate(self, name: str) -> Value:
        number = self._instruction.modifiers.get(name, 0)
        assert isinstance(number, int)
        signed = number - (1 << 16) if name == "simm16" and number >> 15 else number
        return self._number(u32, signed & 0xFFFFFFFF)

    def state(self, name: str) -> Value:
        if name == "scc":
            if self._known.condition is not None and self._known.condition in self._known.facts:
                return self._number(u1, self._known.facts[self._known.condition])
            return self._value(SCC_KEY).resize(u1)
        if name in ("vcc", "exec"):
            return self._pair(EXEC_KEY if name == "exec" else VCC_KEY, symbols=False)
        return self._value(M0_KEY if name == "m0" else _MODE_KEY)

    def write(self, slot: int, dword: int, value: Value, lanes: Value | None) -> None:
        key, raw = self._key(slot) + dword, value.raw
        if lanes is not None:
            active = np.broadcast_to(lanes.raw, (self._arithmetic.waves, LANES))
            if not (active | ~self._arithmetic.here(self._known.waves)).all():
                # What lanes keep is followed (deciding.py) for instructions alone that always may keep some.
                if not keeps_part(self._instruction):
                    raise Unknown
                raw = np.where(active, raw, self._value(key).raw)
        self._raw[key] = raw

    def write_pair(self, slot: int, value: Value) -> None:
        self._write_pair(self._key(slot), value.raw)

    def _write_pair(self, key: int, raw: Words) -> None:
        for dword in (0, 1):
            self._raw[key + dword] = (raw >> np.uint64(32 * dword)).astype(np.uint32)

    def set_state(self, name: str, value: Value) -> None:
        if name in ("vcc", "exec"):
            self._write_pair(EXEC_KEY if name == "exec" else VCC_KEY, value.raw)
        else:
            key = {"scc": SCC_KEY, "m0": M0_KEY, "mode": _MODE_KEY}[name]
            self._raw[key] = np.asarray(value.raw, np.uint32)

    def results(self) -> dict[int, Number]:
        """What was written and is known."""
        found = {}
        for key, raw in self._raw.items():
            shape = self._arithmetic.waves, LANES if key < VECTOR_ROWS else 1
            symbol = None
            if raw.ndim > 2:
                differences = raw - self._tried
                if key == SCC_KEY or differences.shape[-1] > shape[-1] or (differences != differences[0]).any():
                    continue
                raw, symbol = differences[0], self._symbol
            words = np.ascontiguousarray(np.broadcast_to(raw.astype(np.uint32), shape))
            found[key] = self._arithmetic.numbers.make(symbol, words)
        return found
