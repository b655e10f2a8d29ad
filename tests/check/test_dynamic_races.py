"""Races in LDS, found under every order of the waves: each case with the race and without it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.check.launched import ARCHS, WAVES, codes, launched, only

from pykittens.sim import Order

ORDERS = (Order(), Order(turn=1), Order(turn=100_000), Order(landing="late"), Order(turn=7, seed=3))
WAIT, BARRIER, NOTHING = "s_waitcnt lgkmcnt(0)", "s_barrier", "s_nop 0"


def split(first: str, other: str, setup: str = "") -> str:
    """After the setup wave 0 runs one piece, the others another."""
    return f"{WAVES}\n{setup}\n  s_cbranch_scc0 .Lother\n{first}\n  s_branch .Ldone\n.Lother:\n{other}\n.Ldone:\n"


def exchange(*between: str) -> str:
    """Each of two waves writes its half of LDS and reads the other's."""
    steps = "\n".join(f"  {line}" for line in between)
    return f"""
  v_lshlrev_b32 v1, 2, v0
  v_xor_b32 v2, 0x100, v1
  ds_write_b32 v1, v0
{steps}
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
"""


@pytest.mark.parametrize("order", ORDERS, ids=repr)
@pytest.mark.parametrize("arch", ARCHS)
def test_a_write_is_waited_for_before_the_barrier(arch: str, order: Order) -> None:
    assert codes(exchange(WAIT, BARRIER), arch, order=order) == []
    assert codes(exchange(BARRIER, WAIT), arch, order=order) == ["lds-race"]
    assert codes(exchange(WAIT), arch, order=order) == ["lds-race"]


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_a_read_that_is_waited_for_behind_the_barrier_races_with_the_next_write(order: Order) -> None:
    def body(before: str, after: str) -> str:
        setup = "  v_lshlrev_b32 v22, 4, v21\n" + "".join(f"  v_mov_b32 v{n}, 0\n" for n in range(4, 8))
        first = f"  ds_read_b128 v[8:11], v22\n  {before}\n  s_barrier\n  {after}\n"
        other = "  s_barrier\n  ds_write_b128 v22, v[4:7]\n  s_waitcnt lgkmcnt(0)\n"
        return split(first, other, setup)

    assert codes(body(WAIT, NOTHING), order=order) == []
    report = launched(body(NOTHING, WAIT), order=order)
    finding = only(report, "lds-race")
    assert finding.instruction.startswith("ds_write_b128")
    assert finding.producer is not None and finding.producer.instruction.startswith("ds_read_b128")
    assert "not waited for" in finding.why
    assert finding.times == 64 * 4


def copies(wait: str, read: int) -> str:
    """Wave 0 copies four pieces of 1 KiB to LDS, the other wave reads one of them."""
    first = "".join(f"  s_mov_b32 m0, {1024 * i}\n  buffer_load_dwordx4 v22, s[8:11], 0 offen lds\n" for i in range(4))
    return (
        "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  s_mov_b32 s10, 16384\n  s_mov_b32 s11, 0x20000\n"
        "  s_waitcnt lgkmcnt(0)\n"
        + split(
            f"{first}\n  {wait}\n  s_barrier\n",
            f"  s_barrier\n  ds_read_b128 v[8:11], v22 offset:{1024 * read}\n  s_waitcnt lgkmcnt(0)\n",
            "  v_lshlrev_b32 v22, 4, v21\n",
        )
        + "  s_waitcnt vmcnt(0)\n"
    )


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_a_copy_to_lds_that_crosses_a_barrier(order: Order) -> None:
    assert [codes(copies("s_waitcnt vmcnt(2)", n), order=order) for n in range(4)] == [
        [], [], ["lds-race"], ["lds-race"],
    ]  # fmt: skip
    assert all(codes(copies("s_waitcnt vmcnt(0)", n), order=order) == [] for n in range(4))


