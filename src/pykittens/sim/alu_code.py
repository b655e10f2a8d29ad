"""The code of a form: an LLVM function `int32 (Wave *, const Op *)` that does what its instructions mean to a wave.

Operand i of the instruction has the numbers ``f[2*i]`` and ``f[2*i+1]`` of the operation: a row of vector registers, a scalar
register, or the low and high half of a constant; the immediate follows the last operand. Offsets are those of
native/wave.h.

Where a computed NaN's bits would show, the function starts over in a second one, which makes every NaN canonical: hosts
differ in those bits, and testing for NaN once is much cheaper than making each result canonical.
"""

from __future__ import annotations

from functools import cache

from pykittens.isa.define import IMPLICIT
from pykittens.isa.instruction import Instruction
from pykittens.isa.llvm_evaluator import LANES, LlvmEvaluator, Raw
from pykittens.isa.registers import NAMED_SCALARS, Reg
from pykittens.isa.semantics import execute
from pykittens.isa.sources import VECTOR
from pykittens.isa.types import u1, u32, u64
from pykittens.isa.value import Value
from pykittens.sim.engine import Target
from pykittens.sim.forms import Form

SCC, MODE, VGPR, FIELDS, ROW_BYTES = 512, 516, 1024, 8, 4 * LANES
ROWS, SCALARS = 512, 128
_STATE = {
    "vcc": 4 * NAMED_SCALARS["vcc"][0],
    "exec": 4 * NAMED_SCALARS["exec"][0],
    "m0": 4 * NAMED_SCALARS["m0"][0],
    "scc": SCC,
    "mode": MODE,
}
_INDEXED_DESTINATION = 8
_PAIRED = "<" + ", ".join(f"i32 {i}, i32 {i + LANES}" for i in range(LANES)) + ">"


