"""Undefined data that goes through global memory, scratch and atomics, as a checked run sees it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.check.launched import codes, launched, only
from tests.sim.assembled import kernel, pointers

from pykittens.asm.observed import Kind
from pykittens.checking import check_launch
from pykittens.errors import InputError
from pykittens.sim import Device

SETUP = """
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_lshlrev_b32 v2, 4, v0
  s_waitcnt lgkmcnt(0)
"""
"""s[8:9]: memory that nobody has written; s[10:11]: results; v1: the lane's dword, v2: its 16 bytes."""
LOAD = "  global_load_dword v5, v1, s[8:9]{}\n  s_waitcnt vmcnt(0)\n"
STORE = "  global_store_dword v1, v5, s[10:11]{}\n  s_waitcnt vmcnt(0)\n"


def one_wave(body: str, **options: object) -> list[str]:
    memory, results = np.zeros(4096, np.uint32), np.zeros(4096, np.uint32)
    options = {"undefined": [memory], **options}
    return codes(SETUP + body, block=64, args=[memory, results], **options)


def test_a_load_of_what_nobody_wrote_is_told_where_it_is_stored() -> None:
    assert one_wave(LOAD.format("") + STORE.format("")) == ["undefined-store"]
    assert one_wave(LOAD.format("") + STORE.format(""), undefined=[]) == []
    memory = np.zeros(4096, np.uint32)
    body = SETUP + LOAD.format("") + STORE.format("")
    report = launched(body, block=64, args=[memory, np.zeros(4096, np.uint32)], undefined=[memory])
    finding = only(report, "undefined-store")
    assert "memory that nobody wrote" in finding.why
    assert finding.producer is not None and finding.producer.instruction.startswith("global_load_dword")


def test_a_store_defines_its_bytes_and_no_others() -> None:
    write = "  v_mov_b32 v6, 7\n  global_store_dword v1, v6, s[8:9]\n  s_waitcnt vmcnt(0)\n"
    assert one_wave(write + LOAD.format("") + STORE.format("")) == []
    assert one_wave(write + LOAD.format(" offset:4") + STORE.format("")) == ["undefined-store"]
    short = "  v_mov_b32 v6, 7\n  global_store_short v1, v6, s[8:9]\n  s_waitcnt vmcnt(0)\n"
    assert one_wave(short + LOAD.format("") + STORE.format("")) == ["undefined-store"]
    assert one_wave(short + LOAD.format("") + "  v_and_b32 v5, 0xffff, v5\n" + STORE.format("")) == []
    assert one_wave(short + "  global_load_ushort v5, v1, s[8:9]\n  s_waitcnt vmcnt(0)\n" + STORE.format("")) == []


def test_tails_of_vectors_that_nothing_depends_on_are_silent() -> None:
    """Lanes and elements beyond what was written are loaded with the rest, and not used."""
    write = "  v_mov_b32 v6, 7\n  global_store_dword v2, v6, s[8:9]\n  s_waitcnt vmcnt(0)\n"
    load = "  global_load_dwordx4 v[4:7], v2, s[8:9]\n  s_waitcnt vmcnt(0)\n"
    assert one_wave(write + load + "  v_mov_b32 v5, v4\n" + STORE.format("")) == []
    assert one_wave(write + load + "  v_add_u32 v5, v4, v6\n" + STORE.format("")) == ["undefined-store"]
    mask = "  v_cmp_gt_u32 vcc, 16, v0\n  v_cndmask_b32 v5, 0, v4, vcc\n"
    some = "  s_mov_b64 exec, 0xffff\n" + write + "  s_mov_b64 exec, -1\n"
    assert one_wave(some + load + mask + STORE.format("")) == []
    assert one_wave(some + load + "  v_mov_b32 v5, v4\n" + STORE.format("")) == ["undefined-store"]


