"""Paths: branches on values that the code tells are decided, and nothing that can happen is left out."""

from __future__ import annotations

import pytest

from pykittens.asm.code_object import read
from pykittens.check.code import KernelCode, Places, follow

from .assembled import codes, report

LOAD = "  global_load_dword v1, v0, s[0:1]\n"
READ = "  v_add_u32 v2, v0, v1\n"
WAIT = "  s_waitcnt vmcnt(0)\n"


def _early(body: str, **options: object) -> bool:
    """Whether READ is found to come too early."""
    found = codes(body, **options)
    assert set(found) <= {"wait-raw"}
    return bool(found)


@pytest.mark.parametrize(
    ("condition", "jumps"),
    [
        ("s_cmp_eq_u32 s8, 3", True), ("s_cmp_lt_u32 s8, 3", False), ("s_cmp_lg_u32 s2, 0", None),
        ("s_cmpk_eq_u32 s8, 0x3", True), ("s_bitcmp1_b32 s8, 1", True), ("s_and_b32 s9, s8, 4", False),
        ("s_add_u32 s8, s8, s2\n  s_cmp_eq_u32 s8, 3", None), ("s_sub_u32 s8, s8, 3\n  s_cmp_eq_u32 s8, 0", True),
    ],
)  # fmt: skip
def test_conditions_on_constants(condition: str, jumps: bool | None) -> None:
    code = LOAD + f"  s_mov_b32 s8, 3\n  {condition}\n  s_cbranch_scc1 .Lover\n{{}}.Lover:\n" + READ
    assert _early(code.format(WAIT)) == (jumps is not False)
    assert _early(code.format("")) is True
    other = code.replace("scc1", "scc0")
    assert _early(other.format(WAIT)) == (jumps is not True)


def test_vcc_and_exec_decide_too() -> None:
    code = LOAD + "  {}\n  s_cbranch_{} .Lover\n" + WAIT + ".Lover:\n" + READ
    assert not _early(code.format("v_cmp_gt_u32 vcc, 0x400, v0", "vccz"))
    assert _early(code.format("v_cmp_gt_u32 vcc, 0x400, v0", "vccnz"))
    assert not _early(code.format("v_cmp_lt_u32 vcc, 64, v0", "execz"))
    assert _early(code.format("v_cmp_gt_u32 vcc, s2, v0", "vccz"))


def test_a_value_that_differs_by_path_decides_nothing() -> None:
    code = LOAD + """
  s_mov_b32 s8, 3
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 .Lmeet
  s_mov_b32 s8, {}
.Lmeet:
  s_cmp_eq_u32 s8, 3
  s_cbranch_scc0 .Lover
""" + WAIT + ".Lover:\n" + READ  # fmt: skip
    assert _early(code.format(4))
    assert not _early(code.format(3))


def test_a_branch_for_each_wave_of_the_workgroup() -> None:
    """mla: of four branches on the number of the wave one is always taken."""
    code = LOAD + "  v_lshrrev_b32 v3, 6, v0\n  s_nop 0\n  v_readfirstlane_b32 s8, v3\n"
    for wave in range(3):
        code += f"  s_cmp_eq_u32 s8, {wave}\n  s_cbranch_scc1 .Lwait\n"
    code += "  s_cmp_eq_u32 s8, {}\n  s_cbranch_scc1 .Lwait\n  s_branch .Lread\n.Lwait:\n" + WAIT + ".Lread:\n" + READ
    assert not _early(code.format(3), max_workgroup_size=256)
    assert _early(code.format(3), max_workgroup_size=320)
    assert _early(code.format(4), max_workgroup_size=256)
    assert not _early(code.format(3), reqd_workgroup_size=(64, 4, 1))


def test_how_many_waves_there_are_is_only_known_where_it_is_stated() -> None:
    code = LOAD + "  v_lshrrev_b32 v3, 6, v0\n  s_nop 0\n  v_readfirstlane_b32 s8, v3\n  s_cmp_lt_u32 s8, 16\n"
    code += "  s_cbranch_scc0 .Lread\n" + WAIT + ".Lread:\n" + READ
    assert _early(code, max_workgroup_size=1024, vgprs=64, agprs=0)
    assert not _early(code, max_workgroup_size=512, vgprs=64, agprs=0)


LOOP = """
  s_mov_b32 s8, {first}
.Lloop:
  s_cmp_lt_u32 s8, {last}
  s_cbranch_scc0 .Lend
{body}
  s_add_u32 s8, s8, 1
  s_branch .Lloop
.Lend:
"""


def test_the_first_turn_of_a_counted_loop_is_taken() -> None:
    """layer_norm: its loop is not left before its first turn, which waits."""
    assert not _early(LOAD + LOOP.format(first=0, last=1, body=WAIT) + READ)
    assert not _early(LOAD + LOOP.format(first=0, last="s3", body="") + WAIT + READ)
    assert _early(LOAD + LOOP.format(first=0, last="s3", body=WAIT) + READ)
    assert _early(LOAD + LOOP.format(first=1, last=1, body=WAIT) + READ)


def test_a_value_that_a_loop_changes_is_unknown_in_it() -> None:
    body = "  s_cmp_eq_u32 s8, 0\n  s_cbranch_scc1 .Lover\n" + READ + ".Lover:\n" + LOAD
    assert _early(LOOP.format(first=0, last=4, body=body) + WAIT)


