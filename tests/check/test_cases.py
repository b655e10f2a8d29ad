"""Faults that were reported in the field, by the numbers that the project gives them: found, and not found when mended.

Static parts; those that show only in a run are in test_dynamic_races.py.
"""

from __future__ import annotations

import pytest

from .assembled import ARCHS, codes, report

LDS = {"lds_bytes": 16384, "max_workgroup_size": 128}
WAVE = "  v_lshrrev_b32 v9, 6, v0\n  s_nop 0\n  v_readfirstlane_b32 s20, v9\n  s_lshl_b32 s21, s20, 10\n"
"""s20: the number of the wave; s21: where its KiB of LDS starts."""
OWN_AND_OTHER = (
    "  v_and_b32 v8, 63, v0\n  v_lshlrev_b32 v8, 4, v8\n  v_add_u32 v1, s21, v8\n  v_xor_b32 v2, 0x400, v1\n"
)
"""v1, v2: 16 bytes for each lane in the wave's own KiB, and in the other wave's."""
BUFFER = "  s_mov_b64 s[8:9], 0\n  s_mov_b64 s[10:11], 0\n"
START = WAVE + OWN_AND_OTHER + BUFFER


def test_case_1_barrier_before_the_wait_of_the_read() -> None:
    """triton#11696: the read is waited for only after the barrier, behind which the other wave overwrites the bytes."""
    code = (
        START + "  ds_read_b128 v[4:7], v1\n  {}\n  s_barrier\n  ds_write_b128 v2, v[12:15]\n  s_waitcnt lgkmcnt(0)\n"
    )
    code = "".join(f"  v_mov_b32 v{n}, 0\n" for n in range(12, 16)) + code
    (found,) = [f for f in report(code.format("s_nop 0"), **LDS).findings if f.severity != "note"]
    assert found.code == "lds-race" and found.instruction.startswith("ds_write_b128")
    assert found.producer is not None and found.producer.instruction.startswith("ds_read_b128")
    assert "lgkmcnt(0) before the barrier" in found.why and found.fix.endswith("in front of the barrier")
    assert codes(code.format("s_waitcnt lgkmcnt(0)"), **LDS) == []


@pytest.mark.parametrize(
    ("tile", "count", "races"), [(0, 2, False), (1, 2, False), (2, 2, True), (3, 2, True), (3, 0, False)]
)
def test_case_2_a_copy_to_lds_that_crosses_a_barrier(tile: int, count: int, races: bool) -> None:
    """aiter#5561: of four copies two are waited for; the other wave reads a tile after the barrier."""
    code = START
    for n in range(4):
        code += f"  s_add_u32 m0, s21, {2048 * n}\n  s_nop 0\n  buffer_load_dwordx4 v8, s[8:11], 0 offen lds\n"
    code += f"  s_waitcnt vmcnt({count})\n  s_barrier\n  ds_read_b128 v[4:7], v2 offset:{2048 * tile}\n"
    found = codes(code + "  s_waitcnt vmcnt(0) lgkmcnt(0)\n", **LDS)
    assert found == ["lds-race"] * races


def test_case_4_a_copy_into_lds_that_is_still_read() -> None:
    """rocm-libraries#2943: both the wait and the barrier are needed, and each has a reason of its own."""
    code = START + "  ds_read_b128 v[4:7], v2\n{wait}{barrier}  s_mov_b32 m0, s21\n  s_nop 0\n"
    code += "  buffer_load_dwordx4 v8, s[8:11], 0 offen lds\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    both = {"wait": "  s_waitcnt lgkmcnt(0)\n", "barrier": "  s_barrier\n"}
    assert codes(code.format(**both), **LDS) == []
    for left_out, reason in (("wait", "lgkmcnt(0) before the barrier between the two"), ("barrier", "0 barriers are")):
        (found,) = [f for f in report(code.format(**both | {left_out: ""}), **LDS).findings if f.severity != "note"]
        assert found.code == "lds-race" and reason in found.why


def test_case_5_a_wait_one_slot_early() -> None:
    """rocm-libraries#3002: the read after the wait is used in the next turn."""
    code = """
  v_mov_b32 v1, 0
  s_mov_b32 s8, 0
.Lloop:
  {}
  v_add_u32 v2, v0, v1
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v1, v0
  s_add_u32 s8, s8, 1
  s_cmp_lt_u32 s8, 8
  s_cbranch_scc1 .Lloop
"""
    assert codes(code.format(""), lds_bytes=4096) == ["wait-raw"]
    assert codes(code.format("s_waitcnt lgkmcnt(0)"), lds_bytes=4096) == []


def test_case_8_scalar_loads_come_back_in_any_order() -> None:
    """Of two scalar loads, lgkmcnt(1) proves neither."""
    code = "  s_load_dword s4, s[0:1], 0x0\n  s_load_dword s5, s[0:1], 0x4\n  s_waitcnt lgkmcnt({})\n  s_mov_b32 s6, s4"
    assert codes(code.format(1)) == ["wait-raw"]
    assert codes(code.format(0)) == []


