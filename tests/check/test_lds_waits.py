"""LDS statically: accesses at known addresses that come too early are found, and nothing that may be in order is."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from tests.sim.assembled import code_object, pointers

from pykittens.check.findings import Finding, Report
from pykittens.check.static import check

from .assembled import codes, report

LDS = {"lds_bytes": 16384, "max_workgroup_size": 128}
BUFFER = "  s_mov_b64 s[8:9], 0\n  s_mov_b64 s[10:11], 0\n"
WAVE = "  v_lshrrev_b32 v9, 6, v0\n  s_nop 0\n  v_readfirstlane_b32 s20, v9\n  v_and_b32 v8, 63, v0\n"
"""s20: the number of the wave; v8: that of the lane in it."""
OWN = "  s_lshl_b32 s21, s20, 8\n  v_lshlrev_b32 v1, 2, v0\n"
"""s21: where the wave's 256 bytes start; v1: the work-item's dword, in that part."""
OTHER = "  v_xor_b32 v2, 0x100, v1\n"
"""v2: the dword of the same lane of the other wave."""
M0 = "  s_mov_b32 m0, s21\n  s_nop 0\n"
COPY = "  buffer_load_dword v1, s[8:11], 0 offen lds\n"
START = BUFFER + WAVE + OWN + OTHER


def said(body: str, **options: object) -> list[Finding]:
    found: Report = report(body, **{**LDS, **options})
    assert {f.code for f in found.findings if f.severity != "note"} <= {"lds-order", "lds-race"}
    return [f for f in found.findings if f.code.startswith("lds-")]


def kinds(body: str, **options: object) -> list[str]:
    return sorted({f.code if f.severity == "error" else f"{f.code} note" for f in said(body, **options)})


def test_a_copy_is_read_by_its_own_wave() -> None:
    code = START + M0 + COPY + "  {}\n  ds_read_b32 v3, v1\n  s_waitcnt lgkmcnt(0)\n"
    (found,) = said(code.format("s_nop 0"))
    assert (found.code, found.severity, found.times) == ("lds-order", "error", 1)
    assert found.why.startswith("it reads byte 0 of LDS while the copy of the same wave may be under way")
    assert found.fix == "put s_waitcnt vmcnt(0) in front of it"
    assert found.instruction == "ds_read_b32 v3, v1" and found.producer is not None
    assert found.producer.instruction == "buffer_load_dword v1, s[8:11], 0 offen lds"
    assert said(code.format("s_waitcnt vmcnt(0)")) == []


@pytest.mark.parametrize(("m0", "offset", "meets"), [(0, 0, True), (256, 0, False), (252, 0, True), (0, 256, False)])
def test_to_the_byte(m0: int, offset: int, meets: bool) -> None:
    """A wave's copy fills 256 bytes; the read is of the first 256."""
    code = BUFFER + f"  s_mov_b32 m0, {m0}\n  v_lshlrev_b32 v1, 2, v0\n"
    code += f"  buffer_load_dword v1, s[8:11], 0 offen offset:{offset} lds\n  ds_read_b32 v3, v1\n"
    found = kinds(code + "  s_waitcnt vmcnt(0) lgkmcnt(0)\n", max_workgroup_size=64)
    assert found == ["lds-order"] * meets


def test_wide_copies_put_lanes_16_bytes_apart() -> None:
    code = BUFFER + "  s_mov_b32 m0, 0\n  v_lshlrev_b32 v1, {}, v0\n  buffer_load_dwordx{} v1, s[8:11], 0 offen lds\n"
    code += "  v_add_u32 v2, {}, v1\n  ds_read_b32 v3, v2\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    assert kinds(code.format(4, 4, 12), max_workgroup_size=64) == ["lds-order"]
    assert kinds(code.format(4, 3, 8), max_workgroup_size=64) == ["lds-order"]
    assert kinds(code.format(4, 3, 12), max_workgroup_size=64) == []


