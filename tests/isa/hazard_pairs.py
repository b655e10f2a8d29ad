"""Pairs of dependent instructions: the probed ones by the words of hazards_llvm22.csv, and one for each hazard row."""

from __future__ import annotations

from collections.abc import Callable

from pykittens.asm.program import Program
from pykittens.isa import lookup
from pykittens.isa.mfma import operand_registers
from pykittens.isa.registers import Special, a, exec_, m0, s, v, vcc

Emit = Callable[[Program], object]

D, OTHER, A, B, C = 0, 64, 96, 112, 128
"""First registers: the producer's D; D of consumers; A, B; the producer's C."""


def _matrix(p: Program, name: str, d: int, left: int, right: int, c: int, **modifiers: object) -> None:
    """A matrix instruction with registers from these numbers on."""
    widths = operand_registers(lookup(name), modifiers)
    operands = [v[first : first + width - 1] for first, width in zip((d, left, right, c), widths, strict=False)]
    p.emit(name, *operands, **modifiers)


def matrix_producer(name: str, **modifiers: object) -> Emit:
    return lambda p: _matrix(p, name, D, A, B, C, **modifiers)


PRODUCERS: dict[str, tuple[str, dict[str, object]]] = {
    "xdl2": ("v_mfma_f32_4x4x4_16b_f16", {}),
    "xdl4": ("v_mfma_f32_16x16x16_f16", {}),
    "xdl8": ("v_mfma_f32_32x32x8_f16", {}),
    "xdl16": ("v_mfma_f32_32x32x4_2b_f16", {}),
    "sgemm2": ("v_mfma_f32_4x4x1_16b_f32", {}),
    "sgemm8": ("v_mfma_f32_16x16x4_f32", {}),
    "sgemm16": ("v_mfma_f32_32x32x2_f32", {}),
    "dgemm4x4": ("v_mfma_f64_4x4x4_4b_f64", {}),
    "dgemm16x16": ("v_mfma_f64_16x16x4_f64", {}),
    "xdl4_16x16x32bf16": ("v_mfma_f32_16x16x32_bf16", {}),
    "xdl8_32x32x16bf16": ("v_mfma_f32_32x32x16_bf16", {}),
    "f8f6f4_16_fp8": ("v_mfma_f32_16x16x128_f8f6f4", {}),
    "f8f6f4_16_fp4": ("v_mfma_f32_16x16x128_f8f6f4", {"cbsz": 4, "blgp": 4}),
    "f8f6f4_32_fp8": ("v_mfma_f32_32x32x64_f8f6f4", {}),
    "f8f6f4_32_fp4": ("v_mfma_f32_32x32x64_f8f6f4", {"cbsz": 4, "blgp": 4}),
}
"""Matrix producers by the names of the table."""


def matrix_consumer(words: str, name: str, modifiers: dict[str, object]) -> Emit:
    """The consumer that the table describes in words, after the producer of this name."""
    consumers: dict[str, Emit] = {
        "same-opcode MFMA, SrcC exactly = vDst": lambda p: _matrix(p, name, OTHER, A, B, D, **modifiers),
        "XDL(4-pass f16) SrcC overlaps vDst, different start": lambda p: _matrix(
            p, "v_mfma_f32_16x16x16_f16", OTHER, A, B, D + 2
        ),
        "SGEMM(16x16x4 f32) SrcC overlaps, different start": lambda p: _matrix(
            p, "v_mfma_f32_16x16x4_f32", OTHER, A, B, D + 2
        ),
        "XDL SrcA reads vDst": lambda p: _matrix(p, "v_mfma_f32_16x16x16_f16", OTHER, D, B, C),
        "VALU reads vDst": lambda p: p.v_mov_b32(v[OTHER], v[D]),
        "VALU overwrites vDst (WAW)": lambda p: p.v_mov_b32(v[D], 0),
        "VMEM store reads vDst": lambda p: p.global_store_dword(v[OTHER : OTHER + 1], v[D]),
        "DS write reads vDst": lambda p: p.ds_write_b32(v[OTHER], v[D]),
        "DS read overwrites vDst": lambda p: p.ds_read_b32(v[D], v[OTHER]),
        "VALU overwrites SrcC (WAR)": lambda p: p.v_mov_b32(v[C], 0),
        "VALU overwrites SrcA (WAR)": lambda p: p.v_mov_b32(v[A], 0),
        "v_accvgpr_write-like / no dep": lambda p: p.v_accvgpr_write_b32(a[200], v[OTHER]),
    }
    return consumers[words]


