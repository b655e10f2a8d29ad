"""Run-time integers of a kernel: sizes, loop counters, workgroup, wave and lane numbers, and arithmetic on them.

An `Expr` is 32-bit and unsigned unless a comparison or a clamp says otherwise. It is uniform (one value per wave, kept
in an SGPR) or differs by lane (kept in a VGPR). Sums are kept in affine form, so that ``(2*i + 1) % 2`` is 1 at build
time and index arithmetic on unrolled loops costs nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, Union
from weakref import WeakValueDictionary

import numpy as np

from pykittens.errors import BuildError

Int = Union[int, "Expr"]

_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "mul": lambda a, b: a * b,
    "mulhi": lambda a, b: a * b >> 32,
    "div": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "min": np.minimum,
    "max": np.maximum,
    "lt": lambda a, b: 1 * (a < b),
    "le": lambda a, b: 1 * (a <= b),
    "eq": lambda a, b: 1 * (a == b),
    "ne": lambda a, b: 1 * (a != b),
}
CONDITIONS = frozenset(("lt", "le", "eq", "ne"))


class Expr:
    """An immutable integer expression: ``op`` over ``args``.

    Leaves: ``arg`` (a kernel argument), ``workgroup`` (axis), ``wave``, ``lane``, ``loop`` (a counter). Inner nodes:
    ``affine`` (``sum(coefficient * term) + constant``), ``and or xor mul mulhi div mod shl shr min max``, the
    conditions
    ``lt le eq ne`` (signed, 1 or 0) and ``select``. ``bound`` is the largest possible value where known (values are
    then not negative).
    """

    __slots__ = ("__weakref__", "args", "bound", "op", "scope", "uniform")

    op: str
    args: tuple[Any, ...]
    uniform: bool
    scope: int
    bound: int | None

    def __new__(cls, op: str, args: tuple[Any, ...], uniform: bool, scope: int, bound: int | None = None) -> Expr:
        # One object per expression, so that two are the same where ``is`` says so, and hashing is the object's.
        key = (op, args, uniform, scope, bound)
        known = _KNOWN.get(key)
        if known is None:
            known = super().__new__(cls)
            known.op, known.args, known.uniform, known.scope = op, args, uniform, scope
            known.bound = _bound(op, args) if bound is None else bound
            _KNOWN[key] = known
        return known

    def __repr__(self) -> str:
        if self.op == "affine":
            terms, constant = self.args
            parts = [f"{c}*{t}" if c != 1 else str(t) for t, c in terms]
            return "(" + " + ".join(parts + ([str(constant)] if constant else [])) + ")"
        return f"{self.op}({', '.join(map(str, self.args))})"

    # -- operators -------------------------------------------------------------------------------------------
    def __add__(self, other: Int) -> Int:
        return _affine([(self, 1), (other, 1)])

    def __radd__(self, other: Int) -> Int:
        return _affine([(other, 1), (self, 1)])

    def __sub__(self, other: Int) -> Int:
        return _affine([(self, 1), (other, -1)])

    def __rsub__(self, other: Int) -> Int:
        return _affine([(other, 1), (self, -1)])

    def __mul__(self, other: Int) -> Int:
        return binary("mul", self, other)

    def __rmul__(self, other: int) -> Int:
        return _affine([(self, other)])

    def __floordiv__(self, other: Int) -> Int:
        if isinstance(other, Expr):
            return binary("div", self, other)
        quotient, rest = _split(self, as_integer(other))
        return quotient + binary("div", rest, other)

    def __truediv__(self, other: Int) -> Int:
        raise BuildError("run-time-float", f"{self} / {other} is no integer", fix="use // or pk.cdiv")

    def __neg__(self) -> Int:
        return _affine([(self, -1)])

    def __mod__(self, other: Int) -> Int:
        return binary("mod", self if isinstance(other, Expr) else _split(self, as_integer(other))[1], other)

    def __rfloordiv__(self, other: int) -> Int:
        return binary("div", other, self)

    def __rmod__(self, other: int) -> Int:
        return binary("mod", other, self)

    def __lshift__(self, other: int) -> Int:
        return self * (1 << other)

    def __rshift__(self, other: Int) -> Int:
        return self // (1 << other) if isinstance(other, int) else binary("shr", self, other)

    def __and__(self, other: Int) -> Int:
        return binary("and", self, other)

    def __or__(self, other: Int) -> Int:
        return binary("or", self, other)

    def __xor__(self, other: Int) -> Int:
        return binary("xor", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __eq__(self, other: Int) -> Int:  # type: ignore[override]
        return binary("eq", self, other)

    def __ne__(self, other: Int) -> Int:  # type: ignore[override]
        return binary("ne", self, other)

    __hash__ = object.__hash__

    def __lt__(self, other: Int) -> Int:
        return binary("lt", self, other)

    def __le__(self, other: Int) -> Int:
        return binary("le", self, other)

    def __gt__(self, other: Int) -> Int:
        return binary("lt", other, self)

    def __ge__(self, other: Int) -> Int:
        return binary("le", other, self)

    def __bool__(self) -> bool:
        raise BuildError(
            "runtime-condition",
            f"the value of {self} is only known on the GPU, Python cannot branch on it",
            fix="use pk.when(condition) or pk.select(condition, a, b)",
        )

    def __index__(self) -> int:
        raise BuildError(
            "run-time-value", f"{self} is only known on the GPU, Python needs its value here",
            fix="use pk.loop for a loop of the GPU",
        )  # fmt: skip

    __int__ = __index__


_KNOWN: WeakValueDictionary[tuple[Any, ...], Expr] = WeakValueDictionary()


def _flat(args: Iterable[object]) -> Iterable[object]:
    for a in args:
        if isinstance(a, tuple):
            yield from _flat(a)
        else:
            yield a


def bound_of(value: Int) -> int | None:
    """The largest possible value of a non-negative expression, or None where unknown or possibly negative."""
    return (value if value >= 0 else None) if isinstance(value, int) else value.bound


def _bound(op: str, args: tuple[object, ...]) -> int | None:
    if op == "affine":
        total = args[1]
        for term, coefficient in args[0]:  # type: ignore[attr-defined]
            if coefficient < 0 or term.bound is None or total < 0:  # type: ignore[operator]
                return None
            total += term.bound * coefficient
        return total if total >= 0 else None  # type: ignore[operator, return-value]
    if op in CONDITIONS:
        return 1
    bounds = [bound_of(a) for a in args[-2:] if isinstance(a, (int, Expr))]
    if op == "and" and any(b is not None for b in bounds):
        return min(b for b in bounds if b is not None)
    if len(bounds) < 2 or None in bounds:
        return None
    a, b = bounds
    if op in ("or", "xor"):
        return (1 << max(a, b).bit_length()) - 1  # type: ignore[type-var, union-attr]
    if op in ("select", "max"):
        return max(a, b)  # type: ignore[type-var]
    if op == "min":
        return min(a, b)  # type: ignore[type-var]
    if op == "shr" and isinstance(args[1], int):
        return a >> args[1]  # type: ignore[operator]
    if op == "div" and isinstance(args[1], int):
        return a // args[1]  # type: ignore[operator]
    if op == "mod":
        return b - 1  # type: ignore[operator]
    return a * b if op == "mul" else None  # type: ignore[operator]


def leaf(op: str, *args: object, uniform: bool = True, scope: int = 0, bound: int | None = None) -> Expr:
    """A named input of the kernel; ``scope`` is the loop depth at which it becomes known."""
    return Expr(op, args, uniform, scope, bound)


def _node(op: str, *args: Any) -> Expr:
    inner = [a for a in _flat(args) if isinstance(a, Expr)]
    return Expr(op, args, all(a.uniform for a in inner), max(a.scope for a in inner))


def _affine(parts: list[tuple[Int, int]]) -> Int:
    """``sum(expression * factor)`` with like terms collected."""
    terms: dict[Expr, int] = {}
    constant = 0
    for value, factor in parts:
        if not isinstance(value, Expr):
            constant += as_integer(value) * factor
        elif value.op == "affine":
            inner, offset = value.args
            for term, coefficient in inner:
                terms[term] = terms.get(term, 0) + coefficient * factor
            constant += offset * factor
        else:
            terms[value] = terms.get(value, 0) + factor
    kept = tuple((t, c) for t, c in terms.items() if c)
    if not kept:
        return constant
    if constant == 0 and len(kept) == 1 and kept[0][1] == 1:
        return kept[0][0]
    return _node("affine", kept, constant)


def as_integer(value: object) -> int:
    """A number that is known at build time; NumPy's integers are taken too. BuildError for what is none."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise BuildError(
            "run-time-float", f"{value!r} is no integer, sizes and indices of the GPU are", fix="use an integer"
        ) from None


