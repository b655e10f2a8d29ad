"""Registers by an index: what ``s_movrel`` and VALU instructions under ``s_set_gpr_idx_on`` read and write."""

from __future__ import annotations

import pytest

from .assembled import codes

LOADS = "".join(f"  global_load_dword v{n}, v0, s[0:1]\n" for n in (20, 21, 22))
WAIT = "  s_waitcnt vmcnt(0)\n"
SCALARS = "  s_load_dwordx4 s[20:23], s[0:1], 0x0\n"


def _set(index: str, what: str) -> str:
    return f"  s_nop 4\n  s_set_gpr_idx_on {index}, gpr_idx({what})\n"


OFF = "  s_set_gpr_idx_off\n"


@pytest.mark.parametrize(
    ("index", "early"),
    [
        ("2", True), ("4", True), ("5", False), ("1", False), ("s8", True), ("s9", False), ("s2", True),
        ("0x102", True),
    ],
)  # fmt: skip
def test_a_vector_read_by_an_index(index: str, early: bool) -> None:
    """v18 plus the index; s8 is 3, s9 is 5, s2 is known only in a run. Eight bits of it count."""
    code = LOADS + "  s_mov_b32 s8, 3\n  s_mov_b32 s9, 5\n  v_mov_b32 v18, 0\n  v_mov_b32 v19, 0\n  v_mov_b32 v23, 0\n"
    code += "{}" + _set(index, "SRC0") + "  v_mov_b32 v5, v18\n" + OFF
    assert codes(code.format("")) == (["wait-raw"] * (3 if index == "s2" else 1) if early else [])
    assert codes(code.format(WAIT)) == []


@pytest.mark.parametrize(
    ("what", "found"), [("SRC0", []), ("DST", ["wait-waw"]), ("SRC1", []), ("SRC0,DST", ["wait-waw"])]
)
def test_a_vector_written_by_an_index(what: str, found: list[str]) -> None:
    code = LOADS + "  v_mov_b32 v19, 0\n  v_mov_b32 v1, 0\n  v_mov_b32 v2, 0\n{}" + _set("1", what)
    code += "  v_add_u32 v19, v0, v1\n" + OFF
    assert codes(code.format("")) == found
    assert codes(code.format(WAIT)) == []


def test_each_wave_has_an_index_of_its_own() -> None:
    """mla: four times the number of the wave, so that v18, v22, v26 and v30 are read."""
    wave = "  v_lshrrev_b32 v3, 6, v0\n  s_nop 0\n  v_readfirstlane_b32 s8, v3\n  s_lshl_b32 s8, s8, {}\n"
    code = "  global_load_dword v{}, v0, s[0:1]\n" + "".join(f"  v_mov_b32 v{n}, 0\n" for n in (18, 22, 26, 30)) + wave
    code += _set("s8", "SRC0") + "  v_mov_b32 v5, v18\n" + OFF
    assert codes(code.format(24, 2)) == []
    assert codes(code.format(24, 1)) == ["wait-raw"]


def test_the_mode_by_path() -> None:
    code = LOADS + "  v_mov_b32 v18, 0\n  s_nop 4\n  s_cmp_eq_u32 s2, 0\n  s_cbranch_scc1 .Lover\n" + _set("2", "SRC0")
    code += "{}.Lover:\n  v_mov_b32 v5, v18\n" + OFF
    assert codes(code.format("")) == ["wait-raw"]
    assert codes(code.format(OFF)) == []
    assert codes(code.format("  s_set_gpr_idx_mode gpr_idx(DST)\n")) == []


def test_another_index_or_mode_while_it_is_on() -> None:
    code = (
        LOADS
        + "  v_mov_b32 v18, 0\n  v_mov_b32 v23, 0\n"
        + _set("5", "SRC0")
        + "  {}\n  s_nop 1\n  v_mov_b32 v5, v18\n"
        + OFF
    )
    assert codes(code.format("s_nop 0")) == []
    assert codes(code.format("s_set_gpr_idx_idx s2")) == ["wait-raw"] * 3
    assert codes(code.format("s_set_gpr_idx_mode gpr_idx(SRC1)")) == []
    assert codes(code.format("s_mov_b32 m0, s2")) == ["wait-raw"] * 3


def test_a_read_of_what_nothing_wrote_by_an_index() -> None:
    code = "  v_mov_b32 v20, 0\n{}" + _set("{}", "SRC0") + "  v_mov_b32 v5, v18\n" + OFF
    assert codes(code.format("", 2)) == []
    assert codes(code.format("", 3)) == ["undefined-register"]
    assert codes(code.format("", "s2")) == []
    assert codes(code.replace("v20", "v10").format("", "s2")) == ["undefined-register"]


def test_a_write_by_an_index_defines_what_it_may_write() -> None:
    code = _set("{}", "DST") + "  v_mov_b32 v18, 0\n" + OFF + "  v_mov_b32 v5, v20\n"
    assert codes(code.format(2)) == []
    assert codes(code.format(3)) == ["undefined-register"]
    assert codes(code.format("s2")) == []


@pytest.mark.parametrize(("m0", "early"), [("2", True), ("5", True), ("6", False), ("1", False), ("s2", True)])
def test_scalars_by_m0(m0: str, early: bool) -> None:
    code = f"{SCALARS}  s_mov_b64 s[18:19], 0\n  s_mov_b32 s24, 0\n  s_mov_b32 m0, {m0}\n  s_nop 0\n"
    code += "{}  s_movrels_b32 s5, s18\n"
    assert codes(code.format("")) == ["wait-raw"] * early
    assert codes(code.format("  s_waitcnt lgkmcnt(0)\n")) == []


@pytest.mark.parametrize(("m0", "early"), [("2", True), ("6", False), ("s2", True)])
def test_scalars_written_by_m0(m0: str, early: bool) -> None:
    code = f"{SCALARS}  s_mov_b32 m0, {m0}\n  s_nop 0\n{{}}  s_movreld_b64 s[18:19], s[2:3]\n"
    assert codes(code.format("")) == ["wait-waw"] * early
    assert codes(code.format("  s_waitcnt lgkmcnt(0)\n")) == []