@pytest.mark.parametrize(("arch", "needed"), [("gfx942", (5, 7, 11, 19)), ("gfx950", (5, 8, 12, 20))])
def test_case_13_xdl_results_read_as_a_matrix(arch: str, needed: tuple[int, ...]) -> None:
    """llvm#126132: by 2, 4, 8 and 16 passes."""
    names = ("4x4x4_16b_f16 v[0:3]", "16x16x16_f16 v[0:3]", "32x32x8_f16 v[0:15]", "32x32x4_2b_f16 v[0:31]")
    for name, states in zip(names, needed, strict=True):
        body = "".join(f"  v_mov_b32 v{n}, 0\n" for n in range(72)) + "  s_nop 1\n"
        body += f"  v_mfma_f32_{name}, v[64:65], v[66:67], 0\n" + "  s_mov_b32 s90, 0\n" * (states - 1) + "{}"
        body += "  v_mfma_f32_16x16x16_f16 v[68:71], v[0:1], v[66:67], 0\n"
        assert codes(body.format(""), arch) == ["wait-states"]
        assert codes(body.format("  s_nop 0\n"), arch) == []


ZEROS = "".join(
    [*(f"  v_mov_b32 v{n}, 0\n" for n in range(16)), *(f"  s_mov_b32 s{n}, 0\n" for n in range(4, 12)), "  s_nop 1\n"]
)
PART = "v_add_f16_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:WORD_0"
PAIR = "v_pk_mul_f32 v[0:1], v[8:9], v[8:9]"


def _states(first: str, second: str, states: int, arch: str = "gfx950") -> None:
    """So many states are asked for by one of the sources, no more, and one less is said."""
    for between in range(states + 1):
        body = f"{ZEROS}  {first}\n" + "  s_mov_b32 s9, 0\n" * between + f"  {second}\n"
        said = [f for f in report(body, arch).findings if f.code.startswith("wait-states")]
        assert bool(said) == (between < states), said


def test_case_15_two_matrix_instructions_and_one_accumulator() -> None:
    """llvm#218363: a chain of one instruction is forwarded, one of two is not."""
    first = "v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], "
    _states(f"{first}0", "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[8:9], v[0:3]", 6)
    _states(f"{first}0", f"{first}v[0:3]", 0)


@pytest.mark.parametrize(
    ("store", "states"),
    [
        ("x4 v[0:3], v4, s[4:7], s8 offen", 1), ("x4 v[0:3], v4, s[4:7], 0 offen", 2),
        ("x2 v[0:1], v4, s[4:7], 0 offen", 0),
    ],
)  # fmt: skip
def test_case_16_the_data_of_a_wide_store_is_overwritten(store: str, states: int) -> None:
    """llvm#197267: how long the store reads it depends on the kind of its offset."""
    for arch in ARCHS:
        _states(f"buffer_store_dword{store}", PAIR, states, arch)


@pytest.mark.parametrize(
    ("first", "second", "states"),
    [
        ("v_rcp_f32 v1, v2", "v_mul_f32 v3, v4, v1", 1), ("v_rcp_f32 v1, v2", "v_exp_f32 v3, v1", 0),
        ("v_cvt_sr_fp8_f32 v1, v2, v3 op_sel:[0,0,1,0]", "v_mul_f32 v3, v4, v1", 1),
        ("v_cvt_sr_fp8_f32 v1, v2, v3", "v_mul_f32 v3, v4, v1", 0), (PART, "v_mul_f32 v3, v4, v1", 1),
        (PART, "v_mul_f32 v3, v4, v5", 0),
    ],
)  # fmt: skip
def test_case_19_transcendental_results_and_results_in_part_of_a_register(first: str, second: str, states: int) -> None:
    """wave#1112 and llvm#100276."""
    for arch in ARCHS:
        _states(first, second, states, arch)


def test_case_20_a_pinned_accumulator_is_read_at_once() -> None:
    """triton#3168. Another register, or the same on another path, is no hazard."""
    start = "  v_mov_b32 v1, 0\n" + "".join(f"  v_accvgpr_write_b32 a{n}, 0\n" for n in range(5)) + "  s_nop 1\n"
    start += "  v_mfma_f32_16x16x32_bf16 a[0:3], a[0:3], a[0:3], 0\n"
    assert codes(start + "  v_accvgpr_read_b32 v1, a0\n") == ["wait-states"]
    assert codes(start + "  v_accvgpr_read_b32 v1, a4\n") == []
    assert codes(start + "  v_accvgpr_mov_b32 a6, a4\n") == []
    other = (
        "  s_cmp_eq_u32 s2, 0\n  s_cbranch_scc1 .Lread\n" + start + "  s_endpgm\n.Lread:\n  v_accvgpr_read_b32 v1, a0"
    )
    assert "wait-states" not in codes(other)