@pytest.mark.parametrize("later", ["ds_write_b32 v1, v0", "ds_add_u32 v1, v0", "ds_read2_b32 v[4:5], v1 offset1:1"])
def test_any_access_waits_for_a_copy(later: str) -> None:
    code = START + M0 + COPY + "  {}\n  " + later + "\n  s_waitcnt lgkmcnt(0)\n"
    assert "lds-order" in kinds(code.format("s_nop 0"))
    assert kinds(code.format("s_waitcnt vmcnt(0)\n  s_barrier")) == []


def test_copies_are_in_order_among_themselves_and_so_are_ds_accesses() -> None:
    assert kinds(START + M0 + COPY + COPY + "  s_waitcnt vmcnt(0)\n") == []
    assert kinds(START + "  ds_write_b32 v1, v0\n  ds_read_b32 v3, v1\n  s_waitcnt lgkmcnt(0)\n") == []


def test_only_what_is_counted_down_to_has_come() -> None:
    """Four copies of 256 bytes each, and reads of two of them."""
    code = BUFFER + "  v_lshlrev_b32 v1, 2, v0\n"
    for n in range(4):
        code += f"  s_mov_b32 m0, {256 * n}\n  s_nop 0\n" + COPY
    code += "  s_waitcnt vmcnt({})\n  ds_read_b32 v3, v1 offset:{}\n  s_waitcnt lgkmcnt(0)\n"
    for tile in range(4):
        assert kinds(code.format(3 - tile, 256 * tile), max_workgroup_size=64) == []
        assert kinds(code.format(4 - tile, 256 * tile), max_workgroup_size=64) == ["lds-order"]


def test_an_unknown_base_and_what_is_added() -> None:
    """The base is an argument; the copy goes to it plus 4 for each lane, and the reads are beside it."""
    code = BUFFER + "  s_load_dword s12, s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n  s_add_u32 m0, s12, 64\n"
    code += "  v_lshlrev_b32 v1, 2, v0\n" + COPY + "  v_add_u32 v2, s12, v1\n  {}\n  ds_read_b32 v3, v2 offset:{}\n"
    code += "  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    (found,) = said(code.format("s_nop 0", 64), max_workgroup_size=64)
    assert "it reads a byte of LDS, 64 beyond a number not known here, while the copy" in found.why
    assert kinds(code.format("s_waitcnt vmcnt(0)", 64), max_workgroup_size=64) == []
    assert kinds(code.format("s_nop 0", 64 + 256), max_workgroup_size=64) == []
    # Another number may be any.
    again = "s_load_dword s12, s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n  v_add_u32 v2, s12, v1"
    assert kinds(code.format(again, 64), max_workgroup_size=64) == []


def test_an_unknown_base_of_an_earlier_turn_is_another_one() -> None:
    loop = BUFFER + "  s_mov_b32 s13, 0\n  v_lshlrev_b32 v1, 2, v0\n  s_mov_b32 s12, s2\n.Lloop:\n"
    loop += "{}  s_mov_b32 m0, s12\n  v_add_u32 v2, s12, v1\n" + COPY
    loop += "{}  s_add_u32 s13, s13, 1\n  s_cmp_lt_u32 s13, s3\n  s_cbranch_scc1 .Lloop\n  s_waitcnt vmcnt(0)\n"
    next_ = "  s_load_dword s12, s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"
    read = "  ds_read_b32 v3, v2\n  s_waitcnt lgkmcnt(0)\n"
    assert kinds(loop.format("", read), max_workgroup_size=64) == ["lds-order"]
    assert kinds(loop.format(next_, "  s_waitcnt vmcnt(0)\n" + read), max_workgroup_size=64) == []
    early = next_ + "  v_add_u32 v2, s12, v1\n" + read
    assert kinds(loop.format("  v_mov_b32 v2, 0\n" + early, ""), max_workgroup_size=64) == []


