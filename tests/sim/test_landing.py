"""Late landing: what a wait forces, counter by counter."""

from __future__ import annotations

import numpy as np
from tests.sim.assembled import argument, kernel

from pykittens.sim import Order

LATE = Order(landing="late")


def results(body: str, launch: Order = LATE, lds: int = 4096) -> np.ndarray:
    """v20 to v23 of lane 0, as they are before a full wait. v2 is a zero offset, s[4:5] points to 100, 101, 102, …"""
    text = f"""
      s_load_dwordx4 s[4:7], s[0:1], 0x0
      v_mov_b32 v2, 0
      v_mov_b32 v20, 1
      v_mov_b32 v21, 2
      v_mov_b32 v22, 3
      v_mov_b32 v23, 4
      s_waitcnt lgkmcnt(0)
      {body}
      v_mov_b32 v10, v20
      v_mov_b32 v11, v21
      v_mov_b32 v12, v22
      v_mov_b32 v13, v23
      s_waitcnt vmcnt(0) lgkmcnt(0)
      global_store_dwordx4 v2, v[10:13], s[6:7]
      s_endpgm
    """
    source, out = np.arange(100, 164, dtype=np.uint32), np.zeros(4, np.uint32)
    target = kernel(text, (argument(0), argument(8)), lds_bytes=lds)
    target.launch(1, 1, [source, out], order=launch)
    return out


LOADS = """
  global_load_dword v20, v2, s[4:5]
  global_load_dword v21, v2, s[4:5] offset:4
  global_load_dword v22, v2, s[4:5] offset:8
"""


def test_vector_loads_land_in_order() -> None:
    assert results(LOADS).tolist() == [1, 2, 3, 4]
    assert results(LOADS + "s_waitcnt vmcnt(2)").tolist() == [100, 2, 3, 4]
    assert results(LOADS + "s_waitcnt vmcnt(1)").tolist() == [100, 101, 3, 4]
    assert results(LOADS + "s_waitcnt vmcnt(0)").tolist() == [100, 101, 102, 4]
    assert results(LOADS, Order()).tolist() == [100, 101, 102, 4]


def test_stores_count_too() -> None:
    store = "global_store_dword v2, v23, s[6:7]\n"
    body = LOADS.replace("global_load_dword v22", store + "global_load_dword v22") + "s_waitcnt vmcnt(1)"
    assert results(body).tolist() == [100, 101, 3, 4]


def test_lds_reads_land_in_order_and_vmcnt_does_not_matter_to_them() -> None:
    body = """
      v_mov_b32 v3, 50
      ds_write_b32 v2, v3
      ds_write_b32 v2, v20 offset:4
      ds_read_b32 v20, v2
      ds_read_b32 v21, v2 offset:4
      s_waitcnt vmcnt(0)
    """
    assert results(body).tolist() == [1, 2, 3, 4]
    assert results(body + "s_waitcnt lgkmcnt(1)").tolist() == [50, 2, 3, 4]
    assert results(body + "s_waitcnt lgkmcnt(0)").tolist() == [50, 1, 3, 4]


def test_scalar_loads_land_in_any_order_so_only_zero_is_safe() -> None:
    """With a scalar load outstanding, a count says nothing of which of the two came back."""
    body = """
      s_mov_b32 s10, 9
      s_mov_b32 s11, 9
      s_load_dword s10, s[4:5], 0x0
      s_load_dword s11, s[4:5], 0x4
      s_waitcnt lgkmcnt(%d)
      v_mov_b32 v20, s10
      v_mov_b32 v21, s11
    """
    assert results(body % 1).tolist() == [9, 9, 3, 4]
    assert results(body % 0).tolist() == [100, 101, 3, 4]


def test_flat_loads_need_both_counters() -> None:
    body = "v_mov_b32 v4, s4\n v_mov_b32 v5, s5\n flat_load_dword v20, v[4:5]\n"
    assert results(body + "s_waitcnt vmcnt(0)").tolist() == [1, 2, 3, 4]
    assert results(body + "s_waitcnt lgkmcnt(0)").tolist() == [1, 2, 3, 4]
    assert results(body + "s_waitcnt vmcnt(0) lgkmcnt(0)").tolist() == [100, 2, 3, 4]


def test_halves_land_without_touching_the_other_half() -> None:
    body = """
      global_load_short_d16_hi v20, v2, s[4:5]
      v_mov_b32 v20, 7
      s_waitcnt vmcnt(0)
    """
    assert results(body)[0] == 100 << 16 | 7


def test_data_for_lds_lands_late() -> None:
    body = """
      v_mov_b32 v3, 50
      ds_write_b32 v2, v3
      s_mov_b32 m0, 0
      s_waitcnt lgkmcnt(0)
      global_load_lds_dword v2, s[4:5]
      ds_read_b32 v20, v2
      s_waitcnt lgkmcnt(0)
      s_waitcnt vmcnt(0)
      ds_read_b32 v21, v2
      s_waitcnt lgkmcnt(0)
    """
    assert results(body).tolist() == [50, 100, 3, 4]
    assert results(body, Order()).tolist() == [100, 100, 3, 4]


def test_atomics_happen_at_issue_and_their_results_land_late() -> None:
    body = """
      v_mov_b32 v3, 5
      global_atomic_add v20, v2, v3, s[4:5] sc0
      global_atomic_add v21, v2, v3, s[4:5] sc0
      s_waitcnt vmcnt(1)
    """
    assert results(body).tolist() == [100, 2, 3, 4]


def test_full_counters_make_the_wave_wait() -> None:
    body = "\n".join(f"global_load_dword v20, v2, s[4:5] offset:{4 * (i % 64)}" for i in range(64))
    assert results(body)[0] == 100, "the 64th load can only issue once the first has landed"
