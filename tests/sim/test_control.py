"""Control flow, hardware registers, mode switches and barriers, on assembled kernels."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.assembled import STORE, kernel

from pykittens.errors import Fault
from pykittens.sim import Order, Run
from pykittens.sim.native_types import Code
from pykittens.sim.program import Program, variant_key


def run(body: str, items: int = 64, **launch: object) -> tuple[np.ndarray, Run]:
    """What the work-items leave in v31."""
    out = np.zeros(items, np.uint32)
    return out, kernel(body + STORE).launch(1, items, [out], **launch)  # type: ignore[arg-type]


def scalar(body: str, result: str) -> int:
    """An SGPR's value after the body."""
    return int(run(f"{body}\n  v_mov_b32 v31, {result}")[0][0])


@pytest.mark.parametrize(
    ("branch", "set_up", "taken"),
    [
        ("s_branch", "", True),
        ("s_cbranch_scc1", "s_cmp_eq_u32 s2, s2", True),
        ("s_cbranch_scc1", "s_cmp_lg_u32 s2, s2", False),
        ("s_cbranch_scc0", "s_cmp_eq_u32 s2, s2", False),
        ("s_cbranch_scc0", "s_cmp_lg_u32 s2, s2", True),
        ("s_cbranch_vccz", "s_mov_b64 vcc, 0", True),
        ("s_cbranch_vccz", "s_mov_b32 vcc_lo, 0\n s_mov_b32 vcc_hi, 1", False),
        ("s_cbranch_vccnz", "s_mov_b64 vcc, 0", False),
        ("s_cbranch_vccnz", "s_mov_b32 vcc_lo, 0\n s_mov_b32 vcc_hi, 1", True),
        ("s_cbranch_execz", "", False),
        ("s_cbranch_execnz", "", True),
    ],
)
def test_branches(branch: str, set_up: str, taken: bool) -> None:
    out, _ = run(f"v_mov_b32 v31, 1\n {set_up}\n {branch} .Lon\n v_mov_b32 v31, 2\n.Lon:\n")
    assert (out == (1 if taken else 2)).all()


def test_exec_zero_branch() -> None:
    body = """
      s_mov_b64 s[10:11], exec
      s_mov_b64 exec, 0
      s_mov_b32 s12, 1
      s_cbranch_execz .Lon
      s_mov_b32 s12, 2
    .Lon:
      s_mov_b64 exec, s[10:11]
    """
    assert scalar(body, "s12") == 1


def test_loop_counts() -> None:
    body = """
      s_mov_b32 s12, 0
      s_mov_b32 s13, 0
    .Lagain:
      s_add_u32 s13, s13, s12
      s_add_u32 s12, s12, 1
      s_cmp_lt_u32 s12, 100
      s_cbranch_scc1 .Lagain
    """
    assert scalar(body, "s13") == sum(range(100))


def test_calls_and_computed_jumps() -> None:
    body = """
      s_mov_b32 s12, 1
      s_getpc_b64 s[14:15]
      s_add_u32 s14, s14, .Lfunction-.Lhere
      s_addc_u32 s15, s15, 0
    .Lhere:
      s_swappc_b64 s[16:17], s[14:15]
      s_add_u32 s12, s12, 100
      s_call_b64 s[16:17], .Lfunction
      s_branch .Ldone
    .Lfunction:
      s_add_u32 s12, s12, 10
      s_setpc_b64 s[16:17]
    .Ldone:
    """.replace(".Lfunction-.Lhere", ".Lfunction-.Lhere+12")
    assert scalar(body, "s12") == 121


def test_code_that_only_a_computed_jump_reaches_is_decoded_when_a_wave_gets_there() -> None:
    body = """
      s_getpc_b64 s[14:15]
    .Lhere:
      s_add_u32 s14, s14, .Lhidden-.Lhere
      s_addc_u32 s15, s15, 0
      s_setpc_b64 s[14:15]
      s_mov_b32 s12, 3
      s_endpgm
    .Lhidden:
      s_mov_b32 s12, 7
    """
    assert scalar(body, "s12") == 7


def test_barrier_orders_waves_and_ended_waves_count_as_arrived() -> None:
    body = """
      v_readfirstlane_b32 s10, v0
      s_cmp_eq_u32 s10, 192
      s_cbranch_scc0 .Lwork
      s_endpgm
    .Lwork:
      v_lshlrev_b32 v1, 2, v0
      v_add_u32 v2, 5, v0
      ds_write_b32 v1, v2
      s_waitcnt lgkmcnt(0)
      s_barrier
      v_xor_b32 v1, 256, v1
      ds_read_b32 v31, v1
      s_waitcnt lgkmcnt(0)
    """
    out = np.zeros(256, np.uint32)
    for order in (Order(), Order(turn=1), Order(turn=1000), Order(landing="late"), Order(seed=3)):
        out[:] = 0
        done = kernel(body + STORE, lds_bytes=1024).launch(1, 256, [out], order=order)
        item = np.arange(128)
        assert (out[:128] == (item ^ 64) + 5).all()
        assert done.counts["ended_at_barrier"] == 1


def test_waves_meeting_at_different_barriers_are_counted() -> None:
    body = """
      v_readfirstlane_b32 s10, v0
      s_cmp_eq_u32 s10, 0
      s_cbranch_scc0 .Lother
      s_barrier
      s_branch .Ldone
    .Lother:
      s_barrier
    .Ldone:
      v_mov_b32 v31, 1
    """
    out, done = run(body, 128)
    assert (out == 1).all()
    assert done.counts["divergent_barriers"] == 1