def test_both_accesses_are_told() -> None:
    finding = only(launched(copies("s_waitcnt vmcnt(2)", 3)), "lds-race")
    assert finding.instruction == "ds_read_b128 v[8:11], v22 offset:3072"
    assert finding.producer is not None
    assert finding.producer.instruction == "buffer_load_dwordx4 v22, s[8:11], 0 offen lds"
    assert "wave 1 reads" in finding.why and "wave 0 wrote" in finding.why


def refill(*between: str) -> str:
    """All waves read what the next copy of wave 0 overwrites."""
    steps = "\n".join(f"  {line}" for line in between)
    copy = "  s_mov_b32 m0, 0\n  buffer_load_dword v22, s[8:11], 0 offen lds\n"
    fill = (
        f"  v_lshlrev_b32 v22, 2, v21\n  s_cbranch_scc0 .Lfilled\n{copy}  s_waitcnt vmcnt(0)\n.Lfilled:\n  s_barrier\n"
    )
    return (
        "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  s_mov_b32 s10, 16384\n  s_mov_b32 s11, 0x20000\n"
        f"  s_waitcnt lgkmcnt(0)\n{WAVES}{fill}  ds_read_b32 v3, v22\n{steps}\n"
        f"  s_cmp_eq_u32 s20, 0\n  s_cbranch_scc0 .Ldone\n{copy}.Ldone:\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    )


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_the_next_copy_needs_both_the_wait_and_the_barrier(order: Order) -> None:
    assert codes(refill(WAIT, BARRIER), order=order) == []
    no_barrier = [f for f in launched(refill(WAIT), order=order).findings if f.code == "lds-race"]
    no_wait = launched(refill(BARRIER), order=order)
    assert no_barrier and all("no barrier" in f.why for f in no_barrier)
    assert "not waited for" in only(no_wait, "lds-race").why
    assert "its own earlier" in only(no_wait, "lds-order").why


def test_a_wave_waits_for_its_own_copy() -> None:
    body = """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_mov_b32 s10, 16384
  s_mov_b32 s11, 0x20000
  s_mov_b32 m0, 0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  buffer_load_dword v1, s[8:11], 0 offen lds
  {}
  ds_read_b32 v3, v1
  s_waitcnt vmcnt(0) lgkmcnt(0)
"""
    assert codes(body.format("s_waitcnt vmcnt(0)"), block=64) == []
    assert codes(body.format(NOTHING), block=64) == ["lds-order"]


def reduction(between: str) -> str:
    """A sum in LDS that all read, and that the next phase overwrites."""
    return f"""{WAVES}
  v_mov_b32 v1, 0
  s_cbranch_scc0 .Lwait
  ds_write_b32 v1, v1
  s_waitcnt lgkmcnt(0)
.Lwait:
  s_barrier
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  {between}
  s_cmp_eq_u32 s20, 1
  s_cbranch_scc0 .Ldone
  v_mov_b32 v3, 7
  ds_write_b32 v1, v3
  s_waitcnt lgkmcnt(0)
.Ldone:
"""


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_lds_that_the_next_phase_uses_again(order: Order) -> None:
    assert codes(reduction(BARRIER), order=order) == []
    assert codes(reduction(NOTHING), order=order) == ["lds-race"]


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_waves_a_barrier_apart_are_followed(order: Order) -> None:
    """Wave 1 runs one barrier behind: what it writes before its barrier n comes before barrier n + 1 of wave 0."""

    def body(barriers: int) -> str:
        write = "  ds_write_b32 v22, v21\n  s_waitcnt lgkmcnt(0)\n  s_barrier\n  s_barrier\n"
        read = "  ds_read_b32 v3, v22\n  s_waitcnt lgkmcnt(0)\n"
        first = "  s_barrier\n" * barriers + read + "  s_barrier\n" * (3 - barriers)
        return split(first, "  s_barrier\n" + write, "  v_lshlrev_b32 v22, 2, v21\n")

    assert codes(body(2), order=order) == []
    assert codes(body(1), order=order) == ["lds-race"]


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_lds_through_flat_addresses(order: Order) -> None:
    """As `exchange`, with one side or both in FLAT instructions."""
    setup = "  s_mov_b64 s[8:9], src_shared_base\n  v_lshlrev_b32 v1, 2, v0\n  v_xor_b32 v2, 0x100, v1\n"
    setup += "  v_mov_b32 v5, s9\n  v_mov_b32 v4, v1\n  v_mov_b32 v6, v2\n  v_mov_b32 v7, s9\n"
    writes = ("  ds_write_b32 v1, v0\n", "  flat_store_dword v[4:5], v0\n")
    reads = ("  ds_read_b32 v3, v2\n", "  flat_load_dword v3, v[6:7]\n")
    wait = "  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    store = "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n  global_store_dword v1, v3, s[8:9]\n"
    for write in writes:
        for read in reads:
            assert codes(setup + write + wait + "  s_barrier\n" + read + wait + store, order=order) == []
            assert codes(setup + write + "  s_barrier\n" + wait + read + wait, order=order) == ["lds-race"]
            assert codes(setup + write + wait + read + wait, order=order) == ["lds-race"]
    assert codes(setup + reads[1] + wait + store, order=order) == ["undefined-store"]
    add = "  v_mov_b32 v8, 1\n  flat_atomic_add v3, v[4:5], v8 sc0\n"
    assert codes(setup + writes[0] + wait + add + wait + store, order=order) == []
    assert codes(setup + add + wait + store, order=order) == ["undefined-store"]


def test_bytes_of_one_dword_are_told_apart() -> None:
    apart = split("  v_mov_b32 v1, 0\n  ds_write_b8 v1, v21\n", "  v_mov_b32 v1, 1\n  ds_write_b8 v1, v21\n")
    same = split("  v_mov_b32 v1, 0\n  ds_write_b16 v1, v21\n", "  v_mov_b32 v1, 1\n  ds_write_b8 v1, v0\n")
    assert codes(apart) == []
    assert codes(same) == ["lds-race"]


def test_atomics_do_not_race_with_each_other_but_with_plain_accesses() -> None:
    add = "  v_mov_b32 v1, 0\n  v_mov_b32 v2, 1\n  ds_add_u32 v1, v2\n  s_waitcnt lgkmcnt(0)\n"
    clear = split("  v_mov_b32 v1, 0\n  ds_write_b32 v1, v1\n  s_waitcnt lgkmcnt(0)\n", "") + "  s_barrier\n"
    assert codes(clear + add + "  s_barrier\n  ds_read_b32 v3, v1\n  s_waitcnt lgkmcnt(0)\n") == []
    assert codes(clear + add + "  ds_read_b32 v3, v1\n  s_waitcnt lgkmcnt(0)\n") == ["lds-race"]


def test_the_same_value_twice_is_a_note() -> None:
    body = "  v_mov_b32 v1, 0\n  v_mov_b32 v2, {}\n  ds_write_b32 v1, v2\n  s_waitcnt lgkmcnt(0)\n"
    report = launched(body.format(5))
    assert report.clean and only(report, "lds-race").severity == "note"
    assert codes(body.format("v20").join((WAVES, ""))) == ["lds-race"]


def test_copies_of_the_same_data_are_a_note() -> None:
    body = """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_mov_b32 s10, 16384
  s_mov_b32 s11, 0x20000
  s_mov_b32 m0, 0
  v_lshlrev_b32 v1, 2, {}
  s_waitcnt lgkmcnt(0)
  buffer_load_dword v1, s[8:11], 0 offen lds
  s_waitcnt vmcnt(0)
"""
    data = [np.arange(4096, dtype=np.uint32)]
    same = launched(WAVES + body.format("v21"), args=data)
    assert same.clean and "the same value" in only(same, "lds-race").why
    assert codes(WAVES + body.format("v0"), args=data) == ["lds-race"]


@pytest.mark.parametrize("order", ORDERS, ids=repr)
def test_half_of_the_waves_skip_a_barrier(order: Order) -> None:
    finding = only(launched(split("  s_barrier\n", ""), order=order), "barrier-missed")
    assert finding.instruction == "s_barrier" and "wave 0 waits" in finding.why and "deadlock" in finding.why
    assert codes("  s_barrier\n", order=order) == []
