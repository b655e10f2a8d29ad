"""Faults that were reported in the field, by the numbers that the project gives them, in code that is run: found, and
not found when mended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.check.launched import ARCHS, WAVES, codes, launched, only
from tests.sim.assembled import kernel, pointers

from pykittens.check.banks import BankTable
from pykittens.check.findings import Finding, Report
from pykittens.errors import BuildError, InputError
from pykittens.schedule.grid import Chiplet, RowMajor
from pykittens.sim import Order

ORDERS = (Order(), Order(turn=1), Order(turn=100_000), Order(landing="late"), Order(turn=7, seed=3))
LANES = "  v_lshlrev_b32 v22, 4, v21\n  v_mov_b32 v4, 0\n  v_mov_b32 v5, 0\n  v_mov_b32 v6, 0\n  v_mov_b32 v7, 0\n"
DESCRIPTOR = (
    "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  s_mov_b32 s10, 16384\n  s_mov_b32 s11, 0x20000\n  s_waitcnt lgkmcnt(0)\n"
)


def halves(first: str, other: str, setup: str = LANES) -> str:
    """Half of the waves run one piece, half the other."""
    return f"""{WAVES}{setup}
  s_lshr_b32 s21, s20, 1
  s_cmp_eq_u32 s21, 0
  s_cbranch_scc0 .Lother
{first}
  s_branch .Ldone
.Lother:
{other}
.Ldone:
"""


def races(report: Report) -> list[Finding]:
    """But for two waves that write the same value."""
    return [finding for finding in report.by_code("lds-race") if finding.severity == "error"]


@pytest.mark.parametrize("order", ORDERS, ids=repr)
@pytest.mark.parametrize("arch", ARCHS)
def test_case_1_barrier_before_the_wait_of_the_read(arch: str, order: Order) -> None:
    """Two groups of two waves and two halves of LDS."""
    read = "  ds_read_b128 v[8:11], v22\n  {}\n  s_barrier\n  s_waitcnt lgkmcnt(0)"
    write = "  s_barrier\n  ds_write_b128 v22, v[4:7]\n  s_waitcnt lgkmcnt(0)"
    assert codes(halves(read.format("s_waitcnt lgkmcnt(0)"), write), arch, block=256, order=order) == []
    report = launched(halves(read.format("s_nop 0"), write), arch, block=256, order=order)
    (finding,) = races(report)
    assert finding.pc is not None and finding.producer is not None and finding.pc != finding.producer.pc
    assert (finding.instruction[:13], finding.producer.instruction[:12]) == ("ds_write_b128", "ds_read_b128")


@pytest.mark.parametrize("order", ORDERS, ids=repr)
@pytest.mark.parametrize(
    ("tile", "count", "found"), [(0, 2, []), (1, 2, []), (2, 2, ["lds-race"]), (3, 2, ["lds-race"]), (3, 0, [])]
)
def test_case_2_a_copy_to_lds_that_crosses_a_barrier(tile: int, count: int, found: list[str], order: Order) -> None:
    copies = "".join(f"  s_mov_b32 m0, {1024 * i}\n  buffer_load_dwordx4 v22, s[8:11], 0 offen lds\n" for i in range(4))
    first = f"  s_cmp_eq_u32 s20, 0\n  s_cbranch_scc0 .Lmeet\n{copies}  s_waitcnt vmcnt({count})\n.Lmeet:\n  s_barrier"
    other = f"  s_barrier\n  ds_read_b128 v[8:11], v22 offset:{1024 * tile}\n  s_waitcnt lgkmcnt(0)"
    body = DESCRIPTOR + halves(first, other) + "  s_waitcnt vmcnt(0)\n"
    assert codes(body, block=256, order=order) == found


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_case_4_a_copy_into_lds_that_is_still_read(order: Order) -> None:
    """Both the wait and the barrier are needed; the reasons are different."""
    copy = "  s_cmp_eq_u32 s20, 0\n  s_cbranch_scc0 .Lskip{0}\n  s_mov_b32 m0, 0\n"
    copy += "  buffer_load_dwordx4 v22, s[8:11], 0 offen lds\n  s_waitcnt vmcnt(0)\n.Lskip{0}:\n"
    body = DESCRIPTOR + WAVES + LANES + copy.format(1)
    body += "  s_barrier\n  ds_read_b128 v[8:11], v22\n  {}\n  {}\n  s_waitcnt lgkmcnt(0)\n".replace(
        "{}", "{{}}"
    ).format()
    body += copy.format(2)
    wait, barrier, nothing = "s_waitcnt lgkmcnt(0)", "s_barrier", "s_nop 0"
    assert codes(body.format(wait, barrier), block=256, order=order) == []
    no_wait = {f.why for f in launched(body.format(nothing, barrier), block=256, order=order).by_code("lds-race")}
    no_barrier = {f.why for f in launched(body.format(wait, nothing), block=256, order=order).by_code("lds-race")}
    assert no_wait and all("not waited for" in why for why in no_wait)
    assert no_barrier and all("no barrier between" in why for why in no_barrier)


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_case_5_a_wait_one_slot_early(order: Order) -> None:
    """A loop reads for its next turn: with the wait in front of the read, nothing waits for it."""
    loop = """
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v3, 0
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v2, v1
  s_mov_b32 s20, 3
  s_waitcnt lgkmcnt(0)
