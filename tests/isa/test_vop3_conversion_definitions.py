"""Conversions of VOP3 against ml_dtypes, NumPy and a bit-by-bit model of stochastic rounding."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pykittens.isa import Instruction, Reg, lookup
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave

from .meaning_calls import F32_EDGES, INT_EDGES, bits, each, pairs, random_floats, run, same
from .test_vop1_definitions import SMALL
from .test_vop2_definitions import signed

RNG = np.random.default_rng(5)
SCALED = {
    "fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2, "fp6": ml_dtypes.float6_e2m3fn,
    "bf6": ml_dtypes.float6_e3m2fn, "fp4": ml_dtypes.float4_e2m1fn,
}  # fmt: skip
BITS = {"fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4}


def around(kind: Any, count: int = 3000) -> Any:
    """f32 numbers of the size of a small float's, its values, the middles between them, their neighbours, and edges."""
    values = np.arange(1 << ml_dtypes.finfo(kind).bits).astype(np.uint8)
    exact = values.view(kind).astype(np.float32)
    exact = np.sort(exact[np.isfinite(exact)])
    middles = (exact[1:] + exact[:-1]) / 2
    beside = [np.nextafter(middles, np.float32(np.inf)), np.nextafter(middles, np.float32(-np.inf))]
    return np.concatenate(
        [exact, middles, *beside, random_floats(RNG, np.float32, count, 18), F32_EDGES.view(np.float32)]
    )


def codes_of(numbers: Any, kind: Any) -> Any:
    """ml_dtypes' codes, saturating where the format has neither infinity nor NaN."""
    info = ml_dtypes.finfo(kind)
    narrow = np.dtype(kind).name
    if not narrow.startswith("float8"):
        numbers = np.clip(
            np.where(np.isnan(numbers), np.copysign(np.float32(1e9), numbers), numbers),
            float(info.min),
            float(info.max),
        )
    with np.errstate(all="ignore"):
        return numbers.astype(kind).view(np.uint8).astype(np.uint32)


@pytest.mark.parametrize(("kind", "chip"), sorted(SMALL))
def test_pairs_of_8_bit_floats(kind: str, chip: str) -> None:
    numbers = around(SMALL[kind, chip])
    wanted = codes_of(numbers, SMALL[kind, chip])
    old = np.full(numbers.size, 0xAAAABBBB, np.uint32)
    pair = wanted | wanted[::-1] << 8
    got = run(f"v_cvt_pk_{kind}_f32", numbers, numbers[::-1], old=old, arch=chip)
    np.testing.assert_array_equal(got, 0xAAAA0000 | pair)
    got = run(f"v_cvt_pk_{kind}_f32", numbers, numbers[::-1], old=old, arch=chip, op_sel=8)
    np.testing.assert_array_equal(got, 0xBBBB | pair << 16)


def test_overflow_to_8_bits_follows_fp16_ovfl() -> None:
    big = np.array([1e30, -1e30, np.inf, np.nan], np.float32)
    wanted = {
        ("fp8", "gfx950", 0): [0x7F, 0xFF, 0x7F, 0x7F], ("fp8", "gfx950", 1): [0x7E, 0xFE, 0x7F, 0x7F],
        ("bf8", "gfx950", 0): [0x7C, 0xFC, 0x7C, 0x7E], ("bf8", "gfx950", 1): [0x7B, 0xFB, 0x7C, 0x7E],
        ("fp8", "gfx942", 0): [0x80] * 4, ("fp8", "gfx942", 1): [0x7F, 0xFF, 0x80, 0x80],
        ("bf8", "gfx942", 0): [0x80] * 4, ("bf8", "gfx942", 1): [0x7F, 0xFF, 0x80, 0x80],
    }  # fmt: skip
    for (kind, chip, overflow), codes in wanted.items():
        got = run(f"v_cvt_pk_{kind}_f32", big, big, old=np.zeros(4, np.uint32), arch=chip, fp16_ovfl=overflow)
        assert (got & 255).tolist() == codes, (kind, chip, overflow)


def stochastic(number: float, random: int, mantissa: int, smallest: int, source: int = 23) -> float:
    """Cut to ``mantissa`` bits (denormals to the place 2^smallest) after adding random bits below the last place."""
    size = abs(float(number))
    if size == 0:
        return 0.0
    exponent = int(np.floor(np.log2(size)))
    place = max(exponent - mantissa, smallest)
    # The source's own last place, also of the shifted significand of a denormal result.
    drop = 23 - mantissa
    count = int(np.floor(size / 2.0 ** (place - drop + (23 - source)))) << (23 - source)
    return float((count + (random >> (32 - drop))) >> drop) * 2.0**place