def _dpp(p: Program) -> None:
    p.v_mov_b32(v[9], v[0], dpp_ctrl=("row_shl", 1))


_VALU: Emit = lambda p: p.v_add_f32(v[0], v[1], v[2])  # noqa: E731
_FIRST_LANE: Emit = lambda p: p.v_readfirstlane_b32(s[0], v[1])  # noqa: E731
_CMPX: Emit = lambda p: p.v_cmpx_eq_u32(vcc, v[20], v[21])  # noqa: E731
_TRANS: Emit = lambda p: p.v_exp_f32(v[0], v[1])  # noqa: E731
_STORE: Emit = lambda p: p.global_store_dwordx4(v[10:11], v[0:3])  # noqa: E731
_OVERWRITE: Emit = lambda p: p.v_mov_b32(v[0], 0)  # noqa: E731
_READ: Emit = lambda p: p.v_add_f32(v[9], v[0], v[8])  # noqa: E731


def _buffer_store(count: int, offset: object) -> Emit:
    name = "buffer_store_dwordx4" if count == 4 else "buffer_store_dwordx2"
    return lambda p: p.emit(name, v[0 : count - 1], v[10], s[4:7], offset, offen=True)


def _mfma(d: object, left: object, right: object, c: object) -> Emit:
    return lambda p: p.v_mfma_f32_16x16x16_f16(d, left, right, c)


