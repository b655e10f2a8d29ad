"""Undefined data, bounds, lanes and races between workgroups, as a checked run sees them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.check.launched import WAVES, codes, launched, only
from tests.sim.assembled import kernel, pointers

from pykittens.errors import InputError

POINTER = "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  v_lshlrev_b32 v1, 2, v0\n  s_waitcnt lgkmcnt(0)\n"
STORE = "  global_store_dword v1, v5, s[8:9]\n"


def one_wave(body: str, **options: object) -> list[str]:
    return codes(POINTER + body, block=64, **options)


def test_a_register_that_nobody_wrote_is_stored() -> None:
    finding = only(launched(POINTER + STORE, block=64), "undefined-store")
    assert finding.instruction.startswith("global_store_dword") and "v5, which nobody wrote" in finding.why
    assert one_wave(f"  v_mov_b32 v5, 1\n{STORE}") == []


def test_undefined_data_is_followed_through_arithmetic() -> None:
    assert one_wave(f"  v_add_u32 v6, v7, v0\n  v_mul_f32 v5, v6, v6\n{STORE}") == ["undefined-store"]
    report = launched(f"{POINTER}  v_add_u32 v6, v7, v0\n  v_lshlrev_b32 v5, 3, v6\n{STORE}", block=64)
    assert "v7, which nobody wrote" in only(report, "undefined-store").why


@pytest.mark.parametrize(
    "absorbs",
    [
        "v_and_b32 v5, 0, v7",
        "v_xor_b32 v5, v7, v7",
        "v_mul_u32_u24 v5, 0, v7",
        "v_cndmask_b32 v5, v0, v7, vcc",
        "v_lshlrev_b32 v5, 32, v7\n  v_sub_u32 v5, v5, v5",
    ],
)
def test_what_absorbs_undefined_data_is_silent(absorbs: str) -> None:
    assert one_wave(f"  s_mov_b64 vcc, 0\n  {absorbs}\n{STORE}") == []


def test_bits_that_are_shifted_out_or_kept_are_told_apart() -> None:
    half = "  v_mov_b32 v6, 0\n  v_lshl_or_b32 v5, v7, 16, v6\n"
    assert one_wave(f"{half}  v_and_b32 v5, 0xffff, v5\n{STORE}") == []
    assert one_wave(f"{half}{STORE}") == ["undefined-store"]
    assert one_wave(half + "  global_store_short v1, v5, s[8:9]\n") == []
    assert one_wave(half + "  global_store_short_d16_hi v1, v5, s[8:9]\n") == ["undefined-store"]


@pytest.mark.parametrize(
    "load",
    [
        "global_load_short_d16 v5, v1, s[8:9]\n  s_waitcnt vmcnt(0)",
        "ds_write_b32 v1, v0\n  s_waitcnt lgkmcnt(0)\n  ds_read_u16_d16 v5, v1\n  s_waitcnt lgkmcnt(0)",
    ],
)
def test_d16_loads_define_one_half_and_do_not_keep_the_other(load: str) -> None:
    load = f"  v_mov_b32 v5, 0\n  {load}\n"
    assert one_wave(load + "  global_store_short v1, v5, s[8:9] offset:512\n") == []
    assert one_wave(load + "  global_store_dword v1, v5, s[8:9] offset:512\n") == ["undefined-store"]
    merged = "  v_and_b32 v5, 0xffff, v5\n  global_store_dword v1, v5, s[8:9] offset:512\n"
    assert one_wave(load + merged) == []


def test_only_active_lanes_count() -> None:
    write = "  s_mov_b64 exec, 0xff\n  v_mov_b32 v5, 1\n"
    assert one_wave(write + STORE) == []
    assert one_wave(f"{write}  s_mov_b64 exec, 0x1ff\n{STORE}") == ["undefined-store"]


def test_undefined_data_decides() -> None:
    assert one_wave("  v_cmp_eq_u32 vcc, v7, v0\n  s_cbranch_vccz .Lnext\n.Lnext:\n") == ["undefined-branch"]
    assert one_wave("  s_cmp_eq_u32 s50, 0\n  s_cbranch_scc1 .Lnext\n.Lnext:\n") == ["undefined-branch"]
    assert one_wave("  v_cmp_eq_u32 vcc, v7, v0\n  s_and_saveexec_b64 s[20:21], vcc\n") == ["undefined-branch"]
    assert one_wave("  v_and_b32 v7, 63, v7\n  ds_read_b32 v5, v7\n  s_waitcnt lgkmcnt(0)\n") == ["undefined-address"]
    assert one_wave("  s_cmp_eq_u32 s2, 0\n  s_cbranch_scc1 .Lnext\n.Lnext:\n") == []


def test_the_return_address_of_a_call_is_defined() -> None:
    body = "  s_call_b64 s[50:51], .Lfunction\n  s_endpgm\n.Lfunction:\n  s_setpc_b64 s[{}]\n"
    assert one_wave(body.format("50:51")) == []
    far = "  s_getpc_b64 s[52:53]\n  s_add_u32 s52, s52, 16\n  s_addc_u32 s53, s53, 0\n"
    far += "  s_swappc_b64 s[50:51], s[52:53]\n"
    assert one_wave(far + "  s_endpgm\n  s_setpc_b64 s[50:51]\n") == []
    assert "undefined-branch" in one_wave(body.format("54:55"))


def test_lds_that_nobody_wrote() -> None:
    read = "  ds_read_b32 v5, v1{}\n  s_waitcnt lgkmcnt(0)\n" + STORE
    write = "  ds_write_b32 v1, v0\n  s_waitcnt lgkmcnt(0)\n"
    assert one_wave(write + read.format("")) == []
    report = launched(POINTER + write + read.format(" offset:256"), block=64)
    finding = only(report, "undefined-store")
    assert "LDS that nobody wrote" in finding.why
    assert finding.producer is not None and finding.producer.instruction.startswith("ds_read_b32")
    assert one_wave("  ds_write_b16 v1, v0\n" + read.format("")) == ["undefined-store"]


def test_lds_of_the_last_workgroup_is_not_this_ones() -> None:
    body = "  s_cmp_eq_u32 s2, 0\n  s_cbranch_scc0 .Lread\n  ds_write_b32 v1, v0\n.Lread:\n"
    body += (
        "  ds_read_b32 v5, v1\n  s_waitcnt lgkmcnt(0)\n" + "  s_lshl_b32 s12, s2, 8\n  v_add_u32 v1, s12, v1\n" + STORE
    )
    assert one_wave(body, grid=1) == []
    assert one_wave(body, grid=2) == ["undefined-store"]


def test_a_transposing_read_moves_undefined_bytes_with_their_elements() -> None:
    """Lane 0 of each 16 holds elements of lanes 0 to 3: only these get what its bytes lack."""
    body = """
  v_lshlrev_b32 v2, 3, v0
  v_mov_b32 v10, 0
  v_mov_b32 v11, 0
  s_mov_b64 exec, 0xfffffffffffffffe
  ds_write_b64 v2, v[10:11]
  s_mov_b64 exec, -1
  s_waitcnt lgkmcnt(0)
  ds_read_b64_tr_b16 v[4:5], v2
  s_waitcnt lgkmcnt(0)
  s_mov_b64 exec, {}
