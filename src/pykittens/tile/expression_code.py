"""Machine code of run-time expressions: SALU for values that are one per wave, VALU for values per lane.

Parts of an expression that an outer loop knows are kept there; the others live in temporaries while they are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pykittens.isa.registers import Reg, vcc

from .expression import CONDITIONS, Expr, Int

if TYPE_CHECKING:
    from .lowering import Lowering

_SCALAR = {"and": "s_and_b32", "or": "s_or_b32", "xor": "s_xor_b32", "mul": "s_mul_i32", "mulhi": "s_mul_hi_u32",
           "shl": "s_lshl_b32", "shr": "s_lshr_b32", "min": "s_min_i32", "max": "s_max_i32"}  # fmt: skip
_VECTOR = {"and": "v_and_b32", "or": "v_or_b32", "xor": "v_xor_b32", "min": "v_min_i32", "max": "v_max_i32"}
SCALAR_COMPARES = {"lt": "s_cmp_lt_i32", "le": "s_cmp_le_i32", "eq": "s_cmp_eq_u32", "ne": "s_cmp_lg_u32"}
VECTOR_COMPARES = {"lt": "v_cmp_lt_i32", "le": "v_cmp_le_i32", "eq": "v_cmp_eq_u32", "ne": "v_cmp_ne_u32"}
# 2^32 less a little, so that the reciprocal estimate never exceeds the true quotient.
_BELOW_2_32 = 4294966784.0


class Parts:
    """Registers of the parts of one expression, given back when its code is written.

    ``above``: the parts of the expression that it is a part of itself. What occurs in the outermost one more than once
    is computed once and stays until all of that is written.
    """

    def __init__(self, emit: Lowering, whole: Int, above: Parts | None = None) -> None:
        self.emit = emit
        self.scope = whole.scope if isinstance(whole, Expr) else 0
        self._stack = ExitStack()
        self._top: Parts = above._top if above else self
        if above is None:
            self._repeated = _repeated(whole)
            self._known: dict[Expr, Reg] = {}

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def uniform(self, value: object) -> Reg | int:
        """A uniform part as an operand: a number or an SGPR."""
        if isinstance(value, int):
            return value
        assert isinstance(value, Expr)
        known = value in self.emit.inputs or self.emit.is_promised(value) or self.emit.is_kept(("s", value))
        if known or value.scope < self.scope or is_long(value):
            return self.emit.uniform(value)
        return self._computed(value, "s", uniform_code)

    def uniform_register(self, value: object) -> Reg:
        """A uniform part in an SGPR, numbers too."""
        found = self.uniform(value)
        if isinstance(found, Reg):
            return found
        reg = self.temporary("s")
        self.emit.ins("s_mov_b32", reg, found)
        return reg

    def lane(self, value: object) -> Reg:
        """A part in a VGPR."""
        assert isinstance(value, (int, Expr))
        if self._keeps(value):
            return self.emit.lane(value)
        if isinstance(value, int) or value.uniform:
            reg = self.temporary("v")
            lane_code(self.emit, value, reg, self)
            return reg
        return self._computed(value, "v", lane_code)

    def lane_into(self, value: Expr, out: Reg) -> None:
        """``out`` = a part that differs by lane."""
        if self._keeps(value) or value in self._top._repeated:
            self.emit.ins("v_mov_b32", out, self.lane(value))
        else:
            lane_code(self.emit, value, out, self)

    def _keeps(self, value: Int) -> bool:
        """Whether a part per lane is, or is to be, in a register that outlives the expression."""
        scope = value.scope if isinstance(value, Expr) else 0
        known = isinstance(value, Expr) and value in self.emit.inputs and not value.uniform
        return scope < self.scope or known or self.emit.is_kept(("v", value))

    def _computed(self, value: Expr, file: str, code: Callable[[Lowering, Expr, Reg, Parts], None]) -> Reg:
        """A part that nobody keeps, in a temporary."""
        top = self._top
        if value in top._known:
            return top._known[value]
        repeated = value in top._repeated
        reg = (top if repeated else self).temporary(file)
        code(self.emit, value, reg, self)
        if repeated:
            top._known[value] = reg
        return reg

    def source(self, value: object, literal: bool = True) -> Reg | int:
        """An operand for src0: a number (without ``literal`` only an inline one), an SGPR or a VGPR."""
        if isinstance(value, int):
            return value if literal or -16 <= value <= 64 else self.uniform_register(value)
        assert isinstance(value, Expr)
        return self.uniform(value) if value.uniform else self.lane(value)

    def temporary(self, file: str) -> Reg:
        return self._stack.enter_context(self.emit.temporary(file))


def is_long(value: Expr) -> bool:
    """Whether a register pays: for divisions, some 25 instructions, and for choices, such as a workgroup's tile."""
    return value.op == "select" or (value.op in ("div", "mod") and not isinstance(value.args[1], int))


