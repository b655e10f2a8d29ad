"""The sources of an ALU instruction as its meaning gets them: fetched by type, selected, permuted and modified."""

from __future__ import annotations

from typing import Any

from .define import CONSTANTS, Operand
from .instruction import Instruction
from .lane_moves import constant_mask, enabled_lanes, source_lanes
from .machine import Machine
from .registers import Const, Reg, Special
from .types import UNSIGNED, Type, f16, f32, i16, u1, u32, u64
from .value import Value, exponent_bits

VECTOR = frozenset(("VOP1", "VOP2", "VOPC", "VOP3", "VOP3P"))
"""Formats whose operands are lanes unless they say otherwise."""
SELECTED = {
    **{f"BYTE_{i}": (8 * i, 8) for i in range(4)}, "WORD_0": (0, 16), "WORD_1": (16, 16), "DWORD": (0, 32),
}  # fmt: skip
"""SDWA selections as (low bit, width)."""
_OLD = {"dst": 0, "dst1": 1}


class Sources:
    """Reads the sources of one instruction on one machine."""

    def __init__(self, instruction: Instruction, machine: Machine) -> None:
        self.instruction, self.machine = instruction, machine
        self.definition = instruction.definition
        self.modifiers = instruction.modifiers
        self.vector = self.definition.format in VECTOR
        self.first_slot = len(self.definition.explicit_dsts)
        self.dpp = instruction.encoding == "dpp"
        self._choices = tuple(int(bit) for bit in self._tuple("op_sel"))

    def _tuple(self, name: str) -> tuple[Any, ...]:
        value = self.modifiers.get(name, ())
        return value if isinstance(value, tuple) else ()

    def _flag(self, name: str, i: int, default: int = 0) -> int:
        values = self._tuple(name)
        return int(values[i]) if i < len(values) else default

    def values(self, half: int | None) -> list[Any]:
        """The arguments of the meaning; ``half`` 0 or 1 of packed operands, or pairs of both for None."""
        arguments: list[Any] = []
        explicit = 0
        for operand in self.definition.srcs:
            if operand.implicit is None:
                if operand.type.name != "label":
                    arguments.append(self._explicit(explicit, operand, half))
                explicit += 1
            else:
                arguments.append(self._implicit(operand, half))
        return arguments

    # -- explicit operands -------------------------------------------------------------------------------------
    def _explicit(self, i: int, operand: Operand, half: int | None) -> Any:
        if operand.packed == 2:
            return self._packed(i, operand, half)
        if operand.mask:
            return self._dwords(i, operand).mask_lanes()
        if operand.bits > 64:
            return [self._dwords(i, operand, dword) for dword in range(operand.dwords)]
        raw = self._dwords(i, operand)
        if self.definition.has("mix"):
            return self._mixed(i, raw)
        if self.instruction.encoding == "sdwa":
            raw = self._selected(i, raw)
        elif operand.bits == 16 and self._picks_half(i):
            raw = raw >> 16
        return self._modified(i, _typed(raw, operand.type), self._flag("abs", i), self._flag("neg", i))

    def _dwords(self, i: int, operand: Operand, dword: int | None = None) -> Value:
        """u32 or u64, permuted by DPP; ``dword`` takes one of two."""
        slot = self.first_slot + i
        wide = operand.bits == 64 and dword is None
        given = self.instruction.operands[slot]
        if isinstance(given, Reg):
            value = self.machine.pair(slot) if wide else self.machine.register(slot, dword or 0)
        elif isinstance(given, Const):
            value = self.machine.constant(slot, 64 if wide else 32)
            if dword:
                value = value.const(0)
        elif isinstance(given, Special):
            value = self._special(slot, given.code, u64 if wide else u32)
        else:
            raise AssertionError(f"{self.instruction.name} cannot read {given!r}")
        if self.vector and not operand.scalar and not operand.mask:
            value = value.lanes()
            if self.dpp and i == 0:
                value = self._permuted(value)
        return value

    def _special(self, slot: int, code: int, type: Type) -> Value:
        if code == 253:
            return self.machine.state("scc").resize(type)
        if code in (251, 252):
            return (self.machine.state("vcc" if code == 251 else "exec") == 0).resize(type)
        return self.machine.constant(slot, type.bits)

    def _picks_half(self, i: int) -> bool:
        return bool(i < len(self._choices) and self._choices[i]) and not self._meaning_chooses

    def writes_high_half(self) -> bool:
        """Whether op_sel sends a 16-bit result to the upper half."""
        return self._picks_half(3)

    @property
    def _meaning_chooses(self) -> bool:
        return any(s.implicit == "op_sel" for s in self.definition.srcs)

    def _packed(self, i: int, operand: Operand, half: int | None) -> Any:
        if half is None:
            return self._packed(i, operand, 0), self._packed(i, operand, 1)
        high = self._flag("op_sel_hi", i, 1) if half else self._flag("op_sel", i)
        if self._meaning_chooses:
            high = half
        if operand.type.bits == 32:
            raw = self._dwords(i, operand, high)
        else:
            raw = self._dwords(i, operand)
            raw = raw >> 16 if high else raw
        return self._modified(i, _typed(raw, operand.type), 0, self._flag("neg_hi" if half else "neg_lo", i))

    def _mixed(self, i: int, raw: Value) -> Value:
        """f32, or the f16 in one half of the register."""
        absolute, negated = self._flag("neg_hi", i), self._flag("neg_lo", i)
        if not self._flag("op_sel_hi", i, 1):
            return self._modified(i, _typed(raw, f32), absolute, negated)
        half = _typed(raw >> 16 if self._flag("op_sel", i) else raw, f16)
        return self._modified(i, half, absolute, negated).to(f32)

    def _selected(self, i: int, raw: Value) -> Value:
        low, width = SELECTED[str(self.modifiers.get(f"src{i}_sel", "DWORD"))]
        if width == 32:
            return raw
        picked = raw.field(low, width)
        return picked.sext(width).bits(u32) if self._flag("sext", i) else picked

    def _modified(self, i: int, value: Value, absolute: int, negated: int) -> Value:
        if value.type.is_float:
            value = self._flushed(value)
            value = abs(value) if absolute else value
            return -value if negated else value
        if not self.definition.has("float_modifiers"):
            return value
        sign = 1 << (value.type.bits - 1)
        value = value & (sign - 1) if absolute else value
        return value ^ sign if negated else value

    def _flushed(self, value: Value) -> Value:
        d, bits = self.definition, value.type.bits
        always = d.has("flushes_denormals") and bits == 32
        if always or (self.machine.mode.flushes(bits, output=False) and not d.has("keeps_denormals")):
            return flush_denormals(value)
        return value

    # -- DPP ---------------------------------------------------------------------------------------------------
    def _permuted(self, value: Value) -> Value:
        sources = source_lanes(self._tuple("dpp_ctrl"))
        moved = value.shuffle(_or_own(sources))
        return self._has_source(value).select(moved, 0) if self.modifiers.get("bound_ctrl") else moved

    def _has_source(self, like: Value) -> Value:
        """u1 lanes: whether the lane that a lane reads exists and is enabled."""
        sources = source_lanes(self._tuple("dpp_ctrl"))
        active = self.machine.state("exec").mask_lanes().shuffle(_or_own(sources))
        if None not in sources:
            return active
        return active & constant_mask(like, tuple(s is not None for s in sources))

    def enabled(self) -> Value | None:
        """u1 lanes that the instruction writes; None: all, whatever EXEC says."""
        if self.definition.has("no_exec"):
            return None
        lanes = self.machine.state("exec").mask_lanes()
        if not self.dpp:
            return lanes
        if not self.modifiers.get("bound_ctrl"):
            lanes = lanes & self._has_source(lanes)
        row_mask, bank_mask = self._number("row_mask", 15), self._number("bank_mask", 15)
        if row_mask != 15 or bank_mask != 15:
            lanes = lanes & constant_mask(lanes, enabled_lanes(row_mask, bank_mask))
        return lanes

    def _number(self, name: str, default: int = 0) -> int:
        value = self.modifiers.get(name, default)
        return value if isinstance(value, int) else default

    # -- implicit operands -------------------------------------------------------------------------------------
    def _implicit(self, operand: Operand, half: int | None) -> Any:
        name = str(operand.implicit)
        if name in CONSTANTS:
            return self._form_constant(name)
        if name in _OLD:
            return self._old(_OLD[name], operand, half)
        if name == "simm16":
            return self.machine.immediate(name).resize(i16)
        if name == "gpr_idx":
            return self.machine.immediate(name)
        if name == "lane":
            return Value(self.machine.ev, u32, self.machine.ev.lane_ids())
        if name == "vcc":
            return self.machine.state("vcc").mask_lanes()
        if name == "vccz":
            return self.machine.state("vcc") == 0
        return self.machine.state(name)

    def _form_constant(self, name: str) -> int | str:
        if name == "op_sel":
            return sum(bit << i for i, bit in enumerate(self._choices))
        if name == "bitop3":
            return self._number(name)
        if name == "arch":
            return self.machine.arch
        return int(getattr(self.machine.mode, name))

    def _old(self, slot: int, operand: Operand, half: int | None) -> Any:
        """The old value of a destination."""
        if operand.packed == 2 and half is None:
            return self._old(slot, operand, 0), self._old(slot, operand, 1)
        if operand.bits > 64 and operand.packed == 1:
            return [self.machine.register(slot, dword) for dword in range(operand.dwords)]
        if operand.packed == 2 and operand.type.bits == 32:
            raw = self.machine.register(slot, half or 0)
        elif operand.bits == 64:
            raw = self.machine.pair(slot)
        else:
            raw = self.machine.register(slot, 0)
            if half or (operand.bits == 16 and self.definition.has("keeps_high") and self._picks_half(3)):
                raw = raw >> 16
        value = _typed(raw, operand.type)
        return self._flushed(value) if operand.type.is_float else value


def _or_own(sources: tuple[int | None, ...]) -> tuple[int, ...]:
    """Lanes without a source read themselves, which keeps permutations inside rows."""
    return tuple(lane if source is None else source for lane, source in enumerate(sources))


def _typed(raw: Value, type: Type) -> Value:
    """The low bits of a u32 or u64 as a type."""
    if type is u1:
        return raw.resize(u1)
    return raw.resize(UNSIGNED[type.bits]).bits(type)


def flush_denormals(value: Value) -> Value:
    """Denormal floats become zeros of their sign."""
    unsigned = UNSIGNED[value.type.bits]
    bits = value.bits(unsigned)
    denormal = (bits & exponent_bits(value.type)) == 0
    return denormal.select(bits & (1 << (value.type.bits - 1)), bits).bits(value.type)


__all__ = ["SELECTED", "VECTOR", "Sources", "flush_denormals"]
