"""Control flow that compilers do not make: the check follows it, says what is wrong with it, and never breaks on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.asm.clang_made import compile_c
from tests.sim.assembled import code_object, pointers

from pykittens.asm.code_object import read
from pykittens.check.findings import Report
from pykittens.check.static import check
from pykittens.errors import Error

from .assembled import ARCHS, codes, report

LOAD = "  global_load_dword v1, v0, s[0:1]\n"
WAIT = "  s_waitcnt vmcnt(0)\n"
READ = "  v_add_u32 v2, v0, v1\n"


def test_a_loop_with_two_entries() -> None:
    """Irreducible: the loop is entered at its start and in its middle."""
    code = LOAD + """
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 .Lmiddle
.Ltop:
{}.Lmiddle:
  v_add_u32 v2, v0, v1
{}  s_cmp_eq_u32 s3, 0
  s_cbranch_scc1 .Ltop
"""  # fmt: skip
    assert codes(code.format(WAIT, "")) == ["wait-raw"]
    assert codes(code.format("", WAIT)) == ["wait-raw"]
    assert codes((WAIT + code).format("", "").replace(LOAD, LOAD + WAIT)) == []


def test_two_loops_through_each_other() -> None:
    code = LOAD + """
.La:
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 .Lc
.Lb:
{}  s_cmp_eq_u32 s3, 0
  s_cbranch_scc1 .La
.Lc:
{}  s_cmp_eq_u32 s4, 0
  s_cbranch_scc1 .Lb
"""  # fmt: skip
    assert codes(code.format(WAIT, "") + READ) == ["wait-raw"]
    assert codes(code.format("", WAIT) + READ) == []


def test_a_branch_over_the_wait() -> None:
    for branch in ("s_cbranch_scc0", "s_cbranch_vccz", "s_cbranch_execz", "s_cbranch_cdbgsys"):
        code = LOAD + f"  s_cmp_eq_u32 s2, 0\n  v_cmp_eq_u32 vcc, s2, v0\n  s_mov_b64 exec, vcc\n  {branch} .Lover\n"
        assert "wait-raw" in codes(code + WAIT + ".Lover:\n" + READ), branch


@pytest.mark.parametrize("words", [1, 2])
def test_a_branch_to_itself_and_one_to_the_next_instruction(words: int) -> None:
    assert codes(LOAD + "  s_branch 0\n" + READ) == ["wait-raw"]
    assert codes(LOAD + "  s_cmp_eq_u32 s2, 0\n  s_cbranch_scc1 0\n" + READ) == ["wait-raw"]
    assert codes(LOAD + "  s_branch 65535\n" + READ * words) == []


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    "jump",
    [
        "s_cbranch_g_fork s[2:3], s[30:31]", "s_cbranch_i_fork s[2:3], 4", "s_cbranch_join s2",
        "s_rfe_restore_b64 s[30:31], s2",
    ],
)  # fmt: skip
def test_forks_are_not_followed(jump: str, arch: str) -> None:
    """Nor taken for returns."""
    body = f"  s_call_b64 s[30:31], .Lf\n{READ.replace('v1', 'v9')}  s_endpgm\n.Lf:\n  {jump}\n"
    found = report(body, arch)
    assert [f.code for f in found.findings if f.code != "undefined-register"] == ["not-followed"]
    assert not found.complete and not any("v9" in f.why for f in found.findings)


def test_a_branch_into_the_middle_of_an_instruction() -> None:
    """Both readings of the bytes are followed: the literal is an ``s_endpgm``, or what else it may be."""
    code = "  s_cmp_eq_u32 s2, 0\n  s_cbranch_scc1 1\n  s_mov_b32 s9, {}\n" + READ.replace("v1", "v9")
    assert codes(code.format("0xbf810000")) == ["branch-target", "undefined-register"]
    assert codes(code.format("0xffff0000")) == ["illegal-instruction", "undefined-register"]


def test_code_behind_the_end_is_not_looked_at() -> None:
    assert codes("  s_endpgm\n" + READ + "  .long 0xffffffff\n") == []
    assert codes("  s_cbranch_scc1 .Lafter\n  s_endpgm\n.Lafter:\n" + READ) == ["undefined-register"] * 2


def test_an_empty_kernel() -> None:
    found = report("")
    assert found.clean and found.complete and found.instructions == 1 and found.findings == ()


def test_a_kernel_without_any_code() -> None:
    whole = read(code_object("  s_endpgm\n", "gfx950", pointers(1), ()))
    (section,) = whole.text
    for data in (b"", b"\0\0"):
        (found,) = check(replace(whole, text=(replace(section, data=data),))).findings
        assert found.code in ("branch-target", "runs-past-end", "illegal-instruction") and found.severity == "error"


FAR = """
  s_getpc_b64 s[10:11]