def test_what_is_loaded_anew_in_each_turn_is_another_number() -> None:
    """The comparison of the turn before says nothing of this one's."""
    body = """
  s_load_dword s9, s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 .Lmiddle
""" + WAIT + ".Lmiddle:\n  {}  s_cmp_eq_u32 s9, 0\n  s_cbranch_scc1 .Lover\n" + READ + ".Lover:\n"  # fmt: skip
    again = "s_load_dword s9, s[0:1], 0x4\n  s_waitcnt lgkmcnt(0)\n"
    assert not _early(LOAD + body.format(""))
    assert _early(LOAD + body.format(again))
    loop = "  v_mov_b32 v1, 0\n" + LOOP.format(first=0, last="s3", body=LOAD + body.format(""))
    assert not _early(loop)
    # Here the second comparison is of what the turn before has loaded.
    late = """
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 .Lmiddle
""" + WAIT + ".Lmiddle:\n  s_load_dword s9, s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"  # fmt: skip
    late += "  s_cmp_eq_u32 s9, 0\n  s_cbranch_scc1 .Lover\n" + READ + ".Lover:\n"
    assert _early("  s_mov_b32 s9, s2\n  v_mov_b32 v1, 0\n" + LOOP.format(first=0, last="s3", body=LOAD + late))


TWICE = """
  {first}
  s_cbranch_scc1 .Lmiddle
  s_waitcnt vmcnt(0)
.Lmiddle:
  v_mov_b32 v3, 0
  {between}
  {second}
  s_cbranch_{taken} .Lover
  v_add_u32 v2, v0, v1
.Lover:
"""


@pytest.mark.parametrize(
    ("second", "taken", "between", "early"),
    [
        ("s_cmp_eq_u32 s2, s3", "scc1", "s_nop 0", False), ("s_cmp_eq_u32 s2, s3", "scc0", "s_nop 0", True),
        ("s_cmp_eq_u32 s2, s3", "scc1", "s_mov_b32 s3, s4", True), ("s_cmp_eq_u32 s2, 7", "scc1", "s_nop 0", True),
        ("s_cmp_lt_u32 s2, s3", "scc1", "s_nop 0", True), ("s_cmp_eq_u32 s9, s3", "scc1", "s_mov_b32 s9, s2", False),
        ("s_cmp_eq_u32 s2, s3", "scc1", "s_add_u32 s2, s2, 1", True),
    ],
)  # fmt: skip
def test_the_same_comparison_made_twice(second: str, taken: str, between: str, early: bool) -> None:
    body = TWICE.format(first="s_cmp_eq_u32 s2, s3", second=second, taken=taken, between=between)
    assert _early(LOAD + body) == early


def test_a_register_that_is_written_where_a_decided_branch_goes() -> None:
    code = "  s_mov_b32 s8, {}\n  s_cmp_eq_u32 s8, 0\n  s_cbranch_scc1 .Lover\n  v_mov_b32 v5, 0\n.Lover:\n"
    code += "  v_mov_b32 v6, v5\n"
    assert codes(code.format(1)) == []
    assert codes(code.format(0)) == ["undefined-register"]


def test_wait_states_on_a_path_that_is_not_taken() -> None:
    code = "  s_mov_b32 s8, {}\n  v_mov_b32 v1, 1.0\n  s_cmp_eq_u32 s8, 0\n  s_cbranch_scc0 .Lend\n  s_mov_b32 m0, 0\n"
    code += "  v_mov_b32 v1, 2.0\n  v_readlane_b32 s9, v1, 0\n.Lend:\n"
    assert codes(code.format(1)) == []
    assert codes(code.format(0)) == ["wait-states"]


def _code(body: str) -> KernelCode:
    from tests.sim.assembled import code_object, pointers

    found = read(code_object(f"{body}\n  s_endpgm\n", "gfx950", pointers(1), (("max_workgroup_size", 256),)))
    return follow(found, found.kernel(), Places(found))


def test_both_graphs_are_graphs_of_the_code() -> None:
    code = _code(LOOP.format(first=0, last="s3", body=LOOP.replace(".L", ".Lin").format(first=0, last=2, body="")))
    assert len(code.paths.plain) == len(code.graph) < len(code.paths.apart)
    for graph in (code.paths.plain, code.paths.apart):
        assert graph[0].start == graph[0].stop == 0
        for n, block in enumerate(graph):
            assert all(n in graph[s].predecessors for s in block.successors)
            assert all(n in graph[p].successors for p in block.predecessors)
    spans = {(b.start, b.stop) for b in code.graph}
    assert {(b.start, b.stop) for b in code.paths.apart} <= spans


def test_many_comparisons_do_not_grow_without_end() -> None:
    """Twelve comparisons, each made twice: 4,096 ways; the code is looked at three times at most."""
    body = "".join(f"  s_cmp_eq_u32 s2, {n}\n  s_cbranch_scc1 .La{n}\n  s_nop 0\n.La{n}:\n" for n in range(12))
    body += "".join(f"  s_cmp_eq_u32 s2, {n}\n  s_cbranch_scc1 .Lb{n}\n  s_nop 0\n.Lb{n}:\n" for n in range(12))
    code = _code(body)
    assert sum(b.stop - b.start for b in code.paths.apart) <= 3 * len(code.instructions)
    assert report(LOAD + body + READ).by_code("wait-raw")