PROBES: dict[tuple[str, str], tuple[Emit, Emit]] = {
    ("VALU", "MFMA SrcA reads VGPR"): (_VALU, _mfma(v[4:7], v[0:1], v[8:9], v[4:7])),
    ("VALU", "MFMA SrcC reads VGPR"): (_VALU, _mfma(v[4:7], v[10:11], v[8:9], v[0:3])),
    ("VALU (v_pk_mul_f32)", "MFMA SrcA reads VGPR"): (
        lambda p: p.v_pk_mul_f32(v[0:1], v[2:3], v[2:3]), _mfma(v[4:7], v[0:1], v[8:9], v[4:7]),
    ),
    ("v_accvgpr_write", "MFMA SrcC reads AGPR"): (
        lambda p: p.v_accvgpr_write_b32(a[0], v[0]), _mfma(a[0:3], v[10:11], v[8:9], a[0:3]),
    ),
    ("XDL4 to AGPR", "v_accvgpr_read"): (
        _mfma(a[0:3], v[10:11], v[8:9], a[0:3]), lambda p: p.v_accvgpr_read_b32(v[0], a[3]),
    ),
    ("XDL8 to AGPR", "v_accvgpr_read"): (
        lambda p: p.v_mfma_f32_32x32x8_f16(a[0:15], v[10:11], v[8:9], a[0:15]),
        lambda p: p.v_accvgpr_read_b32(v[0], a[3]),
    ),
    ("v_cmpx (writes EXEC)", "MFMA"): (_CMPX, _mfma(v[4:7], v[0:1], v[8:9], v[4:7])),
    ("v_cmpx (writes EXEC)", "DPP VALU"): (_CMPX, _dpp),
    ("v_cmpx (writes EXEC)", "v_readlane"): (_CMPX, lambda p: p.v_readlane_b32(s[0], v[0], 1)),
    ("v_cmpx (writes EXEC)", "v_permlane32_swap"): (_CMPX, lambda p: p.v_permlane32_swap_b32(v[0], v[1])),
    ("VALU writes VGPR", "v_permlane32_swap reads it"): (_VALU, lambda p: p.v_permlane32_swap_b32(v[4], v[0])),
    ("v_permlane32_swap", "VALU reads result"): (lambda p: p.v_permlane32_swap_b32(v[4], v[0]), _READ),
    ("VALU writes VGPR", "VALU reads it"): (_VALU, _READ),
    ("VALU writes VGPR", "VALU DPP reads it"): (_VALU, _dpp),
    ("VALU writes VGPR", "v_readlane reads it"): (_VALU, lambda p: p.v_readlane_b32(s[0], v[0], 1)),
    ("VALU writes VGPR", "v_readfirstlane reads it"): (_VALU, lambda p: p.v_readfirstlane_b32(s[0], v[0])),
    ("VALU writes VGPR", "VMEM address/data reads it"): (_VALU, lambda p: p.global_store_dword(v[0:1], v[0])),
    ("Trans (v_exp_f32)", "non-trans VALU reads it"): (_TRANS, _READ),
    ("Trans (v_exp_f32)", "trans VALU reads it"): (_TRANS, lambda p: p.v_rcp_f32(v[9], v[0])),
    ("Trans (v_exp_f32)", "MFMA SrcA reads it"): (_TRANS, _mfma(v[4:7], v[0:1], v[8:9], v[4:7])),
    ("Trans (v_exp_f32)", "VMEM store reads it"): (_TRANS, lambda p: p.global_store_dword(v[10:11], v[0])),
    ("SDWA dst_sel!=DWORD", "VALU reads result"): (
        lambda p: p.v_add_f16(v[0], v[1], v[2], dst_sel="WORD_1", dst_unused="UNUSED_PRESERVE"), _READ,
    ),
    ("v_cvt_scalef32_pk_fp4_f32", "VALU reads result"): (
        lambda p: p.v_cvt_scalef32_pk_fp4_f32(v[0], v[1], v[2], v[3]), _READ,
    ),
    ("VALU writes SGPR (v_readfirstlane)", "VMEM reads SGPR"): (
        _FIRST_LANE, lambda p: p.buffer_load_dword(v[0], v[1], s[4:7], s[0], offen=True),
    ),
    ("VALU writes SGPR (v_readfirstlane)", "VALU reads SGPR as constant"): (
        _FIRST_LANE, lambda p: p.v_add_f32(v[9], s[0], v[8]),
    ),
    ("VALU writes SGPR (v_readfirstlane)", "SALU reads SGPR"): (_FIRST_LANE, lambda p: p.s_mov_b32(s[1], s[0])),
    ("VALU writes SGPR (v_readfirstlane)", "v_readlane lane select"): (
        _FIRST_LANE, lambda p: p.v_readlane_b32(s[1], v[8], s[0]),
    ),
    ("VALU writes VCC (v_cmp)", "v_cndmask reads VCC as mask"): (
        lambda p: p.v_cmp_lt_f32(vcc, v[1], v[2]), lambda p: p.v_cndmask_b32(v[0], v[8], v[9], vcc),
    ),
    ("VALU writes VCC (v_cmp)", "v_div_fmas"): (
        lambda p: p.v_cmp_lt_f32(vcc, v[1], v[2]), lambda p: p.v_div_fmas_f32(v[0], v[8], v[9], v[10]),
    ),
    ("SALU writes SGPR", "VMEM reads SGPR"): (
        lambda p: p.s_mov_b32(s[0], 0), lambda p: p.buffer_load_dword(v[0], v[1], s[4:7], s[0], offen=True),
    ),
    ("SALU writes M0", "buffer_load ... lds"): (
        lambda p: p.s_mov_b32(m0, 0), lambda p: p.buffer_load_dword(None, v[1], s[4:7], 0, offen=True, lds=True),
    ),
    ("SALU writes M0", "ds_read (plain)"): (lambda p: p.s_mov_b32(m0, 0), lambda p: p.ds_read_b32(v[0], v[1])),
    ("SALU writes EXEC", "VALU"): (lambda p: p.s_mov_b64(exec_, -1), _VALU),
    ("SALU writes EXEC", "DPP VALU"): (lambda p: p.s_mov_b64(exec_, -1), _dpp),
    ("global_store_dwordx4", "VALU overwrites store data"): (_STORE, _OVERWRITE),
    ("buffer_store_dwordx4 (imm soffset)", "VALU overwrites store data"): (_buffer_store(4, 0), _OVERWRITE),
    ("buffer_store_dwordx4 (SGPR soffset)", "VALU overwrites store data"): (_buffer_store(4, s[8]), _OVERWRITE),
    ("buffer_store_dwordx2", "VALU overwrites store data"): (_buffer_store(2, 0), _OVERWRITE),
    ("s_setreg", "s_getreg same"): (
        lambda p: p.s_setreg_b32(0xF801, s[0]), lambda p: p.s_getreg_b32(s[1], 0xF801),
    ),
    ("v_dot2_f32_f16", "same opcode SrcC"): (
        lambda p: p.v_dot2_f32_f16(v[0], v[1], v[2], v[3]), lambda p: p.v_dot2_f32_f16(v[9], v[1], v[2], v[0]),
    ),
    ("v_dot2_f32_f16", "VALU reads"): (lambda p: p.v_dot2_f32_f16(v[0], v[1], v[2], v[3]), _READ),
}  # fmt: skip
"""The other probes: producer, consumer."""

