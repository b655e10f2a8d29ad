"""Executing an ALU instruction: one function for every encoding, on every machine (see machine.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .define import Definition, Operand, Unit
from .directed_rounding import rounding_of
from .instruction import Instruction
from .machine import Machine
from .registers import Reg
from .sources import SELECTED, VECTOR, Sources, flush_denormals
from .types import SIGNED, UNSIGNED, f16, u1, u32, u64
from .value import Value

_CONTROL = frozenset(("branch", "getpc", "hwreg_read", "hwreg_write", "gpr_idx", "vskip", "ends", "barrier"))
LARGEST_F16 = 0x7BFF


def is_alu(definition: Definition) -> bool:
    """Whether `execute` does all that the instruction does."""
    return (
        definition.meaning is not None
        and definition.access is None
        and definition.mfma is None
        and definition.unit in (Unit.SALU, Unit.VALU, Unit.TRANS)
        and not definition.flags & _CONTROL
    )


def execute(instruction: Instruction, machine: Machine) -> None:
    """Read the sources, call the meaning, write the destinations.

    Once for each half where the first destination and sources are packed. Omod, clamp, flushed denormals, halves
    and SDWA selections follow the ISA manual's chapter on vector ALU operations; every lane obeys EXEC and DPP's masks.
    """
    d = instruction.definition
    sources = Sources(instruction, machine)
    clamp = bool(instruction.modifiers.get("clamp"))
    meaning = d.clamped if clamp and d.clamped is not None else d.meaning
    if meaning is None:
        raise AssertionError(f"{d.name} has no meaning")
    results = Results(instruction, machine, sources)
    if d.dsts and d.dsts[0].packed == 2 and any(s.packed == 2 for s in d.srcs):
        results.write_packed(*(results.finished(meaning, sources.values(half)) for half in (0, 1)))
        return
    found = results.finished(meaning, sources.values(None))
    if not d.dsts:
        return
    if d.dsts[0].packed == 2:
        results.write_packed(*found)
        return
    slot = 0
    for operand, value in zip(d.dsts, found if len(d.dsts) > 1 else (found,), strict=True):
        results.write(slot, operand, value)
        slot += operand.implicit is None


class Results:
    """Finishes and writes the results of one instruction on one machine."""

    def __init__(self, instruction: Instruction, machine: Machine, sources: Sources) -> None:
        self.instruction, self.machine = instruction, machine
        self.definition, self.modifiers = instruction.definition, instruction.modifiers
        self.vector = self.definition.format in VECTOR
        self.lanes = sources.enabled() if self.vector else None
        self.sources = sources

    # -- values ------------------------------------------------------------------------------------------------
    def finished(self, meaning: Any, arguments: list[Any]) -> Any:
        """What the meaning returns, with what the encoding and MODE do to floats."""
        with rounding_of(self.definition, self.machine.mode, self.machine.ev):
            result = meaning(*arguments)
        if isinstance(result, tuple):
            return tuple(self._output(value, arguments) for value in result)
        return self._output(result, arguments)

    def _output(self, value: Any, arguments: Iterable[Any]) -> Any:
        if isinstance(value, list) or not value.type.is_float:
            return value
        mode, bits = self.machine.mode, value.type.bits
        flushes = mode.flushes(bits, output=True) and not self.definition.has("keeps_denormals")
        if value.type is f16 and mode.fp16_ovfl and not self._has_token("fp16_ovfl"):
            value = self._saturated(value, arguments)
        scale = self.modifiers.get("omul")
        # Hardware leaves omod out where results keep denormals and where IEEE rules hold; it makes -0 a +0.
        if isinstance(scale, float) and flushes and not mode.ieee:
            value = value * scale
            value = (value == 0.0).select(0.0, value)
        if self.modifiers.get("clamp"):
            value = self._clamped(value)
        if flushes or (self.definition.has("flushes_denormals") and bits == 32):
            value = flush_denormals(value)
        return value

    def _has_token(self, name: str) -> bool:
        return any(s.implicit == name for s in self.definition.srcs)

    def _saturated(self, value: Value, arguments: Iterable[Any]) -> Value:
        """An f16 infinity that no source brought in becomes the largest number of its sign."""
        infinite = value.isinf()
        for argument in arguments:
            for source in argument if isinstance(argument, tuple) else (argument,):
                if isinstance(source, Value) and source.type.is_float:
                    infinite = infinite & ~source.isinf()
        sign = value.bits(UNSIGNED[16]) & 0x8000
        return infinite.select((sign | LARGEST_F16).bits(f16), value)

    def _clamped(self, value: Value) -> Value:
        """To [0, 1]; NaN to 0 or as it is, as DX10_CLAMP says."""
        inside = (value > 0.0).select((value < 1.0).select(value, 1.0), 0.0)
        return inside if self.machine.mode.dx10_clamp else value.isnan().select(value, inside)

    # -- destinations ------------------------------------------------------------------------------------------
    def write(self, i: int, operand: Operand, value: Value | list[Value]) -> None:
        if isinstance(value, list):
            for dword, part in enumerate(value):
                self.machine.write(i, dword, part.bits(u32).lanes(), self.lanes)
        elif operand.mask:
            self._write_mask(i, operand, value)
        elif operand.implicit is not None:
            self.machine.set_state(operand.implicit, value if operand.type is u1 else value.bits(operand.type))
        elif self._is_vector(i):
            self._write_lanes(i, operand, value.lanes())
        elif operand.bits == 64:
            self.machine.write_pair(i, value.bits(u64))
        else:
            self.machine.write(i, 0, _low_dword(value), None)

    def write_packed(self, low: Value, high: Value) -> None:
        if low.type.bits == 32:
            self.machine.write(0, 0, low.bits(u32).lanes(), self.lanes)
            self.machine.write(0, 1, high.bits(u32).lanes(), self.lanes)
            return
        both = _low_dword(low) | (_low_dword(high) << 16)
        self.machine.write(0, 0, both.lanes(), self.lanes)

    def _is_vector(self, i: int) -> bool:
        given = self.instruction.operands[i]
        return isinstance(given, Reg) and given.file != "s"

    def _write_mask(self, i: int, operand: Operand, value: Value) -> None:
        """Lanes that are off give 0."""
        mask = (value if self.lanes is None else value & self.lanes).lanes().ballot()
        if operand.implicit is not None:
            self.machine.set_state(operand.implicit, mask)
        else:
            self.machine.write_pair(i, mask)
        if self.definition.has("cmpx"):
            self.machine.set_state("exec", mask)

    def _write_lanes(self, i: int, operand: Operand, value: Value) -> None:
        if operand.bits == 64:
            wide = value.bits(u64)
            self.machine.write(i, 0, wide.resize(u32), self.lanes)
            self.machine.write(i, 1, (wide >> 32).resize(u32), self.lanes)
            return
        self.machine.write(i, 0, self._placed(i, operand, _low_dword(value)), self.lanes)

    def _placed(self, i: int, operand: Operand, value: Value) -> Value:
        """The whole register that a result becomes."""
        d = self.definition
        if self.instruction.encoding == "sdwa":
            return self._selected(i, value)
        if operand.bits > 16:
            return value
        if d.has("hi_half") or (d.has("keeps_high") and self.sources.writes_high_half()):
            return (self.machine.register(i, 0) & 0xFFFF) | (value << 16)
        return (self.machine.register(i, 0) & 0xFFFF0000) | value if d.has("keeps_high") else value

    def _selected(self, i: int, value: Value) -> Value:
        low, width = SELECTED[str(self.modifiers.get("dst_sel", "DWORD"))]
        if width == 32:
            return value
        mask = ((1 << width) - 1) << low
        placed = (value << low) & mask
        unused = self.modifiers.get("dst_unused", "UNUSED_PAD")
        if unused == "UNUSED_PRESERVE":
            return placed | (self.machine.register(i, 0) & (0xFFFFFFFF & ~mask))
        if unused == "UNUSED_SEXT":
            return ((placed << (32 - low - width)).bits(SIGNED[32]) >> (32 - width)).bits(u32) << low
        return placed


def _low_dword(value: Value) -> Value:
    """Up to 32 bits as u32, zero-extended."""
    if value.type is u1:
        return value.resize(u32)
    return value.bits(UNSIGNED[value.type.bits]).resize(u32)