def test_what_undefined_memory_decides() -> None:
    branch = "  v_readfirstlane_b32 s20, v5\n  s_cmp_eq_u32 s20, 0\n  s_cbranch_scc1 .Lnext\n.Lnext:\n"
    assert one_wave(LOAD.format("") + branch) == ["undefined-branch"]
    address = "  v_and_b32 v5, 0xfc, v5\n  global_load_dword v6, v5, s[10:11]\n  s_waitcnt vmcnt(0)\n"
    assert one_wave(LOAD.format("") + address) == ["undefined-address"]
    scalar = "  s_load_dword s20, s[8:9], 0x0\n  s_waitcnt lgkmcnt(0)\n  s_cmp_eq_u32 s20, 0\n  s_cbranch_scc1 .Lnext\n"
    assert one_wave(scalar + ".Lnext:\n") == ["undefined-branch"]
    assert one_wave(scalar + ".Lnext:\n", undefined=[]) == []


def test_copies_to_lds_carry_what_is_undefined() -> None:
    body = (
        "  s_mov_b32 s12, s8\n  s_mov_b32 s13, s9\n  s_mov_b32 s14, 16384\n  s_mov_b32 s15, 0x20000\n"
        "  s_mov_b32 m0, 0\n  buffer_load_dword v1, s[12:15], 0 offen lds\n  s_waitcnt vmcnt(0)\n"
        "  ds_read_b32 v5, v1\n  s_waitcnt lgkmcnt(0)\n" + STORE.format("")
    )
    assert one_wave(body) == ["undefined-store"]
    assert one_wave(body, undefined=[]) == []


def test_undefined_data_is_followed_between_workgroups() -> None:
    """The first workgroup stores a register that nobody wrote, the second one passes it on."""
    body = f"""
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 .Lread
  global_store_dword v1, v30, s[8:9]
  s_endpgm
.Lread:
{LOAD.format("")}{STORE.format("")}"""
    memory, results = np.zeros(4096, np.uint32), np.zeros(4096, np.uint32)
    report = launched(SETUP + body, block=64, grid=2, args=[memory, results])
    told = report.by_code("undefined-store")
    assert ["v30, which nobody wrote" in f.why for f in told].count(True) == 1
    assert ["memory that undefined data was written to" in f.why for f in told].count(True) == 1
    assert report.by_code("workgroup-race")


def test_scratch_keeps_what_is_undefined_and_tells_of_nothing() -> None:
    spill = "  scratch_store_dword v1, {}, off\n  s_waitcnt vmcnt(0)\n  scratch_load_dword v5, v1, off\n"
    spill += "  s_waitcnt vmcnt(0)\n"
    assert one_wave(spill.format("v30"), scratch_bytes=1024) == []
    assert one_wave(spill.format("v0") + STORE.format(""), scratch_bytes=1024) == []
    assert one_wave(spill.format("v30") + STORE.format(""), scratch_bytes=1024) == ["undefined-store"]
    read = "  scratch_load_dword v5, v1, off\n  s_waitcnt vmcnt(0)\n"
    memory = [np.zeros(4096, np.uint32), np.zeros(4096, np.uint32)]
    report = launched(SETUP + read + STORE.format(""), block=64, args=memory, scratch_bytes=1024)
    assert "scratch that nobody wrote" in only(report, "undefined-store").why


def test_sums_onto_what_nobody_wrote() -> None:
    add = "  v_mov_b32 v6, 1\n  global_atomic_add v1, v6, s[8:9]\n  s_waitcnt vmcnt(0)\n"
    assert one_wave(add) == ["undefined-store"]
    assert one_wave(add, undefined=[]) == []
    swap = "  v_mov_b32 v6, 1\n  global_atomic_swap v7, v1, v6, s[8:9] sc0\n  s_waitcnt vmcnt(0)\n"
    assert one_wave(swap + LOAD.format("") + STORE.format("")) == []