.Lhere:
  s_add_u32 s10, s10, {}-.Lhere
  s_addc_u32 s11, s11, 0
"""


def test_what_is_under_way_goes_through_jumps_and_calls() -> None:
    jump = LOAD + FAR.format(".Lfar") + "  s_setpc_b64 s[10:11]\n  s_endpgm\n.Lfar:\n"
    assert codes(jump + READ) == ["wait-raw"]
    assert codes(jump + WAIT + READ) == []
    call = FAR.format(".Lload") + "  s_swappc_b64 s[30:31], s[10:11]\n{}" + READ + "  s_endpgm\n.Lload:\n" + LOAD
    call += "  s_setpc_b64 s[30:31]\n"
    assert codes(call.format("")) == ["wait-raw"]
    assert codes(call.format(WAIT)) == []


def test_a_function_that_two_calls_share() -> None:
    """Each call returns to where it came from, for all that is followed to both places."""
    code = (
        "  s_call_b64 s[30:31], .Lf\n"
        + WAIT
        + READ
        + "  s_call_b64 s[30:31], .Lf\n{}"
        + READ
        + "  s_endpgm\n.Lf:\n"
        + LOAD
    )
    code += "  s_setpc_b64 s[30:31]\n"
    assert codes(code.format("")) == ["wait-raw"]
    assert codes(code.format(WAIT)) == []


def test_a_function_that_calls_itself() -> None:
    """It comes back from the call inside only where that saves its return address in the registers that it uses."""
    code = "  s_call_b64 s[30:31], .Lf\n  s_endpgm\n.Lf:\n  s_call_b64 s[{}], .Lf\n" + READ.replace("v1", "v9")
    assert codes(code.format("32:33") + "  s_setpc_b64 s[30:31]\n") == []
    branch = ".Lf:\n  s_cmp_eq_u32 s2, 0\n  s_cbranch_scc1 .Lback\n"
    code = code.replace(".Lf:\n", branch) + ".Lback:\n  s_setpc_b64 s[30:31]\n"
    assert codes(code.format("30:31")) == ["undefined-register"]


def test_a_jump_through_registers_that_are_not_a_return() -> None:
    found = report("  s_call_b64 s[30:31], .Lf\n  s_endpgm\n.Lf:\n  s_setpc_b64 s[2:3]\n")
    assert [f.code for f in found.findings] == ["not-followed"] and found.status == 2


def test_several_kernels_in_one_code_object() -> None:
    """Each with its own findings, by its name; one can be chosen."""
    found = check(compile_c())
    assert len(found.kernels) == 2 and found.clean
    whole = read(compile_c())
    (section,) = whole.text
    chosen = whole.kernel("calls")
    data = bytearray(section.data)
    place = chosen.entry - section.address
    data[place : place + 4] = (0xFFFFFFFF).to_bytes(4, "little")
    damaged = replace(whole, text=(replace(section, data=bytes(data)),))
    report_ = check(damaged)
    assert {f.kernel for f in report_.findings if f.severity == "error"} == {"calls"}
    assert check(damaged, "calls").status == 1
    assert all(check(damaged, name).clean for name in whole.kernels if name != "calls")


def test_damaged_code_is_a_report_or_a_refusal() -> None:
    """A few hundred times, words of a kernel with loops and calls are changed: no exception of our own comes out."""
    body = (
        LOAD
        + FAR.format(".Lfar")
        + "  s_setpc_b64 s[10:11]\n  s_endpgm\n.Lfar:\n  s_set_gpr_idx_on s2, gpr_idx(SRC0)\n"
        + READ
    )
    body += "  s_set_gpr_idx_off\n  s_mov_b32 m0, s2\n  s_movrels_b32 s5, s6\n  ds_write_b32 v0, v2\n  s_barrier\n"
    body += ".Lloop:\n  s_cmp_eq_u32 s2, s3\n  s_cbranch_scc1 .Lloop\n  s_call_b64 s[30:31], .Lend\n.Lend:\n"
    whole = read(code_object(f"{body}  s_endpgm\n", "gfx950", pointers(1), ()))
    (section,) = whole.text
    rng = np.random.default_rng(4)
    for _ in range(300):
        words = np.frombuffer(section.data[: len(section.data) // 4 * 4], "<u4").copy()
        for place in rng.integers(0, len(words), rng.integers(1, 4)):
            kind = rng.integers(3)
            if kind == 0:
                words[place] = rng.integers(1 << 32)
            elif kind == 1:
                words[place] ^= np.uint32(1) << np.uint32(rng.integers(32))
            else:
                words[place] = 0xBF820000 + (int(rng.integers(6)) << 16) + int(rng.integers(-12, 12)) % 65536
        damaged = replace(whole, text=(replace(section, data=words.tobytes()),))
        try:
            found = check(damaged)
        except Error:
            continue
        assert isinstance(found, Report) and found.status in (0, 1, 2)
