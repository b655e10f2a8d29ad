"""Waits: what is read or written too early on some path is found, and nothing else."""

from __future__ import annotations

import pytest

from .assembled import ARCHS, codes, loads, report

LOAD = "  global_load_dword v1, v0, s[0:1]\n"
READ = "  v_add_u32 v2, v0, v1\n"


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("later", [0, 1, 5, 20])
def test_vmcnt_counts_down_in_order(later: int, arch: str) -> None:
    code = LOAD + loads(later)
    assert codes(f"{code}  s_waitcnt vmcnt({later})\n{READ}", arch) == []
    assert codes(f"{code}  s_waitcnt vmcnt({later + 1})\n{READ}", arch) == ["wait-raw"]
    assert codes(code + READ, arch) == ["wait-raw"]


def test_a_finding_tells_both_places_both_numbers_and_what_to_do() -> None:
    (finding,) = report(LOAD + loads(2) + "  s_waitcnt lgkmcnt(0)\n" + READ).findings[:1]
    assert finding.code == "wait-raw" and finding.severity == "error"
    assert finding.instruction == "v_add_u32_e32 v2, v0, v1"
    assert finding.producer is not None and finding.producer.instruction == "global_load_dword v1, v0, s[0:1]"
    assert finding.producer.pc < (finding.pc or 0)
    assert "vmcnt(2) proves its arrival, and up to 3 under vmcnt" in finding.why
    assert finding.fix == "put s_waitcnt vmcnt(2) in front of it"
    assert finding.tile == "v1" and finding.kernel == "k"


def test_stores_count_too() -> None:
    code = LOAD + "  global_store_dword v0, v0, s[0:1]\n"
    assert codes(code + "  s_waitcnt vmcnt(1)\n" + READ) == []
    assert codes(code + "  s_waitcnt vmcnt(2)\n" + READ) == ["wait-raw"]


def test_lds_reads_are_in_order_beside_scalar_loads() -> None:
    code = "  ds_read_b32 v1, v0\n  s_load_dword s4, s[0:1], 0x0\n  s_waitcnt lgkmcnt({})\n" + READ
    assert codes(code.format(0), lds_bytes=4096) == []
    assert codes(code.format(1), lds_bytes=4096) == ["wait-raw"]


@pytest.mark.parametrize("wait", ["vmcnt(0)", "lgkmcnt(0)"])
def test_flat_needs_both_counters(wait: str) -> None:
    code = "  v_mov_b32 v4, 0\n  v_mov_b32 v5, 0\n  flat_load_dword v1, v[4:5]\n  s_waitcnt {}\n" + READ
    both = [f.code for f in report(code.format("vmcnt(0) lgkmcnt(0)")).findings if f.code.startswith("wait-")]
    assert both == []
    assert "wait-raw" in codes(code.format(wait))


def test_a_full_counter_is_a_wait() -> None:
    """64 loads cannot be under way at once."""
    assert codes(LOAD + loads(62) + READ) == ["wait-raw"]
    assert codes(LOAD + loads(63) + READ) == []


def test_writing_a_register_that_is_being_loaded() -> None:
    write = "  v_mov_b32 v1, 0\n"
    assert codes(LOAD + write) == ["wait-waw"]
    assert codes(LOAD + "  s_waitcnt vmcnt(0)\n" + write) == []


def test_loads_of_one_kind_may_follow_each_other_into_a_register() -> None:
    assert codes(LOAD + LOAD + "  s_waitcnt vmcnt(0)\n" + READ) == []
    assert codes(LOAD + "  ds_read_b32 v1, v0\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n" + READ, lds_bytes=4096) == [
        "wait-waw"
    ]


