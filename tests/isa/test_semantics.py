"""What encodings, modifiers and MODE do to an instruction, against values worked out here from the ISA manual."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from pykittens.isa import DEFINITIONS
from pykittens.isa.constants import constant_bits
from pykittens.isa.define import parse_operand
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Const, Reg, Special, a, exec_, s, v, vcc
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave

FLUSHING = Mode(
    f32_denorm_flush_in=True, f32_denorm_flush_out=True, f64_f16_denorm_flush_in=True, f64_f16_denorm_flush_out=True,
    ieee=False,
)  # fmt: skip
LANES = np.arange(64, dtype=np.uint32)
ONE, HALF, MINUS_TWO = Const(0x3F800000, "float"), Const(0x3F000000, "float"), Const(0xC0000000, "float")


def f32(x: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", x))[0])


def f16(x: float) -> int:
    return int(struct.unpack("<H", struct.pack("<e", x))[0])


def wave(**registers: Any) -> Wave:
    """Registers by name (``v3=…``, ``s4=…``), all lanes enabled."""
    made = Wave()
    made.sgpr[126:128] = 0xFFFFFFFF
    for name, value in registers.items():
        if name == "exec":
            made.sgpr[126:128] = value & 0xFFFFFFFF, value >> 32
        elif name == "scc":
            made.scc = value
        else:
            (made.vgpr if name[0] == "v" else made.sgpr)[int(name[1:])] = value
    return made


def run(
    w: Wave, name: str, *operands: Any, encoding: str | None = None, mode: Mode | None = None, **modifiers: Any
) -> Wave:
    definition = DEFINITIONS[name]
    if encoding is None:
        encoding = "e32" if definition.format in ("VOP1", "VOP2", "VOPC") else ""
    w.run(Instruction(definition, operands, modifiers, encoding), definition.archs[-1], mode or Mode())
    return w


def lane(w: Wave, register: int = 0, i: int = 0) -> int:
    return int(w.vgpr[register, i])


# -- float modifiers ---------------------------------------------------------------------------------------------
def test_neg_and_abs() -> None:
    w = wave(v1=f32(-3.0), v2=f32(0.5))
    assert lane(run(w, "v_add_f32", v[0], v[1], v[2], encoding="e64", abs=(1, 0), neg=(0, 1))) == f32(2.5)
    assert lane(run(w, "v_add_f32", v[0], v[1], v[2], encoding="e64", abs=(1, 0), neg=(1, 0))) == f32(-2.5)
    nan = wave(v1=0x7F800001, v2=0)
    got = lane(run(nan, "v_add_f32", v[0], v[1], v[2], encoding="e64", neg=(1, 0)))
    assert got == 0xFFC00001, "the sign flips, and the sum quiets"


@pytest.mark.parametrize(("x", "want"), [(-3.0, 0.0), (0.25, 0.25), (7.0, 1.0), (-0.0, 0.0), (float("inf"), 1.0)])
def test_float_clamp(x: float, want: float) -> None:
    w = wave(v1=f32(x), v2=0)
    assert lane(run(w, "v_max_f32", v[0], v[1], v[1], encoding="e64", clamp=True)) == f32(want)


def test_clamp_of_nan_follows_dx10_clamp() -> None:
    w = wave(v1=0x7FC00007, v2=0)
    assert lane(run(w, "v_add_f32", v[0], v[1], v[2], encoding="e64", clamp=True)) == 0
    assert (
        lane(run(w, "v_add_f32", v[0], v[1], v[2], encoding="e64", clamp=True, mode=Mode(dx10_clamp=False)))
        == 0x7FC00007
    )


def test_integer_clamp_saturates() -> None:
    w = wave(v1=0xFFFFFFF0, v2=0x20)
    assert lane(run(w, "v_add_u32", v[0], v[1], v[2], encoding="e64", clamp=True)) == 0xFFFFFFFF
    assert lane(run(w, "v_add_u32", v[0], v[1], v[2], encoding="e64")) == 0x10
    assert lane(run(w, "v_sub_u32", v[0], v[2], v[1], encoding="e64", clamp=True)) == 0
    w = wave(v1=0x7FFFFFFF, v2=1)
    assert lane(run(w, "v_add_i32", v[0], v[1], v[2], clamp=True)) == 0x7FFFFFFF


def test_omod_works_only_without_ieee_and_denormals() -> None:
    w = wave(v1=f32(3.0), v2=f32(0.5))
    for mode, want in ((FLUSHING, 7.0), (Mode(), 3.5), (Mode(ieee=False), 3.5)):
        assert lane(run(w, "v_add_f32", v[0], v[1], v[2], encoding="e64", omul=2.0, mode=mode)) == f32(want)
    assert lane(run(w, "v_add_f32", v[0], v[1], v[2], encoding="e64", omul=4.0, clamp=True, mode=FLUSHING)) == f32(1.0)
    zero = wave(v1=1 << 31, v2=1 << 31)
    assert lane(run(zero, "v_add_f32", v[0], v[1], v[2], encoding="e64", omul=0.5, mode=FLUSHING)) == 0


# -- denormals and other float modes -----------------------------------------------------------------------------
def test_denormals_follow_mode() -> None:
    tiny, small = 0x00000010, 0x80800001
    w = wave(v1=tiny, v2=0, v3=f32(0.5), v4=small)
    assert lane(run(w, "v_add_f32", v[0], v[1], v[2])) == tiny
    assert lane(run(w, "v_add_f32", v[0], v[1], v[2], mode=Mode(f32_denorm_flush_in=True))) == 0
    assert lane(run(w, "v_mul_f32", v[0], v[3], v[4])) == 0x80400000, "half of 2^-126 + 2^-149 is a tie to even"
    assert lane(run(w, "v_mul_f32", v[0], v[3], v[4], mode=Mode(f32_denorm_flush_out=True))) == 1 << 31
    assert lane(run(w, "v_mul_f32", v[0], v[3], v[4], mode=Mode(f32_denorm_flush_in=True))) == 0x80400000
    assert lane(run(w, "v_add_f32", v[0], v[1], v[2], mode=Mode(f64_f16_denorm_flush_in=True))) == tiny
    half = wave(v1=3, v2=0)
    assert lane(run(half, "v_add_f16", v[0], v[1], v[2])) == 3
    assert lane(run(half, "v_add_f16", v[0], v[1], v[2], mode=Mode(f64_f16_denorm_flush_in=True))) == 0
    assert lane(run(half, "v_add_f16", v[0], v[1], v[2], mode=Mode(f32_denorm_flush_in=True))) == 3
    assert lane(run(half, "v_mov_b32", v[0], v[1], mode=FLUSHING)) == 3


def test_fp16_ovfl_keeps_true_infinities() -> None:
    w = wave(v1=f16(60000.0), v2=0x7C00, v3=f32(-1e6), v4=f32(float("inf")))
    ovfl = Mode(fp16_ovfl=True)
    assert lane(run(w, "v_add_f16", v[0], v[1], v[1])) == 0x7C00
    assert lane(run(w, "v_add_f16", v[0], v[1], v[1], mode=ovfl)) == 0x7BFF
    assert lane(run(w, "v_add_f16", v[0], v[1], v[2], mode=ovfl)) == 0x7C00
    assert lane(run(w, "v_cvt_f16_f32", v[0], v[3], mode=ovfl)) == 0xFBFF
    assert lane(run(w, "v_cvt_f16_f32", v[0], v[4], mode=ovfl)) == 0x7C00


def test_ieee_minimum_of_signaling_nan() -> None:
    w = wave(v1=0x7F800001, v2=f32(2.0))
    assert lane(run(w, "v_min_f32", v[0], v[1], v[2])) == 0x7FC00001
    assert lane(run(w, "v_min_f32", v[0], v[1], v[2], mode=Mode(ieee=False))) == f32(2.0)
    quiet = wave(v1=0x7FC00001, v2=f32(2.0))
    assert lane(run(quiet, "v_max_f32", v[0], v[2], v[1])) == f32(2.0)


# -- constants -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("constant", "token", "want"),
    [
        (ONE, "f32", 0x3F800000), (ONE, "f16", 0x3C00), (ONE, "f64", 0x3FF0000000000000),
        (ONE, "b64", 0x3FF0000000000000), (ONE, "u32", 0x3F800000),
        (ONE, "bf16", 0x3F80), (ONE, "2f16", 0x3C00), (ONE, "2u16", 0x3F800000),
        (Const(0x3E22F983, "float"), "f16", 0x3118), (Const(0x3E22F983, "float"), "f64", 0x3FC45F306DC9C882),
        (Const(0x3E22F983, "float"), "f32", 0x3E22F983), (MINUS_TWO, "2f32", 0xC0000000),
        (Const(0xFFFFFFFF), "u64", 0xFFFFFFFFFFFFFFFF), (Const(0xFFFFFFFF), "f64", 0xFFFFFFFFFFFFFFFF),
        (Const(64), "i64", 64), (Const(0xFFFFFFFF), "2i16", 0xFFFFFFFF), (Const(1), "2u16", 1),
        (Const(0x80000000, "literal"), "u64", 0x80000000), (Const(0x80000000, "literal"), "b64", 0x80000000),
        (Const(0x80000000, "literal"), "i64", 0xFFFFFFFF80000000),
        (Const(0x40080000, "literal"), "f64", 0x4008000000000000),
        (Const(0x12345678, "literal"), "u32", 0x12345678),
    ],
)  # fmt: skip
def test_constants_follow_the_operand(constant: Const, token: str, want: int) -> None:
    assert constant_bits(constant, parse_operand(token)) == want


def test_half_literals_and_floats() -> None:
    w = wave(v1=f16(1.5), v2=5)
    assert lane(run(w, "v_add_f16", v[0], HALF, v[1])) == f16(2.0)
    assert lane(run(w, "v_add_f16", v[0], Const(0xABCD4000, "literal"), v[1])) == f16(3.5), "its low half"
    assert lane(run(w, "v_add_u16", v[0], Const(0xFFFFFFFF), v[2])) == 4


def test_special_sources() -> None:
    w = wave(scc=1, exec=0xF0)
    run(w, "s_mov_b32", s[0], Special(253))
    run(w, "s_mov_b32", s[1], Special(252))
    run(w, "s_mov_b32", s[2], Special(251))
    run(w, "s_mov_b64", s[4:5], Special(235))
    assert list(w.sgpr[:6]) == [1, 0, 1, 0, 0, 1 << 16]


# -- halves ----------------------------------------------------------------------------------------------------------
def test_16_bit_results_clear_the_upper_half() -> None:
    w = wave(v0=0xDEADBEEF, v1=f16(1.0), v2=f16(2.0))
    assert lane(run(w, "v_add_f16", v[0], v[1], v[2])) == f16(3.0)
    w = wave(v0=0xDEADBEEF, v1=0xFFFF0001, v2=0xFFFF0002)
    assert lane(run(w, "v_add_u16", v[0], v[1], v[2], encoding="e64")) == 3


def test_op_sel_chooses_halves_and_keeps_the_other() -> None:
    w = wave(v0=0xDEADBEEF, v1=f16(2.0) << 16 | f16(9.0), v2=f16(3.0), v3=f16(0.5) << 16)
    assert lane(run(w, "v_fma_f16", v[0], v[1], v[2], v[3], op_sel=(1, 0, 1, 0))) == 0xDEAD0000 | f16(6.5)
    assert lane(run(w, "v_fma_f16", v[0], v[1], v[2], v[3], op_sel=(0, 0, 1, 1))) == f16(27.5) << 16 | f16(6.5)
    w = wave(v0=0xDEADBEEF, v1=5 << 16, v2=7)
    assert lane(run(w, "v_add_i16", v[0], v[1], v[2], op_sel=(1, 0, 0, 1))) == 12 << 16 | 0xBEEF


def test_packed_halves() -> None:
    w = wave(v1=f16(1.0) | f16(2.0) << 16, v2=f16(10.0) | f16(20.0) << 16)
    assert lane(run(w, "v_pk_add_f16", v[0], v[1], v[2])) == f16(11.0) | f16(22.0) << 16
    assert (
        lane(run(w, "v_pk_add_f16", v[0], v[1], v[2], op_sel=(1, 0), op_sel_hi=(0, 1))) == f16(12.0) | f16(21.0) << 16
    )
    assert lane(run(w, "v_pk_add_f16", v[0], v[1], v[2], neg_lo=(1, 0), neg_hi=(0, 1))) == f16(9.0) | f16(-18.0) << 16
    assert lane(run(w, "v_pk_add_f16", v[0], v[1], ONE)) == f16(2.0) | f16(2.0) << 16, "the upper half of 1.0 is 0"
    assert lane(run(w, "v_pk_add_f16", v[0], v[1], ONE, op_sel_hi=(1, 0))) == f16(2.0) | f16(3.0) << 16
    w = wave(v1=0x00010002)
    assert lane(run(w, "v_pk_add_u16", v[0], v[1], Const(0xFFFFFFFF))) == 0x00000001


def test_packed_f32() -> None:
    w = wave(v2=f32(1.0), v3=f32(2.0), s4=f32(10.0), s5=f32(20.0), v6=f32(0.5), v7=f32(0.25))
    run(w, "v_pk_fma_f32", v[0:1], v[2:3], s[4:5], v[6:7], op_sel=(0, 1, 0), op_sel_hi=(0, 1, 1), neg_hi=(0, 0, 1))
    assert (lane(w, 0), lane(w, 1)) == (f32(20.5), f32(19.75))


def test_packed_move() -> None:
    w = wave(v2=1, v3=2, v4=3, v5=4)
    run(w, "v_pk_mov_b32", v[0:1], v[2:3], v[4:5], op_sel=(1, 0), op_sel_hi=(1, 1))
    assert (lane(w, 0), lane(w, 1)) == (2, 3)


def test_mixed_precision() -> None:
    """op_sel_hi makes a source an f16 half that op_sel chooses; neg_hi is the absolute value."""
    w = wave(v1=f16(3.0) << 16 | f16(-2.0), v2=f32(0.5), v3=f32(-1.0))
    assert lane(run(w, "v_fma_mix_f32", v[0], v[1], v[2], v[3], op_sel=(1, 0, 0), op_sel_hi=(1, 0, 0))) == f32(0.5)
    got = run(w, "v_fma_mix_f32", v[0], v[1], v[2], v[3], op_sel_hi=(1, 0, 0), neg_hi=(1, 0, 0), neg_lo=(0, 0, 1))
    assert lane(got) == f32(2.0)
    all_halves = wave(v1=f16(3.0), v2=f16(2.0), v3=f16(0.5))
    assert lane(run(all_halves, "v_fma_mix_f32", v[0], v[1], v[2], v[3])) == f32(6.5), "op_sel_hi is all 1 if not given"
    one = Const(0x3F800000, "float")
    for half in (0, 1):
        got = run(all_halves, "v_fma_mix_f32", v[0], v[1], v[2], one, op_sel_hi=(1, 1, half))
        assert lane(got) == f32(7.0), "an inline 1.0 is a 1.0 of either width"
    w.vgpr[0] = 0xDEADBEEF
    run(w, "v_fma_mixhi_f16", v[0], v[1], v[2], v[3], op_sel=(1, 0, 0), op_sel_hi=(1, 0, 0))
    assert lane(w) == f16(0.5) << 16 | 0xBEEF


# -- SDWA ------------------------------------------------------------------------------------------------------------
def test_sdwa_selects_and_extends_sources() -> None:
    w = wave(v1=0x807F01FE, v2=0)
    for select, plain, extended in (
        ("BYTE_0", 0xFE, 0xFFFFFFFE), ("BYTE_1", 0x01, 0x01), ("BYTE_2", 0x7F, 0x7F), ("BYTE_3", 0x80, 0xFFFFFF80),
        ("WORD_0", 0x01FE, 0x01FE), ("WORD_1", 0x807F, 0xFFFF807F), ("DWORD", 0x807F01FE, 0x807F01FE),
    ):  # fmt: skip
        assert lane(run(w, "v_add_u32", v[0], v[1], v[2], encoding="sdwa", src0_sel=select)) == plain
        assert lane(run(w, "v_add_u32", v[0], v[1], v[2], encoding="sdwa", src0_sel=select, sext=(1, 0))) == extended
        assert lane(run(w, "v_add_u32", v[0], v[2], v[1], encoding="sdwa", src1_sel=select, sext=(0, 1))) == extended


def test_sdwa_places_results() -> None:
    for select, unused, want in (
        ("BYTE_1", "UNUSED_PAD", 0x00008500), ("BYTE_1", "UNUSED_SEXT", 0xFFFF8500),
        ("BYTE_1", "UNUSED_PRESERVE", 0x111185EF), ("WORD_1", "UNUSED_PRESERVE", 0x0285CDEF),
        ("WORD_0", "UNUSED_SEXT", 0x00000285), ("BYTE_3", "UNUSED_SEXT", 0x85000000), ("DWORD", "UNUSED_PAD", 0x285),
        ("BYTE_0", "UNUSED_SEXT", 0xFFFFFF85),
    ):  # fmt: skip
        w = wave(v0=0x1111CDEF, v1=0x285, v2=0)
        got = run(w, "v_or_b32", v[0], v[1], v[2], encoding="sdwa", dst_sel=select, dst_unused=unused)
        assert lane(got) == want, (select, unused)


def test_sdwa_floats() -> None:
    w = wave(v1=f16(2.0) << 16 | f16(1.0), v2=f16(-8.0))
    got = run(
        w, "v_add_f16", v[0], v[1], v[2], encoding="sdwa", src0_sel="WORD_1", neg=(1, 0), abs=(0, 1), dst_sel="WORD_1"
    )
    assert lane(got) == f16(6.0) << 16


# -- DPP -------------------------------------------------------------------------------------------------------------
def _moved(w: Wave, control: tuple[Any, ...], **modifiers: Any) -> np.ndarray[Any, Any]:
    w.vgpr[0] = 999
    w.vgpr[1] = LANES
    return run(w, "v_mov_b32", v[0], v[1], encoding="dpp", dpp_ctrl=control, **modifiers).vgpr[0].copy()


def test_dpp_patterns() -> None:
    place = LANES % 16
    row = LANES - place
    for control, want in (
        (("quad_perm", 1, 3, 0, 2), LANES // 4 * 4 + np.array([1, 3, 0, 2])[LANES % 4]),
        (("row_shl", 3), np.where(place < 13, LANES + 3, 999)), (("row_shr", 1), np.where(place >= 1, LANES - 1, 999)),
        (("row_ror", 5), row + (place + 11) % 16), (("row_mirror",), row + 15 - place),
        (("row_half_mirror",), LANES // 8 * 8 + 7 - LANES % 8), (("row_newbcast", 9), row + 9),
        (("row_bcast", 15), np.where(LANES >= 16, row - 1, 999)), (("row_bcast", 31), np.where(LANES >= 32, 31, 999)),
        (("wave_shl", 1), np.where(LANES < 63, LANES + 1, 999)), (("wave_shr", 1), np.where(LANES > 0, LANES - 1, 999)),
        (("wave_rol", 1), (LANES + 1) % 64), (("wave_ror", 1), (LANES + 63) % 64),
    ):  # fmt: skip
        assert (_moved(wave(), control) == want).all(), control


def test_dpp_bounds_and_masks() -> None:
    place = LANES % 16
    zeroed = _moved(wave(), ("row_shr", 2), bound_ctrl=True)
    assert (zeroed == np.where(place >= 2, LANES - 2, 0)).all()
    masked = _moved(wave(), ("row_mirror",), row_mask=0b0101, bank_mask=0b0010)
    on = ((LANES // 16 == 0) | (LANES // 16 == 2)) & (place // 4 == 1)
    assert (masked == np.where(on, LANES - place + 15 - place, 999)).all()


def test_dpp_reads_nothing_from_disabled_lanes() -> None:
    even = 0x5555555555555555
    kept = _moved(wave(exec=even), ("quad_perm", 1, 0, 3, 2))
    assert (kept == 999).all(), "every source is disabled, so no lane is written"
    zeroed = _moved(wave(exec=even), ("quad_perm", 1, 0, 3, 2), bound_ctrl=True)
    assert (zeroed == np.where(LANES % 2 == 0, 0, 999)).all()
    partly = _moved(wave(exec=even), ("quad_perm", 2, 1, 1, 3))
    assert (partly == np.where(LANES % 4 == 0, LANES + 2, 999)).all()


def test_dpp_moves_only_the_first_source() -> None:
    w = wave(v1=LANES * 100, v2=LANES)
    got = run(w, "v_add_u32", v[0], v[1], v[2], encoding="dpp", dpp_ctrl=("row_newbcast", 0)).vgpr[0]
    assert (got == LANES // 16 * 1600 + LANES).all()


# -- masks, EXEC and lanes -------------------------------------------------------------------------------------------
def test_compares_write_zero_for_disabled_lanes() -> None:
    w = wave(v1=LANES, v2=10, exec=0xFF0, s106=0xFFFFFFFF, s107=0xFFFFFFFF)
    run(w, "v_cmp_lt_u32", vcc, v[1], v[2])
    assert list(w.sgpr[106:108]) == [0x3F0, 0]
    run(w, "v_cmp_ge_u32", s[8:9], v[1], v[2], encoding="e64")
    assert list(w.sgpr[8:10]) == [0xC00, 0]


def test_cmpx_writes_exec_too() -> None:
    w = wave(v1=LANES, v2=10, exec=0xFF0)
    run(w, "v_cmpx_lt_u32", vcc, v[1], v[2])
    assert list(w.sgpr[106:108]) == [0x3F0, 0]
    assert list(w.sgpr[126:128]) == [0x3F0, 0]


def test_carries() -> None:
    w = wave(v1=0xFFFFFFFF, v2=LANES % 2, s106=0x0000000F, s107=0, exec=0xFF)
    run(w, "v_addc_co_u32", v[0], vcc, v[1], v[2], vcc)
    want = (0xFFFFFFFF + LANES.astype(np.uint64) % 2 + (LANES < 4)) & 0xFFFFFFFF
    assert (w.vgpr[0, :8] == want[:8]).all()
    assert (w.vgpr[0, 8:] == 0).all()
    assert list(w.sgpr[106:108]) == [0xAF, 0]


def test_disabled_lanes_keep_their_registers() -> None:
    w = wave(v0=LANES, v1=7, exec=1 << 63 | 1)
    run(w, "v_mov_b32", v[0], v[1])
    assert (w.vgpr[0] == np.where((LANES == 0) | (LANES == 63), 7, LANES)).all()


def test_lane_instructions_ignore_exec() -> None:
    w = wave(v1=LANES + 5, s2=66, exec=0xF0)
    run(w, "v_readlane_b32", s[0], v[1], s[2])
    run(w, "v_readfirstlane_b32", s[1], v[1])
    assert (w.sgpr[0], w.sgpr[1]) == (7, 9)
    run(w, "v_writelane_b32", v[1], s[2], Const(63))
    assert (w.vgpr[1, 62:] == [67, 66]).all()
    w = wave(v1=LANES + 5, exec=0)
    run(w, "v_readfirstlane_b32", s[1], v[1])
    assert w.sgpr[1] == 5, "lane 0 if none is enabled"


def test_scalar_state() -> None:
    w = wave(s0=0xFFFFFFFF, s1=1, scc=0)
    run(w, "s_add_u32", s[2], s[0], s[1])
    assert (w.sgpr[2], w.scc) == (0, 1)
    run(w, "s_cselect_b32", s[2], s[0], s[1])
    assert w.sgpr[2] == 0xFFFFFFFF
    w = wave(s4=0xF0, s5=0, exec=0xFF)
    run(w, "s_and_saveexec_b64", s[6:7], s[4:5])
    assert list(w.sgpr[6:8]) == [0xFF, 0]
    assert list(w.sgpr[126:128]) == [0xF0, 0]
    assert w.scc == 1
    run(w, "s_mov_b64", exec_, Const(0xFFFFFFFF))
    assert list(w.sgpr[126:128]) == [0xFFFFFFFF] * 2


def test_accumulation_registers_follow_the_vector_ones() -> None:
    w = wave(v1=5)
    w.accum_offset = 32
    run(w, "v_accvgpr_write_b32", a[3], v[1])
    assert (w.vgpr[35] == 5).all()
    run(w, "v_accvgpr_read_b32", v[2], a[3])
    assert lane(w, 2) == 5


def test_wide_operands() -> None:
    w = wave(v2=0x89ABCDEF, v3=0x01234567, v4=4)
    run(w, "v_lshlrev_b64", v[0:1], v[4], v[2:3])
    assert (lane(w, 0), lane(w, 1)) == (0x9ABCDEF0, 0x12345678 & 0xFFFFFFFF)
    run(w, "v_lshlrev_b64", v[0:1], v[4], Reg("s", 126, 2))
    assert (lane(w, 0), lane(w, 1)) == (0xFFFFFFF0, 0xFFFFFFFF)
