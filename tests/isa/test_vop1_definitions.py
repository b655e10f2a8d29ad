"""VOP1 meanings against NumPy, ml_dtypes and Python integers."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pykittens.isa import Instruction, Reg, lookup
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave

from .meaning_calls import F32_EDGES, INT_EDGES, bits, each, fraction_of, rounded, run, same

RNG = np.random.default_rng(1)
ALL_F16 = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
SOME_F32 = np.concatenate([F32_EDGES, RNG.integers(0, 1 << 32, 20000, np.uint64).astype(np.uint32)]).view(np.float32)
SOME_F64 = np.concatenate(
    [RNG.integers(0, 1 << 63, 5000, np.uint64).view(np.float64), SOME_F32[~np.isnan(SOME_F32)].astype(np.float64),
     [5e-324, 2.2e-308, 4294967295.5, 2147483647.5, -2147483648.5, -0.5, 0.5, 1.5, 2.5]]
)  # fmt: skip


def test_moves() -> None:
    x = np.array([0x7F800001, 5], np.uint32)
    np.testing.assert_array_equal(run("v_mov_b32", x), x)
    np.testing.assert_array_equal(run("v_accvgpr_mov_b32", x), x)
    np.testing.assert_array_equal(
        run("v_mov_b64", x.astype(np.uint64) << np.uint64(8)), x.astype(np.uint64) << np.uint64(8)
    )


@pytest.mark.parametrize(("name", "low", "high"), [
    ("v_cvt_i32_f32", -(1 << 31), (1 << 31) - 1), ("v_cvt_u32_f32", 0, (1 << 32) - 1),
    ("v_cvt_i32_f64", -(1 << 31), (1 << 31) - 1), ("v_cvt_u32_f64", 0, (1 << 32) - 1),
    ("v_cvt_i16_f16", -(1 << 15), (1 << 15) - 1), ("v_cvt_u16_f16", 0, (1 << 16) - 1),
])  # fmt: skip
def test_floats_truncate_and_saturate_to_integers(name: str, low: int, high: int) -> None:
    numbers = {"f32": SOME_F32, "f64": SOME_F64, "f16": ALL_F16}[name[-3:]]

    def reference(x: float) -> int:
        if math.isnan(x):
            return 0
        return max(low, min(high, int(max(min(x, 1e18), -1e18))))

    got = run(name, numbers)
    np.testing.assert_array_equal(got, each(reference, numbers, dtype=got.dtype))


def test_integers_round_to_the_nearest_float() -> None:
    numbers = np.concatenate([INT_EDGES, RNG.integers(0, 1 << 32, 5000, np.uint64).astype(np.uint32)])
    same(run("v_cvt_f32_u32", numbers), numbers.astype(np.float32))
    same(run("v_cvt_f32_i32", numbers), numbers.view(np.int32).astype(np.float32))
    same(run("v_cvt_f64_u32", numbers), numbers.astype(np.float64))
    same(run("v_cvt_f64_i32", numbers), numbers.view(np.int32).astype(np.float64))
    small = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    with np.errstate(over="ignore"):
        same(run("v_cvt_f16_u16", small), small.astype(np.float64).astype(np.float16))
    same(run("v_cvt_f16_i16", small), small.view(np.int16).astype(np.float16))
    for i in range(4):
        same(run(f"v_cvt_f32_ubyte{i}", numbers), ((numbers >> (8 * i)) & 255).astype(np.float32))


def test_floats_change_width() -> None:
    with np.errstate(all="ignore"):
        same(run("v_cvt_f16_f32", SOME_F32), SOME_F32.astype(np.float16))
        same(run("v_cvt_f32_f16", ALL_F16), ALL_F16.astype(np.float32))
        same(run("v_cvt_f32_f64", SOME_F64), SOME_F64.astype(np.float32))
        same(run("v_cvt_f64_f32", SOME_F32), SOME_F32.astype(np.float64))
    halves = np.arange(1 << 16, dtype=np.uint32)
    same(run("v_cvt_f32_bf16", halves.astype(np.uint16)), (halves << 16).view(np.float32))


def test_a_nan_that_changes_width_keeps_its_sign_and_becomes_quiet() -> None:
    assert bits(run("v_cvt_f16_f32", np.array([0xFF800001, 0x7F800001], np.uint32))).tolist() == [0xFE00, 0x7E00]
    assert bits(run("v_cvt_f32_f16", np.array([0xFC01], np.uint16))).tolist() == [0xFFC02000]


def test_rounding_to_integers() -> None:
    with np.errstate(invalid="ignore"):
        for name, function in (("trunc", np.trunc), ("ceil", np.ceil), ("floor", np.floor), ("rndne", np.rint)):
            for type, numbers in (("f16", ALL_F16), ("f32", SOME_F32), ("f64", SOME_F64)):
                same(run(f"v_{name}_{type}", numbers), function(numbers))
        finite = SOME_F32[np.abs(SOME_F32) < 2.0**31]
        np.testing.assert_array_equal(run("v_cvt_flr_i32_f32", finite), np.floor(finite).astype(np.int32))
        np.testing.assert_array_equal(
            run("v_cvt_rpi_i32_f32", finite), np.floor(finite + np.float32(0.5)).astype(np.int32)
        )


def test_fract_is_below_one() -> None:
    for type, numbers in (("f16", ALL_F16), ("f32", SOME_F32), ("f64", SOME_F64)):
        finite = numbers[np.isfinite(numbers)]
        got = run(f"v_fract_{type}", finite)
        assert ((got >= 0) & (got < 1)).all()
        exact = finite - np.floor(finite)
        np.testing.assert_array_equal(got[exact < 1], exact[exact < 1])
    assert run("v_fract_f32", np.array([-1e-30], np.float32)) == np.float32(1 - 2.0**-24)


def test_frexp_splits_exactly() -> None:
    for type, numbers in (("f16", ALL_F16), ("f32", SOME_F32), ("f64", SOME_F64)):
        exponent_name = {"f16": "i16_f16", "f32": "i32_f32", "f64": "i32_f64"}[type]
        finite = numbers[np.isfinite(numbers)]
        mantissa, exponent = run(f"v_frexp_mant_{type}", finite), run(f"v_frexp_exp_{exponent_name}", finite)
        wanted = [math.frexp(x) for x in finite.tolist()]
        same(mantissa, np.array([m for m, _ in wanted], finite.dtype))
        np.testing.assert_array_equal(exponent, [e for _, e in wanted])
        special = np.array([np.inf, -np.inf, np.nan], finite.dtype)
        same(run(f"v_frexp_mant_{type}", special), special)
        np.testing.assert_array_equal(run(f"v_frexp_exp_{exponent_name}", special), [0, 0, 0])


def test_signed_sixteenths() -> None:
    codes = np.arange(32, dtype=np.uint32)
    same(run("v_cvt_off_f32_i4", codes), (((codes & 15) ^ 8).astype(np.float32) - np.float32(8)) / np.float32(16))


def test_normalized_integers() -> None:
    finite = ALL_F16[np.isfinite(ALL_F16)].astype(np.float64)
    np.testing.assert_array_equal(
        run("v_cvt_norm_i16_f16", finite.astype(np.float16)), np.rint(np.clip(finite, -1, 1) * 32767).astype(np.int16)
    )
    np.testing.assert_array_equal(
        run("v_cvt_norm_u16_f16", finite.astype(np.float16)), np.rint(np.clip(finite, 0, 1) * 65535).astype(np.uint16)
    )
    special = np.array([np.nan, np.inf, -np.inf], np.float16)
    assert run("v_cvt_norm_i16_f16", special).tolist() == [0, 32767, -32767]
    assert run("v_cvt_norm_u16_f16", special).tolist() == [0, 65535, 0]


def test_bit_counts_and_reversal() -> None:
    numbers = np.concatenate([INT_EDGES, np.uint32(1) << np.arange(32, dtype=np.uint32)])
    np.testing.assert_array_equal(run("v_not_b32", numbers), ~numbers)
    np.testing.assert_array_equal(
        run("v_bfrev_b32", numbers), each(lambda x: int(f"{x:032b}"[::-1], 2), numbers, dtype=np.uint32)
    )
    high = each(lambda x: 32 - x.bit_length() if x else 0xFFFFFFFF, numbers, dtype=np.uint32)
    np.testing.assert_array_equal(run("v_ffbh_u32", numbers), high)
    low = each(lambda x: (x & -x).bit_length() - 1 if x else 0xFFFFFFFF, numbers, dtype=np.uint32)
    np.testing.assert_array_equal(run("v_ffbl_b32", numbers), low)
    # The manual's examples.
    changes = {0: -1, 0x40000000: 1, 0x80000000: 1, 0x0FFFFFFF: 4, 0xFFFF0000: 16, 0xFFFFFFFE: 31, 0xFFFFFFFF: -1}
    got = run("v_ffbh_i32", np.array(list(changes), np.uint32)).view(np.int32)
    assert got.tolist() == list(changes.values())


def test_bytes_of_clamped_halves() -> None:
    words = np.array([0xFFFF0100, 0x00FF0001, 0x7FFF8000], np.uint32)
    assert run("v_sat_pk_u8_i16", words).tolist() == [0x00FF, 0xFF01, 0xFF00]


def test_random_generator_follows_its_polynomial() -> None:
    state, seen = np.array([1], np.uint32), set()
    for _ in range(1000):
        expected = (int(state[0]) << 1 & 0xFFFFFFFF) ^ (0xC5 if state[0] >> 31 else 0)
        state = run("v_prng_b32", state)
        assert state[0] == expected
        seen.add(expected)
    assert len(seen) == 1000


@pytest.mark.parametrize(("exec_mask", "lane"), [(0, 0), (1 << 63, 63), (0b101000, 3)])
def test_readfirstlane_reads_the_lowest_active_lane_or_lane_0(exec_mask: int, lane: int) -> None:
    assert run("v_readfirstlane_b32", np.arange(100, 164, dtype=np.uint32), exec=np.uint64(exec_mask)) == 100 + lane


def _exchange(name: str, exec_mask: int = (1 << 64) - 1) -> tuple[Any, Any]:
    wave = Wave()
    wave.vgpr[3], wave.vgpr[5] = np.arange(64), np.arange(100, 164)
    wave.sgpr[126:128] = [exec_mask & 0xFFFFFFFF, exec_mask >> 32]
    encoding = "e32"
    wave.run(Instruction(lookup(name), (Reg("v", 3), Reg("v", 5)), {}, encoding), "gfx950", Mode())
    return wave.vgpr[3], wave.vgpr[5]


def test_swaps_write_both_registers() -> None:
    first, second = _exchange("v_swap_b32", 0xFFFFFFFF)
    np.testing.assert_array_equal(first, np.where(np.arange(64) < 32, np.arange(100, 164), np.arange(64)))
    np.testing.assert_array_equal(second, np.where(np.arange(64) < 32, np.arange(64), np.arange(100, 164)))


@pytest.mark.parametrize(("name", "row"), [("v_permlane16_swap_b32", 16), ("v_permlane32_swap_b32", 32)])
def test_permlane_swaps_exchange_odd_rows_with_even_ones(name: str, row: int) -> None:
    first, second = list(range(64)), list(range(100, 164))
    for start in range(0, 64, 2 * row):
        for lane in range(start, start + row):
            second[lane], first[lane + row] = first[lane + row], second[lane]
    got = _exchange(name)
    np.testing.assert_array_equal(got[0], first)
    np.testing.assert_array_equal(got[1], second)


SMALL = {
    ("fp8", "gfx942"): ml_dtypes.float8_e4m3fnuz, ("bf8", "gfx942"): ml_dtypes.float8_e5m2fnuz,
    ("fp8", "gfx950"): ml_dtypes.float8_e4m3fn, ("bf8", "gfx950"): ml_dtypes.float8_e5m2,
}  # fmt: skip


@pytest.mark.parametrize(("kind", "chip"), sorted(SMALL))
def test_every_byte_decodes_as_the_chips_8_bit_float(kind: str, chip: str) -> None:
    codes = np.arange(256, dtype=np.uint32)
    wanted = codes.astype(np.uint8).view(SMALL[kind, chip]).astype(np.float32)
    same(run(f"v_cvt_f32_{kind}", codes | 0xABCDEF00, arch=chip), wanted)
    low, high = run(f"v_cvt_pk_f32_{kind}", codes | ((255 - codes) << 8) | 0x12340000, arch=chip)
    same(low, wanted)
    same(high, wanted[::-1])


def test_the_same_byte_means_half_as_much_on_gfx942() -> None:
    """A byte's FNUZ reading is half its OCP reading, but for NaN and the codes that only one kind has."""
    codes = np.setdiff1d(np.arange(256), [0x7F, 0x80, 0xFF]).astype(np.uint32)
    fnuz, ocp = (run("v_cvt_f32_fp8", codes, arch=chip) for chip in ("gfx942", "gfx950"))
    np.testing.assert_array_equal(fnuz * 2, ocp)
    odd = np.array([0x38, 0x80, 0x7F, 0x7E, 0xFF, 0x01], np.uint32)
    same(run("v_cvt_f32_fp8", odd, arch="gfx950"),
         np.array([1, -0.0, np.nan, 448, np.nan, 2**-9], np.float32))  # fmt: skip
    same(run("v_cvt_f32_fp8", odd, arch="gfx942"),
         np.array([0.5, np.nan, 240, 224, -240, 2**-10], np.float32))  # fmt: skip