ROW_PAIRS: dict[str, tuple[Emit, Emit]] = {
    "xdl-other-c": (
        lambda p: p.v_mfma_f32_16x16x16_bf16(v[0:3], v[4:5], v[6:7], 0), _mfma(v[0:3], v[8:9], v[8:9], v[0:3]),
    ),
    "xdl-other-c-f32": (
        _mfma(v[0:3], v[4:5], v[6:7], 0), lambda p: p.v_mfma_f32_16x16x4_f32(v[0:3], v[8], v[8], v[0:3]),
    ),
    "sgemm-other-c": (
        lambda p: p.v_mfma_f32_16x16x4_f32(v[0:3], v[4], v[4], 0),
        lambda p: p.v_mfma_f32_4x4x1_16b_f32(v[0:3], v[8], v[8], v[0:3]),
    ),
    "dgemm-fma": (
        lambda p: p.v_mfma_f64_4x4x4_4b_f64(v[0:1], v[8:9], v[8:9], 0),
        lambda p: p.v_fma_f64(v[10:11], v[12:13], v[12:13], v[12:13]),
    ),
    "xdl-reads-c-load": (
        lambda p: p.v_mfma_f32_32x32x8_f16(v[0:15], v[40:41], v[40:41], v[16:31]),
        lambda p: p.ds_read_b32(v[20], v[50]),
    ),
    "dot-dot": (
        lambda p: p.v_dot2_f32_f16(v[0], v[1], v[2], v[3]), lambda p: p.v_dot2_f32_f16(v[9], v[0], v[2], v[3]),
    ),
    "dot-memory": (lambda p: p.v_dot2_f32_f16(v[0], v[1], v[2], v[3]), lambda p: p.ds_write_b32(v[9], v[0])),
    "dot-mfma": (
        lambda p: p.v_dot2_f32_f16(v[0], v[1], v[2], v[3]), _mfma(v[4:7], v[0:1], v[8:9], v[4:7]),
    ),
    "zero-flag": (
        lambda p: p.v_cmp_lt_f32(vcc, v[1], v[2]), lambda p: p.v_mov_b32(v[9], Special(251)),
    ),
    "exec-vmem": (_CMPX, lambda p: p.global_load_dword(v[0], v[2:3])),
    "scaled-part": (
        lambda p: p.v_cvt_scalef32_pk_fp4_f32(v[0], v[1], v[2], v[3]),
        lambda p: p.v_cvt_scalef32_pk_fp4_f32(v[0], v[1], v[2], v[3], op_sel=(0, 0, 1, 0)),
    ),
    "store-load": (_STORE, lambda p: p.ds_read_b32(v[1], v[20])),
    "vskip": (lambda p: p.s_setvskip(s[0], 1), lambda p: p.s_getreg_b32(s[1], 1 | 31 << 11)),
}  # fmt: skip
"""A pair for each row that no probe meets."""
