"""Waits that could be looser: only proved ones, with the loosest value."""

from __future__ import annotations

from .assembled import loads, report

READ = "  v_add_u32 v2, v0, v1\n"
LOAD = "  global_load_dword v1, v0, s[0:1]\n"


def loose(body: str) -> list[str]:
    found = report(body, lds_bytes=4096, max_workgroup_size=64)
    assert found.clean
    return [f.why.split(":")[0] for f in found.by_code("wait-loose")]


def test_the_loosest_value_is_told_and_is_enough() -> None:
    code = LOAD + loads(3) + "  s_waitcnt vmcnt({})\n" + READ
    assert loose(code.format(0)) == ["vmcnt(0) could be vmcnt(3)"]
    assert loose(code.format(2)) == ["vmcnt(2) could be vmcnt(3)"]
    assert loose(code.format(3)) == []


def test_a_wait_for_nothing() -> None:
    assert loose("  s_waitcnt vmcnt(0)\n") == ["vmcnt(0) is not needed"]
    assert loose(LOAD + "  s_waitcnt vmcnt(0) lgkmcnt(0)\n" + READ) == ["lgkmcnt(0) is not needed"]


def test_of_two_waits_each_alone_is_enough() -> None:
    code = LOAD + "  s_waitcnt vmcnt(0)\n  s_waitcnt vmcnt(0)\n" + READ
    assert loose(code) == ["vmcnt(0) is not needed", "vmcnt(0) is not needed"]


def test_what_other_waves_may_see_is_needed_at_a_barrier() -> None:
    for access in (
        "ds_write_b32 v0, v0", "ds_read_b32 v1, v0", "global_store_dword v0, v0, s[0:1]",
        "global_load_dword v1, v0, s[0:1]",
    ):  # fmt: skip
        counter = "lgkmcnt" if access.startswith("ds_") else "vmcnt"
        code = f"  {access}\n  s_waitcnt {counter}(0)\n"
        assert loose(code + "  s_barrier\n") == []
        assert loose(code) == [f"{counter}(0) is not needed"]


def test_copies_to_lds_are_needed_by_lds_reads() -> None:
    copy = "  s_mov_b32 m0, 0\n  s_nop 0\n  global_load_lds_dword v0, s[0:1]\n  s_waitcnt vmcnt(0)\n"
    assert loose(copy + "  ds_read_b32 v1, v0\n") == []
    assert loose(copy) == ["vmcnt(0) is not needed"]


def test_copies_to_lds_wait_for_reads_of_lds() -> None:
    copy = "  s_mov_b32 m0, 0\n  ds_read_b32 v1, v0\n  s_waitcnt lgkmcnt(0)\n  global_load_lds_dword v0, s[0:1]\n"
    assert loose(copy) == []


def test_stores_before_a_store_that_may_release_them() -> None:
    store = "  global_store_dword v0, v0, s[0:1]\n"
    assert loose(store + "  s_waitcnt vmcnt(0)\n" + store) == []


def test_round_a_loop() -> None:
    code = """
  v_mov_b32 v1, 0
  v_mov_b32 v4, 0
  s_mov_b32 s8, 0
.Lloop:
  s_waitcnt vmcnt({})
  v_add_u32 v2, v0, v1
  global_load_dword v1, v0, s[0:1]
  global_load_dword v4, v0, s[0:1]
  s_add_u32 s8, s8, 1
  s_cmp_lt_u32 s8, 8
  s_cbranch_scc1 .Lloop
"""
    assert loose(code.format(0)) == ["vmcnt(0) could be vmcnt(1)"]
    assert loose(code.format(1)) == []


def test_a_wait_on_which_one_of_two_paths_depends() -> None:
    code = """
  global_load_dword v1, v0, s[0:1]
  global_load_dword v3, v0, s[0:1]
  s_waitcnt vmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 .Lover
  v_add_u32 v2, v0, {}
.Lover:
"""
    assert loose(code.format("v3")) == []
    assert loose(code.format("v1")) == ["vmcnt(0) could be vmcnt(1)"]
    assert loose(code.format("v0")) == ["vmcnt(0) is not needed"]


def test_scalar_loads_need_all_or_nothing() -> None:
    code = "  s_load_dword s4, s[0:1], 0x0\n  s_load_dword s5, s[0:1], 0x4\n  s_waitcnt lgkmcnt(0)\n"
    assert loose(code + "  s_mov_b32 s6, s4\n") == []
    assert loose(code) == ["lgkmcnt(0) is not needed"]


def test_flat_accesses_need_what_they_have() -> None:
    code = "  v_mov_b32 v4, 0\n  v_mov_b32 v5, 0\n  flat_load_dword v1, v[4:5]\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    assert loose(code + READ) == []
