"""Flags in LDS: which accesses their atomics put in order, and which they do not."""

from __future__ import annotations

import pytest
from tests.check.launched import ARCHS, WAVES, codes, launched
from tests.sim.assembled import kernel

from pykittens.checking import check_launch
from pykittens.sim import Order

ORDERS = (Order(turn=1), Order(turn=100), Order(turn=1, landing="late"), Order(turn=3, seed=1), Order(turn=5, seed=8))
FLAG = 4096
WAIT = "s_waitcnt lgkmcnt(0)"


def handed_over(
    write: str = WAIT, add: str = f"ds_add_u32 v30, v31 offset:{FLAG}", poll: str = "ds_add_rtn_u32 v32, v30, v33",
    needed: int = 1, before: str = "", after: str = "",
) -> str:  # fmt: skip
    """Wave 0 writes 64 dwords and adds 1 to a flag; the other wave polls the flag and then reads them."""
    return f"""{WAVES}
  v_mov_b32 v30, 0
  v_mov_b32 v31, 1
  v_mov_b32 v33, 0
  v_lshlrev_b32 v22, 2, v21
  s_cbranch_scc0 .Lstart
  ds_write_b32 v30, v30 offset:{FLAG}
  s_waitcnt lgkmcnt(0)
.Lstart:
  s_barrier
  s_cmp_eq_u32 s20, 0
  s_cbranch_scc0 .Lother
{before}
  ds_write_b32 v22, v21
  {write}
  s_mov_b64 exec, 1
  {add}
  s_mov_b64 exec, -1
{after}
  s_branch .Ldone
.Lother:
  s_mov_b64 exec, 1
.Lpoll:
  {poll} offset:{FLAG}
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s21, v32
  s_cmp_ge_u32 s21, {needed}
  s_cbranch_scc1 .Lpolled
  s_sleep 0
  s_branch .Lpoll
.Lpolled:
  s_mov_b64 exec, -1
  ds_read_b32 v23, v22
  s_waitcnt lgkmcnt(0)
.Ldone:
"""


@pytest.mark.parametrize("order", ORDERS, ids=repr)
@pytest.mark.parametrize("arch", ARCHS)
def test_what_was_waited_for_before_the_flag_comes_before_its_poll(arch: str, order: Order) -> None:
    assert codes(handed_over(), arch, order=order) == []
    assert codes(handed_over(add=f"ds_add_rtn_u32 v34, v30, v31 offset:{FLAG}\n  {WAIT}"), arch, order=order) == []


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_what_was_not_waited_for_is_a_race(order: Order) -> None:
    assert codes(handed_over(write="s_nop 0"), order=order) == ["lds-race"]


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_what_comes_after_the_flag_is_a_race(order: Order) -> None:
    assert codes(handed_over(after=f"  ds_write_b32 v22, v21\n  {WAIT}"), order=order) == ["lds-race"]


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_who_does_not_see_the_flag_raised_knows_nothing(order: Order) -> None:
    """Without its condition the poll may come first; where it comes last, it has seen the flag."""
    found = codes(handed_over(needed=0), order=order)
    assert found in (["lds-race"], [])
    assert found == ["lds-race"] or order.turn > 3


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_polls_tell_nothing_of_those_who_poll(order: Order) -> None:
    """Wave 0 reads the flag with an atomic that leaves it as it was: that hands nothing on."""
    silent = handed_over(add=f"ds_add_rtn_u32 v34, v30, v33 offset:{FLAG}\n  {WAIT}", needed=0)
    assert codes(silent, order=order) == ["lds-race"]


def test_a_plain_read_of_a_flag_is_a_race_as_before() -> None:
    report = launched(handed_over(poll="ds_read_b32 v32, v30"), order=Order(turn=4))
    assert "ds_read_b32" in {finding.instruction.partition(" ")[0] for finding in report.by_code("lds-race")}


def test_a_flag_that_nobody_raises_ends_the_run() -> None:
    made = kernel(f"{handed_over(needed=2)}\n  s_endpgm\n", (), lds_bytes=8192, vgprs=64)
    (finding,) = check_launch(made, grid=1, block=128, args=[], max_instructions=5000).findings
    assert finding.code == "fault" and "5000 instructions" in finding.why