.Lagain:
  v_add_u32 v3, v3, v2
  {}
  ds_read_b32 v2, v1
  {}
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 .Lagain
  s_waitcnt lgkmcnt(0)
"""
    wait, nothing = "s_waitcnt lgkmcnt(0)", "s_nop 0"
    assert codes(loop.format(nothing, wait), block=64, order=order) == []
    report = launched(loop.format(wait, nothing), block=64, order=order)
    finding = only(report, "wait-raw")
    assert finding.producer is not None and finding.producer.instruction.startswith("ds_read_b32")
    assert finding.pc is not None and finding.producer.pc > finding.pc  # of the turn before


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_case_8_scalar_loads_come_back_in_any_order(order: Order) -> None:
    body = "  s_load_dword s20, s[0:1], 0x0\n  s_load_dword s21, s[0:1], 0x4\n  s_waitcnt lgkmcnt({})\n"
    body += "  s_mov_b32 s22, s20\n"
    assert codes(body.format(0), block=64, order=order) == []
    assert codes(body.format(1), block=64, order=order) == ["wait-raw"]


def block_sums(barrier: str) -> str:
    """The sum of squares of two waves' numbers, then of two others, through the same dwords of LDS."""
    phase = """
  v_readfirstlane_b32 s30, {value}
  v_mov_b32 v5, s30
  v_mov_b32 v6, s22
  s_mov_b64 exec, 1
  ds_write_b32 v6, v5
  s_mov_b64 exec, -1
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b64 v[8:9], v7
  s_waitcnt lgkmcnt(0)
  v_add_u32 {result}, v8, v9
"""
    return f"""{WAVES}
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_lshl_b32 s22, s20, 2
  v_mov_b32 v7, 0
  v_mul_u32_u24 v2, v0, v0
  v_add_u32 v3, v2, v2
{phase.format(value="v2", result="v10")}{barrier}{phase.format(value="v3", result="v11")}
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v10, s[8:9]
  global_store_dword v1, v11, s[8:9] offset:512
"""


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_case_11_lds_that_the_next_phase_uses_again(order: Order) -> None:
    out = np.zeros(4096, np.uint32)
    assert codes(block_sums("  s_barrier\n"), args=[out], order=order) == []
    assert (out[:128] == 64 * 64).all() and (out[128:256] == 2 * 64 * 64).all()
    found = races(launched(block_sums(""), order=order))
    assert found and all("no barrier between" in finding.why for finding in found)
    assert any(finding.instruction.startswith("ds_write_b32") for finding in found)


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_case_12_half_of_the_waves_skip_a_barrier(order: Order) -> None:
    skipping = halves("  s_barrier", "  s_nop 0")
    finding = only(launched(skipping, block=256, order=order), "barrier-missed")
    assert finding.instruction == "s_barrier" and finding.severity == "warning" and "deadlock" in finding.why
    assert codes(halves("  s_barrier", "  s_barrier"), block=256, order=order) == []


# -- LDS layout and capacity -------------------------------------------------------------------------------------
def degree(arch: str, read: str, stride: int) -> int:
    body = f"  v_mul_u32_u24 v1, {stride}, v0\n  {read} v1\n  s_waitcnt lgkmcnt(0)\n  s_endpgm\n"
    made = kernel(body, pointers(1), arch, lds_bytes=32768, vgprs=32)
    table = BankTable(arch)
    for trace in made.trace(1, 64, [np.zeros(4, np.uint32)]):
        table.add_trace(trace)
    (row,) = table.places()
    return row.degree


