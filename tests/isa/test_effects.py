"""What instructions read and write, against the manual's words, for every kind of implicit effect."""

from __future__ import annotations

import pytest

from pykittens.asm.program import Program
from pykittens.isa import DEFINITIONS
from pykittens.isa.effects import FLAT_SCRATCH, MODE, PC, SCC, mask, mask_of, reads, writes
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Reg, Special, a, exec_, m0, s, v, vcc

from .hazard_pairs import Emit

# Read and written registers of an instruction, both as sets.
CASES: list[tuple[Emit, set[Reg], set[Reg]]] = [
    # -- the vector ALU --
    (lambda p: p.v_add_f32(v[0], v[1], s[2]), {v[1], s[2], exec_}, {v[0]}),
    (lambda p: p.v_nop(), {exec_}, set()),
    (lambda p: p.v_fmac_f32(v[0], v[1], v[2]), {v[0], v[1], v[2], exec_}, {v[0]}),
    (lambda p: p.v_fma_f64(v[0:1], v[2:3], v[4:5], 1.0), {v[2:3], v[4:5], exec_}, {v[0:1]}),
    (lambda p: p.v_cmp_lt_f32(vcc, v[1], v[2]), {v[1], v[2], exec_}, {vcc}),
    (lambda p: p.v_cmp_lt_f32(s[4:5], v[1], v[2]), {v[1], v[2], exec_}, {s[4:5]}),
    (lambda p: p.v_cmpx_lt_f32(vcc, v[1], v[2]), {v[1], v[2], exec_}, {vcc, exec_}),
    (lambda p: p.v_add_co_u32(v[0], vcc, v[1], v[2]), {v[1], v[2], exec_}, {v[0], vcc}),
    (lambda p: p.v_addc_co_u32(v[0], vcc, v[1], v[2], vcc), {v[1], v[2], vcc, exec_}, {v[0], vcc}),
    (lambda p: p.v_cndmask_b32(v[0], v[1], v[2], s[4:5]), {v[1], v[2], s[4:5], exec_}, {v[0]}),
    (lambda p: p.v_div_fmas_f32(v[0], v[1], v[2], v[3]), {v[1], v[2], v[3], vcc, exec_}, {v[0]}),
    (lambda p: p.v_div_scale_f32(v[0], vcc, v[1], v[2], v[3]), {v[1], v[2], v[3], exec_}, {v[0], vcc}),
    (lambda p: p.v_swap_b32(v[0], v[1]), {v[0], v[1], exec_}, {v[0], v[1]}),
    (lambda p: p.v_permlane32_swap_b32(v[0], v[1]), {v[0], v[1], exec_}, {v[0], v[1]}),
    (lambda p: p.v_mov_b32(v[0], Special(251)), {vcc, exec_}, {v[0]}),
    (lambda p: p.v_mov_b32(v[0], Special(252)), {exec_}, {v[0]}),
    (lambda p: p.v_mov_b32(v[0], Special(253)), {SCC, exec_}, {v[0]}),
    (lambda p: p.v_accvgpr_read_b32(v[0], a[1]), {a[1], exec_}, {v[0]}),
    (lambda p: p.v_accvgpr_write_b32(a[1], v[0]), {v[0], exec_}, {a[1]}),
    # -- lanes: EXEC picks the lane of v_readfirstlane and nothing of the other two --
    (lambda p: p.v_readfirstlane_b32(s[0], v[1]), {v[1], exec_}, {s[0]}),
    (lambda p: p.v_readlane_b32(s[0], v[1], s[2]), {v[1], s[2]}, {s[0]}),
    (lambda p: p.v_writelane_b32(v[0], s[1], m0), {v[0], s[1], m0}, {v[0]}),
    # -- parts of registers --
    (lambda p: p.v_fma_f16(v[0], v[1], v[2], v[3]), {v[0], v[1], v[2], v[3], exec_}, {v[0]}),
    (lambda p: p.v_add_f16(v[0], v[1], v[2]), {v[1], v[2], exec_}, {v[0]}),
    (lambda p: p.v_fma_mixhi_f16(v[0], v[1], v[2], v[3]), {v[0], v[1], v[2], v[3], exec_}, {v[0]}),
    (lambda p: p.v_add_f16(v[0], v[1], v[2], dst_sel="WORD_1"), {v[1], v[2], exec_}, {v[0]}),
    (lambda p: p.v_add_f16(v[0], v[1], v[2], dst_sel="WORD_1", dst_unused="UNUSED_PRESERVE"),
     {v[0], v[1], v[2], exec_}, {v[0]}),
    (lambda p: p.v_cvt_pk_fp8_f32(v[0], v[1], v[2]), {v[0], v[1], v[2], exec_}, {v[0]}),
    (lambda p: p.v_mov_b32(v[0], v[1], dpp_ctrl=("row_shl", 1)), {v[0], v[1], exec_}, {v[0]}),
    (lambda p: p.v_mov_b32(v[0], v[1], dpp_ctrl=("row_shl", 1), bound_ctrl=True), {v[1], exec_}, {v[0]}),
    (lambda p: p.v_mov_b32(v[0], v[1], dpp_ctrl=("quad_perm", 1, 0, 3, 2)), {v[1], exec_}, {v[0]}),
    (lambda p: p.v_mov_b32(v[0], v[1], dpp_ctrl=("row_ror", 1), row_mask=5), {v[0], v[1], exec_}, {v[0]}),
    (lambda p: p.v_mov_b32(v[0], v[1], dpp_ctrl=("row_ror", 1), bank_mask=0), {v[0], v[1], exec_}, {v[0]}),
    # -- matrices: no EXEC --
    (lambda p: p.v_mfma_f32_16x16x16_f16(a[0:3], v[0:1], a[4:5], a[0:3]), {a[0:3], v[0:1], a[4:5]}, {a[0:3]}),
    (lambda p: p.v_mfma_f32_16x16x16_f16(v[0:3], v[4:5], v[6:7], 0), {v[4:5], v[6:7]}, {v[0:3]}),
    (lambda p: p.v_mfma_f32_16x16x128_f8f6f4(v[0:3], v[8:13], v[16:19], 0, cbsz=2, blgp=4),
     {v[8:13], v[16:19]}, {v[0:3]}),
    (lambda p: p.v_smfmac_f32_16x16x32_f16(v[0:3], v[4:5], v[8:11], v[20]),
     {v[0:3], v[4:5], v[8:11], v[20]}, {v[0:3]}),
    # -- the scalar ALU --
    (lambda p: p.s_add_u32(s[0], s[1], 1), {s[1]}, {s[0], SCC}),
    (lambda p: p.s_addc_u32(s[0], s[1], 1), {s[1], SCC}, {s[0], SCC}),
    (lambda p: p.s_cselect_b32(s[0], s[1], s[2]), {s[1], s[2], SCC}, {s[0]}),
    (lambda p: p.s_cmov_b32(s[0], s[1]), {s[0], s[1], SCC}, {s[0]}),
    (lambda p: p.s_addk_i32(s[0], 5), {s[0]}, {s[0], SCC}),
    (lambda p: p.s_mulk_i32(s[0], 5), {s[0]}, {s[0]}),
    (lambda p: p.s_cmp_lg_u32(s[0], 0), {s[0]}, {SCC}),
    (lambda p: p.s_and_saveexec_b64(s[0:1], s[2:3]), {s[2:3], exec_}, {s[0:1], exec_, SCC}),
    (lambda p: p.s_movrels_b32(s[0], s[1]), {s[1], m0}, {s[0]}),
    (lambda p: p.s_setreg_b32(0xF801, s[0]), {s[0], MODE}, {MODE}),
    (lambda p: p.s_getreg_b32(s[0], 0xF801), {MODE}, {s[0]}),
    (lambda p: p.s_getpc_b64(s[0:1]), {PC}, {s[0:1]}),
    (lambda p: p.s_setpc_b64(s[0:1]), {s[0:1]}, {PC}),
    (lambda p: p.s_cbranch_scc1("x"), {SCC}, {PC}),
    (lambda p: p.s_cbranch_vccz("x"), {vcc}, {PC}),
    (lambda p: p.s_cbranch_execz("x"), {exec_}, {PC}),
    (lambda p: p.s_sendmsg(1), {m0}, set()),
    (lambda p: p.s_barrier(), set(), set()),
    # -- scalar memory --
    (lambda p: p.s_load_dwordx4(s[4:7], s[0:1], s[8]), {s[0:1], s[8]}, {s[4:7]}),
    (lambda p: p.s_store_dword(s[4], s[0:1]), {s[4], s[0:1]}, set()),
    (lambda p: p.s_atomic_add(s[4], s[0:1]), {s[4], s[0:1]}, set()),
    (lambda p: p.s_atomic_add(s[4], s[0:1], glc=True), {s[4], s[0:1]}, {s[4]}),
    (lambda p: p.s_memtime(s[0:1]), set(), {s[0:1]}),
    # -- LDS --
    (lambda p: p.ds_read_b128(v[0:3], v[4]), {v[4], exec_}, {v[0:3]}),
    (lambda p: p.ds_read_b32(a[0], v[4]), {v[4], exec_}, {a[0]}),
    (lambda p: p.ds_read_u16_d16(v[0], v[4]), {v[0], v[4], exec_}, {v[0]}),
    (lambda p: p.ds_write_b16_d16_hi(v[4], v[0]), {v[4], v[0], exec_}, set()),
    (lambda p: p.ds_write2_b64(v[4], v[0:1], v[2:3]), {v[4], v[0:1], v[2:3], exec_}, set()),
    (lambda p: p.ds_add_u32(v[4], v[0]), {v[4], v[0], exec_}, set()),
    (lambda p: p.ds_add_rtn_u32(v[1], v[4], v[0]), {v[4], v[0], exec_}, {v[1]}),
    (lambda p: p.ds_read_addtid_b32(v[0]), {m0, exec_}, {v[0]}),
    (lambda p: p.ds_bpermute_b32(v[0], v[1], v[2]), {v[1], v[2], exec_}, {v[0]}),
    # -- vector memory --
    (lambda p: p.buffer_load_dwordx2(v[0:1], v[2], s[4:7], s[8], offen=True), {v[2], s[4:7], s[8], exec_}, {v[0:1]}),
    (lambda p: p.buffer_load_dword(None, v[2], s[4:7], 0, offen=True, lds=True), {v[2], s[4:7], m0, exec_}, set()),
    (lambda p: p.global_load_lds_dwordx4(v[2:3]), {v[2:3], m0, exec_}, set()),
    (lambda p: p.buffer_load_short_d16_hi(v[0], None, s[4:7], 0), {v[0], s[4:7], exec_}, {v[0]}),
    (lambda p: p.buffer_store_dwordx4(v[0:3], v[4], s[4:7], 0, offen=True), {v[0:3], v[4], s[4:7], exec_}, set()),
    (lambda p: p.buffer_atomic_add(v[0], None, s[4:7], 0), {v[0], s[4:7], exec_}, set()),
    (lambda p: p.buffer_atomic_add(v[0], None, s[4:7], 0, sc0=True), {v[0], s[4:7], exec_}, {v[0]}),
    (lambda p: p.buffer_atomic_cmpswap(v[0:1], None, s[4:7], 0, sc0=True), {v[0:1], s[4:7], exec_}, {v[0]}),
    (lambda p: p.buffer_atomic_cmpswap_x2(v[0:3], None, s[4:7], 0, sc0=True), {v[0:3], s[4:7], exec_}, {v[0:1]}),
    (lambda p: p.global_atomic_add(None, v[2:3], v[0]), {v[2:3], v[0], exec_}, set()),
    (lambda p: p.global_atomic_add(v[1], v[2:3], v[0], sc0=True), {v[2:3], v[0], exec_}, {v[1]}),
    (lambda p: p.global_load_dword(v[0], v[1], s[2:3]), {v[1], s[2:3], exec_}, {v[0]}),
    (lambda p: p.flat_load_dword(v[0], v[2:3]), {v[2:3], FLAT_SCRATCH, exec_}, {v[0]}),
    (lambda p: p.scratch_store_dword(v[1], v[0]), {v[0], v[1], FLAT_SCRATCH, exec_}, set()),
    (lambda p: p.buffer_wbl2(), {exec_}, set()),
]  # fmt: skip


