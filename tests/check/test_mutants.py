"""Mutants: each changes what it says and nothing else, and the static checks find what waves depend on."""

from __future__ import annotations

from functools import cache

import pytest
from tests.sim.assembled import code_object, pointers

import pykittens as pk
from pykittens.asm.code_object import CodeObject, read
from pykittens.check.code import Places, follow
from pykittens.check.mutant_verdicts import StaticJudge
from pykittens.check.mutants import Mutant, mutants
from pykittens.check.static import check
from pykittens.isa import decode, text

from .assembled import ARCHS

BODY = """
  global_load_dword v1, v0, s[0:1]
  global_load_dword v2, v0, s[0:1]
  ds_write_b32 v0, v0
  s_waitcnt vmcnt(1) lgkmcnt(0)
  s_barrier
  v_readfirstlane_b32 s8, v1
  s_nop 3
  v_readlane_b32 s9, v1, s8
  s_waitcnt vmcnt(0)
  v_mov_b32 v3, v0
  s_nop 0
  v_readfirstlane_b32 s10, v3
  s_endpgm
"""


@cache
def original(arch: str = "gfx950", body: str = BODY) -> CodeObject:
    return read(code_object(body, arch, pointers(1), (("lds_bytes", 1024),)))


def all_mutants(found: CodeObject) -> list[Mutant]:
    return list(mutants(follow(found, found.kernel(), Places(found)), found))


def lines(found: CodeObject) -> list[str]:
    kernel = found.kernel()
    return [text(i) for i in decode(found.code(kernel), found.arch, kernel.entry)]


def test_what_is_changed() -> None:
    assert [(m.kind, m.change) for m in all_mutants(original())] == [
        ("remove-wait", "s_waitcnt vmcnt(1) lgkmcnt(0): left out"),
        ("loosen-wait", "s_waitcnt vmcnt(1) lgkmcnt(0): vmcnt(2)"),
        ("loosen-wait", "s_waitcnt vmcnt(1) lgkmcnt(0): lgkmcnt(1)"),
        ("remove-barrier", "s_barrier: left out"),
        ("lower-nop", "s_nop 3: lowered to 2"),
        ("remove-nop", "s_nop 3: left out"),
        ("remove-wait", "s_waitcnt vmcnt(0): left out"),
        ("loosen-wait", "s_waitcnt vmcnt(0): vmcnt(1)"),
        ("remove-nop", "s_nop 0: left out"),
    ]


def test_the_file_holds_the_change_and_nothing_else() -> None:
    before = lines(original())
    for mutant in all_mutants(original()):
        file = read(mutant.applied(original()).data)
        assert file.text == mutant.applied(original()).text
        assert len(file.data) == len(original().data)
        after = lines(file)
        different = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
        if mutant.kind == "remove-nop":
            assert sorted(before) == sorted(after)
            assert len({pair[0] for pair in different}) <= 6
        elif mutant.kind in ("remove-wait", "remove-barrier"):
            assert [new for _, new in different] == ["s_nop 0"]
        else:
            old, change = mutant.change.split(": ")
            assert [pair[0] for pair in different] == [old] and change.split()[-1] in different[0][1]


@pytest.mark.parametrize("arch", ARCHS)
def test_each_mutant_is_found_proved_or_left_to_a_run(arch: str) -> None:
    found = original(arch)
    judge = StaticJudge(found, found.kernel())
    outcomes = {m.change: judge.verdict(m).outcome for m in all_mutants(found)}
    assert outcomes == {
        "s_waitcnt vmcnt(1) lgkmcnt(0): left out": "reported",
        "s_waitcnt vmcnt(1) lgkmcnt(0): vmcnt(2)": "reported",
        "s_waitcnt vmcnt(1) lgkmcnt(0): lgkmcnt(1)": "undecided",  # the barrier that follows is for other waves
        "s_barrier: left out": "undecided",
        "s_nop 3: lowered to 2": "reported",
        "s_nop 3: left out": "reported",
        "s_waitcnt vmcnt(0): left out": "redundant",
        "s_waitcnt vmcnt(0): vmcnt(1)": "redundant",
        "s_nop 0: left out": "reported",
    }