def test_bytes_of_lanes_that_are_partly_out_of_range() -> None:
    """A descriptor of 6 dwords: the second lane's dwords 4 and 5 are stored, 6 and 7 are not."""
    body = "  s_mov_b32 s12, s8\n  s_mov_b32 s13, s9\n  s_mov_b32 s14, 24\n  s_mov_b32 s15, 0x20000\n"
    body += "".join(f"  v_mov_b32 v{n}, {n}\n" for n in (4, 5))
    store = "  buffer_store_dwordx4 v[4:7], v2, s[12:15], 0 offen\n  s_waitcnt vmcnt(0)\n"
    whole = "  v_mov_b32 v6, 0\n  v_mov_b32 v7, 0\n  s_mov_b64 exec, 1\n" + store + "  s_mov_b64 exec, 2\n"
    again = "  v_mov_b32 v6, v30\n  v_mov_b32 v7, v31\n" + store
    assert one_wave(body + whole + again) == []
    load = "  s_mov_b64 exec, 0x3f\n" + LOAD.format("") + STORE.format("")
    assert one_wave(body + whole + again + load) == []
    assert one_wave(body + whole + again + load.replace("0x3f", "0x7f")) == ["undefined-store"]
    assert one_wave(body + whole + again.replace("v7, v31", "v5, v31")) == ["undefined-store"]


# -- memory of a device ------------------------------------------------------------------------------------------
COPY = """
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v5, v1, s[8:9]
  s_waitcnt vmcnt(0)
  global_store_dword v1, v5, s[10:11]
  s_endpgm
"""


def test_allocations_begin_undefined_and_launches_fill_them() -> None:
    made = kernel(COPY, pointers(2))
    device = made.module.device
    first, second, third = (device.empty(64, np.uint32, name) for name in ("first", "second", "third"))
    assert (first.array == 0xFFFFFFFF).all() and first.undefined.all()
    seen = made.launch_checked(1, 64, [first, second])
    assert {event.kind for event in seen.events} == {Kind.UNDEFINED_STORE}
    assert second.undefined.all()
    first.upload(np.arange(64, dtype=np.uint32))
    assert not first.undefined.any()
    assert made.launch_checked(1, 64, [first, second]).events == ()
    assert not second.undefined.any() and third.undefined.all()
    assert made.launch_checked(1, 64, [second, third]).events == ()
    assert (third.array == np.arange(64)).all() and not third.undefined.any()


def test_ordinary_launches_and_the_hosts_own_writes_define_too() -> None:
    made = kernel(COPY, pointers(2))
    first, second = (made.module.device.empty(64, np.uint32) for _ in range(2))
    first.array[:] = 5
    assert not first.undefined.any()
    assert made.launch_checked(1, 64, [first, second]).events == ()
    third = made.module.device.empty((4, 16), np.uint32)
    made.launch(1, 64, [np.full(64, 0xFFFFFFFF, np.uint32), third])
    assert not third.undefined.any()


def test_memory_that_is_not_the_launchs_cannot_be_undefined() -> None:
    made = kernel(COPY, pointers(2))
    source, target = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    with pytest.raises(InputError, match="none that this launch could write"):
        made.launch_checked(1, 64, [source, target], undefined=[np.zeros(64, np.uint32)])


def test_views_are_undefined_element_by_element() -> None:
    made = kernel(COPY, pointers(2))
    memory, target = np.zeros((8, 16), np.uint32), np.zeros(128, np.uint32)
    told = check_launch(made, grid=1, block=64, args=[memory, target], undefined=[memory[4:, ::2]])
    assert told.clean  # 64 work-items read the first four rows
    assert not check_launch(made, grid=1, block=64, args=[memory, target], undefined=[memory[:, 3:4]]).clean


def test_a_device_is_needed_for_memory_without_contents() -> None:
    buffer = Device("gfx950").empty(0, np.float32)
    assert buffer.nbytes == 0 and not buffer.undefined.any()
