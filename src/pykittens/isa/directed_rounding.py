"""Arithmetic under MODE's other rounding modes: up, down and toward zero, exactly, for f16 and f32.

The exact result (or, for sums, the result rounded to odd in f64, see exact_float.py) is rounded to nearest and then
moved by one unit where that went the wrong way. Both evaluators compute this from the same operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pykittens.errors import Unsupported

from .define import Definition, Unit
from .float_mode import DOWN, NEAREST, TOWARD_ZERO, UP, FloatMode
from .types import UNSIGNED, Type, f16, f32, f64, i64
from .value import Evaluator, Value

_NAMES = {UP: "up", DOWN: "down", TOWARD_ZERO: "toward zero"}
_MOST = 2
"""Rounded operations of a meaning that simply obeys MODE (a product and a sum); longer ones are algorithms that count
on rounding to nearest."""


class Rounding:
    """What an evaluator does in place of its own arithmetic while the meaning of one instruction runs."""

    def __init__(self, definition: Definition, mode: FloatMode) -> None:
        self.definition, self.mode = definition, mode
        self.operations = 0

    def binary(self, op: str, a: Value, b: Value) -> Value | None:
        """``add``, ``sub`` or ``mul``; None where the nearest result is right."""
        if self._is_nearest(a.type) or op in ("min", "max"):
            return None
        self._check(op, a.type)
        with _to_nearest(a.ev):
            x, y = a.to(f64), b.to(f64)
            if op == "mul":
                return self._round(x * y, a.type)
            y = -y if op == "sub" else y
            return self._sum(x, y, a.type)

    def fma(self, a: Value, b: Value, c: Value) -> Value | None:
        if self._is_nearest(a.type):
            return None
        self._check("fma", a.type)
        with _to_nearest(a.ev):
            return self._sum(a.to(f64) * b.to(f64), c.to(f64), a.type)

    def convert(self, value: Value, type: Type) -> Value | None:
        """To a float type, from a wider one or an integer of at most 32 bits."""
        exact = value.type.is_float and value.type.bits < type.bits
        if exact or self._is_nearest(type):
            return None
        self._check("convert", type)
        with _to_nearest(value.ev):
            return self._round(value.to(f64), type)

    def _is_nearest(self, type: Type) -> bool:
        return self.mode.rounding(type.bits) == NEAREST

    def _check(self, op: str, type: Type) -> None:
        self.operations += 1
        simple = any(o.type is type for o in self.definition.dsts) and self.operations <= _MOST
        if not simple or op not in ("add", "sub", "mul", "fma", "convert") or type not in (f16, f32):
            name = _NAMES[self.mode.rounding(type.bits)]
            raise Unsupported(
                "rounding", f"the simulator cannot round {self.definition.name} {name}: it rounds to nearest"
            )

    def _sum(self, a: Value, b: Value, type: Type) -> Value:
        """f64 values whose sum neither overflows nor underflows."""
        total = a + b
        part = total - a
        error = (a - (total - part)) + (b - part)
        bits = total.bits(i64)
        inexact = ((error < 0.0) | (error > 0.0)) & ((bits & 1) == 0)
        away = ((error > 0.0) ^ (total < 0.0)).select(bits.const(1), -1)
        odd = inexact.select(bits + away, bits).bits(f64)
        if self.mode.rounding(type.bits) == DOWN:
            # A sum that is exactly 0 is -0, unless both addends are +0.
            negative = (a.bits(i64) | b.bits(i64)) < 0
            odd = ((total == 0.0) & negative).select(total.const(-0.0), odd)
        return self._round(odd, type)

    def _round(self, exact: Value, type: Type) -> Value:
        unsigned = UNSIGNED[type.bits]
        near = exact.to(type)
        back, bits = near.to(f64), near.bits(unsigned)
        mode = self.mode.rounding(type.bits)
        if mode == TOWARD_ZERO:
            return (abs(back) > abs(exact)).select(bits - 1, bits).bits(type)
        wrong = back < exact if mode == UP else back > exact
        # Away from zero the magnitude grows, which is so for the sign that the mode rounds toward.
        negative = (bits >> (type.bits - 1)) != 0
        grows = ~negative if mode == UP else negative
        return wrong.select(grows.select(bits + 1, bits - 1), bits).bits(type)


@contextmanager
def _to_nearest(ev: Evaluator) -> Iterator[None]:
    rounding, ev.rounding = ev.rounding, None
    try:
        yield
    finally:
        ev.rounding = rounding


@contextmanager
def rounding_of(definition: Definition, mode: FloatMode, ev: Evaluator) -> Iterator[None]:
    """Lets ``ev`` round as MODE says. Transcendental instructions do not heed it."""
    directed = (mode.round32, mode.round64_16) != (NEAREST, NEAREST) and definition.unit is not Unit.TRANS
    ev.rounding = Rounding(definition, mode) if directed else None
    try:
        yield
    finally:
        ev.rounding = None
