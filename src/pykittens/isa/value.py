"""Values that instruction meanings compute with: one notation, two evaluators (NumPy and LLVM IR).

A meaning is an ordinary Python function over `Value`s, e.g. ``lambda a, b: a + b``. A value is either one per
wave (scalar) or one per lane (64 of them); mixing both broadcasts. Operators follow the type: ``+`` on f32 is an
IEEE add rounded to nearest even, on u32 it wraps. Every float result that is NaN is made canonical in the same way
by both evaluators: the first NaN operand, quieted, or else the positive quiet NaN.
"""

from __future__ import annotations

from typing import Any, Protocol

from .types import SIGNED, UNSIGNED, Type, f32, f64, u1, u32, u64


class Evaluator(Protocol):
    """The small set of primitives behind `Value`; ``raw`` is whatever the evaluator computes with.

    ``a`` and ``b`` always have the same type (the shift count of ``shl`` and ``shr`` too) and may differ in shape
    (scalar or lanes). Integer ops: ``add sub mul and or xor shl shr min max mulhi udiv``; ``shr min max mulhi``
    follow the signedness of the type; shift counts are below the width. Float ops: ``add sub mul div min max``
    (min and max of numbers, with -0 < +0), raw host NaNs allowed: `Value` makes them canonical.

    A ``lazy`` evaluator leaves that out: the code it makes gives up wherever the bits of a computed NaN would be
    seen, or a `rare` condition holds, and an evaluator that is not lazy does the work again.
    """

    lazy: bool
    rounding: Any
    """None, or what adds, multiplies and converts floats under another rounding mode (`directed_rounding.Rounding`)."""

    def rare(self, condition: Any) -> None:
        """Where a u1 holds, what follows is wrong and to be done again (lazy evaluators; others ignore it)."""

    def const(self, type: Type, value: int | float) -> Any: ...
    def binary(self, op: str, type: Type, a: Any, b: Any) -> Any: ...
    def unary(self, op: str, type: Type, a: Any) -> Any:
        """``not neg clz ctz popcount bitreverse`` (clz/ctz of 0 give the width); floats: ``sqrt rint trunc floor
        ceil``.
        """

    def fma(self, type: Type, a: Any, b: Any, c: Any) -> Any:
        """``a*b + c`` rounded once, exact for f16, f32 and f64."""

    def compare(self, op: str, type: Type, a: Any, b: Any) -> Any:
        """``eq ne lt le gt ge``; for floats ordered except ``ne`` (true for NaN). Gives u1."""

    def isnan(self, type: Type, a: Any) -> Any:
        """Whether a float is NaN, as u1."""

    def select(self, condition: Any, type: Type, a: Any, b: Any) -> Any: ...
    def bitcast(self, source: Type, target: Type, a: Any) -> Any:
        """Same bits, same width, other type."""

    def resize(self, source: Type, target: Type, a: Any) -> Any:
        """Integer truncation, zero extension (unsigned source or u1) or sign extension (signed source)."""

    def convert(self, source: Type, target: Type, a: Any) -> Any:
        """By value: float to float (nearest even, denormals kept), int to float, float to int (toward zero,
        saturating, NaN gives 0)."""

    def extract(self, type: Type, lanes: Any, index: Any) -> Any:
        """One lane (index: u32 scalar, taken modulo 64) as a scalar."""

    def insert(self, type: Type, lanes: Any, index: Any, scalar: Any) -> Any: ...
    def shuffle(self, type: Type, a: Any, b: Any, indices: tuple[int, ...]) -> Any:
        """64 lanes picked from the 128 lanes of ``a`` then ``b`` by constant indices."""

    def broadcast(self, type: Type, scalar: Any) -> Any:
        """A scalar as 64 lanes; lanes stay as they are."""

    def ballot(self, lanes: Any) -> Any:
        """u1 lanes to a u64 scalar, lane i in bit i."""

    def lanes_of(self, mask: Any) -> Any:
        """u64 scalar to u1 lanes: the inverse of ballot."""

    def lane_ids(self) -> Any:
        """u32 lanes 0..63."""