@pytest.mark.parametrize(("kind", "chip"), sorted(SMALL))
def test_stochastic_rounding_adds_random_bits_and_truncates(kind: str, chip: str) -> None:
    form = SMALL[kind, chip]
    info = ml_dtypes.finfo(form)
    numbers = random_floats(RNG, np.float32, 2000, 12)
    numbers = numbers[np.abs(numbers) < float(info.max) * 0.9]
    random = RNG.integers(0, 1 << 32, numbers.size, np.uint64).astype(np.uint32)
    smallest = int(np.log2(float(info.smallest_subnormal)))
    sizes = [stochastic(x, int(r), int(info.nmant), smallest) for x, r in zip(numbers, random, strict=True)]
    wanted = codes_of(np.copysign(np.array(sizes, np.float32), numbers), form)
    for byte in range(4):
        old = np.full(numbers.size, 0x11223344, np.uint32)
        got = run(f"v_cvt_sr_{kind}_f32", numbers, random, old=old, arch=chip, op_sel=byte << 2)
        np.testing.assert_array_equal(got, (0x11223344 & ~(255 << 8 * byte)) | wanted << 8 * byte)


def test_stochastic_rounding_is_unbiased() -> None:
    numbers = np.full(1 << 16, 1.03, np.float32)
    random = RNG.integers(0, 1 << 32, numbers.size, np.uint64).astype(np.uint32)
    zero = np.zeros(numbers.size, np.uint32)
    for name, type in (("v_cvt_sr_f16_f32", np.float16), ("v_cvt_sr_bf16_f32", ml_dtypes.bfloat16)):
        got = run(name, numbers, random, old=zero).astype(np.uint16).view(type).astype(np.float64)
        # One place is 2^-7 at most, so the mean of 2^16 has a deviation below 2^-16.
        assert abs(got.mean() - 1.03) < 2.0**-13
        assert len(np.unique(got)) == 2


@pytest.mark.parametrize(("name", "mantissa", "smallest", "type"), [
    ("v_cvt_sr_f16_f32", 10, -24, np.float16), ("v_cvt_sr_bf16_f32", 7, -133, ml_dtypes.bfloat16),
])  # fmt: skip
def test_stochastic_halves(name: str, mantissa: int, smallest: int, type: Any) -> None:
    numbers = np.concatenate(
        [random_floats(RNG, np.float32, 1000, 14), random_floats(RNG, np.float32, 200, 22) * np.float32(2e-6)]
    )
    random = RNG.integers(0, 1 << 32, numbers.size, np.uint64).astype(np.uint32)
    sizes = [stochastic(x, int(r), mantissa, smallest) for x, r in zip(numbers, random, strict=True)]
    wanted = np.copysign(np.array(sizes), numbers).astype(np.float32).astype(type).view(np.uint16).astype(np.uint32)
    old = np.full(numbers.size, 0x12345678, np.uint32)
    np.testing.assert_array_equal(run(name, numbers, random, old=old), 0x12340000 | wanted)
    np.testing.assert_array_equal(run(name, numbers, random, old=old, op_sel=8), 0x5678 | wanted << 16)
    special = np.array([np.inf, -np.inf, np.nan, 3.4e38], np.float32)
    got = run(name, special, np.full(4, 0xFFFFFFFF, np.uint32), old=np.zeros(4, np.uint32)).astype(np.uint16).view(type)
    np.testing.assert_array_equal(got.astype(np.float32), [np.inf, -np.inf, np.nan, np.inf])


# -- one register from two numbers ---------------------------------------------------------------------------------
def test_bf16_rounds_to_nearest_even() -> None:
    given = [0x3F808000, 0x3F818000, 0xBF818000, 0x7F7FFFFF, 0x7F800001, 0x00018000, 0x7F800000]
    low, high = run("v_cvt_pk_bf16_f32", np.array(given, np.uint32), np.array(given[::-1], np.uint32))
    assert low.tolist() == [0x3F80, 0x3F82, 0xBF82, 0x7F80, 0x7FC0, 0x0002, 0x7F80]
    assert high.tolist() == low.tolist()[::-1]
    numbers = random_floats(RNG, np.float32, 1 << 16, 3)
    got = run("v_cvt_pk_bf16_f32", numbers, numbers)[0].view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(got, numbers.astype(ml_dtypes.bfloat16))
    # Truncation would shrink every number by about half a place, 2^-9 on average.
    error = np.abs(got.astype(np.float64)) / np.abs(numbers) - 1
    assert abs(error.mean()) < 2.0**-15