def _repeated(whole: Int) -> set[Expr]:
    """The parts of an expression that occur in it more than once."""
    seen: set[Expr] = set()
    found: set[Expr] = set()
    left = [whole]
    while left:
        value = left.pop()
        if not isinstance(value, Expr):
            continue
        if value in seen:
            found.add(value)
            continue
        seen.add(value)
        left += [term for term, _ in value.args[0]] if value.op == "affine" else [*value.args]
    return found


def uniform_code(emit: Lowering, value: Expr, out: Reg, above: Parts | None = None) -> None:
    """``out`` = value, on the SALU; ``above`` as in `Parts`."""
    with Parts(emit, value, above) as parts:
        if value.op == "affine":
            _uniform_affine(emit, parts, value, out)
        elif value.op in CONDITIONS:
            uniform_compare(emit, parts, value)
            emit.ins("s_cselect_b32", out, 1, 0)
        elif value.op == "select":
            condition, yes, no = value.args
            yes_operand, no_operand = parts.uniform(yes), parts.uniform_register(no)
            uniform_compare(emit, parts, condition)
            emit.ins("s_cselect_b32", out, yes_operand, no_operand)
        elif value.op in ("div", "mod"):
            _uniform_division(emit, parts, value, out)
        else:
            a, b = (parts.uniform(arg) for arg in value.args)
            emit.ins(_SCALAR[value.op], out, a, b)


def uniform_compare(emit: Lowering, parts: Parts, condition: object) -> None:
    """SCC = condition."""
    assert isinstance(condition, Expr)
    if condition.op in CONDITIONS:
        a, b = (parts.uniform(arg) for arg in condition.args)
        emit.ins(SCALAR_COMPARES[condition.op], a, b)
    else:
        emit.ins("s_cmp_lg_u32", parts.uniform(condition), 0)


def _uniform_affine(emit: Lowering, parts: Parts, value: Expr, out: Reg) -> None:
    terms, constant = value.args
    total: Reg | None = None
    for term, coefficient in sorted(terms, key=lambda term: term[1] != 1):  # a plain one first, so that -1 subtracts
        source = parts.uniform_register(term)
        if coefficient not in (1, -1):
            scaled = out if total is None else parts.temporary("s")
            if coefficient > 0 and coefficient & (coefficient - 1) == 0:
                emit.ins("s_lshl_b32", scaled, source, coefficient.bit_length() - 1)
            else:
                emit.ins("s_mul_i32", scaled, source, coefficient)
            source = scaled
        if total is not None or coefficient == -1:
            emit.ins("s_sub_u32" if coefficient == -1 else "s_add_u32", out, 0 if total is None else total, source)
            source = out
        total = source
    if constant:
        emit.ins("s_add_u32", out, total, constant)
    elif total is not out:
        emit.ins("s_mov_b32", out, total)


