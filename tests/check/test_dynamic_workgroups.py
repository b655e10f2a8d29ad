"""Memory that waves and workgroups share: writes that overtake reads, and workgroups that atomics order."""

from __future__ import annotations

import numpy as np
import pytest
from tests.check.launched import WAVES, codes, launched, only

from pykittens.sim import Order

ORDERS = (Order(), Order(turn=1), Order(turn=100_000), Order(landing="late"), Order(turn=7, seed=3))
ADDRESSES = "  s_load_dwordx4 s[8:11], s[0:1], 0x0\n  v_lshlrev_b32 v22, 2, v21\n  s_waitcnt lgkmcnt(0)\n"


def two_arrays() -> list[np.ndarray]:
    return [np.zeros(4096, np.uint32), np.zeros(4096, np.uint32)]


def read_then_write(after_read: str, load: str = "global_load_dword v5, v22, s[8:9]") -> str:
    """All waves read what wave 0 then writes."""
    return f"""{WAVES}{ADDRESSES}
  v_mov_b32 v6, 7
  {load}
{after_read}
  s_cmp_eq_u32 s20, 0
  s_cbranch_scc0 .Ldone
  global_store_dword v22, v6, s[8:9]
.Ldone:
  s_waitcnt vmcnt(0) lgkmcnt(0)
"""


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_a_write_that_overtakes_another_waves_read(order: Order) -> None:
    ordered = "  s_waitcnt vmcnt(0)\n  s_barrier"
    assert codes(read_then_write(ordered), args=two_arrays(), order=order) == []
    report = launched(read_then_write("  s_waitcnt vmcnt(0)"), args=two_arrays(), order=order)
    assert {f.code for f in report.findings} == {"global-race"}
    late = launched(read_then_write("  s_barrier"), args=two_arrays(), order=order)
    assert "not waited for" in only(late, "global-race").why


def test_both_of_a_write_that_overtakes_a_read_are_told() -> None:
    finding = only(launched(read_then_write("  s_barrier"), args=two_arrays()), "global-race")
    assert finding.instruction.startswith("global_store_dword") and "wave 0 writes" in finding.why
    assert finding.producer is not None and finding.producer.instruction.startswith("global_load_dword")
    assert finding.tile is not None and finding.tile.endswith("(p0)") and "wave 1 read" in finding.why


def test_scalar_reads_are_overtaken_too() -> None:
    load = "s_load_dword s30, s[8:9], 0x0"
    assert codes(read_then_write("  s_waitcnt lgkmcnt(0)\n  s_barrier", load), args=two_arrays()) == []
    assert codes(read_then_write("  s_barrier", load), args=two_arrays()) == ["global-race"]


def test_a_wave_may_write_what_it_has_read_itself() -> None:
    body = f"{WAVES}{ADDRESSES}  v_lshlrev_b32 v22, 2, v0\n  global_load_dword v5, v22, s[8:9]\n  s_waitcnt vmcnt(0)\n"
    assert codes(body + "  global_store_dword v22, v5, s[8:9]\n", args=two_arrays()) == []


# -- workgroups --------------------------------------------------------------------------------------------------
def meeting(wait: str = "  s_waitcnt vmcnt(0)", result: str = "  s_waitcnt vmcnt(0)", counter: int = 0) -> str:
    """Workgroups store a part each and count; the last of four adds the parts up."""
    return f"""
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_lshl_b32 s12, s2, 8
  v_lshlrev_b32 v1, 2, v0
  v_add_u32 v2, s12, v1
  s_mul_i32 s13, s2, {counter}
  v_mov_b32 v3, s13
  v_mov_b32 v4, 1
  v_add_u32 v5, s2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v5, s[8:9]
{wait}
  s_mov_b64 exec, 1
  global_atomic_add v6, v3, v4, s[10:11] sc0
{result}
  v_readfirstlane_b32 s14, v6
  s_mov_b64 exec, -1
  s_cmp_eq_u32 s14, 3
  s_cbranch_scc0 .Ldone
  global_load_dword v7, v1, s[8:9]
  global_load_dword v8, v1, s[8:9] offset:256
  s_waitcnt vmcnt(0)
.Ldone:
"""