def test_float_mode_changes_with_setreg() -> None:
    """A denormal is kept, flushed, and kept again; each state is a variant of the program."""
    body = """
      v_mov_b32 v1, 0x00000010
      v_add_f32 v2, v1, v1
      s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
      v_add_f32 v3, v1, v1
      s_mov_b32 s10, 3
      s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s10
      v_add_f32 v4, v1, v1
      s_getreg_b32 s11, hwreg(HW_REG_MODE, 4, 2)
      v_lshl_or_b32 v31, v2, 8, v3
      v_lshl_or_b32 v31, v31, 8, v4
      v_mov_b32 v5, s11
      v_lshl_or_b32 v31, v31, 2, v5
    """
    out, _ = run(body)
    assert (out == ((0x20 << 16 | 0x20) << 2 | 3)).all()


def test_register_indexing_adds_m0() -> None:
    body = """
      v_mov_b32 v10, 1
      v_mov_b32 v11, 2
      v_mov_b32 v12, 3
      s_mov_b32 s10, 2
      s_set_gpr_idx_on s10, gpr_idx(SRC0)
      v_mov_b32 v31, v10
      s_set_gpr_idx_idx s2
      v_mov_b32 v30, v11
      s_set_gpr_idx_mode gpr_idx(DST)
      s_set_gpr_idx_idx s10
      v_mov_b32 v9, v30
      s_set_gpr_idx_off
      v_lshl_or_b32 v31, v31, 8, v11
    """
    out, _ = run(body)
    assert (out == (3 << 8 | 2)).all()


def test_vskip_skips_vector_instructions_only() -> None:
    body = """
      v_mov_b32 v31, 1
      s_mov_b32 s10, 1
      s_setvskip s10, 0
      v_mov_b32 v31, 2
      s_mov_b32 s12, 40
      s_setvskip s10, 1
      v_add_u32 v31, s12, v31
    """
    assert (run(body)[0] == 41).all()


def test_hardware_registers_read_plausibly() -> None:
    assert scalar("s_getreg_b32 s10, hwreg(HW_REG_SH_MEM_BASES)", "s10") == 0x00010002
    assert scalar("s_cmp_eq_u32 s2, s2\n s_getreg_b32 s10, hwreg(HW_REG_STATUS, 0, 1)", "s10") == 1


def test_time_moves_forward_and_is_the_same_in_every_run() -> None:
    body = """
      s_memtime s[10:11]
      s_nop 0
      s_nop 0
      s_memtime s[12:13]
      s_waitcnt lgkmcnt(0)
      s_sub_u32 s12, s12, s10
    """
    assert scalar(body, "s12") == scalar(body, "s12") > 0


def test_relative_moves_add_m0() -> None:
    body = """
      s_mov_b32 s20, 5
      s_mov_b32 s21, 6
      s_mov_b32 m0, 1
      s_movrels_b32 s12, s20
      s_movreld_b32 s22, s12
      s_nop 0
    """
    assert scalar(body, "s23") == 6


@pytest.mark.parametrize(
    ("body", "code", "word"),
    [
        ("s_trap 2", "trap", "trap 2"),
        ("s_sethalt 1", "halt", "halts"),
        (".long 0xbfff0000", "illegal-instruction", "the nearest is 30"),
        ("s_mov_b64 s[10:11], 0\n s_setpc_b64 s[10:11]", "bad-jump", "0x0"),
        ("s_cbranch_cdbgsys .Lhere\n.Lhere:", "not-simulated", "not simulated"),
    ],
)
def test_what_cannot_go_on_is_a_fault(body: str, code: str, word: str) -> None:
    with pytest.raises(Fault) as caught:
        run(body)
    assert caught.value.code == code
    assert word in str(caught.value)
    assert caught.value.pc is not None


def test_a_breakpoint_without_a_debugger_does_nothing() -> None:
    out, _ = run("s_trap 3\n v_mov_b32 v31, 4")
    assert (out == 4).all()


def test_illegal_instructions_matter_only_where_they_are_executed() -> None:
    out, _ = run("v_mov_b32 v31, 4\n s_branch .Lon\n .long 0xffffffff\n.Lon:")
    assert (out == 4).all()


def test_an_instruction_of_the_other_chip_is_named() -> None:
    word = "v_prng_b32 v1, v1"
    out = np.zeros(64, np.uint32)
    encoded = ".long 0x7e02b101"  # the encoding of the line above, which gfx942 does not have
    kernel(word + STORE).launch(1, 64, [out])
    with pytest.raises(Fault, match="v_prng_b32 exists on gfx950 only"):
        kernel(encoded + STORE, arch="gfx942").launch(1, 64, [out])


def test_code_ends_in_a_fault() -> None:
    """What lies behind a kernel is no code; the bytes are named."""
    with pytest.raises(Fault, match="bytes 00 00 9f bf"):
        kernel("  s_nop 0\n").launch(1, 64, [np.zeros(1)])


def test_running_off_the_last_byte_is_a_fault() -> None:
    program = Program(bytes.fromhex("000080bf"), 0x1000, 0x1000, "gfx950", 256)
    assert [type(slot).__name__ for slot in program.slots] == ["Instruction", "EndOfCode"]
    operations = program.variant(variant_key(0xF0, 0), late=False)
    assert operations["f"][1, 0] == Code.END_OF_CODE