def _split(value: Expr, divisor: int) -> tuple[Int, Int]:
    """``value = divisor * quotient + rest`` with every term that divides evenly taken out of ``rest``."""
    if divisor <= 0:
        raise BuildError("divisor", f"division of {value} by {divisor}", fix="divide by a positive number")
    if value.op != "affine":
        return 0, value
    terms, constant = value.args
    quotient, rest = divmod(constant, divisor)
    even: list[tuple[Int, int]] = [(t, c // divisor) for t, c in terms if c % divisor == 0]
    odd: list[tuple[Int, int]] = [(t, c) for t, c in terms if c % divisor]
    return _affine([*even, (quotient, 1)]), _affine([*odd, (rest, 1)])


def binary(op: str, a: Int, b: Int) -> Int:
    """One operation, folded where both sides are known or the result is plain."""
    a, b = (x if isinstance(x, Expr) else as_integer(x) for x in (a, b))
    if isinstance(a, int) and isinstance(b, int):
        return int(_FOLD[op](a, b))
    if a is b and op in CONDITIONS:
        return int(op in ("le", "eq"))
    top = bound_of(a)
    if isinstance(b, int) and b > 0 and top is not None and top < b and op in ("div", "mod"):
        return 0 if op == "div" else a
    if isinstance(b, int) and b == 1 and op in ("div", "mod"):
        return a if op == "div" else 0
    if op == "mod" and isinstance(b, int) and b & (b - 1) == 0:
        return binary("and", a, b - 1)
    if op == "div" and isinstance(b, int) and b & (b - 1) == 0:
        return binary("shr", a, b.bit_length() - 1)
    if op in ("and", "or", "xor", "min", "max", "mul") and isinstance(a, int):
        a, b = b, a
    if isinstance(b, int) and b == 0:
        if op in ("or", "xor", "shl", "shr"):
            return a
        if op in ("and", "mul"):
            return 0
    if op == "mul" and isinstance(b, int):
        return _affine([(a, b)])
    if op == "shr" and isinstance(b, int) and top is not None and top >> b == 0:
        return 0
    if op == "and" and isinstance(b, int) and isinstance(a, Expr):
        if top is not None and b & (b + 1) == 0 and top <= b:
            return a
        if a.op == "and" and isinstance(a.args[1], int):
            return binary("and", a.args[0], a.args[1] & b)
    return _node(op, a, b)


def high_product(a: Int, b: Int) -> Int:
    """The high half of the 64-bit product, for ``a`` below 2^31."""
    return binary("mulhi", a, b)


def minimum(a: Int, b: Int) -> Int:
    """The smaller (signed)."""
    return binary("min", a, b)


def maximum(a: Int, b: Int) -> Int:
    """The larger (signed)."""
    return binary("max", a, b)


def below(a: Int, b: Int) -> Int:
    """1 if ``a < b`` (signed), else 0."""
    return binary("lt", a, b)


def equal(a: Int, b: Int) -> Int:
    """1 where equal, else 0."""
    return binary("eq", a, b)


def select(condition: Int, yes: Int, no: Int) -> Int:
    """``yes`` where the condition holds, else ``no``."""
    if isinstance(condition, int):
        return yes if condition else no
    if condition.op not in CONDITIONS:
        condition = _node("ne", condition, 0)
    return _node("select", condition, yes, no)


def cdiv(a: Int, b: int) -> Int:
    """``a / b`` rounded up."""
    return (a + (b - 1)) // b


def evaluate(value: Int, inputs: dict[Expr, Any]) -> Any:
    """The value for given leaves, numbers or NumPy arrays (one element a lane): what the emitted code must compute."""
    if isinstance(value, int):
        return value
    if value in inputs:
        return inputs[value]
    if value.op == "affine":
        terms, constant = value.args
        return sum(evaluate(t, inputs) * c for t, c in terms) + constant
    if value.op == "select":
        condition, yes, no = (evaluate(a, inputs) for a in value.args)
        return np.where(condition, yes, no)
    if value.op not in _FOLD:
        raise AssertionError(f"no value given for {value}")
    a, b = value.args
    return _FOLD[value.op](evaluate(a, inputs), evaluate(b, inputs))


def constant_part(value: Int) -> int:
    """The build-time summand of an expression."""
    if isinstance(value, int):
        return value
    return int(value.args[1]) if value.op == "affine" else 0


def leaves(value: Int) -> set[Expr]:
    """The leaves that an expression depends on."""
    if isinstance(value, int):
        return set()
    if value.op != "affine" and value.op not in _FOLD and value.op != "select":
        return {value}
    return {leaf for a in _flat(value.args) if isinstance(a, Expr) for leaf in leaves(a)}
