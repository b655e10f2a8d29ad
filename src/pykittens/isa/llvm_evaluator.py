"""The LLVM evaluator: what instructions mean, as LLVM IR text that is compiled once for each form of an instruction.

Raw values are `Raw`: an SSA name or constant, one per wave (``i32``) or one per lane (``<64 x i32>``). f16 and bf16 are
kept as their i16 bits: half vectors are legal on few hosts, and their arithmetic goes through f32 in any case.
Equal operations are emitted once. The text is straight-line code; `gives_up` says when it must not be believed.

The code is for all 64 lanes or, with a smaller ``width``, for the chunk of lanes whose number is ``%chunk``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from . import llvm_float
from .types import Type, f32, f64, u1, u16, u32
from .value import exponent_bits

LANES = 64
_INTEGER = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl"}
_COMPARE_FLOAT = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_COUNT = {"clz": "ctlz", "ctz": "cttz", "popcount": "ctpop", "bitreverse": "bitreverse"}
_IDENTITY = tuple(range(LANES))


@dataclass(frozen=True, slots=True)
class Raw:
    """``name`` is an SSA name or a constant in LLVM's notation; ``dirty``: it may be a NaN with bits of the host's."""

    name: str
    lanes: bool = False
    dirty: bool = False


@dataclass(slots=True)
class Block:
    """Straight-line code being written: its lines, the names of equal lines, and the intrinsics that it declares."""

    lines: list[str] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    declarations: dict[str, None] = field(default_factory=dict)

    def emit(self, operation: str) -> str:
        """The name of an operation without side effects, written unless an equal one was."""
        name = self.known.get(operation)
        if name is None:
            name = self.known[operation] = f"%v{len(self.known)}"
            self.lines.append(f"{name} = {operation}")
        return name

    def call(self, result: str, intrinsic: str, *arguments: str) -> str:
        """A call of an intrinsic; arguments are typed (``i32 %1``)."""
        types = ", ".join(argument[: _type_end(argument)] for argument in arguments)
        self.declarations[f"declare {result} @{intrinsic}({types})"] = None
        return self.emit(f"call {result} @{intrinsic}({', '.join(arguments)})")


class CrossLane(Exception):
    """The meaning moves values between lanes, so that it cannot be computed in chunks of lanes."""


def _type_end(argument: str) -> int:
    return argument.index(">") + 1 if argument[0] == "<" else argument.index(" ")


def llvm_type(type: Type) -> str:
    """The LLVM type of one value of a type."""
    if type.is_float and type.bits > 16:
        return "float" if type.bits == 32 else "double"
    return f"i{type.bits}"


def vector(element: str, count: int) -> str:
    return f"<{count} x {element}>"


class LlvmEvaluator:
    """`Evaluator` that writes LLVM IR into a `Block`.

    ``lazy``: see `Evaluator`; `gives_up` then tells whether the code is not to be believed. ``host_fma``: the CPU has
    fused multiply-add; ``host_f16``: it converts f16 to and from f32; ``wide_masks``: it has mask registers (AVX-512),
    so that vectors of i1 are cheap. With a ``width`` below 64, what moves values between lanes raises `CrossLane`.
    """

    def __init__(self, *, lazy: bool, host_fma: bool, host_f16: bool, wide_masks: bool, width: int = LANES) -> None:
        self.lazy, self.width, self.chunked = lazy, width, width < LANES
        self.host_fma, self.host_f16, self.wide_masks = host_fma, host_f16, wide_masks
        self.rounding: Any = None
        self.block = Block()
        self.guards: dict[Raw, None] = {}
        self.nan_checks: dict[Raw, Type] = {}
        self.origin: dict[str, tuple[Type, Raw]] = {}
        """16-bit floats by name to the f32 they were rounded from: NaN together, and easier to test."""
        self._nan_of: dict[str, tuple[Type, Raw]] = {}

    # -- shapes and text ---------------------------------------------------------------------------------------
    def spell(self, type: Type, lanes: bool) -> str:
        return vector(llvm_type(type), self.width) if lanes else llvm_type(type)

    def name(self, type: Type, raw: Raw, lanes: bool) -> str:
        """The name of a raw value in a shape: scalars spread over the lanes where asked."""
        if raw.lanes or not lanes:
            return raw.name
        element, spelled = llvm_type(type), self.spell(type, True)
        if raw.name[0] != "%":
            return f"splat ({element} {raw.name})"
        single = self.block.emit(f"insertelement {spelled} poison, {element} {raw.name}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.block.emit(f"shufflevector {spelled} {single}, {spelled} poison, {zeros}")

    def emit(self, type: Type, operation: str, *operands: Raw, dirty: bool = False) -> Raw:
        """``operation`` (such as ``icmp eq``) on operands of one type; lanes if any operand has them."""
        lanes = any(o.lanes for o in operands)
        names = ", ".join(self.name(type, o, lanes) for o in operands)
        return Raw(self.block.emit(f"{operation} {self.spell(type, lanes)} {names}"), lanes, dirty and self.lazy)

    def intrinsic(self, type: Type, name: str, *operands: Raw, extra: str = "", dirty: bool = False) -> Raw:
        """An intrinsic that is overloaded on the one type of its operands and result."""
        lanes = any(o.lanes for o in operands)
        spelled = self.spell(type, lanes)
        arguments = [f"{spelled} {self.name(type, o, lanes)}" for o in operands] + ([extra] if extra else [])
        suffix = self._many(lanes) + ("f" if type.is_float and type.bits > 16 else "i") + str(type.bits)
        return Raw(self.block.call(spelled, f"llvm.{name}.{suffix}", *arguments), lanes, dirty and self.lazy)

    def _many(self, lanes: bool) -> str:
        return f"v{self.width}" if lanes else ""

    def cast(self, operation: str, source: Type, target: Type, a: Raw, dirty: bool = False) -> Raw:
        """``trunc``, ``fpext`` and their like."""
        text = f"{operation} {self.spell(source, a.lanes)} {a.name} to {self.spell(target, a.lanes)}"
        return Raw(self.block.emit(text), a.lanes, dirty and self.lazy)

    def const(self, type: Type, value: int | float) -> Raw:
        if type.is_float:
            return Raw(llvm_float.const(type, float(value)))
        bits = int(value) & ((1 << type.bits) - 1)
        return Raw(("true" if bits else "false") if type.kind == "m" else str(bits))

    # -- integers ----------------------------------------------------------------------------------------------
    def binary(self, op: str, type: Type, a: Raw, b: Raw) -> Raw:
        if type.is_float:
            return llvm_float.binary(self, op, type, a, b)
        if op in _INTEGER:
            return self.emit(type, _INTEGER[op], a, b)
        if op == "shr":
            return self.emit(type, "ashr" if type.signed else "lshr", a, b)
        if op in ("min", "max"):
            return self.intrinsic(type, ("s" if type.signed else "u") + op, a, b)
        if op == "mulhi":
            wide = Type("", type.kind, 2 * type.bits)
            extend = "sext" if type.signed else "zext"
            product = self.emit(wide, "mul", self.cast(extend, type, wide, a), self.cast(extend, type, wide, b))
            return self.cast("trunc", wide, type, self.emit(wide, "lshr", product, self.const(wide, type.bits)))
        if op == "udiv":
            # Division by zero would stop the host.
            zero = self.compare("eq", type, b, self.const(type, 0))
            quotient = self.emit(type, "udiv", a, self.select(zero, type, self.const(type, 1), b))
            return self.select(zero, type, self.const(type, 0), quotient)
        raise AssertionError(f"no {op} of {type}")

    def unary(self, op: str, type: Type, a: Raw) -> Raw:
        if type.is_float:
            return llvm_float.unary(self, op, type, a)
        if op == "not":
            return self.emit(type, "xor", a, self.const(type, -1))
        if op == "neg":
            return self.emit(type, "sub", self.const(type, 0), a)
        return self.intrinsic(type, _COUNT[op], a, extra="i1 false" if op in ("clz", "ctz") else "")

    # -- floats ------------------------------------------------------------------------------------------------
    def fma(self, type: Type, a: Raw, b: Raw, c: Raw) -> Raw:
        return llvm_float.fma(self, type, a, b, c)

    def convert(self, source: Type, target: Type, a: Raw) -> Raw:
        return llvm_float.convert(self, source, target, a)

    def isnan(self, type: Type, a: Raw) -> Raw:
        if type.bits > 16:
            result = self.emit(type, "fcmp uno", a, a)
        else:
            magnitude = self.emit(u16, "and", a, self.const(u16, 0x7FFF))
            result = self.compare("gt", u16, magnitude, self.const(u16, exponent_bits(type)))
        self._nan_of[result.name] = (type, a)
        return result

    def half_to_float(self, a: Raw) -> Raw:
        half, wide = self._half(a.lanes), self.spell(f32, a.lanes)
        bits = self.block.emit(f"bitcast {self.spell(u16, a.lanes)} {a.name} to {half}")
        return Raw(self.block.emit(f"fpext {half} {bits} to {wide}"), a.lanes, a.dirty)

    def float_to_half(self, a: Raw) -> Raw:
        half, wide = self._half(a.lanes), self.spell(f32, a.lanes)
        rounded = self.block.emit(f"fptrunc {wide} {a.name} to {half}")
        return Raw(self.block.emit(f"bitcast {half} {rounded} to {self.spell(u16, a.lanes)}"), a.lanes)

    def _half(self, lanes: bool) -> str:
        return vector("half", self.width) if lanes else "half"

    def dirtied(self, a: Raw) -> Raw:
        return Raw(a.name, a.lanes, self.lazy)

    # -- comparison and types ----------------------------------------------------------------------------------
    def compare(self, op: str, type: Type, a: Raw, b: Raw) -> Raw:
        if type.is_float:
            wide, (x, y) = llvm_float.widened(self, type, a, b)
            return self.emit(wide, f"fcmp {_COMPARE_FLOAT[op]}", x, y)
        sign = "" if op in ("eq", "ne") else "s" if type.signed else "u"
        return self.emit(type, f"icmp {sign}{op}", a, b)

    def select(self, condition: Raw, type: Type, a: Raw, b: Raw) -> Raw:
        lanes = condition.lanes or a.lanes or b.lanes
        choose = self.spell(u1, condition.lanes)
        spelled = self.spell(type, lanes)
        names = f"{spelled} {self.name(type, a, lanes)}, {spelled} {self.name(type, b, lanes)}"
        return Raw(self.block.emit(f"select {choose} {condition.name}, {names}"), lanes, a.dirty or b.dirty)

    def bitcast(self, source: Type, target: Type, a: Raw) -> Raw:
        if source.is_float and a.dirty:
            self.nan_checks[a] = source
        if llvm_type(source) == llvm_type(target):
            return Raw(a.name, a.lanes, False) if not target.is_float else a
        return self.cast("bitcast", source, target, a)

    def resize(self, source: Type, target: Type, a: Raw) -> Raw:
        if target.bits == source.bits:
            return a
        operation = "trunc" if target.bits < source.bits else "sext" if source.signed else "zext"
        return self.cast(operation, source, target, a)

    # -- lanes -------------------------------------------------------------------------------------------------
    def extract(self, type: Type, lanes: Raw, index: Raw) -> Raw:
        if not lanes.lanes:
            return lanes
        self._need_all_lanes()
        masked = self.emit(u32, "and", index, Raw("63"))
        vector_type = self.spell(type, True)
        return Raw(self.block.emit(f"extractelement {vector_type} {lanes.name}, i32 {masked.name}"), False, lanes.dirty)

    def _need_all_lanes(self) -> None:
        if self.chunked:
            raise CrossLane

    def insert(self, type: Type, lanes: Raw, index: Raw, scalar: Raw) -> Raw:
        self._need_all_lanes()
        masked = self.emit(u32, "and", index, Raw("63"))
        old = self.name(type, lanes, True)
        text = f"insertelement {self.spell(type, True)} {old}, {llvm_type(type)} {scalar.name}, i32 {masked.name}"
        return Raw(self.block.emit(text), True, lanes.dirty or scalar.dirty)

    def shuffle(self, type: Type, a: Raw, b: Raw, indices: tuple[int, ...]) -> Raw:
        self._need_all_lanes()
        spelled = self.spell(type, True)
        second = "poison" if max(indices) < LANES else self.name(type, b, True)
        return self._shuffled(spelled, self.name(type, a, True), second, indices, a.dirty or b.dirty)

    def _shuffled(self, spelled: str, a: str, b: str, indices: tuple[int, ...], dirty: bool) -> Raw:
        picks = ", ".join(f"i32 {i}" for i in indices)
        text = f"shufflevector {spelled} {a}, {spelled} {b}, <{len(indices)} x i32> <{picks}>"
        return Raw(self.block.emit(text), True, dirty)

    def broadcast(self, type: Type, scalar: Raw) -> Raw:
        return Raw(self.name(type, scalar, True), True, scalar.dirty)

    def ballot(self, lanes: Raw) -> Raw:
        self._need_all_lanes()
        return Raw(self.block.emit(f"bitcast <64 x i1> {self.name(u1, lanes, True)} to i64"))

    def lanes_of(self, mask: Raw) -> Raw:
        bits, width = mask.name, self.width
        if self.chunked:
            bits = self.block.emit(f"trunc i64 {self.block.emit(f'lshr i64 {bits}, {self._first_lane()}')} to i{width}")
        if self.wide_masks:
            return Raw(self.block.emit(f"bitcast i{width} {bits} to <{width} x i1>"), True)
        # Without mask registers, testing one bit in each lane beats taking the mask apart.
        if self.chunked:
            spread = self.name(u32, Raw(self.block.emit(f"zext i{width} {bits} to i32")), True)
        else:
            pair = self.block.emit(f"bitcast i64 {bits} to <2 x i32>")
            halves = ", ".join(f"i32 {i // 32}" for i in _IDENTITY)
            spread = self.block.emit(f"shufflevector <2 x i32> {pair}, <2 x i32> poison, <64 x i32> <{halves}>")
        single = ", ".join(f"i32 {1 << (i % 32)}" for i in range(width))
        chosen = self.emit(u32, "and", Raw(spread, True), Raw(f"<{single}>", True))
        return self.compare("ne", u32, chosen, self.const(u32, 0))

    def _first_lane(self) -> str:
        return self.block.emit(f"mul i64 %chunk, {self.width}")

    def lane_ids(self) -> Raw:
        places = Raw("<" + ", ".join(f"i32 {i}" for i in range(self.width)) + ">", True)
        if not self.chunked:
            return places
        return self.emit(u32, "add", places, Raw(self.block.emit(f"trunc i64 {self._first_lane()} to i32")))

    # -- when the code must not be believed --------------------------------------------------------------------
    def rare(self, condition: Raw) -> None:
        if not self.lazy:
            return
        if condition.name in self._nan_of:
            type, operand = self._nan_of[condition.name]
            self.nan_checks[operand] = type
        else:
            self.guards[condition] = None

    def gives_up(self) -> str | None:
        """The name of an i1 that tells whether any guard holds; None if there are none."""
        checks = [self.origin.get(raw.name, (type, raw)) for raw, type in self.nan_checks.items()]
        masks = list(self.guards)
        for type in (f32, f64):
            raws = list(dict.fromkeys(raw for t, raw in checks if t is type and raw.lanes))
            # One comparison tells of two vectors: the two halves of one, if there is no other.
            masks += [self.emit(type, "fcmp uno", a, b) for a, b in zip(raws[::2], raws[1::2], strict=False)]
            if len(raws) % 2:
                masks.append(self._halves_unordered(type, raws[-1]))
        masks += [self.isnan(type, raw) for type, raw in checks if type.bits == 16 or not raw.lanes]
        return self._any(masks)

    def _halves_unordered(self, type: Type, a: Raw) -> Raw:
        count = self.width // 2
        spelled, half = self.spell(type, True), vector(llvm_type(type), count)
        low = self._shuffled(spelled, a.name, "poison", _IDENTITY[:count], False).name
        high = self._shuffled(spelled, a.name, "poison", _IDENTITY[count : self.width], False).name
        return Raw(self._reduced(self.block.emit(f"fcmp uno {half} {low}, {high}"), count))

    def _reduced(self, mask: str, count: int) -> str:
        return self.block.call("i1", f"llvm.vector.reduce.or.v{count}i1", f"<{count} x i1> {mask}")

    def _any(self, masks: list[Raw]) -> str | None:
        scalars = [m.name for m in masks if not m.lanes]
        lanes = [m for m in masks if m.lanes]
        if lanes:
            together = reduce(lambda a, b: self.emit(u1, "or", a, b), lanes)
            scalars.append(self._reduced(together.name, self.width))
        return reduce(lambda a, b: self.block.emit(f"or i1 {a}, {b}"), scalars) if scalars else None