def _instruction(emit: Emit) -> Instruction:
    program = Program("gfx950")
    emit(program)
    return program.lines()[0].instruction


@pytest.mark.parametrize(("emit", "read", "written"), CASES)
def test_effects(emit: Emit, read: set[Reg], written: set[Reg]) -> None:
    instruction = _instruction(emit)
    assert set(reads(instruction)) == read
    assert set(writes(instruction)) == written


def test_every_definition_has_effects() -> None:
    """Explicit operands and implicit tokens all reach one of the two sets."""
    for definition in DEFINITIONS.values():
        operands = tuple(
            Reg(
                "s" if o.scalar or o.mask or definition.unit.value in ("salu", "smem", "control") else "v",
                8 * i,
                o.dwords,
            )
            for i, o in enumerate(definition.explicit_dsts + definition.explicit_srcs)
        )
        modifiers = {"dpp_ctrl": ("row_mirror",)}
        instruction = Instruction(definition, operands, modifiers)
        found = mask_of(reads(instruction)) | mask_of(writes(instruction))
        assert found & mask_of(operands) == mask_of(operands), definition.name
        implicit = {o.implicit for o in definition.srcs + definition.dsts}
        for token, reg in (("scc", SCC), ("vcc", vcc), ("exec", exec_), ("m0", m0), ("mode", MODE), ("pc", PC)):
            assert token not in implicit or found & mask(reg), (definition.name, token)


def test_masks_have_a_bit_for_each_register() -> None:
    assert mask(v[1]) == 2
    assert mask(v[4:7]) == 0xF0
    assert mask(a[0]) == 1 << 256
    assert mask(a[2:3], 64) == 3 << 66
    assert mask(v[0:255]) & mask(a[0:255]) == 0
    everything = [v[0:255], a[0:255], s[0:127], SCC, MODE, PC]
    assert mask_of(everything) == sum(mask(reg) for reg in everything)