def test_addresses_that_are_not_told_are_a_note_with_their_number() -> None:
    code = BUFFER + "  global_load_dword v7, v0, s[0:1]\n  s_mov_b32 m0, 0\n  s_nop 0\n" + COPY.replace("v1", "v0")
    code += "  s_waitcnt vmcnt(1)\n  ds_read_b32 v3, v7\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    (found,) = said(code)
    assert (found.code, found.severity, found.times) == ("lds-not-proved", "note", 1)
    assert "where 1 of its 2 LDS instructions go" in found.why
    assert "1 lds-not-proved" in report(code, **LDS).text()


def test_waves_that_are_not_known_to_exist_do_not_race() -> None:
    """Launched with any number of work-items: no address and no other wave is known."""
    code = START + M0 + COPY + "  s_barrier\n  ds_read_b32 v3, v2\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    assert kinds(code) == ["lds-race"]
    assert kinds(code, max_workgroup_size=1024, vgprs=64, agprs=0) == ["lds-not-proved note"]
    assert kinds(code, max_workgroup_size=64) == []


def test_lanes_that_exec_leaves_out_access_nothing() -> None:
    code = START + M0 + COPY + "  s_mov_b64 exec, {}\n  ds_read_b32 v3, v1\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    assert kinds(code.format(1)) == ["lds-order"]
    assert kinds(code.format(0)) == []
    masked = START + "  s_mov_b64 exec, 1\n" + M0 + COPY + "  s_mov_b64 exec, {}\n  ds_read_b32 v3, v1\n"
    assert kinds(masked.format(2) + "  s_waitcnt vmcnt(0) lgkmcnt(0)\n") == []
    assert kinds(masked.format(3) + "  s_waitcnt vmcnt(0) lgkmcnt(0)\n") == ["lds-order"]


def test_only_waves_that_come_there_race() -> None:
    """Wave 0 alone writes the other's part; wave 1 reads it before or after a barrier."""
    code = WAVE + OWN + OTHER + "  ds_write_b32 v1, v0\n  s_waitcnt lgkmcnt(0)\n{}  s_cmp_eq_u32 s20, 0\n"
    code += "  s_cbranch_scc1 .Lover\n  ds_read_b32 v3, {}\n  s_waitcnt lgkmcnt(0)\n.Lover:\n"
    assert kinds(code.format("", "v2")) == ["lds-race"]
    assert kinds(code.format("  s_barrier\n", "v2")) == []
    assert kinds(code.format("", "v1")) == []


def test_atomics_do_not_race_and_stores_of_equal_values_are_left_to_runs() -> None:
    same = WAVE + "  v_lshlrev_b32 v1, 2, v8\n"
    assert kinds(same + "  ds_add_u32 v1, v0\n  ds_or_b32 v1, v0\n  s_waitcnt lgkmcnt(0)\n") == []
    assert kinds(same + "  ds_write_b32 v1, v0\n  ds_write_b32 v1, v8\n  s_waitcnt lgkmcnt(0)\n") == []
    assert kinds(same + "  ds_write_b32 v1, v0\n  ds_add_u32 v1, v8\n  s_waitcnt lgkmcnt(0)\n") == ["lds-race"]


LOOP = """
  s_mov_b32 s13, 0
.Lloop:
{body}
  s_add_u32 s13, s13, 1
  s_cmp_lt_u32 s13, s3
  s_cbranch_scc1 .Lloop
"""


def test_round_a_loop() -> None:
    """The read is of what the other wave wrote; the next turn's write must not come before it."""
    body = (
        "  ds_write_b32 v1, v0\n  s_waitcnt lgkmcnt(0)\n  s_barrier\n  ds_read_b32 v3, v2\n  s_waitcnt lgkmcnt(0)\n{}"
    )
    start = WAVE + OWN + OTHER
    assert kinds(start + LOOP.format(body=body.format(""))) == ["lds-race"]
    assert kinds(start + LOOP.format(body=body.format("  s_barrier\n"))) == []


