"""VOP3 meanings (conversions apart) against Python integers, fractions and NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from pykittens.isa import Instruction, Reg, lookup
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave

from .meaning_calls import F32_EDGES, INT_EDGES, bits, each, fraction_of, random_floats, rounded, run, same, triples
from .test_vop2_definitions import extreme, signed

MASK32 = 0xFFFFFFFF
RNG = np.random.default_rng(33)


def words(count: int) -> Any:
    return RNG.integers(0, 1 << 32, count, np.uint64).astype(np.uint32)


def bytes_of(word: int) -> list[int]:
    return [word >> i & 255 for i in (0, 8, 16, 24)]


def permuted(high: int, low: int, selector: int) -> int:
    data = bytes_of(low) + bytes_of(high)
    result = 0
    for place, s in enumerate(bytes_of(selector)):
        if s < 8:
            byte = data[s]
        elif s < 12:
            byte = 255 if data[2 * (s - 8) + 1] & 128 else 0
        else:
            byte = 0 if s == 12 else 255
        result |= byte << (8 * place)
    return result


def field_signed(x: int, low: int, width: int) -> int:
    low, width = low & 31, width & 31
    return signed(signed(x) >> low, width) if width else 0


THREE: list[tuple[str, Any]] = [
    ("v_bfe_u32", lambda x, low, width: (x >> (low & 31)) & ((1 << (width & 31)) - 1)),
    ("v_bfe_i32", field_signed),
    ("v_bfi_b32", lambda mask, a, b: (mask & a) | (~mask & b)),
    ("v_alignbit_b32", lambda high, low, n: (high << 32 | low) >> (n & 31)),
    ("v_alignbyte_b32", lambda high, low, n: (high << 32 | low) >> (8 * (n & 3))),
    ("v_xad_u32", lambda a, b, c: (a ^ b) + c), ("v_add3_u32", lambda a, b, c: a + b + c),
    ("v_lshl_add_u32", lambda a, n, c: (a << (n & 31)) + c), ("v_add_lshl_u32", lambda a, b, n: (a + b) << (n & 31)),
    ("v_lshl_or_b32", lambda a, n, c: (a << (n & 31)) | c), ("v_and_or_b32", lambda a, b, c: (a & b) | c),
    ("v_or3_b32", lambda a, b, c: a | b | c),
    ("v_mad_u32_u24", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
    ("v_mad_i32_i24", lambda a, b, c: signed(a, 24) * signed(b, 24) + c),
    ("v_min3_u32", min), ("v_max3_u32", max), ("v_med3_u32", lambda *x: sorted(x)[1]),
    ("v_min3_i32", lambda *x: min(map(signed, x))), ("v_max3_i32", lambda *x: max(map(signed, x))),
    ("v_med3_i32", lambda *x: sorted(map(signed, x))[1]),
    ("v_sad_u32", lambda a, b, c: abs(a - b) + c),
    ("v_sad_u16", lambda a, b, c: abs((a & 65535) - (b & 65535)) + abs((a >> 16) - (b >> 16)) + c),
    ("v_sad_u8", lambda a, b, c: sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b), strict=True)) + c),
    ("v_sad_hi_u8", lambda a, b, c: (sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b), strict=True)) << 16) + c),
    ("v_msad_u8", lambda a, b, c: sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b), strict=True) if y) + c),
    ("v_lerp_u8", lambda a, b, c: sum(
        (x + y + (z & 1)) >> 1 << 8 * i for i, (x, y, z) in enumerate(zip(*map(bytes_of, (a, b, c)), strict=True)))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "reference"), THREE)
def test_integer_operations_on_three_sources(name: str, reference: Any) -> None:
    edges = triples(INT_EDGES[::2])
    a, b, c = (np.concatenate([edge, words(200)]) for edge in edges)
    wanted = each(lambda *x: reference(*x) & MASK32, a, b, c, dtype=np.uint32)
    np.testing.assert_array_equal(bits(run(name, a, b, c)), wanted)


@pytest.mark.parametrize(
    "name", ["v_sad_u8", "v_sad_u32", "v_msad_u8", "v_sad_hi_u8", "v_mad_u32_u24", "v_mad_i32_i24"]
)
def test_clamped_sums_of_three_saturate(name: str) -> None:
    reference = dict(THREE)[name]
    a, b = words(300), words(300)
    c = RNG.choice(np.array([0xFFFFFFF0, 0x7FFFFFF0, 0x80000010, 3], np.uint32), 300)

    def clamped(x: int, y: int, z: int) -> int:
        if name == "v_mad_i32_i24":
            return max(min(reference(x, y, signed(z)), 0x7FFFFFFF), -0x80000000) & MASK32
        return min(int(reference(x, y, z)), MASK32)

    np.testing.assert_array_equal(bits(run(name, a, b, c, clamp=True)), each(clamped, a, b, c, dtype=np.uint32))


def test_perm_knows_every_selector() -> None:
    a, b = words(2000), words(2000)
    selector = RNG.integers(0, 16, (2000, 4), np.uint8).view(np.uint32).ravel()
    selector[:4] = [0x0D0E0FFF, 0x0C0C0C0C, 0x0B0A0908, 0x07060302]
    np.testing.assert_array_equal(run("v_perm_b32", a, b, selector), each(permuted, a, b, selector, dtype=np.uint32))


def test_bitop3_is_its_truth_table() -> None:
    a, b, c = (np.array([v] * 2, np.uint32) for v in (0xF0, 0xCC, 0xAA))
    for table in range(256):
        assert np.ravel(run("v_bitop3_b32", a, b, c, bitop3=table))[0] & 0xFF == table
    assert run("v_bitop3_b16", *(x.astype(np.uint16) for x in (a, b, c)), bitop3=0x78)[1] & 0xFF == 0x78


def test_64_bit_shifts_and_products() -> None:
    wide = np.concatenate([RNG.integers(0, 1 << 64, 300, np.uint64), np.array([0, 1 << 63, (1 << 64) - 1], np.uint64)])
    n = words(303)
    same(run("v_lshlrev_b64", n, wide), each(lambda k, x: (x << (k & 63)) & (1 << 64) - 1, n, wide, dtype=np.uint64))
    same(run("v_lshrrev_b64", n, wide), each(lambda k, x: x >> (k & 63), n, wide, dtype=np.uint64))
    same(run("v_ashrrev_i64", n, wide), each(lambda k, x: signed(x, 64) >> (k & 63), n, wide, dtype=np.int64))
    other = RNG.integers(0, 1 << 64, 303, np.uint64)
    same(run("v_lshl_add_u64", wide, n, other),
         each(lambda x, k, y: ((x << (k & 7)) + y) & (1 << 64) - 1, wide, n, other, dtype=np.uint64))  # fmt: skip
    a, b = words(303), words(303)
    same(run("v_mul_lo_u32", a, b), a * b)
    same(run("v_mul_hi_u32", a, b), each(lambda x, y: x * y >> 32, a, b, dtype=np.uint32))
    same(run("v_mul_hi_i32", a, b), each(lambda x, y: signed(x) * signed(y) >> 32, a, b, dtype=np.int32))
    same(run("v_bfm_b32", a, b), each(lambda x, y: (((1 << (x & 31)) - 1) << (y & 31)) & MASK32, a, b, dtype=np.uint32))
    same(run("v_bcnt_u32_b32", a, b), each(lambda x, y: (x.bit_count() + y) & MASK32, a, b, dtype=np.uint32))


@pytest.mark.parametrize("clamp", [False, True])
@pytest.mark.parametrize(("name", "is_signed"), [("v_mad_u64_u32", False), ("v_mad_i64_i32", True)])
def test_wide_multiply_adds_carry(name: str, is_signed: bool, clamp: bool) -> None:
    edges = np.array([0, 1, 0x7FFFFFFF, 0x80000000, MASK32], np.uint32)
    wide = np.array([0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1], np.uint64)
    grid = list(itertools.product(edges.tolist(), edges.tolist(), wide.tolist()))
    a, b = (np.array([row[i] for row in grid], np.uint32) for i in (0, 1))
    c = np.array([row[2] for row in grid], np.uint64)
    total, carry = run(name, a, b, c, clamp=clamp)
    for i, (x, y, z) in enumerate(grid):
        exact = signed(x) * signed(y) + signed(z, 64) if is_signed else x * y + z
        low, high = (-(1 << 63), (1 << 63) - 1) if is_signed else (0, (1 << 64) - 1)
        wanted = max(low, min(high, exact)) if clamp else exact
        assert int(total[i]) & (1 << 64) - 1 == wanted & (1 << 64) - 1
        assert carry[i] == (exact & (1 << 65) - 1) >> 64


def test_16_bit_multiply_adds_and_sums() -> None:
    a, b, c = (RNG.integers(0, 1 << 16, 500, np.uint16) for _ in range(3))
    for kind in ("u16", "legacy_u16"):
        same(run(f"v_mad_{kind}", a, b, c), a * b + c)
        wide = np.minimum(a.astype(np.uint64) * b + c, 65535).astype(np.uint16)
        same(run(f"v_mad_{kind}", a, b, c, clamp=True), wide)
    x, y, z = (v.view(np.int16) for v in (a, b, c))
    for kind in ("i16", "legacy_i16"):
        same(run(f"v_mad_{kind}", x, y, z), x * y + z)
        same(
            run(f"v_mad_{kind}", x, y, z, clamp=True),
            np.clip(x.astype(np.int64) * y + z, -32768, 32767).astype(np.int16),
        )
    for name, operation in (("v_add_i16", np.add), ("v_sub_i16", np.subtract)):
        same(run(name, x, y), operation(x, y))
        exact = operation(x.astype(np.int64), y.astype(np.int64))
        same(run(name, x, y, clamp=True), np.clip(exact, -32768, 32767).astype(np.int16))
    wide_c = words(500)
    same(run("v_mad_u32_u16", a, b, wide_c), a.astype(np.uint32) * b + wide_c)
    same(run("v_mad_i32_i16", x, y, wide_c.view(np.int32)), x.astype(np.int32) * y + wide_c.view(np.int32))
    for name, function in (("min3", np.min), ("max3", np.max), ("med3", np.median)):
        for kind, rows in (("u16", (a, b, c)), ("i16", (x, y, z))):
            same(run(f"v_{name}_{kind}", *rows), function(np.stack(rows), axis=0).astype(rows[0].dtype))
    for name, operation in (("v_add_i32", lambda p, q: p + q), ("v_sub_i32", lambda p, q: p - q)):
        p, q = words(200).view(np.int32), words(200).view(np.int32)
        exact = operation(p.astype(np.int64), q.astype(np.int64))
        same(run(name, p, q), exact.astype(np.int32))
        same(run(name, p, q, clamp=True), np.clip(exact, -(1 << 31), (1 << 31) - 1).astype(np.int32))


def test_quad_sums_of_differences_slide_over_bytes() -> None:
    a, c = (RNG.integers(0, 1 << 64, 100, np.uint64) for _ in range(2))
    b = words(100)
    b[::3] &= 0xFF00FF
    for name, masked in (("v_qsad_pk_u16_u8", False), ("v_mqsad_pk_u16_u8", True)):
        for clamp in (False, True):

            def reference(x: int, y: int, z: int, masked: bool = masked, clamp: bool = clamp) -> int:
                result = 0
                for i in range(4):
                    total = (z >> 16 * i & 65535) + sum(
                        abs(p - q)
                        for p, q in zip(bytes_of(x >> 8 * i & MASK32), bytes_of(y), strict=True)
                        if q or not masked
                    )
                    result |= (min(total, 65535) if clamp else total & 65535) << 16 * i
                return result

            same(run(name, a, b, c, clamp=clamp), each(reference, a, b, c, dtype=np.uint64))
    dwords = [words(100) for _ in range(4)]
    got = run("v_mqsad_u32_u8", a, b, dwords)
    for i in range(4):
        shifted = (a >> np.uint64(8 * i)).astype(np.uint32)
        np.testing.assert_array_equal(got[i], run("v_msad_u8", shifted, b, dwords[i]))


@pytest.mark.parametrize(("name", "type", "spread"), [
    ("v_fma_f32", np.float32, 30), ("v_fma_f64", np.float64, 60), ("v_fma_f16", np.float16, 7),
    ("v_fma_legacy_f16", np.float16, 7),
])  # fmt: skip
def test_fused_multiply_adds_round_once(name: str, type: Any, spread: int) -> None:
    a, b = (random_floats(RNG, type, 300, spread) for _ in range(2))
    c = np.concatenate([-(a[:150] * b[:150]), random_floats(RNG, type, 150, spread)])
    wanted = [rounded(fraction_of(x) * fraction_of(y) + fraction_of(z), f"f{np.dtype(type).itemsize * 8}")
              for x, y, z in zip(a, b, c, strict=True)]  # fmt: skip
    same(run(name, a, b, c), np.array(wanted, type))


def test_f64_and_other_float_arithmetic() -> None:
    a, b = (np.concatenate([random_floats(RNG, np.float64, 500, 300), [0.0, -0.0, np.inf, np.nan]]) for _ in range(2))
    with np.errstate(all="ignore"):
        same(run("v_add_f64", a, b), a + b)
        same(run("v_mul_f64", a, b), a * b)
        same(run("v_min_f64", a, b), np.fmin(a, b))
        same(run("v_max_f64", a, b), np.fmax(a, b))
    x, y, z = (random_floats(RNG, np.float16, 300, 5) for _ in range(3))
    for name in ("v_mad_f16", "v_mad_legacy_f16"):
        same(run(name, x, y, z), x * y + z)
    p = np.array([0.0, -0.0, np.inf, np.nan, 2.0, -3.0], np.float32)
    q = np.array([np.inf, np.nan, -0.0, 0.0, 3.0, 0.5], np.float32)
    same(run("v_mul_legacy_f32", p, q), np.array([0, 0, 0, 0, 6, -1.5], np.float32))


@pytest.mark.parametrize(("name", "type", "reach"), [("v_ldexp_f32", "f32", 330), ("v_ldexp_f64", "f64", 2300)])
def test_ldexp_rounds_once(name: str, type: str, reach: int) -> None:
    dtype = np.dtype(f"f{int(type[1:]) // 8}")
    numbers = RNG.integers(0, 1 << 63, 1500, np.uint64).view(np.float64)
    numbers = numbers if type == "f64" else words(1500).view(np.float32)
    numbers = numbers[np.isfinite(numbers)]
    numbers = np.concatenate([numbers, random_floats(RNG, dtype.type, 1500, 20)])
    exponents = RNG.integers(-reach, reach, numbers.size).astype(np.int32)
    wanted = [rounded(fraction_of(x) * (2 ** int(max(e, 0))) / (2 ** int(max(-e, 0))), type, bool(np.signbit(x)))
              for x, e in zip(numbers, exponents, strict=True)]  # fmt: skip
    same(
        run(name, numbers, exponents),
        np.array([np.copysign(abs(w), x) for w, x in zip(wanted, numbers, strict=True)], dtype),
    )
    extreme_exponents = np.array([-(1 << 31), (1 << 31) - 1], np.int32)
    same(run(name, np.ones(2, dtype), extreme_exponents), np.array([0, np.inf], dtype))


@pytest.mark.parametrize("ieee", [0, 1])
def test_three_source_minima_nest(ieee: int) -> None:
    a, b, c = triples(F32_EDGES[::3])
    for name, largest in (("v_min3_f32", False), ("v_max3_f32", True)):
        wanted = each(
            lambda x, y, z, big=largest: extreme(extreme(x, y, ieee, big), z, ieee, big), a, b, c, dtype=np.uint32
        )
        np.testing.assert_array_equal(bits(run(name, a, b, c, ieee=ieee)), wanted)
    numbers = [random_floats(RNG, np.float32, 500, 2) for _ in range(3)]
    same(run("v_med3_f32", *numbers, ieee=ieee), np.median(np.stack(numbers), axis=0).astype(np.float32))
    nan = np.array([np.nan], np.float32)
    assert run("v_med3_f32", nan, np.array([3], np.float32), np.array([2], np.float32)) == 2
    halves = [x.astype(np.float16) for x in numbers]
    same(run("v_min3_f16", *halves), np.min(np.stack(halves), axis=0))


def test_minimum3_and_maximum3_propagate_nan() -> None:
    a, b, c = (x.view(np.float32) for x in triples(F32_EDGES[::3]))
    with np.errstate(invalid="ignore"):
        wanted = np.minimum(np.minimum(a, b), c)
        got = run("v_minimum3_f32", a, b, c)
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(run("v_maximum3_f32", a, b, c), np.maximum(np.maximum(a, b), c))
    zeros = np.array([0.0, -0.0], np.float32)
    assert np.signbit(run("v_minimum3_f32", zeros, zeros[::-1], zeros)).all()
    assert not np.signbit(run("v_maximum3_f32", zeros, zeros[::-1], zeros)).any()


def test_cube_faces_and_coordinates() -> None:
    """Every face by its longest axis; s and t as cube maps have them."""
    x, y, z = (np.array(v, np.float32) for v in ([3, -3, 1, 1, 1, 1], [1, 1, 3, -3, 2, 2], [2, 2, 2, 2, 3, -3]))
    assert run("v_cubeid_f32", x, y, z).tolist() == [0, 1, 2, 3, 4, 5]
    assert run("v_cubesc_f32", x, y, z).tolist() == [-2, 2, 1, 1, 1, -1]
    assert run("v_cubetc_f32", x, y, z).tolist() == [-1, -1, 2, -2, -2, -2]
    assert run("v_cubema_f32", x, y, z).tolist() == [6, -6, 6, -6, 6, -6]


def two_over_pi(bits_wanted: int) -> int:
    """The first fraction bits of 2/pi, by Machin's formula."""
    unit = 1 << (bits_wanted + 64)

    def arctan(inverse: int) -> int:
        total = term = unit // inverse
        for k in itertools.count(1):
            term //= inverse * inverse
            if not term:
                return total
            total += (term if k % 2 == 0 else -term) // (2 * k + 1)
        raise AssertionError

    pi = 4 * (4 * arctan(5) - arctan(239))
    return (2 * unit * unit // pi) >> 64


def test_segments_of_two_over_pi_have_their_place_value() -> None:
    exact = two_over_pi(3000)
    for number, segment in ((1.0, 0), (1.0, 1), (1.0, 2), (2.0**60, 1), (2.0**300, 0), (2.0**900, 2), (1.0, 20)):
        exponent = int(np.array(number).view(np.uint64) >> 52)
        shift = 53 * segment + max(exponent - 1077, 0)
        known = exact >> (3000 - 1201) << (3000 - 1201)
        window = known >> (3000 - 53 - shift) & ((1 << 53) - 1)
        wanted = np.ldexp(float(window), -53 - shift + (128 if exponent >= 1968 else 0))
        got = run("v_trig_preop_f64", np.array([number]), np.array([segment], np.uint32))
        assert got[0] == wanted, (number, segment)


def test_lane_counts_below_each_lane() -> None:
    mask = np.full(64, 0xDEADBEEF, np.uint32)
    base = np.full(64, 7, np.uint32)
    low = run("v_mbcnt_lo_u32_b32", mask, base)
    high = run("v_mbcnt_hi_u32_b32", mask, low)
    both = 0xDEADBEEF << 32 | 0xDEADBEEF
    assert high.tolist() == [7 + (both & ((1 << lane) - 1)).bit_count() for lane in range(64)]


def test_readlane_and_writelane_ignore_exec() -> None:
    wave = Wave()
    wave.vgpr[1], wave.vgpr[2] = np.arange(64), 5
    wave.sgpr[4], wave.sgpr[5] = 64 + 9, 1234
    v, s = (lambda n: Reg("v", n)), (lambda n: Reg("s", n))
    wave.run(Instruction(lookup("v_readlane_b32"), (s(6), v(1), s(4))), "gfx942", Mode())
    wave.run(Instruction(lookup("v_writelane_b32"), (v(2), s(5), s(4))), "gfx942", Mode())
    assert wave.sgpr[6] == 9
    assert wave.vgpr[2].tolist() == [1234 if lane == 9 else 5 for lane in range(64)]


@pytest.mark.parametrize("high", [0, 1])
def test_16_bit_results_keep_the_other_half(high: int) -> None:
    wave = Wave()
    wave.sgpr[126:128] = MASK32
    wave.vgpr[1] = 0xAAAABBBB
    wave.vgpr[2], wave.vgpr[3], wave.vgpr[4] = 0x00020003, 0x00050007, 0x000B000D
    instruction = Instruction(
        lookup("v_mad_u16"), tuple(Reg("v", i) for i in (1, 2, 3, 4)), {"op_sel": (1, 0, 1, high)}
    )
    wave.run(instruction, "gfx942", Mode())
    result = 2 * 7 + 11
    assert wave.vgpr[1][0] == (result << 16 | 0xBBBB if high else 0xAAAA0000 | result)