@pytest.mark.parametrize(("select", "shift"), [("BYTE_0", 0), ("BYTE_1", 8), ("BYTE_2", 16), ("BYTE_3", 24)])
def test_sdwa_selects_the_byte_that_is_decoded(select: str, shift: int) -> None:
    wave = Wave()
    wave.sgpr[126:128] = 0xFFFFFFFF
    wave.vgpr[2] = 0x38404448
    instruction = Instruction(lookup("v_cvt_f32_fp8"), (Reg("v", 1), Reg("v", 2)), {"src0_sel": select}, "sdwa")
    wave.run(instruction, "gfx950", Mode())
    wanted = np.array([0x38404448 >> shift & 255], np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    assert wave.vgpr[1].view(np.float32)[0] == wanted[0]


@pytest.mark.parametrize("function", ["rcp", "sqrt"])
def test_roots_and_reciprocals_are_rounded_once(function: str) -> None:
    numbers = np.abs(SOME_F64[np.isfinite(SOME_F64) & (SOME_F64 != 0)])[:200]
    narrow = np.abs(SOME_F32[np.isfinite(SOME_F32) & (np.abs(SOME_F32) > 2e-38)])[:2000]
    with np.errstate(all="ignore"):
        exact = {"rcp": lambda x: 1 / x, "sqrt": np.sqrt}[function]
        same(run(f"v_{function}_f32", narrow), exact(narrow.astype(np.float64)).astype(np.float32))
        same(run(f"v_{function}_f64", numbers), exact(numbers))
        same(run(f"v_{function}_f16", ALL_F16), exact(ALL_F16.astype(np.float64)).astype(np.float16))
    reciprocals = [rounded(1 / fraction_of(x), "f32") for x in narrow[:200]]
    same(run("v_rcp_iflag_f32", narrow[:200]), np.array(reciprocals, np.float32))
