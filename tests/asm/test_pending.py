"""What instructions count in, and what counter values prove."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pykittens.asm.pending import CAPS, Pending, accesses
from pykittens.asm.program import Line, Program
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import s, v

from .wait_programs import load, store


def _instruction(build: Callable[[Program], object]) -> Instruction:
    program = Program("gfx950")
    build(program)
    item = program.items[0]
    assert isinstance(item, Line)
    return item.instruction


@pytest.mark.parametrize(
    ("build", "wanted"),
    [
        (lambda p: p.v_mov_b32(v[0], 0), {}),
        (lambda p: load(p, v[0]), {"vmcnt": True}),
        (lambda p: store(p, v[0]), {"vmcnt": True}),
        (lambda p: p.scratch_load_dword(v[0], v[1]), {"vmcnt": True}),
        (lambda p: p.ds_write_b32(v[0], v[1]), {"lgkmcnt": True}),
        (lambda p: p.ds_bpermute_b32(v[0], v[1], v[2]), {"lgkmcnt": True}),
        (lambda p: p.s_load_dword(s[0], s[2:3]), {"lgkmcnt": False}),
        (lambda p: p.s_memtime(s[0:1]), {"lgkmcnt": False}),
        (lambda p: p.flat_load_dword(v[0], v[2:3]), {"vmcnt": False, "lgkmcnt": False}),
        (lambda p: p.buffer_inv(), {}),
        (lambda p: p.s_dcache_inv(), {}),
    ],
)
def test_counters_that_instructions_raise(build: Callable[[Program], object], wanted: dict[str, bool]) -> None:
    assert accesses(_instruction(build)) == wanted


def test_joining_paths_keeps_the_lower_value() -> None:
    one, other = Pending(), Pending()
    for pending, later in ((one, 2), (other, 1)):
        pending.issue(7, {"vmcnt": True}, True)
        for _ in range(later):
            pending.issue(8, {"vmcnt": True}, False)
    other.issue(9, {"lgkmcnt": False}, True)
    both = one.join(other)
    assert both == other.join(one)
    assert both.needed([7]) == {"vmcnt": 1}
    assert both.needed([9]) == {"lgkmcnt": 0}
    assert both.items() == {7, 9}
    assert CAPS == {"vmcnt": 63, "lgkmcnt": 15}
