"""The NumPy meaning of the matrix instructions against plain matrix products and exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pykittens.isa import mfma, mfma_layout, mfma_numpy
from pykittens.isa.define import DEFINITIONS, Definition, Mfma
from pykittens.isa.mfma_numpy import Extras
from pykittens.isa.small_floats import FORMATS

Array = np.ndarray[Any, Any]

FORMS = [(d, arch) for d in DEFINITIONS.values() if d.mfma for arch in d.archs]
NAN, INF = 0x7FC00000, 0x7F800000


def name_of(value: object) -> str | None:
    return value.name if isinstance(value, Definition) else None


def shape_of(definition: Definition) -> Mfma:
    assert definition.mfma is not None
    return definition.mfma


def codes(numbers: Array, name: str) -> Array:
    """The codes of numbers that an element type has exactly, as uint64."""
    if name in FORMATS:
        table = {float(value): code for code, value in reversed(list(enumerate(FORMATS[name].values)))}
        return np.vectorize(table.__getitem__, otypes=[np.uint64])(numbers)
    kinds: dict[str, tuple[Any, Any]] = {
        "i8": (np.int8, np.uint8),
        "f16": (np.float16, np.uint16),
        "f64": (np.float64, np.uint64),
    }
    kind, word = kinds.get(name, (np.float32, np.uint32))
    bits = numbers.astype(kind).view(word).astype(np.uint64)
    return bits >> np.uint64(16) if name == "bf16" else bits


def put(registers: Array, place: mfma_layout.Location, values: Array, bits: int) -> None:
    """Write elements to their places; registers are uint32 (registers, 64) and zero there."""
    for register, lane, bit, value in np.nditer([place.register, place.lane, place.bit, values]):
        wide = int(value) << int(bit)
        for n in range(3):
            part = wide >> 32 * n & 0xFFFFFFFF
            if part:
                registers[int(register) + n, int(lane)] |= part


def registers_of(
    definition: Definition, arch: str, modifiers: dict[str, object], a: Array, b: Array, c: Array
) -> list[Array]:
    """Operand registers for A (blocks, m, k), B (blocks, k, n) and C (blocks, m, n); sparse: A (1, m, k/2)."""
    shape = shape_of(definition)
    counts = mfma.operand_registers(definition, modifiers)
    names, bits = mfma.element_formats(definition, modifiers, arch), mfma.element_bits(definition, modifiers)
    left, right, old = (np.zeros((counts[i], 64), np.uint32) for i in (1, 2, 0))
    block, i, k = np.ogrid[tuple(map(slice, a.shape))]
    put(left, mfma_layout.a_loc(shape, bits[0], i, k, block), codes(a, names[0]), bits[0])
    block, k, j = np.ogrid[tuple(map(slice, b.shape))]
    put(right, mfma_layout.b_loc(shape, bits[1], k, j, block), codes(b, names[1]), bits[1])
    block, i, j = np.ogrid[tuple(map(slice, c.shape))]
    wide = 64 if shape.d == "f64" else 32
    put(old, mfma_layout.d_loc(shape, i, j, block), result_codes(c, shape), wide)
    return [left, right, old]


def result_codes(c: Array, shape: Mfma) -> Array:
    kind = {"f64": np.float64, "i32": np.int32}.get(shape.d, np.float32)
    return c.astype(kind).view(np.uint64 if shape.d == "f64" else np.uint32).astype(np.uint64)


def numbers(d: Array, shape: Mfma) -> Array:
    """D (blocks, m, n) from its registers, as float64 or int64."""
    block, i, j = np.ogrid[: shape.blocks, : shape.m, : shape.n]
    place = mfma_layout.d_loc(shape, i, j, block)
    raw = mfma_numpy.gather(d, place, 64 if shape.d == "f64" else 32)
    if shape.d == "f64":
        return raw.view(np.float64)
    return raw.astype(np.uint32).view(np.int32 if shape.d == "i32" else np.float32).astype(np.float64)


def small_numbers(rng: np.random.Generator, size: tuple[int, ...], name: str) -> Array:
    """Numbers that the type has, whose products and sums are exact in f32."""
    if name == "i8":
        return rng.integers(-128, 128, size).astype(np.float64)
    return rng.choice([-4.0, -3.0, -2.0, -1.5, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0], size)


def product(definition: Definition, arch: str, modifiers: dict[str, object], seed: int = 0) -> tuple[Array, ...]:
    """(A, B, C, D) of a dense instruction on numbers whose sums are exact."""
    shape, rng = shape_of(definition), np.random.default_rng(seed)
    names = mfma.element_formats(definition, modifiers, arch)
    a = small_numbers(rng, (shape.blocks, shape.m, shape.k), names[0])
    b = small_numbers(rng, (shape.blocks, shape.k, shape.n), names[1])
    c = rng.integers(-1000, 1000, (shape.blocks, shape.m, shape.n)).astype(np.float64)
    scale = np.full(64, 127, np.uint32)
    d = mfma_numpy.execute(
        definition,
        modifiers,
        arch,
        *registers_of(definition, arch, modifiers, a, b, c),
        Extras(scale_a=scale, scale_b=scale),
    )
    return a, b, c, numbers(d, shape)


@pytest.mark.parametrize(("definition", "arch"), [f for f in FORMS if not shape_of(f[0]).sparse], ids=name_of)
def test_dense_is_a_matrix_product(definition: Definition, arch: str) -> None:
    formats: list[dict[str, object]] = [{}]
    if shape_of(definition).a == "f8f6f4":
        formats = [{"cbsz": n, "blgp": (n + 2) % 5} for n in range(5)]
    for modifiers in formats:
        a, b, c, d = product(definition, arch, modifiers)
        assert (d == c + a @ b).all()


@pytest.mark.parametrize(("definition", "arch"), [f for f in FORMS if shape_of(f[0]).sparse], ids=name_of)
def test_sparse_is_a_matrix_product(definition: Definition, arch: str) -> None:
    shape, rng = shape_of(definition), np.random.default_rng(1)
    names, bits = mfma.element_formats(definition, {}, arch), mfma.element_bits(definition, {})[0]
    b = small_numbers(rng, (1, shape.k, shape.n), names[1])
    c = rng.integers(-1000, 1000, (1, shape.m, shape.n)).astype(np.float64)
    stored = small_numbers(rng, (1, shape.m, shape.k // 2), names[0])
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    chosen = rng.choice(pairs, (shape.m, shape.k // 4)).reshape(shape.m, shape.k // 2)
    dense = np.zeros((shape.m, shape.k))
    sets = mfma_layout.index_sets(shape, bits)
    for cbsz, abid in ((0, 0), (0, sets - 1), (1, sets - 1)):
        used = 0 if cbsz else abid
        index = np.zeros(64, np.uint32)
        for i, k in np.ndindex(chosen.shape):
            dense[i, k // 2 * 4 + chosen[i, k]] = stored[0, i, k]
            place = mfma_layout.index_loc(shape, bits, i, k)
            index[place.lane] |= int(chosen[i, k]) << (place.bit + 32 // sets * used)
        registers = registers_of(definition, arch, {}, stored, b, c)
        d = mfma_numpy.execute(definition, {"cbsz": cbsz, "abid": abid}, arch, *registers, Extras(index=index))
        assert (numbers(d, shape) == c + dense @ b).all()


def test_sparse_leaves_out_what_is_not_stored() -> None:
    """An infinity in B meets no zero of A that is only implied."""
    definition = DEFINITIONS["v_smfmac_f32_16x16x32_f16"]
    b = np.ones((1, 32, 16))
    b[0, 3::4] = np.inf
    registers = registers_of(definition, "gfx942", {}, np.ones((1, 16, 16)), b, np.zeros((1, 16, 16)))
    d = mfma_numpy.execute(definition, {}, "gfx942", *registers, Extras(index=np.full(64, 0x44444444, np.uint32)))
    assert (numbers(d, shape_of(definition)) == 16).all()


def test_broadcasts_of_the_manual() -> None:
    """CDNA4 ISA 7.1.6.1: cbsz 1 and abid 1 of 32x32x1_2b multiply the second block of A with both of B."""
    definition = DEFINITIONS["v_mfma_f32_32x32x1_2b_f32"]
    a, b, c, d = product(definition, "gfx950", {})
    assert (d == c + a @ b).all()
    for abid in (0, 1):
        modifiers: dict[str, object] = {"cbsz": 1, "abid": abid}
        _, _, _, d = product(definition, "gfx950", modifiers)
        assert (d == c + a[abid] @ b).all()


@pytest.mark.parametrize(
    ("blgp", "blocks"),
    list(enumerate([(0, 1, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3), (1, 2, 3, 0), (0,) * 4, (1,) * 4, (2,) * 4, (3,) * 4])),
)
def test_permutations_of_the_manual(blgp: int, blocks: tuple[int, ...]) -> None:
    """The four blocks of 16x16x4_4b are the four groups of 16 lanes."""
    a, b, c, d = product(DEFINITIONS["v_mfma_f32_16x16x4_4b_f16"], "gfx942", {"blgp": blgp})
    assert (d == c + a @ b[list(blocks)]).all()


@pytest.mark.parametrize("neg", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_negation_of_f64(neg: tuple[int, int, int]) -> None:
    for name in ("v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"):
        a, b, c, d = product(DEFINITIONS[name], "gfx950", {"neg": neg})
        assert (d == (-c if neg[2] else c) + (-1) ** (neg[0] + neg[1]) * (a @ b)).all()


@pytest.mark.parametrize("name", ["v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4"])
def test_scales(name: str) -> None:
    definition, rng = DEFINITIONS[name], np.random.default_rng(2)
    shape = shape_of(definition)
    a, b = small_numbers(rng, (1, shape.m, shape.k), "fp4"), small_numbers(rng, (1, shape.k, shape.n), "fp4")
    c = np.zeros((1, shape.m, shape.n))
    exponents = rng.integers(126, 129, (2, 4, 64), np.uint8)
    for byte in range(4):
        modifiers = {"cbsz": 4, "blgp": 4, "op_sel": (byte & 1, 1), "op_sel_hi": (byte >> 1, 0)}
        scale_a, scale_b = (np.ascontiguousarray(e.T).view(np.uint32)[:, 0] for e in exponents)
        registers = registers_of(definition, "gfx950", modifiers, a, b, c)
        d = mfma_numpy.execute(definition, modifiers, "gfx950", *registers, Extras(scale_a=scale_a, scale_b=scale_b))
        expected = np.zeros((shape.m, shape.n))
        for i, j, block in np.ndindex(shape.m, shape.n, shape.k // 32):
            part = slice(32 * block, 32 * block + 32)
            powers = exponents[0, byte, i + shape.m * block] + exponents[1, 1, j + shape.n * block].astype(int) - 254
            expected[i, j] += float(a[0, i, part] @ b[0, part, j]) * 2.0**powers
        assert (numbers(d, shape)[0] == expected).all()


def test_scale_of_ones_bits_is_nan() -> None:
    definition = DEFINITIONS["v_mfma_scale_f32_16x16x128_f8f6f4"]
    scale = np.full(64, 127, np.uint32)
    scale[16 + 5] = 255
    zeros = np.zeros((8, 64), np.uint32)
    extras = Extras(scale_a=scale, scale_b=np.full(64, 127, np.uint32))
    d = mfma_numpy.execute(definition, {}, "gfx950", zeros, zeros, zeros[:4], extras)
    expected = np.zeros((16, 16), bool)
    expected[5] = True
    assert (np.isnan(numbers(d, shape_of(definition))[0]) == expected).all()


def nearest_f32(exact: Fraction) -> np.float32:
    """By comparing distances of neighbours, ties to even."""
    near = np.float32(float(exact))
    candidates = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    return min(candidates, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.uint32)) & 1))


@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x16_bf16", "v_mfma_f32_16x16x4_f32", "v_mfma_f32_16x16x8_xf32"])
def test_rounds_once_for_each_k_in_order(name: str) -> None:
    definition, rng = DEFINITIONS[name], np.random.default_rng(3)
    shape = shape_of(definition)
    left, right = (rng.standard_normal(size).astype(np.float32) for size in ((1, 16, shape.k), (1, shape.k, 16)))
    if shape.a != "f32":
        keep = np.uint32(0xFFFF0000 if shape.a == "bf16" else 0xFFFFE000)
        left, right = (x.view(np.uint32) & keep for x in (left, right))
        left, right = left.view(np.float32), right.view(np.float32)
    old = rng.standard_normal((1, 16, 16)).astype(np.float32)
    d = numbers(
        mfma_numpy.execute(definition, {}, "gfx942", *registers_of(definition, "gfx942", {}, left, right, old)), shape
    )
    for i, j in ((0, 0), (3, 11), (15, 7)):
        total = old[0, i, j]
        for k in range(shape.k):
            exact = Fraction(float(left[0, i, k])) * Fraction(float(right[0, k, j])) + Fraction(float(total))
            total = nearest_f32(exact)
        assert d[0, i, j] == total


def one_element(name: str, arch: str, a: int, b: int, c: int, **extras: bool) -> int:
    """D[0][0] as bits, with a and b as bits of A[0][0] and B[0][0] and all other elements 0."""
    definition = DEFINITIONS[name]
    counts = mfma.operand_registers(definition, {})
    left, right, old = (np.zeros((counts[i], 64), np.uint32) for i in (1, 2, 0))
    left[0, 0], right[0, 0], old[0, 0] = a, b, c
    return int(mfma_numpy.execute(definition, {}, arch, left, right, old, Extras(**extras))[0, 0])


@pytest.mark.parametrize(
    ("name", "a", "b", "c", "d"),
    [
        ("v_mfma_f32_16x16x16_f16", 0x7C00, 0x0000, 0, NAN),
        ("v_mfma_f32_16x16x16_f16", 0x7C00, 0xBC00, 0, INF | 1 << 31),
        ("v_mfma_f32_16x16x16_f16", 0x7C00, 0x3C00, INF | 1 << 31, NAN),
        ("v_mfma_f32_16x16x16_f16", 0xFD01, 0x3C00, 0, NAN),
        ("v_mfma_f32_16x16x16_f16", 0x0001, 0x0001, 0, 0x27800000),
        ("v_mfma_f32_16x16x16_f16", 0, 0, 0xFFC12345, NAN),
        ("v_mfma_f32_16x16x16_f16", 0, 0, 0x80000000, 0),
        ("v_mfma_f32_16x16x16_bf16", 0x0001, 0x3F80, 0, 0x00010000),
        ("v_mfma_f32_16x16x4_f32", 0x00000001, 0x3F800000, 0, 0x00000001),
        ("v_mfma_f32_16x16x4_f32", 0x7F7FFFFF, 0x40000000, 0, INF),
        ("v_mfma_f32_16x16x8_xf32", 0x3F801FFF, 0x3F801FFF, 0, 0x3F800000),
        ("v_mfma_f32_16x16x8_xf32", 0x7F800001, 0x3F800000, 0, NAN),
        ("v_mfma_f32_16x16x32_fp8_fp8", 0x80, 0x00, 0, NAN),
        ("v_mfma_f32_16x16x32_fp8_fp8", 0x40, 0x40, 0, 0x3F800000),
        ("v_mfma_f32_16x16x32_bf8_bf8", 0x7C, 0x40, 0, 0x47000000),
    ],
)
def test_special_values_of_gfx942(name: str, a: int, b: int, c: int, d: int) -> None:
    assert one_element(name, "gfx942", a, b, c) == d


def test_fp8_of_gfx950() -> None:
    assert (
        one_element(
            "v_mfma_f32_16x16x32_fp8_fp8",
            "gfx950",
            0x80,
            0x00,
            0,
        )
        == 0
    )
    assert one_element("v_mfma_f32_16x16x32_fp8_fp8", "gfx950", 0x40, 0x40, 0) == 0x40800000
    assert one_element("v_mfma_f32_16x16x32_fp8_fp8", "gfx950", 0x7F, 0x38, 0) == NAN
    assert one_element("v_mfma_f32_16x16x32_bf8_bf8", "gfx950", 0x7C, 0x40, 0) == INF


def test_mode_bits() -> None:
    tiny, one = 0x00000001, 0x3F800000
    assert one_element("v_mfma_f32_16x16x4_f32", "gfx942", tiny, one, 0, flush_denormals=True) == 0
    assert one_element("v_mfma_f32_16x16x4_f32", "gfx942", 0, one, tiny, flush_denormals=True) == tiny
    assert one_element("v_mfma_f32_16x16x16_bf16", "gfx942", 1, 0x3F80, 0, flush_denormals=True) == 0x00010000
    big = 0x7F7FFFFF
    assert one_element("v_mfma_f32_16x16x4_f32", "gfx942", big, 0xC0000000, 0, clamp=True) == 0xFF7FFFFF
    assert one_element("v_mfma_f32_16x16x4_f32", "gfx942", INF, one, 0, clamp=True) == INF
    assert one_element("v_mfma_f32_16x16x4_f32", "gfx942", 0, one, INF, clamp=True) == INF
    assert one_element("v_mfma_i32_16x16x32_i8", "gfx942", 1, 1, 0x7FFFFFFF) == 0x80000000
    assert one_element("v_mfma_i32_16x16x32_i8", "gfx942", 1, 1, 0x7FFFFFFF, clamp=True) == 0x7FFFFFFF
    assert one_element("v_mfma_i32_16x16x32_i8", "gfx942", 1, 0xFF, 0x80000000, clamp=True) == 0x80000000