@pytest.mark.parametrize("flush", [False, True])
def test_a_denormal_becomes_a_bf16_denormal_or_zero_as_mode_says(flush: bool) -> None:
    wave = Wave()
    wave.sgpr[126:128] = 0xFFFFFFFF
    wave.vgpr[1] = 0x00018000
    instruction = Instruction(lookup("v_cvt_pk_bf16_f32"), (Reg("v", 0), Reg("v", 1), Reg("v", 1)))
    wave.run(instruction, "gfx950", Mode(f32_denorm_flush_in=flush))
    assert wave.vgpr[0][0] == (0 if flush else 0x00020002)


def test_f16_pairs_round_to_nearest_or_toward_zero() -> None:
    numbers = np.concatenate([random_floats(RNG, np.float32, 5000, 27), F32_EDGES.view(np.float32)])
    with np.errstate(all="ignore"):
        nearest = numbers.astype(np.float16)
        same(run("v_cvt_pk_f16_f32", numbers, numbers)[1], nearest)
        toward_zero = run("v_cvt_pkrtz_f16_f32", numbers, numbers)[0]
        away = np.abs(nearest.astype(np.float64)) > np.abs(numbers)
        wanted = np.where(away & ~np.isinf(numbers), np.nextafter(nearest, np.float16(0)), nearest)
    same(toward_zero, wanted)


def test_normalized_pairs() -> None:
    numbers = random_floats(RNG, np.float32, 3000, 2)
    exact = numbers.astype(np.float64)
    same(run("v_cvt_pknorm_i16_f32", numbers, numbers)[0], np.rint(np.clip(exact, -1, 1) * 32767).astype(np.int16))
    same(run("v_cvt_pknorm_u16_f32", numbers, numbers)[1], np.rint(np.clip(exact, 0, 1) * 65535).astype(np.uint16))
    half = numbers.astype(np.float16)
    exact = half.astype(np.float64)
    same(run("v_cvt_pknorm_i16_f16", half, half)[0], np.rint(np.clip(exact, -1, 1) * 32767).astype(np.int16))
    same(run("v_cvt_pknorm_u16_f16", half, half)[1], np.rint(np.clip(exact, 0, 1) * 65535).astype(np.uint16))


def test_integer_pairs_saturate() -> None:
    a, b = pairs(INT_EDGES)
    wanted = each(lambda x, y: min(x, 65535) | min(y, 65535) << 16, a, b, dtype=np.uint32)
    np.testing.assert_array_equal(run("v_cvt_pk_u16_u32", a, b), wanted)

    def clamped(x: int) -> int:
        return max(-32768, min(32767, signed(x))) & 65535

    wanted = each(lambda x, y: clamped(x) | clamped(y) << 16, a, b, dtype=np.uint32)
    np.testing.assert_array_equal(bits(run("v_cvt_pk_i16_i32", a, b)), wanted)
    count = np.full(a.size, 35, np.uint32)
    for name, low, high in (("v_ashr_pk_i8_i32", -128, 127), ("v_ashr_pk_u8_i32", 0, 255)):
        byte = lambda x, low=low, high=high: max(low, min(high, signed(x) >> 3)) & 255  # noqa: E731
        wanted = each(lambda x, y, byte=byte: byte(x) | byte(y) << 8, a, b, dtype=np.uint16)
        np.testing.assert_array_equal(run(name, a, b, count), wanted)


def test_a_float_becomes_one_byte_of_a_word() -> None:
    numbers = np.array([0.0, 1.9, 254.5, 255.9, 300.0, -3.0, np.nan], np.float32)
    expected = [0, 1, 254, 255, 255, 0, 0]
    for index in range(5):
        place = 8 * (index & 3)
        word, where = np.full(7, 0x99887766, np.uint32), np.full(7, index, np.uint32)
        wanted = [(0x99887766 & ~(255 << place)) | byte << place for byte in expected]
        assert run("v_cvt_pk_u8_f32", numbers, where, word).tolist() == wanted
        assert run("v_cvt_pkaccum_u8_f32", numbers, where, old=word).tolist() == wanted


def test_pack_takes_halves_as_they_are() -> None:
    low, high = run("v_pack_b32_f16", np.array([0x7C01], np.uint16), np.array([0x0001], np.uint16))
    assert (bits(low)[0], bits(high)[0]) == (0x7C01, 1)


