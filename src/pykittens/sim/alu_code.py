"""The code of a form: an LLVM function `int32 (Wave *, const Op *)` that does what its instructions mean to a wave.

Operand i of the instruction has the numbers ``f[2*i]`` and ``f[2*i+1]`` of the operation: a row of vector registers, a
scalar register, or the low and high half of a constant; the immediate follows the last operand. Offsets are those of
native/wave.h.

Where a computed NaN's bits would show, the function goes on in a second one, which makes every NaN canonical: hosts
differ in those bits, and testing for NaN once is much cheaper than making each result canonical. That second function,
and the first one too if it is long, works on one chunk of lanes after the other. Nothing of a chunk is written before
it is known to be right, and lanes of one chunk never see another.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from pykittens.isa.define import IMPLICIT
from pykittens.isa.instruction import Instruction
from pykittens.isa.llvm_evaluator import LANES, CrossLane, LlvmEvaluator, Raw
from pykittens.isa.registers import NAMED_SCALARS, Reg
from pykittens.isa.semantics import execute
from pykittens.isa.sources import VECTOR
from pykittens.isa.types import u1, u32, u64
from pykittens.isa.value import Value
from pykittens.sim.engine import Target
from pykittens.sim.forms import Form

SCC, MODE, VGPR, FIELDS, ROW_BYTES = 512, 516, 1024, 8, 4 * LANES
ROWS = 512
_STATE = {
    "vcc": 4 * NAMED_SCALARS["vcc"][0],
    "exec": 4 * NAMED_SCALARS["exec"][0],
    "m0": 4 * NAMED_SCALARS["m0"][0],
    "scc": SCC,
    "mode": MODE,
}
_INDEXED_DESTINATION = 8
_CHUNK = 16
"""Lanes in a chunk: one AVX-512 register of f32."""
_PARAMETERS = "ptr noalias %wave, ptr noalias %op"
_CHUNK_PARAMETERS = _PARAMETERS + ", i64 %chunk"
_LONG = {True: 110, False: 60}
"""Lines of straight-line code from which on chunks, which are less code, run as fast: with mask registers, and without
(measured)."""


class HandlerCode:
    """`Machine` that writes the code of one form."""

    def __init__(self, form: Form, target: Target, *, lazy: bool, width: int) -> None:
        self.ev = LlvmEvaluator(
            lazy=lazy, host_fma=target.fma, host_f16=target.f16, wide_masks=target.wide_masks, width=width
        )  # fmt: skip
        self.mode, self.arch = form.mode, form.arch
        self.instruction: Instruction = form.instruction
        self.definition = form.instruction.definition
        self.vector = self.definition.format in VECTOR
        self.destinations = len(self.definition.explicit_dsts)
        self._stores: list[str] = []
        self.gives_up = False

    # -- addresses ---------------------------------------------------------------------------------------------
    def _at(self, base: str, offset: int) -> str:
        return self.ev.block.emit(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base

    def _field(self, number: int, type: str = "i32") -> str:
        return self.ev.block.emit(f"load {type}, ptr {self._at('%op', FIELDS + 4 * number)}, align 4")

    def _row(self, slot: int, dword: int) -> str:
        """The address of a row of vector registers, or of the chunk in it."""
        number, indexed = self._field(2 * slot), self._is_indexed(slot)
        if indexed:
            # Never outside the file, whatever M0 is.
            index = self.state("m0").field(0, 8) + dword
            number = self.ev.block.emit(f"add i32 {number}, {index.raw.name}")
            number = self.ev.block.emit(f"and i32 {number}, {ROWS - 1}")
        row = self._element(f"[{LANES} x i32]", self._at("%wave", VGPR), number)
        row = row if indexed else self._at(row, dword * ROW_BYTES)
        return self.ev.block.emit(f"getelementptr [{_CHUNK} x i32], ptr {row}, i64 %chunk") if self.ev.chunked else row

    def _scalar(self, slot: int) -> str:
        return self._element("i32", "%wave", self._field(2 * slot))

    def _element(self, type: str, base: str, number: str) -> str:
        wide = self.ev.block.emit(f"zext i32 {number} to i64")
        return self.ev.block.emit(f"getelementptr {type}, ptr {base}, i64 {wide}")

    def _is_indexed(self, slot: int) -> bool:
        """Whether s_set_gpr_idx moves this operand."""
        if slot < self.destinations:
            return bool(self.mode.gpr_idx & _INDEXED_DESTINATION)
        return bool(self.mode.gpr_idx >> (slot - self.destinations) & 1)

    def _is_scalar(self, slot: int) -> bool:
        given = self.instruction.operands[slot]
        return isinstance(given, Reg) and given.file == "s"

    # -- reads -------------------------------------------------------------------------------------------------
    def _load(self, spelled: str, address: str, align: int) -> str:
        return self.ev.block.emit(f"load {spelled}, ptr {address}, align {align}")

    def register(self, slot: int, dword: int) -> Value:
        if self._is_scalar(slot):
            return Value(self.ev, u32, Raw(self._load("i32", self._at(self._scalar(slot), 4 * dword), 4)))
        return Value(self.ev, u32, Raw(self._load(self.ev.spell(u32, True), self._row(slot, dword), 64), True))

    def pair(self, slot: int) -> Value:
        if self._is_scalar(slot):
            return Value(self.ev, u64, Raw(self._load("i64", self._scalar(slot), 4)))
        low, high = (self.register(slot, dword).raw.name for dword in (0, 1))
        width, spelled = self.ev.width, self.ev.spell(u32, True)
        order = ", ".join(f"i32 {i}, i32 {i + width}" for i in range(width))
        mixed = self.ev.block.emit(f"shufflevector {spelled} {low}, {spelled} {high}, <{2 * width} x i32> <{order}>")
        joined = self.ev.block.emit(f"bitcast <{2 * width} x i32> {mixed} to {self.ev.spell(u64, True)}")
        return Value(self.ev, u64, Raw(joined, True))

    def constant(self, slot: int, bits: int) -> Value:
        return Value(self.ev, u64 if bits == 64 else u32, Raw(self._field(2 * slot, f"i{bits}")))

    def immediate(self, name: str) -> Value:
        return Value(self.ev, u32, Raw(self._field(2 * len(self.instruction.operands))))

    def state(self, name: str) -> Value:
        type = u32 if name == "scc" else u64 if name == "vcc" else IMPLICIT[name]
        address = self._at("%wave", _STATE[name])
        value = Value(self.ev, type, Raw(self._load(f"i{type.bits}", address, 8 if type.bits == 64 else 4)))
        return value.resize(u1) if name == "scc" else value

    # -- writes ------------------------------------------------------------------------------------------------
    def write(self, slot: int, dword: int, value: Value, lanes: Value | None) -> None:
        if self._is_scalar(slot):
            address = self._at(self._scalar(slot), 4 * dword)
            self._stores.append(f"store i32 {value.raw.name}, ptr {address}, align 4")
            return
        row, bits = self._row(slot, dword), self.ev.name(u32, value.raw, True)
        words, width = self.ev.spell(u32, True), self.ev.width
        if lanes is None:
            self._stores.append(f"store {words} {bits}, ptr {row}, align 64")
        elif self.ev.wide_masks:
            mask, masks = self.ev.name(u1, lanes.raw, True), self.ev.spell(u1, True)
            store = f"void @llvm.masked.store.v{width}i32.p0"
            self.ev.block.declarations[f"declare {store}({words}, ptr, i32, {masks})"] = None
            self._stores.append(f"call {store}({words} {bits}, ptr {row}, i32 64, {masks} {mask})")
        else:
            merged = lanes.select(value, self.register(slot, dword))
            self._stores.append(f"store {words} {merged.raw.name}, ptr {row}, align 64")

    def write_pair(self, slot: int, value: Value) -> None:
        self._stores.append(f"store i64 {value.raw.name}, ptr {self._scalar(slot)}, align 4")

    def set_state(self, name: str, value: Value) -> None:
        if name == "scc":
            value = value.resize(u32)
        address = self._at("%wave", _STATE[name])
        self._stores.append(f"store i{value.type.bits} {value.raw.name}, ptr {address}, align 4")

    # -- the function ------------------------------------------------------------------------------------------
    def function(self, name: str, again: str) -> str:
        """The function; it goes on in ``again`` where it gives up, if it ever does. Raises `CrossLane`."""
        execute(self.instruction, self)
        gives_up = self.ev.gives_up()
        body = [*self.ev.block.lines]
        chunk, parameters = ("%chunk", _CHUNK_PARAMETERS) if self.ev.chunked else ("0", _PARAMETERS)
        if gives_up is not None:
            body += [
                f"br i1 {gives_up}, label %again, label %done, !prof !0", "again:",
                f"%result = tail call i32 @{again}(ptr %wave, ptr %op, i64 {chunk})", "ret i32 %result", "done:",
            ]  # fmt: skip
        body += self._stores
        if self.ev.chunked:
            # Not a loop: LLVM's loop passes would take twice as long as all others together.
            body += [
                "%next = add i64 %chunk, 1", f"%more = icmp ult i64 %next, {LANES // _CHUNK}",
                "br i1 %more, label %onward, label %end", "onward:",
                f"%last = tail call i32 @{name}(ptr %wave, ptr %op, i64 %next)", "ret i32 %last", "end:",
            ]  # fmt: skip
        self.gives_up = gives_up is not None
        text = "\n  ".join([*body, "ret i32 0"])
        return f"define i32 @{name}({parameters}) #0 {{\n  {text}\n}}\n"


def form_code(form: Form, symbol: str, target: Target) -> tuple[str, dict[str, None]]:
    """The functions of a form as IR, and the declarations they need."""
    again, chunks = f"{symbol}.again", f"{symbol}.chunks"
    text, code = _function(form, target, symbol, again, lazy=True)
    if code.ev.chunked:
        text = text.replace(f"@{symbol}(", f"@{chunks}(") + _start(symbol, chunks)
    declarations = dict(code.ev.block.declarations)
    if code.gives_up:
        slow_text, slow = _function(form, target, again, again, lazy=False)
        text, declarations = text + slow_text, declarations | slow.ev.block.declarations
    return text, declarations


def _start(name: str, chunks: str) -> str:
    call = f"%result = tail call i32 @{chunks}(ptr %wave, ptr %op, i64 0)"
    return f"define i32 @{name}({_PARAMETERS}) #0 {{\n  {call}\n  ret i32 %result\n}}\n"


def _function(form: Form, target: Target, name: str, again: str, *, lazy: bool) -> tuple[str, HandlerCode]:
    """For all lanes at once if that is short and first, else in chunks if the meaning allows it."""
    whole = HandlerCode(form, target, lazy=lazy, width=LANES)
    text = whole.function(name, again)
    if whole.vector and (not lazy or len(whole.ev.block.lines) > _LONG[target.wide_masks]):
        chunks = HandlerCode(form, target, lazy=lazy, width=_CHUNK)
        with suppress(CrossLane):
            return chunks.function(name, again), chunks
    if not lazy:
        text = text.replace(_PARAMETERS, _CHUNK_PARAMETERS)
    return text, whole


@cache
def _attributes(target: Target) -> str:
    wide = ' "prefer-vector-width"="512" "min-legal-vector-width"="512"' if target.wide_masks else ""
    return f"attributes #0 = {{ nounwind{wide} }}\n" + '!0 = !{!"branch_weights", i32 1, i32 2000}\n'


def module(codes: list[tuple[str, dict[str, None]]], target: Target) -> str:
    """One module of what `form_code` gave for many forms."""
    declarations = {name: None for _, needed in codes for name in needed}
    return "\n".join([*(text for text, _ in codes), *declarations, _attributes(target)])
