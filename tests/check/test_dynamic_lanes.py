"""Lanes and waves that depend on others: values of inactive and of undefined lanes, barriers that not all waves reach,
and waves that wait for ever."""

from __future__ import annotations

import numpy as np
import pytest
from tests.check.launched import WAVES, codes, launched, only

from pykittens.sim import Order

SETUP = "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  v_lshlrev_b32 v1, 2, v0\n  s_waitcnt lgkmcnt(0)\n"
STORE = "  global_store_dword v1, v5, s[8:9]\n"
ORDERS = (Order(), Order(turn=1), Order(turn=100_000), Order(landing="late"), Order(turn=7, seed=3))

# What moves values between lanes, and the lane that lane 0 gets its value from: v6 to v5; v7 has 4 times 21 in lane 0.
MOVES = {
    "dpp row_newbcast": ("v_mov_b32_dpp v5, v6 row_newbcast:5 row_mask:0xf bank_mask:0xf", 5),
    "dpp row_ror": ("v_mov_b32_dpp v5, v6 row_ror:4 row_mask:0xf bank_mask:0xf", 12),
    "bpermute": ("ds_bpermute_b32 v5, v7, v6\n  s_waitcnt lgkmcnt(0)", 21),
    "swizzle": ("ds_swizzle_b32 v5, v6 offset:swizzle(SWAP,16)\n  s_waitcnt lgkmcnt(0)", 16),
    "readlane": ("v_readlane_b32 s20, v6, 33\n  v_mov_b32 v5, s20", 33),
    "permlane16_swap": ("v_mov_b32 v5, 0\n  s_nop 1\n  v_permlane16_swap_b32 v6, v5", 16),
    "permlane32_swap": ("v_mov_b32 v5, 0\n  s_nop 1\n  v_permlane32_swap_b32 v6, v5", 32),
}  # fmt: skip


def moved(move: str, active: int, defined: int) -> str:
    """Values are written in some lanes and moved while others are active; then lane 0 stores what it got."""
    return (
        f"{SETUP}  v_mov_b32 v7, 84\n  s_mov_b32 s30, {defined & 0xFFFFFFFF:#x}\n  s_mov_b32 s31, {defined >> 32:#x}\n"
        "  s_mov_b64 exec, s[30:31]\n  v_mov_b32 v6, 1\n"
        f"  s_mov_b32 s30, {active & 0xFFFFFFFF:#x}\n  s_mov_b32 s31, {active >> 32:#x}\n  s_mov_b64 exec, s[30:31]\n"
        f"  s_nop 4\n  {move}\n  s_mov_b64 exec, 1\n{STORE}"
    )


ALL = (1 << 64) - 1


@pytest.mark.parametrize("name", MOVES)
def test_a_value_of_a_lane_that_is_not_active(name: str) -> None:
    move, source = MOVES[name]
    assert not launched(moved(move, ALL, ALL), block=64).by_code("inactive-lane")
    note = only(launched(moved(move, 1, ALL), block=64), "inactive-lane")
    assert note.severity == "note" and f"lane {source}, which is not active" in note.why


@pytest.mark.parametrize("name", MOVES)
def test_a_value_of_a_lane_that_nobody_wrote(name: str) -> None:
    move, source = MOVES[name]
    assert codes(moved(move, ALL, ALL), block=64) == []
    assert codes(moved(move, ALL, 1 << source), block=64) == []
    assert codes(moved(move, ALL, ALL & ~(1 << source)), block=64) == ["undefined-store"]


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_a_wave_that_ends_before_a_barrier(order: Order) -> None:
    """cases.md 12: half of the waves skip a barrier; whichever comes first."""
    early = f"{WAVES}  s_cbranch_scc1 .Lwait\n  s_endpgm\n.Lwait:\n  s_barrier\n"
    finding = only(launched(early, block=256, order=order), "barrier-missed")
    assert finding.instruction == "s_barrier" and finding.producer is not None
    assert finding.producer.instruction == "s_endpgm" and finding.pc is not None
    assert codes(f"{WAVES}  s_cbranch_scc1 .Lwait\n.Lwait:\n  s_barrier\n", block=256, order=order) == []


def test_a_flag_that_nobody_sets() -> None:
    """One wave polls LDS, the other waits for it at a barrier and would set the flag behind that."""
    body = f"""{WAVES}
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  s_cbranch_scc0 .Lother
  ds_write_b32 v1, v1
  s_waitcnt lgkmcnt(0)
  s_barrier
.Lpoll:
  ds_add_rtn_u32 v3, v1, v1
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s21, v3
  s_cmp_eq_u32 s21, 0
  s_cbranch_scc1 .Lpoll
  s_endpgm
.Lother:
  s_barrier
{{}}
  ds_add_u32 v1, v2
  s_waitcnt lgkmcnt(0)
"""
    assert codes(body.format("")) == []
    report = launched(body.format("  s_barrier\n"), limit=10_000)
    finding = only(report, "fault")
    assert "wave 1 waits at the barrier at pc 0x" in finding.why.replace("wait at", "waits at")
    assert "instruction-budget" in finding.why and report.status == 1


def test_a_launch_that_is_stopped_for_its_time_is_not_checked() -> None:
    from tests.sim.assembled import ENDLESS, kernel

    from pykittens.checking import check_launch

    report = check_launch(
        kernel(ENDLESS), grid=1, block=64, args=[np.zeros(64, np.uint32)], timeout=0.05, max_instructions=1 << 40
    )
    assert "timeout" in only(report, "not-checked").why and report.status == 2


def test_no_lane_is_active() -> None:
    """EXEC of 0: accesses and undefined data touch nothing; the first active lane is none."""
    body = f"{SETUP}  s_mov_b64 exec, 0\n{STORE}  ds_read_b32 v6, v30\n  v_cmp_eq_u32 vcc, v30, v31\n"
    body += "  global_load_dword v7, v30, s[8:9]\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    assert codes(body, block=64) == []
    report = launched(f"{body}  v_readfirstlane_b32 s20, v0\n", block=64)
    assert only(report, "inactive-lane").why.startswith("wave 0 takes the value of lane 0")


@pytest.mark.parametrize("block", [1, 63, 65, 100])
def test_waves_that_are_not_full(block: int) -> None:
    out = np.zeros(block, np.uint32)
    body = f"{SETUP}  v_mov_b32 v5, v0\n{STORE}"
    assert launched(body, block=block, args=[out], outputs={"out": out}).clean
    assert (out == np.arange(block)).all()
    beyond = launched(body, block=block + 1, args=[out], outputs={"out": out})
    assert "wild-address" in only(beyond, "fault").why