"""
    assert one_wave(body.format("0xfffffffffffffff0") + "  v_mov_b32 v5, v4\n" + STORE) == []
    assert one_wave(body.format("0x1") + "  v_mov_b32 v5, v4\n" + STORE) == ["undefined-store"]
    assert one_wave(body.format("0x1") + STORE) == []


def test_a_load_that_is_not_waited_for() -> None:
    body = "  global_load_dword v5, v1, s[8:9]\n{}  v_add_u32 v6, v5, v5\n  s_waitcnt vmcnt(0)\n"
    assert one_wave(body.format("  s_waitcnt vmcnt(0)\n")) == []
    assert one_wave(body.format("")) == ["wait-raw"]
    assert one_wave("  global_load_dword v5, v1, s[8:9]\n  v_mov_b32 v5, 0\n  s_waitcnt vmcnt(0)\n") == ["wait-waw"]
    two = "  s_load_dword s20, s[8:9], 0x0\n  s_load_dword s21, s[8:9], 0x4\n  s_waitcnt lgkmcnt({})\n"
    two += "  s_mov_b32 s22, s20\n"
    assert one_wave(two.format(0)) == []
    assert one_wave(two.format(1)) == ["wait-raw"]


# -- bounds ------------------------------------------------------------------------------------------------------
BUFFER = "  s_mov_b32 s10, {}\n  s_mov_b32 s11, 0x20000\n"


def test_reads_beside_the_buffer() -> None:
    load = "  buffer_load_dword v5, v1, s[8:11], 0 offen offset:{}\n  s_waitcnt vmcnt(0)\n"
    outside = BUFFER.format(1 << 20) + load.format(4) + load.format(0)
    arrays = [np.zeros(64, np.uint32)]
    assert one_wave(BUFFER.format(256) + load.format(4), args=arrays, overread=4096) == []
    report = launched(POINTER + outside, block=64, args=arrays, overread=4096)
    finding = only(report, "out-of-bounds")
    assert finding.times == 1 and "lane 63" in finding.why
    assert one_wave(outside, args=arrays) == ["fault"]


def test_an_access_to_another_buffer() -> None:
    body = """
  s_load_dwordx4 s[12:15], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s16, s14, s12
  v_add_u32 v2, s16, v1
  global_load_dword v5, {}, s[12:13]
  s_waitcnt vmcnt(0)
