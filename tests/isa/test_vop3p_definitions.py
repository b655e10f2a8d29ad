"""VOP3P: packed halves with op_sel, mixed precision, dot products and accumulation registers, on a NumPy wave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pykittens.isa import Instruction, Reg, lookup
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave

from .meaning_calls import bits, each, random_floats, run, same
from .test_vop2_definitions import signed

RNG = np.random.default_rng(34)
ALL = 0xFFFFFFFF


def execute(name: str, sources: list[Any], dwords: int = 1, mode: Mode | None = None, **modifiers: Any) -> Any:
    """The destination v[0:1] after one instruction whose sources v10, v20, v30 hold u32 rows (or pairs of rows)."""
    wave = Wave()
    wave.sgpr[126:128] = ALL
    wave.vgpr[:2] = 0x5A5A5A5A
    registers = []
    for i, source in enumerate(sources):
        rows = source if isinstance(source, tuple) else (source,)
        registers.append(Reg("v", 10 * (i + 1), len(rows)))
        for k, row in enumerate(rows):
            wave.vgpr[10 * (i + 1) + k] = row
    instruction = Instruction(lookup(name), (Reg("v", 0, dwords), *registers), modifiers)
    wave.run(instruction, "gfx950", mode or Mode())
    return wave.vgpr[0] if dwords == 1 else (wave.vgpr[0], wave.vgpr[1])


def halves(row: Any) -> tuple[Any, Any]:
    return (row & 0xFFFF).astype(np.uint16), (row >> 16).astype(np.uint16)


def joined(low: Any, high: Any) -> Any:
    return bits(low).astype(np.uint32) | bits(high).astype(np.uint32) << 16


def words() -> Any:
    return RNG.integers(0, 1 << 32, 64, np.uint64).astype(np.uint32)


INTEGER: list[tuple[str, Any, int]] = [
    ("v_pk_mad_u16", lambda a, b, c: a * b + c, 3), ("v_pk_add_u16", lambda a, b: a + b, 2),
    ("v_pk_sub_u16", lambda a, b: a - b, 2), ("v_pk_mul_lo_u16", lambda a, b: a * b, 2),
    ("v_pk_lshlrev_b16", lambda n, a: a << (n & 15), 2), ("v_pk_lshrrev_b16", lambda n, a: a >> (n & 15), 2),
    ("v_pk_ashrrev_i16", lambda n, a: signed(a, 16) >> (n & 15), 2),
    ("v_pk_max_u16", max, 2), ("v_pk_min_u16", min, 2),
    ("v_pk_max_i16", lambda a, b: max(signed(a, 16), signed(b, 16)), 2),
    ("v_pk_min_i16", lambda a, b: min(signed(a, 16), signed(b, 16)), 2),
    ("v_pk_mad_i16", lambda a, b, c: a * b + c, 3), ("v_pk_add_i16", lambda a, b: a + b, 2),
    ("v_pk_sub_i16", lambda a, b: a - b, 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "reference", "count"), INTEGER)
def test_packed_integers_take_the_halves_that_op_sel_names(name: str, reference: Any, count: int) -> None:
    sources = [words() for _ in range(count)]
    for low_choice, high_choice in ((0, (1 << count) - 1), (1, 0), ((1 << count) - 1, 1)):
        op_sel = tuple(low_choice >> i & 1 for i in range(count))
        op_sel_hi = tuple(high_choice >> i & 1 for i in range(count))
        got = execute(name, sources, op_sel=op_sel, op_sel_hi=op_sel_hi)
        parts = []
        for choice in (op_sel, op_sel_hi):
            picked = [halves(s)[c] for s, c in zip(sources, choice, strict=True)]
            parts.append(each(lambda *x: reference(*x) & 0xFFFF, *picked, dtype=np.uint16))
        np.testing.assert_array_equal(got, joined(*parts))


def test_packed_sums_saturate_under_clamp() -> None:
    a, b = words(), words()
    got = halves(execute("v_pk_add_u16", [a, b], clamp=True))
    for part, x, y in zip(got, halves(a), halves(b), strict=True):
        np.testing.assert_array_equal(part, np.minimum(x.astype(int) + y, 65535))
    got = halves(execute("v_pk_sub_i16", [a, b], clamp=True))
    for part, x, y in zip(got, halves(a), halves(b), strict=True):
        exact = x.view(np.int16).astype(int) - y.view(np.int16)
        np.testing.assert_array_equal(part.view(np.int16), np.clip(exact, -32768, 32767))


def f16_pair() -> tuple[Any, Any, Any]:
    low, high = (random_floats(RNG, np.float16, 64, 3) for _ in range(2))
    return joined(low, high), low, high


@pytest.mark.parametrize(("name", "reference", "count"), [
    ("v_pk_add_f16", lambda a, b: a + b, 2), ("v_pk_mul_f16", lambda a, b: a * b, 2),
    ("v_pk_min_f16", np.fmin, 2), ("v_pk_max_f16", np.fmax, 2),
    ("v_pk_fma_f16", lambda a, b, c: (a.astype(np.float64) * b + c).astype(np.float16), 3),
    ("v_pk_minimum3_f16", lambda a, b, c: np.minimum(np.minimum(a, b), c), 3),
    ("v_pk_maximum3_f16", lambda a, b, c: np.maximum(np.maximum(a, b), c), 3),
])  # fmt: skip
def test_packed_f16(name: str, reference: Any, count: int) -> None:
    pairs = [f16_pair() for _ in range(count)]
    negated = (1,) + (0,) * (count - 1)
    got = halves(execute(name, [p[0] for p in pairs], neg_lo=negated, neg_hi=(0,) * (count - 1) + (1,)))
    low, high = [p[1] for p in pairs], [p[2] for p in pairs]
    same(got[0].view(np.float16), reference(-low[0], *low[1:]))
    same(got[1].view(np.float16), reference(*high[:-1], -high[-1]))


@pytest.mark.parametrize(("name", "reference", "count"), [
    ("v_pk_add_f32", lambda a, b: a + b, 2), ("v_pk_mul_f32", lambda a, b: a * b, 2),
    ("v_pk_fma_f32", lambda a, b, c: (a.astype(np.float64) * b + c).astype(np.float32), 3),
])  # fmt: skip
def test_packed_f32_works_on_register_pairs(name: str, reference: Any, count: int) -> None:
    numbers = [[random_floats(RNG, np.float32, 64, 1) for _ in range(2)] for _ in range(count)]
    sources = [tuple(x.view(np.uint32) for x in pair) for pair in numbers]
    low, high = execute(name, sources, dwords=2)
    same(low.view(np.float32), reference(*(pair[0] for pair in numbers)))
    same(high.view(np.float32), reference(*(pair[1] for pair in numbers)))
    crossed = execute(name, sources, dwords=2, op_sel=(1,) + (0,) * (count - 1), op_sel_hi=(1,) * (count - 1) + (0,))
    same(crossed[0].view(np.float32), reference(numbers[0][1], *(pair[0] for pair in numbers[1:])))
    same(crossed[1].view(np.float32), reference(*(pair[1] for pair in numbers[:-1]), numbers[-1][0]))


@pytest.mark.parametrize("op_sel", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_pk_mov_takes_one_register_of_each_source(op_sel: tuple[int, int]) -> None:
    a, b = (words(), words()), (words(), words())
    low, high = execute("v_pk_mov_b32", [a, b], dwords=2, op_sel=op_sel)
    np.testing.assert_array_equal(low, a[op_sel[0]])
    np.testing.assert_array_equal(high, b[op_sel[1]])


@pytest.mark.parametrize("name", ["v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"])
def test_mixed_precision_reads_f32_or_either_half(name: str) -> None:
    pair, low, high = f16_pair()
    single = random_floats(RNG, np.float32, 64, 1)
    got = execute(
        name,
        [pair, pair, single.view(np.uint32)],
        op_sel=(0, 1, 0),
        op_sel_hi=(1, 1, 0),
        neg_lo=(1, 0, 0),
        neg_hi=(0, 1, 0),
    )
    exact = -low.astype(np.float64) * np.abs(high.astype(np.float64)) + single
    wanted = exact.astype(np.float32)
    if name == "v_fma_mix_f32":
        same(got.view(np.float32), wanted)
        return
    upper = name == "v_fma_mixhi_f16"
    same(halves(got)[upper].view(np.float16), wanted.astype(np.float16))
    assert (halves(got)[not upper] == 0x5A5A).all()


@pytest.mark.parametrize("clamp", [False, True])
@pytest.mark.parametrize(("name", "width", "is_signed"), [
    ("v_dot2_i32_i16", 16, True), ("v_dot2_u32_u16", 16, False), ("v_dot4_i32_i8", 8, True),
    ("v_dot4_u32_u8", 8, False), ("v_dot8_i32_i4", 4, True), ("v_dot8_u32_u4", 4, False),
])  # fmt: skip
def test_integer_dot_products(name: str, width: int, is_signed: bool, clamp: bool) -> None:
    a, b = words(), words()
    c = RNG.choice(np.array([0x7FFFFFFF, 0x80000000, ALL, 3], np.uint32), 64)

    def part(x: int, low: int) -> int:
        return signed(x >> low, width) if is_signed else x >> low & ((1 << width) - 1)

    def reference(x: int, y: int, z: int) -> int:
        exact = (signed(z) if is_signed else z) + sum(part(x, i) * part(y, i) for i in range(0, 32, width))
        low, high = (-(1 << 31), (1 << 31) - 1) if is_signed else (0, ALL)
        return (max(low, min(high, exact)) if clamp else exact) & ALL

    modifiers = {"clamp": True} if clamp else {}
    np.testing.assert_array_equal(execute(name, [a, b, c], **modifiers), each(reference, a, b, c, dtype=np.uint32))


def test_float_dot_products() -> None:
    (a, a_low, a_high), (b, b_low, b_high) = f16_pair(), f16_pair()
    c = random_floats(RNG, np.float32, 64, 3)
    exact = c.astype(np.float64) + a_low.astype(np.float64) * b_low + a_high.astype(np.float64) * b_high
    got = execute("v_dot2_f32_f16", [a, b, c.view(np.uint32)]).view(np.float32)
    np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-4)
    small = np.full(64, 1e-40, np.float32)
    assert (execute("v_dot2_f32_f16", [a * 0, b * 0, small.view(np.uint32)]) == 0).all()
    x, y = (random_floats(RNG, np.float32, 128, 3) for _ in range(2))
    rows = [(bits(v) >> 16).astype(np.uint32) for v in (x[:64], x[64:], y[:64], y[64:])]
    wide = [(row << 16).view(np.float32).astype(np.float64) for row in rows]
    got = execute("v_dot2_f32_bf16", [rows[0] | rows[1] << 16, rows[2] | rows[3] << 16, c.view(np.uint32)])
    np.testing.assert_allclose(got.view(np.float32), c + wide[0] * wide[2] + wide[1] * wide[3], rtol=1e-5, atol=1e-4)


def test_accumulation_registers_are_read_and_written() -> None:
    x = words()
    np.testing.assert_array_equal(run("v_accvgpr_read_b32", x), x)
    np.testing.assert_array_equal(run("v_accvgpr_write_b32", x), x)
    wave = Wave(accum_offset=128)
    wave.sgpr[126:128] = ALL
    wave.vgpr[7] = x
    wave.run(Instruction(lookup("v_accvgpr_write_b32"), (Reg("a", 5), Reg("v", 7))), "gfx942", Mode())
    np.testing.assert_array_equal(wave.vgpr[128 + 5], x)
    wave.run(Instruction(lookup("v_accvgpr_read_b32"), (Reg("v", 9), Reg("a", 5))), "gfx942", Mode())
    np.testing.assert_array_equal(wave.vgpr[9], x)