@pytest.mark.parametrize(
    "store",
    [
        "global_store_dword v0, v1, s[0:1]", "buffer_store_dwordx2 v[2:3], v0, s[4:7], 0 offen", "ds_write_b32 v0, v1",
        "global_atomic_add v0, v1, s[0:1]", "ds_write_b64 v0, v[2:3]",
    ],
)  # fmt: skip
def test_a_vector_store_has_read_its_data_by_the_next_instruction(store: str) -> None:
    """Also its address and descriptor."""
    start = "  v_mov_b32 v1, 0\n  v_mov_b32 v2, 0\n  v_mov_b32 v3, 0\n  s_mov_b64 s[4:5], 0\n  s_mov_b64 s[6:7], 0\n"
    overwrites = (
        "  v_mov_b32 v1, 1\n  v_mov_b32 v2, 1\n  v_mov_b32 v0, 0\n  s_mov_b64 s[0:1], 0\n  s_mov_b64 s[4:5], 0\n"
    )
    found = report(f"{start}  {store}\n{overwrites}", lds_bytes=4096)
    assert [f for f in found.findings if f.code.startswith("wait-")] == []


@pytest.mark.parametrize(
    ("store", "overwritten", "said"),
    [
        ("s_store_dword s8, s[0:1], 0x0", "s8", True), ("s_store_dword s8, s[0:1], 0x0", "s9", False),
        ("s_store_dwordx2 s[8:9], s[0:1], 0x0", "s9", True), ("s_store_dword s8, s[4:5], 0x0", "s4", False),
        ("s_atomic_add s8, s[0:1], 0x0", "s8", True), ("s_load_dword s12, s[8:9], 0x0", "s8", False),
    ],
)  # fmt: skip
def test_a_scalar_store_may_still_read_its_data(store: str, overwritten: str, said: bool) -> None:
    """A note, as LLVM waits for nothing there; what is not sent is read when it is issued."""
    code = f"  s_mov_b64 s[8:9], 1\n  s_mov_b64 s[4:5], s[0:1]\n  {store}\n  {{}}\n  s_mov_b32 {overwritten}, 2\n"
    found = report(code.format("s_nop 0"))
    assert found.clean
    assert [(f.code, f.tile) for f in found.findings] == [("wait-war", overwritten)] * said
    assert all(
        "is written while the scalar store that sends it may be under way: lgkmcnt(0)" in f.why for f in found.findings
    )
    assert not report(code.format("s_waitcnt lgkmcnt(0)")).by_code("wait-war")


def test_a_scalar_atomic_that_brings_back_a_value_is_a_load_too() -> None:
    code = "  s_mov_b32 s8, 1\n  s_atomic_add s8, s[0:1], 0x0 glc\n  {}\n  s_mov_b32 s9, s8\n"
    assert codes(code.format("s_nop 0")) == ["wait-raw"]
    assert codes(code.format("s_waitcnt lgkmcnt(0)")) == []


def test_a_wait_on_one_path_only() -> None:
    code = """
  global_load_dword v1, v0, s[0:1]
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 .Lover
  {}
.Lover:
  {}
  v_add_u32 v2, v0, v1
"""
    wait = "s_waitcnt vmcnt(0)"
    assert codes(code.format(wait, "")) == ["wait-raw"]
    assert codes(code.format("", wait)) == []


def test_accumulation_registers_are_loaded_too() -> None:
    code = "  buffer_load_dword a3, v0, s[4:7], 0 offen\n  {}\n  v_accvgpr_read_b32 v2, a3\n"
    setup = "  s_mov_b64 s[4:5], 0\n  s_mov_b64 s[6:7], 0\n"
    assert codes(setup + code.format("s_nop 0")) == ["wait-raw"]
    assert codes(setup + code.format("s_waitcnt vmcnt(0)")) == []


def test_old_values_of_atomics_arrive_like_loads() -> None:
    atomic = "  global_atomic_add v1, v0, v0, s[0:1]{}\n"
    assert codes(atomic.format(" sc0") + READ) == ["wait-raw"]


def test_accesses_that_vskip_may_skip_prove_nothing_of_others() -> None:
    code = (
        LOAD
        + "  s_setvskip {}, 0\n  global_load_dword v3, v0, s[0:1]\n  s_setvskip 0, 0\n  s_waitcnt vmcnt(1)\n"
        + READ
    )
    assert codes(code.format("s2")) == ["wait-raw"]
    assert codes(code.format(1)) == ["wait-raw"]
    assert codes(code.format(2)) == []
    assert codes(code.format("s2").replace("vmcnt(1)", "vmcnt(0)")) == []