def _uniform_division(emit: Lowering, parts: Parts, value: Expr, out: Reg) -> None:
    """Unsigned 32-bit division by a run-time value: a float estimate of the reciprocal, one Newton step, two
    corrections.
    """
    a, b = (parts.uniform_register(arg) for arg in value.args)
    x, r, q, t = parts.temporary("v"), parts.temporary("s"), parts.temporary("s"), parts.temporary("s")
    emit.ins("v_cvt_f32_u32", x, b)
    emit.ins("v_rcp_iflag_f32", x, x)
    emit.ins("v_mul_f32", x, _BELOW_2_32, x)
    emit.ins("v_cvt_u32_f32", x, x)
    emit.ins("v_readfirstlane_b32", r, x)
    emit.ins("s_sub_u32", t, 0, b)
    emit.ins("s_mul_i32", t, t, r)
    emit.ins("s_mul_hi_u32", t, r, t)
    emit.ins("s_add_u32", r, r, t)
    emit.ins("s_mul_hi_u32", q, a, r)
    emit.ins("s_mul_i32", t, q, b)
    emit.ins("s_sub_u32", r, a, t)
    for _ in range(2):
        emit.ins("s_add_u32", t, q, 1)
        emit.ins("s_cmp_ge_u32", r, b)
        emit.ins("s_cselect_b32", q, t, q)
        emit.ins("s_cselect_b32", t, b, 0)
        emit.ins("s_sub_u32", r, r, t)
    emit.ins("s_mov_b32", out, q if value.op == "div" else r)


def lane_code(emit: Lowering, value: Int, out: Reg, above: Parts | None = None) -> None:
    """``out`` = value in every lane, on the VALU; ``above`` as in `Parts`."""
    with Parts(emit, value, above) as parts:
        if isinstance(value, int) or value.uniform:
            emit.ins("v_mov_b32", out, parts.uniform(value))
        elif value.op == "affine":
            _lane_affine(emit, parts, value, out)
        elif value.op in CONDITIONS or value.op == "select":
            condition, yes, no = value.args if value.op == "select" else (value, 1, 0)
            # VCC takes the one scalar read that an instruction may make, so the false value is inline or in a VGPR.
            true = parts.lane(yes)
            false = no if isinstance(no, int) and -16 <= no <= 64 else parts.lane(no)
            mask = vcc
            a, b = condition.args
            emit.ins(VECTOR_COMPARES[condition.op], mask, parts.source(a), parts.lane(b))
            emit.ins("v_cndmask_b32", out, false, true, mask)
        elif value.op in ("shl", "shr"):
            a, b = value.args
            name = "v_lshlrev_b32" if value.op == "shl" else "v_lshrrev_b32"
            emit.ins(name, out, parts.source(b), parts.lane(a))
        elif value.op == "mul":
            a, b = value.args
            emit.ins("v_mul_lo_u32", out, parts.source(a, literal=False), parts.lane(b))
        elif value.op in _VECTOR:
            a, b = value.args
            first, second = (b, a) if isinstance(b, int) or b.uniform else (a, b)
            emit.ins(_VECTOR[value.op], out, parts.source(first), parts.lane(second))
        else:
            raise AssertionError(f"{value.op} has no lane form")


def _lane_affine(emit: Lowering, parts: Parts, value: Expr, out: Reg) -> None:
    terms, constant = value.args
    uniform: Int = constant
    started = False
    for term, coefficient in terms:
        if term.uniform:
            uniform = uniform + term * coefficient
            continue
        target = parts.temporary("v") if started and coefficient != 1 else out
        if coefficient == 1 and started:
            target = parts.lane(term)
        elif coefficient == 1:
            parts.lane_into(term, out)
        elif coefficient > 0 and coefficient & (coefficient - 1) == 0:
            emit.ins("v_lshlrev_b32", target, coefficient.bit_length() - 1, parts.lane(term))
        else:
            emit.ins("v_mul_lo_u32", target, parts.uniform_register(coefficient), parts.lane(term))
        if started:
            emit.ins("v_add_u32", out, out, target)
        started = True
    if not (isinstance(uniform, int) and uniform == 0):
        emit.ins("v_add_u32", out, parts.uniform(uniform), out)