def arrived(body: str, counts: int = 0) -> list[str]:
    arrays = [np.zeros(4096, np.uint32), np.full(4096, counts, np.uint32)]
    return codes(body, block=64, grid=4, args=arrays)


def test_a_counter_orders_the_last_workgroup_behind_the_others() -> None:
    assert arrived(meeting()) == []


def test_the_stores_have_to_be_waited_for_before_the_counter() -> None:
    assert arrived(meeting(wait="  s_nop 0")) == ["workgroup-race"]


def test_the_counters_result_has_to_be_waited_for() -> None:
    assert "workgroup-race" in arrived(meeting(result="  s_nop 0"), counts=3)


def test_counters_of_their_own_order_nobody() -> None:
    assert arrived(meeting(counter=4), counts=3) == ["workgroup-race"]


def test_waves_of_a_workgroup_meet_at_a_counter_too() -> None:
    """Each wave stores its lanes; the last one of two to count reads the other's."""
    body = f"""{WAVES}{ADDRESSES}
  v_lshlrev_b32 v1, 2, v0
  v_xor_b32 v2, 0x100, v1
  v_mov_b32 v3, 0
  v_mov_b32 v4, 1
  global_store_dword v1, v0, s[8:9]
  {{}}
  s_mov_b64 exec, 1
  global_atomic_add v6, v3, v4, s[10:11] sc0
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s14, v6
  s_mov_b64 exec, -1
  s_cmp_eq_u32 s14, 1
  s_cbranch_scc0 .Ldone
  global_load_dword v7, v2, s[8:9]
.Ldone:
  s_waitcnt vmcnt(0)
"""
    assert codes(body.format("s_waitcnt vmcnt(0)"), args=two_arrays()) == []
    assert codes(body.format("s_nop 0"), args=two_arrays()) == ["global-race"]


def test_a_lock_orders_those_who_hold_it() -> None:
    """Each workgroup reads, adds and writes the same bytes, one after the other."""
    body = """
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v3, 0
  v_mov_b32 v4, {}
  s_waitcnt lgkmcnt(0)
  s_mov_b64 exec, 1
  global_atomic_swap v6, v3, v4, s[10:11] sc0
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, -1
  global_load_dword v7, v1, s[8:9]
  s_waitcnt vmcnt(0)
  v_add_u32 v7, s2, v7
  global_store_dword v1, v7, s[8:9]
  {}
  s_mov_b64 exec, 1
  global_atomic_swap v6, v3, v3, s[10:11] sc0
"""
    assert arrived(body.format(1, "s_waitcnt vmcnt(0)")) == []
    assert arrived(body.format(1, "s_nop 0")) == ["workgroup-race"]


def test_outputs_that_several_workgroups_write() -> None:
    body = "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  s_lshl_b32 s12, s2, {}\n  v_lshlrev_b32 v1, 2, v0\n"
    body += "  v_add_u32 v1, s12, v1\n  v_mov_b32 v2, 5\n  s_waitcnt lgkmcnt(0)\n  global_store_dword v1, v2, s[8:9]\n"
    out = np.zeros(128, np.uint32)
    assert launched(body.format(8), block=64, grid=2, args=[out], outputs={"out": out}).clean
    report = launched(body.format(7), block=64, grid=2, args=[out], outputs={"out": out})
    finding = only(report, "rewritten-output")
    assert finding.why == "128 of 512 bytes of out were written by more than one workgroup, the first at offset 128"
    assert finding.tile == "out"
    adding = body.replace("global_store_dword", "global_atomic_add").format(7)
    assert not launched(adding, block=64, grid=2, args=[out], outputs={"out": out}).by_code("rewritten-output")


@pytest.mark.parametrize("reader", [0, 1])
def test_an_atomic_races_with_a_plain_read_whichever_comes_first(reader: int) -> None:
    """Workgroups run in order of their numbers here, which none may rely on."""
    body = f"""
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v1, 0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, {reader}
  s_cbranch_scc1 .Lread
  global_atomic_add v1, v0, s[8:9]
  s_endpgm
.Lread:
  {{}} v2, v1{{}}, s[8:9]{{}}
  s_waitcnt vmcnt(0)
"""
    assert codes(body.format("global_load_dword", "", ""), grid=2) == ["workgroup-race"]
    assert codes(body.format("global_atomic_add", ", v0", " sc0"), grid=2) == []