class HandlerCode:
    """`Machine` that writes the code of one form."""

    def __init__(self, form: Form, target: Target, *, lazy: bool) -> None:
        self.ev = LlvmEvaluator(
            lazy=lazy, host_fma=target.fma, host_f16=target.f16, wide_masks=target.wide_masks
        )  # fmt: skip
        self.mode, self.arch = form.mode, form.arch
        self.instruction: Instruction = form.instruction
        self.definition = form.instruction.definition
        self.vector = self.definition.format in VECTOR
        self.destinations = len(self.definition.explicit_dsts)
        self._stores: list[str] = []

    # -- addresses ---------------------------------------------------------------------------------------------
    def _at(self, base: str, offset: int) -> str:
        return self.ev.block.emit(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base

    def _field(self, number: int, type: str = "i32") -> str:
        return self.ev.block.emit(f"load {type}, ptr {self._at('%op', FIELDS + 4 * number)}, align 4")

    def _index(self, slot: int, dword: int, relative: bool, limit: int) -> str:
        """The number of a register as i64; below ``limit`` also where M0 has moved it."""
        number = self._field(2 * slot)
        if relative:
            moved = self.state("m0").field(0, 8) if self.vector else self.state("m0")
            number = self.ev.block.emit(f"add i32 {number}, {moved.raw.name}")
            number = self.ev.block.emit(f"add i32 {number}, {dword}")
            number = self.ev.block.emit(f"and i32 {number}, {limit - 1}")
        return self.ev.block.emit(f"zext i32 {number} to i64")

    def _row(self, slot: int, dword: int) -> str:
        """The address of a row of vector registers."""
        relative = self._is_indexed(slot)
        index = self._index(slot, dword, relative, ROWS)
        row = self.ev.block.emit(f"getelementptr [{LANES} x i32], ptr {self._at('%wave', VGPR)}, i64 {index}")
        return row if relative else self._at(row, dword * ROW_BYTES)

    def _scalar(self, slot: int, dwords: int) -> str:
        flag = "relative_dst" if slot < self.destinations else "relative_src"
        # A pair that M0 has moved starts at an even register, inside the file.
        limit = SCALARS if dwords == 1 else SCALARS - 1
        index = self._index(slot, 0, self.definition.has(flag), SCALARS)
        if self.definition.has(flag) and dwords == 2:
            index = self.ev.block.emit(f"and i64 {index}, {limit - 1}")
        return self.ev.block.emit(f"getelementptr i32, ptr %wave, i64 {index}")

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
            return Value(self.ev, u32, Raw(self._load("i32", self._at(self._scalar(slot, 1), 4 * dword), 4)))
        return Value(self.ev, u32, Raw(self._load("<64 x i32>", self._row(slot, dword), 64), True))

    def pair(self, slot: int) -> Value:
        if self._is_scalar(slot):
            return Value(self.ev, u64, Raw(self._load("i64", self._scalar(slot, 2), 4)))
        low, high = (self.register(slot, dword).raw.name for dword in (0, 1))
        text = f"shufflevector <64 x i32> {low}, <64 x i32> {high}, <128 x i32> {_PAIRED}"
        mixed = self.ev.block.emit(text)
        return Value(self.ev, u64, Raw(self.ev.block.emit(f"bitcast <128 x i32> {mixed} to <64 x i64>"), True))

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
            address = self._at(self._scalar(slot, 1), 4 * dword)
            self._stores.append(f"store i32 {value.raw.name}, ptr {address}, align 4")
            return
        row, bits = self._row(slot, dword), self.ev.name(u32, value.raw, True)
        if lanes is None:
            self._stores.append(f"store <64 x i32> {bits}, ptr {row}, align 64")
        elif self.ev.wide_masks:
            mask = self.ev.name(u1, lanes.raw, True)
            store = "void @llvm.masked.store.v64i32.p0"
            self.ev.block.declarations[f"declare {store}(<64 x i32>, ptr, i32, <64 x i1>)"] = None
            self._stores.append(f"call {store}(<64 x i32> {bits}, ptr {row}, i32 64, <64 x i1> {mask})")
        else:
            merged = lanes.select(value, self.register(slot, dword))
            self._stores.append(f"store <64 x i32> {merged.raw.name}, ptr {row}, align 64")

    def write_pair(self, slot: int, value: Value) -> None:
        self._stores.append(f"store i64 {value.raw.name}, ptr {self._scalar(slot, 2)}, align 4")

    def set_state(self, name: str, value: Value) -> None:
        if name == "scc":
            value = value.resize(u32)
        address = self._at("%wave", _STATE[name])
        self._stores.append(f"store i{value.type.bits} {value.raw.name}, ptr {address}, align 4")

    # -- the function ------------------------------------------------------------------------------------------
    def body(self, again: str) -> tuple[list[str], bool]:
        """The lines of the function, and whether it may go on in the function ``again``."""
        execute(self.instruction, self)
        gives_up = self.ev.gives_up()
        lines = list(self.ev.block.lines)
        if gives_up is not None:
            lines += [f"br i1 {gives_up}, label %again, label %done, !prof !0", "again:"]
            lines += [f"%result = tail call i32 @{again}(ptr %wave, ptr %op)", "ret i32 %result", "done:"]
        return [*lines, *self._stores, "ret i32 0"], gives_up is not None


def form_code(form: Form, symbol: str, target: Target) -> tuple[str, dict[str, None]]:
    """The functions of a form as IR, and the declarations they need."""
    again = f"{symbol}.again"
    fast = HandlerCode(form, target, lazy=True)
    lines, unsure = fast.body(again)
    text, declarations = _function(symbol, lines, ""), dict(fast.ev.block.declarations)
    if unsure:
        slow = HandlerCode(form, target, lazy=False)
        text += _function(again, slow.body(again)[0], "internal ")
        declarations |= slow.ev.block.declarations
    return text, declarations


def _function(name: str, lines: list[str], linkage: str) -> str:
    body = "\n  ".join(lines)
    return f"define {linkage}i32 @{name}(ptr noalias %wave, ptr noalias %op) #0 {{\n  {body}\n}}\n"


@cache
def _attributes(target: Target) -> str:
    wide = ' "prefer-vector-width"="512" "min-legal-vector-width"="512"' if target.wide_masks else ""
    return f"attributes #0 = {{ nounwind{wide} }}\n" + '!0 = !{!"branch_weights", i32 1, i32 2000}\n'


def module(forms: list[tuple[Form, str]], target: Target) -> str:
    """One module with the functions of many forms, each with its symbol."""
    texts: list[str] = []
    declarations: dict[str, None] = {}
    for form, symbol in forms:
        text, needed = form_code(form, symbol, target)
        texts.append(text)
        declarations |= needed
    return "\n".join([*texts, *declarations, _attributes(target)])
