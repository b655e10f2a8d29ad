"""The text of instructions, line by line against what LLVM's tools print (the expected lines are llvm-objdump's)."""

from __future__ import annotations

import pytest
from tests.isa.llvm_oracle import assemble_lines

from pykittens.isa import Const, Instruction, Label, Reg, decode, lookup, text

LINES = {
    "gfx942": (
        "s_mov_b32 s0, lit(0x1)",
        "s_mov_b64 exec, 0xffff",
        "s_mov_b32 s0, 0.15915494",
        "s_mov_b64 s[0:1], 0.15915494309189532",
        "s_nop 15",
        "s_nop 0x41",
        "s_sleep 0x7f",
        "s_endpgm",
        "s_endpgm 276",
        "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)",
        "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)",
        "s_waitcnt expcnt(6)",
        "s_getreg_b32 s0, hwreg(HW_REG_XCC_ID)",
        "s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s1",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0x12345678",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0",
        "s_sendmsg sendmsg(MSG_GS_DONE, GS_OP_CUT, 1)",
        "s_sendmsg sendmsg(MSG_INTERRUPT)",
        "s_set_gpr_idx_on s51, gpr_idx(SRC0,DST)",
        "s_set_gpr_idx_mode gpr_idx()",
        "s_movk_i32 s4, 0x120",
        "s_cbranch_scc0 65531",
        "s_call_b64 s[0:1], 16",
        "s_load_dword s60, s[0:1], 0xd0",
        "s_load_dword s4, s[4:5], s8",
        "s_load_dword s4, s[4:5], s8 offset:0x10 glc",
        "s_load_dword s4, s[4:5], -0x1",
        "s_atc_probe 4, s[4:5], 0x10",
        "s_dcache_wb",
        "v_nop",
        "v_readfirstlane_b32 s5, v3",
        "v_mov_b32_e32 v232, 0x358637bd",
        "v_cvt_i32_f64_e32 v0, 0x40000001",
        "v_cvt_f16_u16_e32 v0, 0xfff0",
        "v_swap_b32 v2, v6",
        "v_accvgpr_mov_b32 a0, a6",
        "v_fmaak_f32 v3, v2, v3, 0xbcdac9b8",
        "v_fmamk_f32 v6, v2, 0xb2a5705f, v6",
        "v_addc_co_u32_e32 v2, vcc, v6, v4, vcc",
        "v_addc_co_u32_e64 v2, s[0:1], v6, v4, s[8:9]",
        "v_cmp_eq_u32_e32 vcc, 1, v29",
        "v_cmp_nlt_f32_e64 s[0:1], |v8|, 1.0",
        "v_fma_f32 v0, -v1, neg(1.0), -|v2| clamp mul:2",
        "v_div_scale_f32 v1, s[0:1], v67, v67, v50",
        "v_add_i16 v2, v6, v6 op_sel:[0,0,1]",
        "v_cvt_sr_fp8_f32 v2, v252, v4 op_sel:[0,0,1,0]",
        "v_cndmask_b32_sdwa v2, v12, v5, vcc dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_3",
        "v_cvt_pk_f32_fp8_sdwa v[180:181], v178 src0_sel:WORD_0",
        "v_cmp_eq_u16_sdwa vcc, v214, sext(s17) src0_sel:BYTE_0 src1_sel:DWORD",
        "v_max_f32_dpp v188, -v188, |v188| row_shl:8 row_mask:0xf bank_mask:0xa bound_ctrl:1",
        "v_subrev_f32_dpp v72, v150, v72 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf",
        "v_mov_b64_dpp v[0:1], v[2:3] row_newbcast:3 row_mask:0xf bank_mask:0xf",
        "v_pk_add_f16 v0, v1, 1.0 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0] neg_hi:[0,1] clamp",
        "v_fma_mix_f32 v2, v6, v4, v8",
        "v_fma_mix_f32 v2, -|v6|, v4, v8 op_sel:[1,0,0] op_sel_hi:[1,0,0]",
        "v_dot4_i32_i8 v2, v6, v4, v8 neg_hi:[0,0,1]",
        "v_mfma_f32_32x32x1_2b_f32 v[0:31], v6, v4, v[0:31] cbsz:1 abid:1 blgp:2",
        "v_mfma_f64_4x4x4_4b_f64 a[2:3], v[6:7], a[4:5], a[2:3] neg:[1,0,0]",
        "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], a[4:5], 1.0",
        "v_smfmac_f32_16x16x32_f16 v[2:5], v[6:7], v[8:11], v12 cbsz:1 abid:2",
        "ds_read2_b64 a[88:91], v27 offset0:1 offset1:16",
        "ds_write_b16 v172, a192 offset:8192",
        "ds_swizzle_b32 v4, v2 offset:swizzle(QUAD_PERM,0,1,2,3)",
        'ds_swizzle_b32 v4, v2 offset:swizzle(BITMASK_PERM,"00p11")',
        "ds_gws_barrier v0 offset:1 gds",
        "buffer_load_dword v4, v[0:1], s[32:35], m0 idxen offen offset:4095 sc0 nt sc1",
        "buffer_load_dword off, s[32:35], 0 lds",
        "buffer_atomic_cmpswap_x2 v[0:3], v4, s[4:7], 1.0 idxen sc0",
        "buffer_wbl2 sc0 sc1",
        "tbuffer_load_format_x v0, off, s[4:7], s1 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offset:1",
        "tbuffer_store_format_xy v[0:1], v2, s[4:7], 0 offen",
        "flat_atomic_add_f64 v[8:9], v[2:3], v[4:5] offset:4095 sc0",
        "global_load_dword v4, v2, s[4:5] offset:-4096 nt",
        "global_store_dwordx4 v[130:131], a[0:3], off",
        "global_load_lds_dword v2, s[0:1] offset:4",
        "scratch_load_dword v4, off, s15 offset:4",
        "scratch_store_dword v1, v2, off",
    ),
    "gfx950": (
        "v_bitop3_b32 v26, v9, v13, s0 bitop3:0x78",
        "v_bitop3_b16 v5, v1, v2, s3 bitop3:0xaf op_sel:[1,1,1,1]",
        "v_cvt_scalef32_pk_fp4_f16 v2, v6, v4 op_sel:[0,0,1,1]",
        "v_permlane32_swap_b32_e64 v2, v6 bound_ctrl:1 fi:1",
        "v_prng_b32_e32 v0, s1",
        "ds_read_b96_tr_b6 v[1:3], v0",
        "buffer_load_dwordx4 v0, s[4:7], 0 offen lds",
        "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:15], a[16:19], v[0:3] cbsz:1 blgp:4",
        "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[8:13], v[16:19], a[0:3], v30, v31 op_sel:[1,0,0] op_sel_hi:[0,1,0]"
        " cbsz:2 blgp:4",
        "v_mfma_ld_scale_b32 v6, v4 op_sel:[1,0]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("arch", LINES)
def test_a_line_comes_back_as_it_was(arch: str) -> None:
    for line, code in zip(LINES[arch], assemble_lines(LINES[arch], arch), strict=True):
        assert isinstance(code, bytes), f"{line}: {code}"
        (instruction,) = decode(code, arch)
        assert text(instruction) == line
        assert instruction.size == len(code)


def test_labels_of_programs_and_of_decoded_code() -> None:
    branch = Instruction(lookup("s_cbranch_scc1"), (Label("loop"),))
    assert text(branch) == "s_cbranch_scc1 loop"
    decoded = Instruction(lookup("s_branch"), (Label("16", 64),), pc=0x100)
    assert text(decoded) == "s_branch 16"
    assert text(decoded, {0x144: "end"}) == "s_branch end"
    assert text(decoded, {0x148: "beyond"}) == "s_branch 16"


def test_what_llvm_prints_but_does_not_take_is_printed_otherwise() -> None:
    # LLVM prints 1.0 here, and assembles 1.0 to 0.
    instruction = Instruction(
        lookup("s_setreg_imm32_b32"), (Const(0x3F800000, "literal"),), {"simm16": 0xF801}, "", -1, 8
    )
    assert text(instruction) == "s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0x3f800000"
    (code,) = assemble_lines([text(instruction)], "gfx950")
    assert isinstance(code, bytes) and code[4:] == bytes.fromhex("0000803f")


def test_a_literal_stays_one_where_an_inline_constant_would_do() -> None:
    instruction = Instruction(lookup("v_mov_b32"), (Reg("v", 0), Const(5, "literal")), {}, "e32", -1, 8)
    assert text(instruction) == "v_mov_b32_e32 v0, lit(0x5)"
    assert assemble_lines([text(instruction)], "gfx942") == [bytes.fromhex("ff02007e05000000")]