SHARED = """
  s_load_dwordx2 s[0:1], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_xor_b32 v2, 0x100, v1
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v4, v2
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v4, s[0:1]
  s_endpgm
"""
"""Two waves, each of which reads what the other one has written."""


def of_two_waves(body: str, arch: str = "gfx950") -> CodeObject:
    return read(code_object(body, arch, pointers(1), (("lds_bytes", 512), ("max_workgroup_size", 128))))


@pytest.mark.parametrize("arch", ARCHS)
def test_what_waves_share_in_lds_needs_no_run(arch: str) -> None:
    """Without the barrier, or the wait before it, a wave may read too early."""
    found = of_two_waves(SHARED, arch)
    assert [f for f in check(found).findings if f.severity != "note"] == []
    judge = StaticJudge(found, found.kernel())
    verdicts = [(m.change, judge.verdict(m)) for m in all_mutants(found)]
    assert [(change, v.outcome, "wave 0 reads byte 256 of LDS" in v.why) for change, v in verdicts] == [
        ("s_waitcnt lgkmcnt(0): left out", "reported", True),
        ("s_waitcnt lgkmcnt(0): lgkmcnt(1)", "reported", True),
        ("s_barrier: left out", "reported", True),
        ("s_waitcnt lgkmcnt(0): left out", "reported", False),
        ("s_waitcnt lgkmcnt(0): lgkmcnt(1)", "reported", False),
    ]


def test_races_of_the_original_do_not_count_but_more_of_them_do() -> None:
    """The finding is the same one, and stands for two pairs of accesses where it stood for one."""
    found = of_two_waves(SHARED.replace("ds_write_b32 v1, v0", "ds_write_b32 v1, v0\n  ds_read_b32 v3, v2"))
    (known,) = check(found).by_code("lds-race")
    judge = StaticJudge(found, found.kernel())
    (barrier,) = (m for m in all_mutants(found) if m.kind == "remove-barrier")
    assert judge.verdict(barrier).outcome == "reported"
    (more,) = check(barrier.applied(found)).by_code("lds-race")
    assert (known.why, known.times, more.why, more.times) == (more.why, 1, known.why, 2)


def test_what_the_original_has_already_does_not_count() -> None:
    early = "  global_load_dword v1, v0, s[0:1]\n  v_mov_b32 v2, v1\n  s_waitcnt vmcnt(0)\n"
    found = original(body=early + "  s_barrier\n  s_endpgm\n")
    assert len(check(found).by_code("wait-raw")) == 1
    judge = StaticJudge(found, found.kernel())
    assert {judge.verdict(m).outcome for m in all_mutants(found)} == {"undecided"}


def test_a_nop_before_a_branch_goes_behind_it() -> None:
    body = """
  v_mov_b32 v1, v0
  s_cmp_eq_u32 s2, 0
  s_nop 0
  s_cbranch_scc1 .Lover
  s_endpgm
.Lover:
  v_mov_b32 v2, v1
  s_endpgm
"""
    found = original(body=body)
    (mutant,) = all_mutants(found)
    assert mutant.change == "s_nop 0: left out where the branch is taken"
    assert lines(found)[2:4] == ["s_nop 0", "s_cbranch_scc1 1"]
    changed = mutant.applied(found)
    after = lines(read(changed.data))
    assert after[2:4] == ["s_cbranch_scc1 2", "s_nop 0"]
    assert check(changed).findings == check(found).findings


@pytest.mark.parametrize("arch", ARCHS)
def test_of_a_real_kernel_only_waits_and_barriers_are_left_open(arch: str) -> None:
    """The GEMM, some of its mutants: none passes for as good."""
    exe = pk.compile(pk.kernels.gemm, arch)
    found = read(exe.code_object)
    judge = StaticJudge(found, found.kernel())
    outcomes = {(m.kind, judge.verdict(m).outcome) for m in list(mutants(judge.code, found))[::29]}
    assert {outcome for _, outcome in outcomes} == {"reported", "undecided"}
    assert ("remove-nop", "reported") in outcomes
    left_open = {kind for kind, outcome in outcomes if outcome == "undecided"}
    assert left_open <= {"remove-barrier", "remove-wait", "loosen-wait"}