# -- scaled conversions of gfx950 --------------------------------------------------------------------------------------
SCALES = np.array([0x3F800000, 0x40000000, 0x3E800000, 0x4F9ABCDE, 0x00000001, 0x7F000000, 0xBF812345], np.uint32)
"""f32 bits of which only the exponents 127, 128, 125, 159, 0, 254 and 127 count."""


def scale_of(word: int) -> float:
    return 2.0 ** ((word >> 23 & 255) - 127)


def numbers_for(kind: Any, scale: float, source: Any) -> Any:
    """Numbers that lie around the format's values after the scale is taken off."""
    with np.errstate(all="ignore"):
        numbers = (around(kind, 300).astype(np.float64) * scale).astype(np.float32)
        return numbers if source is np.float32 else numbers.astype(source)


@pytest.mark.parametrize("name", ["fp8", "bf8", "fp4"])
@pytest.mark.parametrize("source", ["f32", "f16", "bf16"])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_scaled_pairs(name: str, source: str) -> None:
    kind, width = SCALED[name], BITS[name]
    type = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}[source]
    for word in SCALES.tolist():
        numbers = numbers_for(kind, scale_of(word), type)
        with np.errstate(all="ignore"):
            exact = (numbers.astype(np.float64) / scale_of(word)).astype(np.float32)
        wanted = codes_of(exact, kind)
        pair = wanted | wanted[::-1] << width
        scale, old = np.full(numbers.size, word, np.uint32), np.full(numbers.size, 0xAABBCCDD, np.uint32)
        low, high = (
            (numbers, numbers[::-1]) if source == "f32" else (numbers.view(np.uint16), numbers[::-1].view(np.uint16))
        )
        sources = (low, high) if source == "f32" else ((low, high),)
        for op_sel in (0, 12):
            got = run(f"v_cvt_scalef32_pk_{name}_{source}", *sources, scale, old=old, op_sel=op_sel)
            place = 8 * (op_sel >> 2) if width == 4 else 16 * (op_sel >> 3)
            mask = (1 << 2 * width) - 1
            np.testing.assert_array_equal(got, (0xAABBCCDD & ~(mask << place)) | pair << place)


@pytest.mark.parametrize("name", ["fp8", "bf8", "fp4"])
def test_scaled_codes_become_floats(name: str) -> None:
    kind, width = SCALED[name], BITS[name]
    codes = np.arange(256).astype(np.uint32)
    for word in SCALES.tolist():
        scale = np.full(256, word, np.uint32)
        with np.errstate(all="ignore"):
            exact = (codes & ((1 << width) - 1)).astype(np.uint8).view(kind).astype(np.float64) * scale_of(word)
            high = (codes >> 4 if width == 4 else codes * 0 + 0x38).astype(np.uint8).view(kind).astype(
                np.float64
            ) * scale_of(word)
            sources = codes << 24 if width == 4 else (codes | 0x3800) << 16
            op_sel = 3 if width == 4 else 1
            wide = run(f"v_cvt_scalef32_pk_f32_{name}", sources, scale, op_sel=op_sel)
            same((wide & 0xFFFFFFFF).astype(np.uint32).view(np.float32), exact.astype(np.float32))
            same((wide >> np.uint64(32)).astype(np.uint32).view(np.float32), high.astype(np.float32))
            both = run(f"v_cvt_scalef32_pk_f16_{name}", sources, scale, op_sel=op_sel)
            same((both & 0xFFFF).astype(np.uint16).view(np.float16), exact.astype(np.float16))
            both = run(f"v_cvt_scalef32_pk_bf16_{name}", sources, scale, op_sel=op_sel)
            low = (both & 0xFFFF).astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
            same(low, exact.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float32))
            if width == 8:
                same(run(f"v_cvt_scalef32_f32_{name}", codes << 8, scale, op_sel=1), exact.astype(np.float32))
                got = run(f"v_cvt_scalef32_f16_{name}", codes << 16, scale, old=np.full(256, 0x1234), op_sel=10)
                same((got >> 16).astype(np.uint16).view(np.float16), exact.astype(np.float16))
                assert (got & 0xFFFF == 0x1234).all()


def test_a_scale_of_all_ones_makes_nan() -> None:
    nan_scale = np.array([0x7F800000], np.uint32)
    one = np.ones(1, np.float32)
    zero = np.zeros(1, np.uint32)
    assert run("v_cvt_scalef32_pk_fp8_f32", one, one, nan_scale, old=zero)[0] == 0x7F7F
    assert run("v_cvt_scalef32_pk_fp4_f32", one, one, nan_scale, old=zero)[0] == 0x77
    assert np.isnan(run("v_cvt_scalef32_f32_fp8", np.array([0x38], np.uint32), nan_scale)[0])


