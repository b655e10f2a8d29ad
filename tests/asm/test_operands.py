"""Operands of programs being written: what is taken, and what is refused in assembly notation."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from pykittens.asm.program import Program
from pykittens.errors import BuildError
from pykittens.isa import text
from pykittens.isa.registers import Const, Special, a, m0, s, v, vcc

from .assembled import instructions

Emit = Callable[[Program], object]

WRONG: list[tuple[str, str, Emit]] = [
    ("unknown-instruction", "there is no instruction v_bad_f32", lambda p: p.v_bad_f32(v[0])),
    ("operand-count", "v_add_f32 v0, v1: 2 operands, takes 3", lambda p: p.v_add_f32(v[0], v[1])),
    ("operand-count", "4 operands, takes 3", lambda p: p.v_add_f32(v[0], v[1], v[2], v[3])),
    ("operand-kind", "is no operand", lambda p: p.v_mov_b32(v[0], object())),
    ("operand-kind", "'v1' is no operand", lambda p: p.v_mov_b32(v[0], "v1")),
    ("operand-size", "v0 has 1 registers, the operand takes 2", lambda p: p.v_mov_b64(v[0], v[2:3])),
    ("operand-size", "s[4:5] has 2 registers, the operand takes 4", lambda p: p.s_load_dwordx4(s[4:5], s[0:1])),
    ("operand-size", "v[2:5] has 4 registers, the operand takes 2",
     lambda p: p.v_mfma_f32_16x16x16_f16(v[8:11], v[0:1], v[2:5], v[8:11])),
    ("operand-size", "v[0:7] has 8 registers, the operand takes 4",
     lambda p: p.v_mfma_f32_16x16x128_f8f6f4(a[0:3], v[0:7], v[8:15], a[0:3], cbsz=4)),
    ("operand-size", "v1 has 1 registers, the operand takes 2",
     lambda p: p.buffer_load_dword(v[0], v[1], s[4:7], 0, offen=True, idxen=True)),
    ("operand-size", "v[2:3] has 2 registers, the operand takes 1",
     lambda p: p.global_load_dword(v[0], v[2:3], s[4:5])),
    ("register-range", "v256 is outside the file, whose last is v255", lambda p: p.v_mov_b32(v[256], 0)),
    ("register-range", "v[254:257] is outside", lambda p: p.ds_read_b128(v[254:257], v[0])),
    ("register-alignment", "v[1:4] starts at 1, which is no multiple of 2; use v[2:5]",
     lambda p: p.ds_read_b128(v[1:4], v[0])),
    ("register-alignment", "v[1:3] starts at 1", lambda p: p.ds_read_b96(v[1:3], v[0])),
    ("register-alignment", "s[2:5] starts at 2, which is no multiple of 4; use s[4:7]",
     lambda p: p.s_load_dwordx4(s[2:5], s[0:1])),
    ("register-alignment", "s[1:2] starts at 1", lambda p: p.s_mov_b64(s[1:2], 0)),
    ("operand-file", "a0 is the wrong kind of register, the operand takes VGPR (v)", lambda p: p.v_mov_b32(a[0], 0)),
    ("operand-file", "takes VGPR (v) or SGPR (s)", lambda p: p.v_mov_b32(v[0], a[1])),
    ("operand-file", "v1 is the wrong kind of register, the operand takes AGPR (a)",
     lambda p: p.v_accvgpr_read_b32(v[0], v[1])),
    ("operand-file", "takes SGPR (s)", lambda p: p.buffer_load_dword(v[0], v[1], v[4:7], 0, offen=True)),
    ("operand-file", "takes VGPR (v)", lambda p: p.ds_read_b32(v[0], a[1])),
    ("operand-file", "takes SGPR (s)", lambda p: p.s_mov_b32(v[0], 0)),
    ("accumulator-file", "D is a[0:3] and C is v[0:3]",
     lambda p: p.v_mfma_f32_16x16x16_f16(a[0:3], v[4:5], v[6:7], v[0:3])),
    ("constant-bus", "reads 2 scalar values (s1, s2), the limit is 1", lambda p: p.v_fma_f32(v[0], s[1], s[2], v[1])),
    ("constant-bus", "reads 2 scalar values (vcc, 0x64), the limit is 1",
     lambda p: p.v_cndmask_b32(v[0], 100, v[1], vcc)),
    ("constant-bus", "reads 2 scalar values (s1, vcc)", lambda p: p.v_cndmask_b32(v[0], s[1], v[1], vcc)),
    ("constant-bus", "reads 2 scalar values (s1, vcc)", lambda p: p.v_div_fmas_f32(v[0], s[1], v[1], v[2])),
    ("two-literals", "has 2 literals", lambda p: p.s_add_u32(s[0], 100, 200)),
    ("literal-encoding", "0x3fc00000 is no inline constant, and a VOP3 instruction has no room for a literal",
     lambda p: p.v_fma_f32(v[0], v[1], 1.5, v[2])),
    ("literal-encoding", "the e64 encoding has no room", lambda p: p.v_cmp_lt_f32(s[0:1], 1.5, v[2])),
    ("literal-encoding", "a MUBUF instruction has no room",
     lambda p: p.buffer_load_dword(v[0], v[1], s[4:7], 100, offen=True)),
    ("constant-range", "4294967296 does not fit a literal, -2147483648 to 4294967295",
     lambda p: p.s_mov_b32(s[0], 1 << 32)),
    ("constant-range", "-17 does not fit a literal, 0 to 4294967295", lambda p: p.s_mov_b64(s[0:1], -17)),
    ("constant-range", "0.1 needs all 64 bits", lambda p: p.v_add_f64(v[0:1], v[2:3], 0.1)),
    ("immediate-range", "simm16 is 65536, fits 0 to 65535", lambda p: p.s_nop(65536)),
    ("immediate-range", "simm16 is 'x'", lambda p: p.s_nop("x")),
    ("operand-count", "the immediate simm16 is missing", lambda p: p.s_nop()),
    ("wait-count", "vmcnt(64); vmcnt is 0 to 63", lambda p: p.s_waitcnt(vmcnt=64)),
    ("wait-count", "vm(1)", lambda p: p.s_waitcnt(vm=1)),
    ("unknown-modifier", "has no modifier offest; known are", lambda p: p.ds_read_b32(v[0], v[1], offest=4)),
]  # fmt: skip


@pytest.mark.parametrize(("code", "words", "emit"), WRONG)
def test_wrong_operands_are_refused_at_the_callers_line(code: str, words: str, emit: Emit) -> None:
    program = Program("gfx950")
    with pytest.raises(BuildError) as caught:
        emit(program)
    assert caught.value.code == code
    assert words in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.rpartition(":")[0] == __file__
    assert program.items == []


def test_an_instruction_of_the_other_chip() -> None:
    with pytest.raises(BuildError, match=r"v_permlane32_swap_b32 does not exist on gfx942, only on gfx950"):
        Program("gfx942").v_permlane32_swap_b32(v[0], v[1])


RIGHT: list[tuple[str, Emit]] = [
    ("v_add_f32_e32 v0, 1.0, v1", lambda p: p.v_add_f32(v[0], 1.0, v[1])),
    ("v_add_f32_e32 v0, 0x3fc00000, v1", lambda p: p.v_add_f32(v[0], 1.5, v[1])),
    ("v_add_f32_e64 v0, v1, 1.0", lambda p: p.v_add_f32(v[0], v[1], 1.0)),
    ("v_add_f32_e64 v0, v1, s2", lambda p: p.v_add_f32(v[0], v[1], s[2])),
    ("v_add_f32_e64 v0, -v1, v2", lambda p: p.v_add_f32(v[0], v[1], v[2], neg=(1, 0))),
    ("v_add_f16_e32 v0, 0x34cd, v1", lambda p: p.v_add_f16(v[0], 0.3, v[1])),
    ("v_add_f32_e32 v0, 0x80000000, v1", lambda p: p.v_add_f32(v[0], -0.0, v[1])),
    ("v_add_f32_e32 v0, 0, v1", lambda p: p.v_add_f32(v[0], 0.0, v[1])),
    ("v_add_f32_e32 v0, 0x7f800000, v1", lambda p: p.v_add_f32(v[0], math.inf, v[1])),
    ("v_mul_f32_e32 v0, 0.15915494, v1", lambda p: p.v_mul_f32(v[0], 0.15915494309189535, v[1])),
    ("v_add_f64 v[0:1], v[2:3], 4.0", lambda p: p.v_add_f64(v[0:1], v[2:3], 4.0)),
    ("v_add_u32_e32 v0, -16, v1", lambda p: p.v_add_u32(v[0], -16, v[1])),
    ("v_add_u32_e32 v0, 0xffffffef, v1", lambda p: p.v_add_u32(v[0], -17, v[1])),
    ("v_add_u32_e32 v0, 64, v1", lambda p: p.v_add_u32(v[0], 64, v[1])),
    ("v_add_u32_e32 v0, 0x41, v1", lambda p: p.v_add_u32(v[0], 65, v[1])),
    ("v_mov_b32_e32 v0, 1", lambda p: p.v_mov_b32(v[0], True)),
    ("v_mov_b32_e32 v0, src_scc", lambda p: p.v_mov_b32(v[0], Special(253))),
    ("v_mov_b32_e32 v0, 0x12345678", lambda p: p.v_mov_b32(v[0], Const(0x12345678, "literal"))),
    ("v_cndmask_b32_e32 v0, v1, v2, vcc", lambda p: p.v_cndmask_b32(v[0], v[1], v[2], vcc)),
    ("v_cndmask_b32_e64 v0, v1, v2, s[4:5]", lambda p: p.v_cndmask_b32(v[0], v[1], v[2], s[4:5])),
    ("v_cmp_lt_f32_e32 vcc, v1, v2", lambda p: p.v_cmp_lt_f32(vcc, v[1], v[2])),
    ("v_cmp_lt_f32_e64 s[4:5], v1, v2", lambda p: p.v_cmp_lt_f32(s[4:5], v[1], v[2])),
    ("v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf",
     lambda p: p.v_mov_b32(v[0], v[1], dpp_ctrl=("row_shl", 1))),
    ("v_readfirstlane_b32 s0, v1", lambda p: p.v_readfirstlane_b32(s[0], v[1])),
    ("s_nop 3", lambda p: p.s_nop(3)),
    ("s_nop 0", lambda p: p.s_nop(simm16=0)),
    ("s_movk_i32 s3, 0xfffb", lambda p: p.s_movk_i32(s[3], -5)),
    ("s_waitcnt vmcnt(0) lgkmcnt(3)", lambda p: p.s_waitcnt(vmcnt=0, lgkmcnt=3)),
    ("s_mov_b32 m0, 0x12345", lambda p: p.s_mov_b32(m0, 0x12345)),
    ("s_setreg_imm32_b32 hwreg(HW_REG_MODE), 18", lambda p: p.s_setreg_imm32_b32(0xF801, Const(0x12, "literal"))),
    ("s_load_dwordx4 s[4:7], s[0:1], 0x0", lambda p: p.s_load_dwordx4(s[4:7], s[0:1], offset=0)),
    ("s_load_dwordx4 s[4:7], s[0:1], s3", lambda p: p.s_load_dwordx4(s[4:7], s[0:1], s[3])),
    ("buffer_load_dwordx4 v[0:3], v5, s[4:7], 0 offen offset:16",
     lambda p: p.buffer_load_dwordx4(v[0:3], v[5], s[4:7], 0, offen=True, offset=16)),
    ("buffer_load_dwordx4 a[0:3], off, s[4:7], 0", lambda p: p.buffer_load_dwordx4(a[0:3], None, s[4:7], 0)),
    ("buffer_load_dwordx4 v5, s[4:7], 0 offen lds",
     lambda p: p.buffer_load_dwordx4(None, v[5], s[4:7], 0, offen=True, lds=True)),
    ("global_load_dword v0, v[2:3], off", lambda p: p.global_load_dword(v[0], v[2:3])),
    ("global_load_dword v0, v2, s[4:5] offset:-4", lambda p: p.global_load_dword(v[0], v[2], s[4:5], offset=-4)),
    ("ds_read_b96_tr_b6 v[1:3], v0", lambda p: p.ds_read_b96_tr_b6(v[1:3], v[0])),
    ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], a[2:3], a[0:15]",
     lambda p: p.v_mfma_f32_32x32x8_f16(a[0:15], v[0:1], a[2:3], a[0:15])),
    ("v_mfma_f32_16x16x128_f8f6f4 a[0:3], v[0:3], v[8:15], a[0:3] cbsz:4",
     lambda p: p.v_mfma_f32_16x16x128_f8f6f4(a[0:3], v[0:3], v[8:15], a[0:3], cbsz=4)),
    ("v_accvgpr_write_b32 a3, 1.0", lambda p: p.v_accvgpr_write_b32(a[3], 1.0)),
    ("v_writelane_b32 v0, s1, m0", lambda p: p.v_writelane_b32(v[0], s[1], m0)),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "emit"), RIGHT)
def test_right_operands_take_the_shortest_encoding(wanted: str, emit: Emit) -> None:
    program = Program("gfx950")
    emit(program)
    assert text(program.lines()[0].instruction) == wanted


def test_the_assembler_takes_them_all_and_decodes_to_the_same() -> None:
    program = Program("gfx950")
    for _, emit in RIGHT:
        emit(program)
        # So that no pass has anything to add: only these instructions are compared.
        program.s_nop(15)
        program.s_waitcnt(vmcnt=0, lgkmcnt=0)
        program.s_nop(15)
    program.s_endpgm()
    written = [line.instruction for line in program.lines()]
    decoded = instructions(program)[: len(written)]
    assert [text(i) for i in decoded] == [text(i) for i in written]
