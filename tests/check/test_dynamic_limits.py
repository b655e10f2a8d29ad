"""What a checked run cannot remember it says: too many reads, too many atomics, too much that is wrong."""

from __future__ import annotations

import numpy as np
from tests.check.launched import WAVES, launched, only

from pykittens.sim import Order


def test_reads_that_are_no_longer_known() -> None:
    """Wave 1 reads the first dwords, then much else; wave 0 writes them with nothing in between."""
    body = f"""{WAVES}
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32 v22, 2, v21
  s_movk_i32 s21, {{}}
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s20, 0
  s_cbranch_scc1 .Lwrite
  global_load_dword v5, v22, s[8:9]
.Lagain:
  global_load_dword v5, v22, s[8:9] offset:1024
  s_sub_u32 s21, s21, 1
  s_cmp_lg_u32 s21, 0
  s_cbranch_scc1 .Lagain
  s_waitcnt vmcnt(0)
  s_endpgm
.Lwrite:
  v_mov_b32 v6, 1
  global_store_dword v22, v6, s[8:9]
"""
    first = Order(turns=((1, 1 << 20),))
    few = launched(body.format(1000), order=first, args=[np.zeros(4096, np.uint32)])
    assert only(few, "global-race").producer is not None and not few.by_code("not-checked")
    many = launched(body.format(2000), order=first, args=[np.zeros(4096, np.uint32)])
    finding = only(many, "not-checked")
    assert finding.instruction.startswith("global_store_dword") and "more than is remembered" in finding.why
    assert many.status == 2


def test_more_atomics_than_there_is_room_for() -> None:
    body = """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v3, 0
  v_mov_b32 v4, 1
  s_mov_b32 s20, {}
  s_mov_b64 exec, 1
  s_waitcnt lgkmcnt(0)
.Lagain:
  global_atomic_add v3, v4, s[8:9]
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 .Lagain
"""
    args = [np.zeros(64, np.uint32)]
    assert launched(body.format(65536), block=64, args=args).status == 0
    report = launched(body.format(65537), block=64, args=args)
    assert report.status == 2 and "more atomics" in only(report, "not-checked").why
    assert args[0][0] == 65536 + 65537


def test_more_findings_than_there_is_room_for() -> None:
    setup = "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  v_lshlrev_b32 v1, 2, v0\n  s_waitcnt lgkmcnt(0)\n"
    store = "  global_store_dword v1, v5, s[8:9]\n"
    some = launched(setup + 1000 * store, block=64)
    assert len(some.by_code("undefined-store")) == 1000 and not some.by_code("not-checked")
    many = launched(setup + 1100 * store, block=64)
    assert len(many.by_code("undefined-store")) == 1023
    assert only(many, "not-checked").place is None and many.status == 1