@pytest.mark.parametrize(
    ("arch", "stride", "expected"),
    [
        ("gfx942", 128, 32),
        ("gfx950", 128, 32),
        ("gfx942", 256, 32),
        ("gfx950", 256, 64),
        ("gfx942", 132, 1),
        ("gfx950", 132, 1),
    ],
)
def test_case_21_the_degree_of_bank_conflicts_depends_on_the_chip(arch: str, stride: int, expected: int) -> None:
    """Lanes that meet in a bank in one phase: 64 lanes on gfx950 at once, on gfx942 32."""
    assert degree(arch, "ds_read_b32 v2,", stride) == expected


def test_case_22_wide_reads_are_judged_by_their_phases() -> None:
    assert degree("gfx950", "ds_read_b128 v[4:7],", 16) == 1
    assert degree("gfx950", "ds_read_b128 v[4:7],", 32) == 2


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("size", "on_gfx942"), [(65536, True), (65792, False), (98304, False)])
def test_case_24_lds_beyond_64_kib(arch: str, size: int, on_gfx942: bool) -> None:
    """In assembly, and as dynamic LDS of a launch; tile programs end up in assembly."""
    end = kernel("  s_endpgm\n", pointers(1), arch)
    launch: dict[str, Any] = {"grid": 1, "block": 64, "args": [np.zeros(4, np.uint32)], "lds": size}
    if arch == "gfx950" or on_gfx942:
        assert kernel("  s_endpgm\n", pointers(1), arch, lds_bytes=size).info.lds_bytes == size
        assert launched("  s_nop 0\n", arch, lds_bytes=size).clean
        end.launch(**launch)
        return
    with pytest.raises(BuildError, match=f"{size} bytes of LDS; gfx942 has 0 to 65536"):
        kernel("  s_endpgm\n", pointers(1), arch, lds_bytes=size)
    with pytest.raises(InputError, match=f"{size} of dynamic LDS are more than a workgroup has on gfx942, 65536"):
        end.launch(**launch)


def test_case_25_heads_that_an_xcd_sees() -> None:
    """64 heads of 16 tiles each on 8 XCDs: launch order spreads every head over all, chunks keep a head together."""

    def heads(order: RowMajor | Chiplet) -> list[int]:
        head = order.tiles(64, 16)[:, 0]
        return [len(set(head[xcd::8].tolist())) for xcd in range(8)]

    assert heads(RowMajor()) == [64] * 8
    assert heads(Chiplet(window=1, chunk=16, xcds=8)) == [8] * 8
    assert heads(Chiplet(window=1, chunk=128, xcds=8)) == [8] * 8


# -- shapes and bounds -------------------------------------------------------------------------------------------
def sentinel(records: str, access: str) -> str:
    """Lane 63 is masked by an offset that is out of any honest range."""
    return f"""
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_mov_b32 s10, {records}
  s_mov_b32 s11, 0x20000
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v2, 0x7fffffff
  v_cmp_eq_u32 vcc, 63, v0
  v_cndmask_b32 v1, v1, v2, vcc
  v_mov_b32 v5, 0
  s_waitcnt lgkmcnt(0)
  {access}
  s_waitcnt vmcnt(0)
"""


@pytest.mark.parametrize(
    "access", ["buffer_load_dword v5, v1, s[8:11], 0 offen", "buffer_store_dword v5, v1, s[8:11], 0 offen"]
)
def test_case_35_the_range_of_a_descriptor(access: str) -> None:
    data = [np.zeros(64, np.uint32)]
    assert codes(sentinel("256", access), block=64, args=data) == []
    report = launched(sentinel("0xffffffff", access), block=64, args=data)
    assert "wild-address" in only(report, "fault").why


def test_case_35_a_range_that_reaches_the_next_buffer() -> None:
    body = """
  s_load_dwordx4 s[12:15], s[0:1], 0x0
  s_mov_b32 s10, {}
  s_mov_b32 s11, 0x20000
  v_mov_b32 v5, 0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s12
  s_mov_b32 s9, s13
  s_sub_u32 s16, s14, s12
  v_lshlrev_b32 v1, 2, v0
  v_add_u32 v1, s16, v1
  buffer_store_dword v5, v1, s[8:11], 0 offen
"""
    arrays = [np.zeros(64, np.uint32), np.zeros(64, np.uint32)]
    assert codes(body.format(256), block=64, args=arrays) == []
    finding = only(launched(body.format("0xffffffff"), block=64, args=arrays), "other-buffer")
    assert "(p1)" in finding.why