@pytest.mark.parametrize(("count", "offset", "found"), [(1, 0, []), (1, 1024, ["lds-order"]), (2, 0, ["lds-order"])])
def test_each_turn_of_a_counted_loop_has_a_place_of_its_own(count: int, offset: int, found: list[str]) -> None:
    """Two turns copy to two KiB, one each; then the first or the second is read."""
    code = BUFFER + "  s_mov_b32 s13, 0\n  v_lshlrev_b32 v1, 2, v0\n.Lloop:\n  s_lshl_b32 m0, s13, 10\n  s_nop 0\n"
    code += COPY + "  s_add_u32 s13, s13, 1\n  s_cmp_lt_u32 s13, 2\n  s_cbranch_scc1 .Lloop\n"
    code += f"  s_waitcnt vmcnt({count})\n  ds_read_b32 v3, v1 offset:{offset}\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    assert kinds(code, max_workgroup_size=64) == found


def test_a_wait_on_some_ways_alone_is_a_note() -> None:
    """Whether the way without the wait is taken is not told, where a branch depends on what is not known."""
    code = START + M0 + COPY + "  s_cmp_eq_u32 s2, 0\n  s_cbranch_scc1 .Lover\n  s_waitcnt vmcnt(0)\n.Lover:\n"
    code += "  ds_read_b32 v3, v1\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    (found,) = said(code)
    assert (found.code, found.severity) == ("lds-order", "note")
    assert found.why.endswith("on some of the ways from there to here")
    assert codes(code, **LDS) == []


def test_many_pairs_of_two_blocks_are_one_finding() -> None:
    code = START + M0 + COPY + "  ds_read_b32 v3, v1\n" * 5 + "  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    (found,) = said(code)
    assert found.times == 5


def test_the_poll_of_a_flag_is_taken_as_a_barrier() -> None:
    """An LDS atomic with a result may tell a wave what another has done; that it does is left to a checked run."""
    code = START + M0 + COPY + "  {wait}\n  v_mov_b32 v4, 0\n  {poll} v4 offset:4096\n"
    code += "  s_waitcnt lgkmcnt(0)\n  ds_read_b32 v3, v2\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    polls, posts = "ds_add_rtn_u32 v5, v4,", "ds_add_u32 v4,"
    landed, flying = "s_waitcnt vmcnt(0)", "s_nop 0"
    noted = report(code.format(wait=landed, poll=polls), **LDS).by_code("lds-not-proved")
    assert [note.why for note in noted] == [
        "1 LDS atomics may tell waves what others have done: the order between waves is not proved"
    ]
    for wait, poll, wanted in ((landed, polls, set()), (flying, polls, {"lds-race"}), (landed, posts, {"lds-race"})):
        found = report(code.format(wait=wait, poll=poll), **LDS).findings
        assert {f.code for f in found if f.severity != "note"} == wanted


def test_a_poll_of_a_flag_is_taken_as_a_barrier_and_noted() -> None:
    """Who waits for a flag in LDS is ordered by it, or not: that shows in a run alone."""
    code = START + M0 + COPY + "  s_waitcnt vmcnt(0)\n  v_mov_b32 v5, 0\n  {}\n  s_waitcnt lgkmcnt(0)\n"
    code += "  ds_read_b32 v3, v2\n  s_waitcnt lgkmcnt(0)\n"
    assert kinds(code.format("ds_add_u32 v5, v0 offset:4096")) == ["lds-race"]
    assert kinds(code.format("ds_add_rtn_u32 v6, v5, v0 offset:4096")) == ["lds-not-proved note"]


@dataclass(frozen=True)
class _Compiled:
    """What the check asks of a compiled kernel."""

    code_object: bytes
    at: int
    name: str = "k"
    registers: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(lives=[]))

    def lds_names(self) -> dict[int, str]:
        return {self.at: "As read"}


def test_the_shared_tile_is_named() -> None:
    body = START + M0 + COPY + "  ds_read_b32 v3, v1\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n  s_endpgm\n"
    data = code_object(body, "gfx950", pointers(1), tuple(sorted({"vgprs": 32, **LDS}.items())))
    (found,) = check(data).by_code("lds-order")
    assert found.tile is None and found.pc is not None
    (named,) = check(_Compiled(data, found.pc)).by_code("lds-order")
    assert named.tile == "As read"
