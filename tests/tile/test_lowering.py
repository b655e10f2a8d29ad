"""Lowering: values are computed once, before the code that needs them, in registers that nothing in between writes."""

from __future__ import annotations

import pytest

from pykittens.errors import BuildError
from pykittens.isa.registers import Reg
from pykittens.tile.expression import Expr, leaf
from pykittens.tile.program_inputs import LANE
from pykittens.tile.register_pool import RegisterPool

from .expression_machine import ExpressionMachine

M, N = leaf("arg", "A", "rows"), leaf("arg", "B", "rows")


@pytest.mark.parametrize("file", ["s", "v"])
def test_hoisted_values_survive_what_inner_code_did_before_asking(file: str) -> None:
    """The inner code takes a register, gives it back, and then asks for a value that is computed before it."""
    machine = ExpressionMachine({M: 5, N: 7, LANE: range(64)})
    emit = machine.emit
    with emit.inner():
        with emit.temporary(file) as scratch:
            emit.ins("s_mov_b32" if file == "s" else "v_mov_b32", scratch, 99)
        kept = emit.uniform(M * N + 3) if file == "s" else emit.lane(LANE * 2 + M)
    assert isinstance(kept, Reg)
    assert kept != scratch
    machine.run()
    assert (machine.wave.sgpr[kept.index] == 38) if file == "s" else (machine.wave.vgpr[kept.index, 3] == 11)


def test_values_kept_on_the_way_to_a_hoisted_value_survive_too() -> None:
    """A part that is kept while another value is computed before the inner code: it has to avoid that code as well."""
    machine = ExpressionMachine({M: 5, N: 7})
    emit = machine.emit
    parts: list[Reg] = []

    def build(reg: Reg) -> None:
        parts.append(emit.uniform_register(M * N + 3))
        emit.ins("s_add_u32", reg, parts[0], 1)

    with emit.inner():
        with emit.temporary("s") as scratch, emit.temporary("s") as other:
            emit.ins("s_mov_b32", scratch, 99)
            emit.ins("s_mov_b32", other, 98)
        whole = emit.keep("whole", 0, "s", 1, build)
    assert not {parts[0], whole} & {scratch, other}
    machine.run()
    assert [machine.wave.sgpr[reg.index] for reg in (parts[0], whole)] == [38, 39]


def test_what_may_be_skipped_keeps_nothing_for_later() -> None:
    machine = ExpressionMachine({M: 5, N: 7})
    emit = machine.emit
    with emit.inner():
        inside = emit.uniform(M * N + 3)
        first = len(emit.program.items)
    # It was written before the part that may be skipped, and is found again without more code.
    assert first == 0
    written = len(emit.program.items)
    assert written > 0
    assert emit.uniform(M * N + 3) == inside
    assert len(emit.program.items) == written


def test_values_of_a_loop_stay_in_it_and_the_others_leave_it() -> None:
    machine = ExpressionMachine({M: 5, N: 7})
    emit = machine.emit
    counter = leaf("loop", 1, scope=1)
    emit.inputs[counter] = Reg("s", 100)
    with emit._scope(1):
        invariant = emit.uniform(M * N)
        emit.uniform(counter * M)
        assert emit.is_kept(("s", counter * M))
    assert emit.is_kept(("s", M * N))
    assert not emit.is_kept(("s", counter * M))
    assert emit.uniform(M * N) == invariant


def test_pools_hand_out_the_lowest_and_take_back() -> None:
    pool = RegisterPool("s", list(range(5, 20)), "SGPRs")
    one, pair, four = pool.take(), pool.take(2), pool.take(4)
    assert (one, pair, four) == (Reg("s", 5), Reg("s", 6, 2), Reg("s", 8, 4))
    pool.give(pair)
    assert pool.take() == Reg("s", 6)
    assert pool.take(2) == Reg("s", 12, 2)
    assert pool.high == 14


def test_pools_avoid_what_they_are_told_to() -> None:
    pool = RegisterPool("v", list(range(8)), "VGPRs")
    assert pool.take(2, avoid={0, 1, 3}) == Reg("v", 4, 2)
    assert pool.take() == Reg("v", 0)


def test_empty_pools_say_what_is_missing() -> None:
    pool = RegisterPool("v", [1, 3, 5], "VGPRs")
    with pytest.raises(BuildError, match="no 2 free VGPRs in a row are left, 3 are free in all"):
        pool.take(2)


def test_constants_need_no_register_until_one_is_asked_for() -> None:
    machine = ExpressionMachine({M: 5})
    assert machine.emit.uniform(12) == 12
    assert machine.emit.program.items == []
    reg = machine.emit.uniform_register(70000)
    machine.run()
    assert machine.wave.sgpr[reg.index] == 70000


def test_one_value_per_lane_is_no_scalar() -> None:
    machine = ExpressionMachine({LANE: range(64)})
    value = LANE + 1
    assert isinstance(value, Expr)
    with pytest.raises(AssertionError, match="differs by lane"):
        machine.emit.uniform(value)