def unpack6(words: Any) -> Any:
    """The 32 six-bit codes of six dwords (arrays), by Python integers."""
    whole = sum(w.astype(object) << (32 * i) for i, w in enumerate(words))
    return np.array([[int(x) >> (6 * i) & 63 for i in range(32)] for x in whole], np.uint32).T


@pytest.mark.parametrize("name", ["fp6", "bf6"])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_32_six_bit_floats_in_six_dwords(name: str) -> None:
    kind = SCALED[name]
    scale = np.full(50, SCALES[1], np.uint32)
    numbers = random_floats(RNG, np.float32, 32 * 50, 5).reshape(32, 50)
    wanted = codes_of(numbers / np.float32(2), kind)
    first, second = [list(numbers[i::2].view(np.uint32)) for i in (0, 1)]
    np.testing.assert_array_equal(unpack6(run(f"v_cvt_scalef32_2xpk16_{name}_f32", first, second, scale)), wanted)
    for source, type in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
        narrow = numbers.astype(type)
        halves = narrow.view(np.uint16).astype(np.uint32)
        packed = list(halves[::2] | halves[1::2] << 16)
        wanted = codes_of(narrow.astype(np.float32) / np.float32(2), kind)
        np.testing.assert_array_equal(unpack6(run(f"v_cvt_scalef32_pk32_{name}_{source}", packed, scale)), wanted)
    codes = RNG.integers(0, 64, (32, 50))
    whole = sum(codes[i].astype(object) << (6 * i) for i in range(32))
    words = [np.array([int(x) >> (32 * i) & 0xFFFFFFFF for x in whole], np.uint32) for i in range(6)]
    exact = codes.astype(np.uint8).view(kind).astype(np.float32) * np.float32(2)
    got = np.stack(run(f"v_cvt_scalef32_pk32_f32_{name}", words, scale)).view(np.float32)
    same(got, exact)
    for source, type in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
        packed = np.stack(run(f"v_cvt_scalef32_pk32_{source}_{name}", words, scale))
        halves = np.stack([packed & 0xFFFF, packed >> 16], axis=1).reshape(32, 50).astype(np.uint16)
        np.testing.assert_array_equal(halves, exact.astype(type).view(np.uint16))


@pytest.mark.parametrize(("name", "source"), [("fp4", "f32"), ("fp6", "f16"), ("bf6", "bf16"), ("bf8", "f16")])
def test_scaled_stochastic_rounding(name: str, source: str) -> None:
    """Random bits go on from element to element by the generator of v_prng_b32."""
    kind, info = SCALED[name], ml_dtypes.finfo(SCALED[name])
    type, mantissa = {"f32": (np.float32, 23), "f16": (np.float16, 10), "bf16": (ml_dtypes.bfloat16, 7)}[source]
    per = {"fp4": 2, "bf8": 1}.get(name, 32)
    numbers = (random_floats(RNG, np.float32, per * 200, 1) * np.float32(1.4)).reshape(per, 200).astype(type)
    random = RNG.integers(0, 1 << 32, 200, np.uint64).astype(np.uint32)
    scale, states = np.full(200, SCALES[2], np.uint32), [random]
    for _ in range(per - 1):
        states.append(run("v_prng_b32", states[-1]))
    smallest = int(np.log2(float(info.smallest_subnormal)))
    exact = numbers.astype(np.float32) * np.float32(4)
    model = np.vectorize(lambda x, r: stochastic(x, int(r), int(info.nmant), smallest, mantissa))
    wanted = codes_of(np.copysign(model(exact, np.stack(states)), exact).astype(np.float32), kind)
    halves = numbers.view(np.uint32 if source == "f32" else np.uint16).astype(np.uint32)
    if per == 32:
        packed = list(halves[::2] | halves[1::2] << 16)
        got = unpack6(run(f"v_cvt_scalef32_sr_pk32_{name}_{source}", packed, random, scale))
    elif per == 2:
        word = run(f"v_cvt_scalef32_sr_pk_{name}_{source}", tuple(halves), random, scale, old=random * 0)
        got = np.stack([word & 15, word >> 4])
    else:
        pair = (np.zeros(200, np.uint16), halves[0].astype(np.uint16))
        got = run(f"v_cvt_scalef32_sr_{name}_{source}", pair, random, scale, old=random * 0, op_sel=1)[None]
    np.testing.assert_array_equal(got, wanted)
