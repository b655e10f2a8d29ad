"""The native matrix routines against the NumPy meaning, bit for bit."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from pykittens.isa import mfma, mfma_numpy
from pykittens.isa.define import DEFINITIONS, Definition
from pykittens.isa.instruction import Instruction, Operands
from pykittens.isa.registers import Const, Reg, a, v
from pykittens.isa.small_floats import FORMATS
from pykittens.sim import mfma_handlers
from pykittens.sim.bind import BadOperand, BindContext
from pykittens.sim.mode import Mode

Array = np.ndarray[Any, Any]

ACCUM_OFFSET = 256
FORMS = [(d, arch) for d in DEFINITIONS.values() if d.mfma for arch in d.archs]
SCALED = [d for d in DEFINITIONS.values() if d.mfma and d.mfma.scaled]
F32_EDGES = (
    0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
    0xFFC00001, 0x7F800001, 0x3F800000,
)  # fmt: skip


def name_of(value: object) -> str | None:
    return value.name if isinstance(value, Definition) else None


def context(arch: str, mode: Mode | None = None) -> BindContext:
    return BindContext(arch, ACCUM_OFFSET, mode or Mode(), lambda pc: pc)


def run(instruction: Instruction, registers: Array, arch: str, mode: Mode | None = None) -> Array:
    """The register file (512, 64) after the instruction."""
    bound = mfma_handlers.bind(instruction, context(arch, mode))
    memory = np.zeros(1024 + registers.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    wave = memory[start : start + 1024 + registers.nbytes]
    wave[1024:] = registers.reshape(-1).view(np.uint8)
    op = np.zeros(16, np.uint32)
    op[2 : 2 + len(bound.fields)] = bound.fields
    handler = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(bound.handler)
    assert handler(wave.ctypes.data, op.ctypes.data) == 0
    return wave[1024:].view(np.uint32).reshape(registers.shape).copy()


def element_codes(rng: np.random.Generator, name: str, count: int, specials: float) -> Array:
    """Codes of one element type: numbers of moderate size, and a share of codes that are edges of the type."""
    bits = FORMATS[name].bits if name in FORMATS else mfma.ELEMENT_BITS[name]
    if name == "i8":
        return rng.integers(0, 256, count).astype(np.uint64)
    if name in FORMATS:
        values = FORMATS[name].values
        codes = rng.choice(np.flatnonzero(np.isfinite(values)), count)
        edges = np.flatnonzero(~np.isfinite(values)) if bits == 8 else np.array([0])
        edges = np.concatenate([edges, [0, 1, (1 << bits) - 2]])
    else:
        numbers = rng.standard_normal(count) * np.exp2(rng.integers(-6, 6, count))
        kinds = {"f16": (np.float16, np.uint16, 16), "f64": (np.float64, np.uint64, 64)}
        kind, word, _ = kinds.get(name, (np.float32, np.uint32, 32))
        codes = numbers.astype(kind).view(word).astype(np.uint64)
        edges = np.array(F32_EDGES, np.uint64)
        if name == "bf16":
            codes, edges = codes >> np.uint64(16), edges >> np.uint64(16)
        elif name == "f16":
            edges = np.array([0, 0x8000, 1, 0x83FF, 0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x7C01, 0xFE00], np.uint64)
        elif name == "f64":
            edges = np.array(
                [0, 1 << 63, 1, 0x7FE << 52, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, 0x7FF0 << 48 | 1], np.uint64
            )
    return np.where(rng.random(count) < specials, rng.choice(edges, count), codes).astype(np.uint64)


def pack(codes: Array, bits: int) -> Array:
    """Codes (64, items) to registers (items * bits / 32, 64), item 0 lowest."""
    planes = codes[:, :, None] >> np.arange(bits, dtype=np.uint64) & np.uint64(1)
    words = np.packbits(planes.reshape(64, -1).astype(np.uint8), axis=1, bitorder="little").view(np.uint32)
    return np.ascontiguousarray(words.T)


def operand(rng: np.random.Generator, name: str, registers: int, specials: float) -> Array:
    bits = FORMATS[name].bits if name in FORMATS else mfma.ELEMENT_BITS[name]
    items = registers * 32 // bits
    return pack(element_codes(rng, name, 64 * items, specials).reshape(64, items), bits)


def check(
    definition: Definition,
    arch: str,
    modifiers: Mapping[str, object] | None = None,
    *,
    seed: int = 0,
    specials: float = 0.0,
    mode: Mode | None = None,
    constant: Const | None = None,
    constant_c: int = 0,
    places: tuple[Reg, Reg, Reg, Reg] = (a[0], v[0], a[40], v[64]),
    raw: bool = False,
    codes: tuple[int, int] | None = None,
    fill_c: int | None = None,
    scales: tuple[int, int, int, int] = (100, 150, 100, 150),
    nan_scales: bool = False,
) -> Array:
    """One instruction on random registers, natively and in NumPy; every register of the file must be equal. Gives D."""
    modifiers = modifiers or {}
    shape = definition.mfma
    assert shape is not None
    rng = np.random.default_rng(seed)
    counts = mfma.operand_registers(definition, modifiers)
    d, left, right, c = (Reg(place.file, place.index, count) for place, count in zip(places, counts, strict=False))
    if shape.sparse:
        c = v[200]
    d = Reg(c.file, d.index, d.count) if not shape.sparse and not constant else d
    rows = {r: slice(r.index + (ACCUM_OFFSET if r.file == "a" else 0), None) for r in (d, left, right, c)}
    part = {r: slice(s.start, s.start + r.count) for r, s in rows.items()}
    registers = rng.integers(0, 1 << 32, (512, 64), dtype=np.uint32)
    if not raw:
        names = mfma.element_formats(definition, modifiers, arch)
        for r, name in zip((left, right), names, strict=True):
            registers[part[r]] = operand(rng, name, r.count, specials)
        if shape.d != "i32":
            registers[part[d if shape.sparse else c]] = operand(rng, shape.d, d.count, specials)
    if codes:
        for r, code, bits in zip((left, right), codes, mfma.element_bits(definition, modifiers), strict=True):
            registers[part[r]] = pack(np.full((64, r.count * 32 // bits), code, np.uint64), bits)
        fill_c = 0
    if fill_c is not None:
        registers[part[c]] = fill_c
    operands: list[Operands] = [d, left, right, constant or c]
    extras: dict[str, Any] = {"index": registers[200].copy()} if shape.sparse else {}
    if shape.scaled:
        for row, span in ((210, scales[:2]), (211, scales[2:])):
            registers[row] = rng.integers(*span, (64, 4), dtype=np.uint8).view(np.uint32)[:, 0]
        if nan_scales:
            registers[210, ::5] = 0xFFFFFFFF
        operands += [v[210], v[211]]
        extras = {"scale_a": registers[210].copy(), "scale_b": registers[211].copy()}
    mode = mode or Mode()
    extras |= {"flush_denormals": mode.f32_denorm_flush_in, "clamp": mode.fp16_ovfl}
    old = registers[part[d if shape.sparse else c]].copy()
    if constant:
        old = np.full((d.count, 64), constant_c & 0xFFFFFFFF, np.uint32)
        if shape.d == "f64":
            old[1::2] = constant_c >> 32
    expected = registers.copy()
    expected[part[d]] = mfma_numpy.execute(
        definition, modifiers, arch, registers[part[left]], registers[part[right]], old, mfma_numpy.Extras(**extras)
    )
    actual = run(Instruction(definition, tuple(operands), modifiers), registers, arch, mode)
    wrong = np.argwhere(actual != expected)
    assert len(wrong) == 0, (
        f"{len(wrong)} differ, first {wrong[0]}: {actual[tuple(wrong[0])]:#x} {expected[tuple(wrong[0])]:#x}"
    )
    return expected[part[d]]


@pytest.mark.parametrize(("definition", "arch"), FORMS, ids=name_of)
def test_every_instruction(definition: Definition, arch: str) -> None:
    check(definition, arch, seed=1)
    check(definition, arch, seed=2, specials=0.02)
    check(definition, arch, seed=3, specials=0.5 / definition.mfma.k if definition.mfma else 0)
    check(definition, arch, seed=4, raw=True)


@pytest.mark.parametrize(("definition", "arch"), FORMS, ids=name_of)
def test_clamp_and_flush(definition: Definition, arch: str) -> None:
    mode = Mode(fp16_ovfl=True, f32_denorm_flush_in=True)
    check(definition, arch, seed=4, specials=0.05, mode=mode)
    check(definition, arch, seed=5, raw=True, mode=mode)


@pytest.mark.parametrize(
    ("name", "c"),
    [
        ("v_mfma_f32_32x32x2_f32", 0x3F800000),
        ("v_mfma_i32_16x16x32_i8", 0x7FFFFFFF),
        ("v_mfma_i32_4x4x4_16b_i8", 1 << 31),
    ],
)
def test_clamped_results_differ(name: str, c: int) -> None:
    """The data does overflow: clamping changes results of floats and of integers."""
    wrapped, clamped = (
        check(DEFINITIONS[name], "gfx942", seed=5, raw=True, mode=Mode(fp16_ovfl=ovfl), fill_c=c)
        for ovfl in (False, True)
    )
    assert (wrapped != clamped).any()


@pytest.mark.parametrize("cbsz", range(5))
@pytest.mark.parametrize("name", ["v_mfma_f32_32x32x4_2b_bf16", "v_mfma_f32_4x4x4_16b_f16", "v_mfma_i32_16x16x64_i8"])
def test_broadcast_of_a(name: str, cbsz: int) -> None:
    for abid in {0, 1, (1 << cbsz) - 1}:
        if cbsz == 0 or abid < 1 << cbsz:
            check(DEFINITIONS[name], "gfx950", {"cbsz": cbsz, "abid": abid}, seed=cbsz)


@pytest.mark.parametrize("blgp", range(1, 8))
@pytest.mark.parametrize(
    "name", ["v_mfma_f32_32x32x1_2b_f32", "v_mfma_f32_16x16x4_4b_bf16", "v_mfma_f32_16x16x32_fp8_bf8"]
)
def test_permutation_of_b(name: str, blgp: int) -> None:
    check(DEFINITIONS[name], "gfx942", {"blgp": blgp}, seed=blgp)
    check(DEFINITIONS[name], "gfx942", {"blgp": blgp, "cbsz": 2, "abid": 3}, seed=blgp)


@pytest.mark.parametrize("negated", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
@pytest.mark.parametrize("name", ["v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"])
def test_negation_of_f64(name: str, negated: tuple[int, ...]) -> None:
    check(DEFINITIONS[name], "gfx942", {"neg": negated}, seed=7, specials=0.05)


@pytest.mark.parametrize("definition", SCALED, ids=name_of)
@pytest.mark.parametrize("cbsz", range(5))
@pytest.mark.parametrize("blgp", range(5))
def test_mixed_formats(definition: Definition, cbsz: int, blgp: int) -> None:
    formats = {"cbsz": cbsz, "blgp": blgp}
    plain = DEFINITIONS[definition.name.replace("_scale", "")]
    check(plain, "gfx950", formats, seed=8, specials=0.002)
    check(plain, "gfx950", formats, seed=9, raw=True, mode=Mode(fp16_ovfl=True))
    check(definition, "gfx950", formats, seed=10, specials=0.002)


@pytest.mark.parametrize("name", FORMATS)
def test_every_code(name: str) -> None:
    """Each code alone in A, times 1 in B, and on gfx950 times scales of which some are NaN."""
    arch = "gfx942" if name.endswith("uz") else "gfx950"
    kind = "fp8" if name.startswith("e4") else "bf8"
    form = f"v_mfma_f32_16x16x32_{kind}_{kind}" if arch == "gfx942" else "v_mfma_scale_f32_16x16x128_f8f6f4"
    number = mfma.F8F6F4.index(name) if arch == "gfx950" else 0
    definition, modifiers = DEFINITIONS[form], {"cbsz": number, "blgp": number} if number else {}
    one = int(np.flatnonzero(FORMATS[name].values == 1)[0])
    for code in range(1 << FORMATS[name].bits):
        d = check(definition, arch, modifiers, codes=(code, one), scales=(100, 150, 127, 128), nan_scales=True)
        if arch == "gfx942" and np.isfinite(value := FORMATS[name].values[code]):
            assert (d.view(np.float32) == 32 * value).all()


@pytest.mark.parametrize("definition", SCALED, ids=name_of)
@pytest.mark.parametrize("select", range(4))
def test_scale_bytes(definition: Definition, select: int) -> None:
    sel = {
        "op_sel": (select & 1, 1 - (select & 1)),
        "op_sel_hi": (select >> 1, 1 - (select >> 1)),
        "cbsz": 4,
        "blgp": 4,
    }
    check(definition, "gfx950", sel, seed=11)


@pytest.mark.parametrize("definition", SCALED, ids=name_of)
@pytest.mark.parametrize(
    "scales",
    [(0, 20, 0, 20), (220, 239, 0, 20), (0, 20, 239, 255), (240, 242, 0, 10), (0, 255, 0, 255), (250, 256, 0, 10)],
)
def test_extreme_scales(definition: Definition, scales: tuple[int, int, int, int]) -> None:
    for cbsz in (0, 1, 4):
        check(definition, "gfx950", {"cbsz": cbsz}, seed=12, scales=scales)
        check(definition, "gfx950", {"cbsz": cbsz}, seed=12, scales=scales, raw=True)
        check(definition, "gfx950", {"cbsz": cbsz}, seed=13, scales=scales, mode=Mode(fp16_ovfl=True))


@pytest.mark.parametrize(("definition", "arch"), [(d, c) for d, c in FORMS if d.mfma and d.mfma.sparse], ids=name_of)
def test_sets_of_indices(definition: Definition, arch: str) -> None:
    for cbsz, abid in ((0, 1), (0, 3), (1, 1), (3, 2)):
        check(definition, arch, {"cbsz": cbsz, "abid": abid}, seed=14)


@pytest.mark.parametrize(
    "definition", [d for d, arch in FORMS if arch == d.archs[-1] and d.mfma and not d.mfma.sparse], ids=name_of
)
def test_constant_c(definition: Definition) -> None:
    arch, wide = definition.archs[-1], definition.mfma is not None and definition.mfma.d == "f64"
    one = 0x3FF0 << 48 if wide else 0x3F800000
    check(definition, arch, seed=15, constant=Const(0), constant_c=0)
    check(definition, arch, seed=15, constant=Const(0x3F800000, "float"), constant_c=one)
    check(definition, arch, seed=15, constant=Const(0xFFFFFFF0), constant_c=(1 << 64) - 16 if wide else 0xFFFFFFF0)


@pytest.mark.parametrize(
    "places",
    [
        (v[64], v[0], a[8], v[64]),
        (v[66], v[0], v[8], v[64]),
        (v[60], v[0], v[8], v[64]),
        (v[0], v[0], v[2], v[64]),
        (v[8], v[0], v[8], v[8]),
        (a[64], a[64], a[64], a[66]),
    ],
    ids=["same", "above", "below", "over a", "all", "accumulation"],
)  # fmt: skip
def test_overlapping_operands(places: tuple[Reg, Reg, Reg, Reg]) -> None:
    for name in (
        "v_mfma_f32_32x32x8_bf16",
        "v_mfma_f32_16x16x16_f16",
        "v_mfma_f32_32x32x4_2b_f16",
        "v_mfma_i32_32x32x16_i8",
    ):
        check(DEFINITIONS[name], "gfx942", seed=16, places=places, raw=True)
    check(DEFINITIONS["v_mfma_f64_16x16x4_f64"], "gfx942", seed=16, places=places, raw=True)
    if places[3].file == "v":
        check(DEFINITIONS["v_smfmac_f32_32x32x16_bf16"], "gfx942", seed=16, places=places, raw=True)


def test_meaningless_operands_are_refused() -> None:
    small, f8f6f4 = DEFINITIONS["v_mfma_f32_16x16x16_f16"], DEFINITIONS["v_mfma_f32_16x16x128_f8f6f4"]
    fine = (v[0:3], v[4:5], v[6:7], v[0:3])
    wide = (v[0:3], v[8:15], v[16:23], v[0:3])
    bad: list[tuple[Definition, tuple[Operands, ...], dict[str, object], str]] = [
        (small, (v[0:3], v[4:7], v[6:7], v[0:3]), {}, "needs 2"),
        (small, (v[0:3], Const(1), v[6:7], v[0:3]), {}, "not v or a"),
        (small, fine, {"cbsz": 5}, "no lanes"),
        (small, fine, {"cbsz": 1, "abid": 2}, "below 2"),
        (small, (a[253:256], *fine[1:]), {}, "512"),
        (f8f6f4, wide, {"cbsz": 5}, "no format"),
        (f8f6f4, wide, {"blgp": 4}, "needs 4"),
    ]
    for definition, operands, modifiers, text in bad:
        with pytest.raises(BadOperand, match=text):
            mfma_handlers.bind(Instruction(definition, operands, modifiers), context("gfx950"))