"""
    arrays = [np.zeros(64, np.uint32), np.zeros(64, np.uint32)]
    assert one_wave(body.format("v1"), args=arrays) == []
    assert one_wave(body.format("v2"), args=arrays) == ["other-buffer"]


def test_lds_beyond_its_end() -> None:
    read = "  ds_read_b32 v5, v1 offset:{}\n  s_waitcnt lgkmcnt(0)\n"
    assert one_wave(read.format(1024), lds_bytes=2560) == []
    assert one_wave(read.format(2560), lds_bytes=2560) == ["lds-bounds"]


def test_outputs_are_written_whole() -> None:
    out = np.zeros(64, np.uint32)
    body = f"{POINTER}  v_mov_b32 v5, 3\n{{}}{STORE}"
    assert launched(body.format(""), block=64, args=[out], outputs={"out": out}).clean
    report = launched(body.format("  s_mov_b64 exec, 0xf\n"), block=64, args=[out], outputs={"out": out})
    assert "240 of 256 bytes of out were not written, the first at offset 16" in only(report, "unwritten-output").why
    strided = np.zeros((8, 16), np.uint16)
    view = strided[:, :8]
    kept = launched(body.format(""), block=64, args=[strided], outputs={"view": view})
    assert kept.clean
    with pytest.raises(InputError, match="none that this launch could write"):
        launched(body.format(""), block=64, args=[out], outputs={"other": np.zeros(4)})


# -- workgroups --------------------------------------------------------------------------------------------------
def groups(body: str, **options: object) -> list[str]:
    return one_wave(
        "  s_lshl_b32 s12, s2, {}\n  v_add_u32 v2, s12, v1\n".format(options.pop("shift", 8)) + body, **options
    )


def test_two_workgroups_write_the_same_bytes() -> None:
    store = "  v_mov_b32 v5, s2\n  global_store_dword v2, v5, s[8:9]\n"
    assert groups(store, grid=3) == []
    assert groups(store, grid=3, shift=7) == ["workgroup-race"]
    assert groups("  v_mov_b32 v5, 1\n  global_store_dword v2, v5, s[8:9]\n", grid=3, shift=7) == []
    assert groups("  v_mov_b32 v5, 1\n  global_atomic_add v2, v5, s[8:9]\n", grid=3, shift=7) == []


@pytest.mark.parametrize("reader", [0, 1])
def test_one_workgroup_reads_what_another_writes(reader: int) -> None:
    """Whichever of them runs first here."""
    body = f"""
  v_mov_b32 v5, 7
  s_cmp_eq_u32 s2, {reader}
  s_cbranch_scc1 .Lread
  global_store_dword v1, v5, s[8:9]
  s_endpgm
.Lread:
  global_load_dword v6, v1, s[8:9]{{}}
  s_waitcnt vmcnt(0)
"""
    assert one_wave(body.format(""), grid=2) == ["workgroup-race"]
    assert one_wave(body.format(" offset:256"), grid=2) == []


def test_waves_of_a_workgroup_share_memory_through_a_barrier() -> None:
    body = f"""{POINTER}  v_xor_b32 v2, 0x100, v1
  global_store_dword v1, v0, s[8:9]
  {{}}
  global_load_dword v6, v2, s[8:9]
  s_waitcnt vmcnt(0)
"""
    assert codes(body.format("s_waitcnt vmcnt(0)\n  s_barrier")) == []
    assert codes(body.format("s_barrier")) == ["global-race"]
    assert codes(body.format("s_waitcnt vmcnt(0)")) == ["global-race"]


# -- lanes -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("read", "active"),
    [
        ("v_readlane_b32 s20, v0, 5", 0x20),
        ("v_readfirstlane_b32 s20, v0", 0x1),
        ("v_mov_b32_dpp v5, v0 row_newbcast:5 row_mask:0xf bank_mask:0xf", 0x21),
        ("ds_bpermute_b32 v5, v7, v0\n  s_waitcnt lgkmcnt(0)", 0x21),
    ],
)
def test_values_of_inactive_lanes(read: str, active: int) -> None:
    body = f"  v_mov_b32 v7, 20\n  v_mov_b32 v5, 0\n  s_mov_b64 exec, {{}}\n  {read}\n"
    assert not launched(body.format(active), block=64).by_code("inactive-lane")
    finding = only(
        launched(body.format(active & ~0x20 & ~0x1 if active == 1 else active & ~0x20 | 2), block=64), "inactive-lane"
    )
    assert finding.severity == "note" and "not active" in finding.why


def test_checking_does_not_change_the_results() -> None:
    body = f"{WAVES}{POINTER}  v_mad_u32_u24 v5, v0, v7, v20\n  v_cndmask_b32 v5, v5, v0, vcc\n{STORE}  s_endpgm\n"
    made = kernel(body, pointers(1), lds_bytes=1024, vgprs=64)
    plain, checked = np.zeros(128, np.uint32), np.zeros(128, np.uint32)
    made.launch(1, 128, [plain])
    seen = made.launch_checked(1, 128, [checked])
    assert seen.events and (plain == checked).all()