class Value:
    """A typed value of one evaluator. Python numbers mix in as constants of the same type."""

    __slots__ = ("ev", "raw", "type")

    def __init__(self, ev: Evaluator, type: Type, raw: Any) -> None:
        self.ev, self.type, self.raw = ev, type, raw

    # -- building blocks -------------------------------------------------------------------------------------
    def const(self, value: int | float, type: Type | None = None) -> Value:
        """A constant of this value's evaluator (and, by default, of its type)."""
        t = type or self.type
        return Value(self.ev, t, self.ev.const(t, value))

    def _same(self, other: Value | int | float) -> Value:
        if not isinstance(other, Value):
            return self.const(other)
        if other.type.bits != self.type.bits or other.type.is_float != self.type.is_float:
            raise TypeError(f"{self.type} and {other.type} do not mix: convert one with .to() or .bits()")
        return other if other.type is self.type else other.bits(self.type)

    def _binary(self, op: str, other: Value | int | float) -> Value:
        b = self._same(other)
        rounding = self.ev.rounding
        result = rounding.binary(op, self, b) if rounding is not None and self.type.is_float else None
        if result is None:
            result = Value(self.ev, self.type, self.ev.binary(op, self.type, self.raw, b.raw))
        return result._canonical(self, b) if self.type.is_float else result

    def _canonical(self, *operands: Value) -> Value:
        """NaN results in one form for every host: the first NaN operand quieted, or else the positive quiet NaN."""
        if self.ev.lazy:
            return self
        nan = self.const_bits(quiet_nan_bits(self.type))
        for operand in reversed(operands):
            nan = operand.isnan().select(operand.quiet(), nan)
        return self.isnan().select(nan, self)

    def const_bits(self, bits: int) -> Value:
        """The value of this type with these bits."""
        return self.const(bits, UNSIGNED[self.type.bits]).bits(self.type)

    def quiet(self) -> Value:
        """The same bits with the quiet-NaN bit set."""
        t = self.type
        quiet_bit = quiet_nan_bits(t) & ~exponent_bits(t)
        return (self.bits(UNSIGNED[t.bits]) | quiet_bit).bits(t)

    # -- arithmetic ------------------------------------------------------------------------------------------
    def __add__(self, other: Value | int | float) -> Value:
        return self._binary("add", other)

    def __radd__(self, other: int | float) -> Value:
        return self.const(other) + self

    def __sub__(self, other: Value | int | float) -> Value:
        return self._binary("sub", other)

    def __rsub__(self, other: int | float) -> Value:
        return self.const(other) - self

    def __mul__(self, other: Value | int | float) -> Value:
        return self._binary("mul", other)

    def __rmul__(self, other: int | float) -> Value:
        return self.const(other) * self

    def __truediv__(self, other: Value | float) -> Value:
        return self._binary("div", other)

    def __and__(self, other: Value | int) -> Value:
        return self._binary("and", other)

    def __or__(self, other: Value | int) -> Value:
        return self._binary("or", other)

    def __xor__(self, other: Value | int) -> Value:
        return self._binary("xor", other)

    def __lshift__(self, count: Value | int) -> Value:
        """Counts are below the width (mask them first); the count may have another integer type."""
        return self._shift("shl", count)

    def __rshift__(self, count: Value | int) -> Value:
        """Arithmetic for signed types, logical for the others."""
        return self._shift("shr", count)

    def _shift(self, op: str, count: Value | int) -> Value:
        n = count.resize(self.type) if isinstance(count, Value) else self.const(count)
        return Value(self.ev, self.type, self.ev.binary(op, self.type, self.raw, n.raw))

    def __invert__(self) -> Value:
        return Value(self.ev, self.type, self.ev.unary("not", self.type, self.raw))

    def __neg__(self) -> Value:
        """Floats: the sign bit flipped (NaN too), as the source modifier does. Integers: two's complement."""
        if self.type.is_float:
            u = UNSIGNED[self.type.bits]
            return (self.bits(u) ^ (1 << (self.type.bits - 1))).bits(self.type)
        return Value(self.ev, self.type, self.ev.unary("neg", self.type, self.raw))

    def __abs__(self) -> Value:
        """Floats: the sign bit cleared. Integers: two's complement absolute value (the minimum stays itself)."""
        if self.type.is_float:
            u = UNSIGNED[self.type.bits]
            return (self.bits(u) & ((1 << (self.type.bits - 1)) - 1)).bits(self.type)
        return (self < 0).select(-self, self)

    def min(self, other: Value | int | float) -> Value:
        """The smaller; floats: minNum (a NaN operand loses, -0 is below +0)."""
        return self._extreme("min", other)

    def max(self, other: Value | int | float) -> Value:
        """The larger; floats: maxNum (a NaN operand loses, +0 is above -0)."""
        return self._extreme("max", other)

    def _extreme(self, op: str, other: Value | int | float) -> Value:
        b = self._same(other)
        if not self.type.is_float:
            return self._binary(op, b)
        number = Value(self.ev, self.type, self.ev.binary(op, self.type, self.raw, b.raw))
        if self.ev.lazy:
            self.ev.rare(self.isnan().raw)
            self.ev.rare(b.isnan().raw)
            return number
        return b.isnan().select(self.isnan().select(self.quiet(), self), self.isnan().select(b, number))

    def mulhi(self, other: Value | int) -> Value:
        """The upper half of the double-width product."""
        return self._binary("mulhi", other)

    def udiv(self, other: Value | int) -> Value:
        return self._binary("udiv", other)

    def fma(self, b: Value | float, c: Value | float) -> Value:
        """``self*b + c`` rounded once."""
        b, c = self._same(b), self._same(c)
        result = None if self.ev.rounding is None else self.ev.rounding.fma(self, b, c)
        if result is None:
            result = Value(self.ev, self.type, self.ev.fma(self.type, self.raw, b.raw, c.raw))
        return result._canonical(self, b, c)

    def _unary(self, op: str) -> Value:
        result = Value(self.ev, self.type, self.ev.unary(op, self.type, self.raw))
        return result._canonical(self) if self.type.is_float else result

    def sqrt(self) -> Value:
        return self._unary("sqrt")

    def rint(self) -> Value:
        """To the nearest integer, ties to even."""
        return self._unary("rint")

    def trunc(self) -> Value:
        return self._unary("trunc")

    def floor(self) -> Value:
        return self._unary("floor")

    def ceil(self) -> Value:
        return self._unary("ceil")

    def clz(self) -> Value:
        """Leading zero bits; the width for 0."""
        return self._unary("clz")

    def ctz(self) -> Value:
        """Trailing zero bits; the width for 0."""
        return self._unary("ctz")

    def popcount(self) -> Value:
        return self._unary("popcount")

    def bitreverse(self) -> Value:
        return self._unary("bitreverse")

    # -- comparison ------------------------------------------------------------------------------------------
    def _compare(self, op: str, other: Value | int | float) -> Value:
        b = self._same(other)
        return Value(self.ev, u1, self.ev.compare(op, self.type, self.raw, b.raw))

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return self._compare("eq", other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return self._compare("ne", other)  # type: ignore[arg-type]

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Value | int | float) -> Value:
        return self._compare("lt", other)

    def __le__(self, other: Value | int | float) -> Value:
        return self._compare("le", other)

    def __gt__(self, other: Value | int | float) -> Value:
        return self._compare("gt", other)

    def __ge__(self, other: Value | int | float) -> Value:
        return self._compare("ge", other)

    def isnan(self) -> Value:
        return Value(self.ev, u1, self.ev.isnan(self.type, self.raw))

    def isinf(self) -> Value:
        u = UNSIGNED[self.type.bits]
        return (self.bits(u) & ((1 << (self.type.bits - 1)) - 1)) == exponent_bits(self.type)

    def select(self, yes: Value | int | float, no: Value | int | float) -> Value:
        """For a u1 value: ``yes`` where it is set, else ``no``."""
        if not isinstance(yes, Value):
            if not isinstance(no, Value):
                raise TypeError("select needs a Value on one side to know the type")
            yes = no.const(yes)
        no = yes._same(no)
        return Value(self.ev, yes.type, self.ev.select(self.raw, yes.type, yes.raw, no.raw))

    # -- types -----------------------------------------------------------------------------------------------
    def bits(self, type: Type) -> Value:
        """The same bits as another type of the same width."""
        if type.bits != self.type.bits:
            raise TypeError(f"{self.type} has {self.type.bits} bits, {type} has {type.bits}")
        return self if type is self.type else Value(self.ev, type, self.ev.bitcast(self.type, type, self.raw))

    def resize(self, type: Type) -> Value:
        """Integer to a wider or narrower integer: truncates, or extends by this type's own signedness."""
        if type.bits == self.type.bits:
            return self.bits(type) if type is not self.type else self
        return Value(self.ev, type, self.ev.resize(self.type, type, self.raw))

    def to(self, type: Type) -> Value:
        """By value: float/float, int/float, float/int (toward zero, saturating, NaN gives 0)."""
        if type is self.type:
            return self
        rounding = self.ev.rounding
        result = rounding.convert(self, type) if rounding is not None and type.is_float else None
        if result is None:
            result = Value(self.ev, type, self.ev.convert(self.type, type, self.raw))
        return result._canonical_from(self) if type.is_float and self.type.is_float else result

    def _canonical_from(self, source: Value) -> Value:
        """A NaN that changes width keeps sign and leading payload bits and becomes quiet."""
        if self.ev.lazy:
            return self
        s, t = source.type, self.type
        us, ut = UNSIGNED[s.bits], UNSIGNED[t.bits]
        sm, tm = mantissa_bits(s), mantissa_bits(t)
        wide = us if s.bits >= t.bits else ut
        payload = (source.bits(us) & ((1 << sm) - 1)).resize(wide)
        payload = payload << (tm - sm) if tm >= sm else payload >> (sm - tm)
        sign = (source.bits(us) >> (s.bits - 1)).resize(ut) << (t.bits - 1)
        nan = sign | payload.resize(ut) | quiet_nan_bits(t)
        return source.isnan().select(nan.bits(t), self)

    def field(self, low: int, width: int) -> Value:
        """Unsigned bit field [low, low+width) of an integer."""
        u = UNSIGNED[self.type.bits]
        return (self.bits(u) >> low) & ((1 << width) - 1)

    def sext(self, width: int) -> Value:
        """The low ``width`` bits sign-extended, as the signed type of the same size."""
        up = self.type.bits - width
        return (self.bits(SIGNED[self.type.bits]) << up) >> up

    # -- lanes -----------------------------------------------------------------------------------------------
    def lane(self, index: Value | int) -> Value:
        """One lane as a scalar (index modulo 64)."""
        i = index if isinstance(index, Value) else self.const(index, u32)
        return Value(self.ev, self.type, self.ev.extract(self.type, self.raw, i.resize(u32).raw))

    def with_lane(self, index: Value | int, scalar: Value) -> Value:
        i = index if isinstance(index, Value) else self.const(index, u32)
        raw = self.ev.insert(self.type, self.raw, i.resize(u32).raw, self._same(scalar).raw)
        return Value(self.ev, self.type, raw)

    def shuffle(self, indices: tuple[int, ...], other: Value | None = None) -> Value:
        """64 lanes by constant indices: 0..63 from this value, 64..127 from ``other``."""
        b = self if other is None else self._same(other)
        return Value(self.ev, self.type, self.ev.shuffle(self.type, self.raw, b.raw, tuple(indices)))

    def lanes(self) -> Value:
        """As 64 lanes."""
        return Value(self.ev, self.type, self.ev.broadcast(self.type, self.raw))

    def ballot(self) -> Value:
        """u1 lanes as a u64 scalar mask."""
        return Value(self.ev, u64, self.ev.ballot(self.raw))

    def mask_lanes(self) -> Value:
        """A u64 scalar mask as u1 lanes."""
        return Value(self.ev, u1, self.ev.lanes_of(self.bits(u64).raw))


def mantissa_bits(type: Type) -> int:
    """Stored mantissa bits: f16 10, bf16 7, f32 23, f64 52."""
    return {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[type.name]


def exponent_bits(type: Type) -> int:
    """The bits of +infinity: all exponent bits set."""
    m = mantissa_bits(type)
    return ((1 << (type.bits - 1 - m)) - 1) << m


def quiet_nan_bits(type: Type) -> int:
    """The positive quiet NaN with no payload."""
    return exponent_bits(type) | 1 << (mantissa_bits(type) - 1)


def concat(low: Value, high: Value) -> Value:
    """Two 32-bit values as one u64."""
    return low.bits(u32).resize(u64) | (high.bits(u32).resize(u64) << 32)


__all__ = ["Evaluator", "Value", "concat", "exponent_bits", "f32", "f64", "mantissa_bits", "quiet_nan_bits"]
