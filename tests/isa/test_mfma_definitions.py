"""The table of matrix instructions: how many, how wide, how many passes."""

from __future__ import annotations

import pytest

from pykittens.isa import mfma
from pykittens.isa.define import BY_OPCODE, DEFINITIONS, Definition

MATRIX = [d for d in DEFINITIONS.values() if d.mfma]


def test_counts_of_both_chips() -> None:
    """As many opcodes as LLVM 22 disassembles, counted over all 128 of each chip, and two scaled ones."""
    plain = [d for d in MATRIX if not d.opcode & mfma.SCALED]
    assert sum("gfx942" in d.archs for d in plain) == 46
    assert sum("gfx950" in d.archs for d in plain) == 66
    assert sorted(d.name for d in MATRIX if d.opcode & mfma.SCALED) == [
        "v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "opcode", "registers", "passes"),
    [
        ("v_mfma_f32_32x32x2_f32", 0x44, (16, 1, 1, 16), (16, 16)),
        ("v_mfma_f32_16x16x4_4b_f16", 0x49, (16, 2, 2, 16), (8, 8)),
        ("v_mfma_f32_4x4x4_16b_bf16", 0x5F, (4, 2, 2, 4), (2, 2)),
        ("v_mfma_i32_32x32x4_2b_i8", 0x50, (32, 1, 1, 32), (16, 16)),
        ("v_mfma_f32_16x16x32_bf16", 0x35, (4, 4, 4, 4), (None, 4)),
        ("v_mfma_f32_32x32x16_bf8_fp8", 0x75, (16, 2, 2, 16), (8, 8)),
        ("v_mfma_f64_16x16x4_f64", 0x6E, (8, 2, 2, 8), (8, 16)),
        ("v_mfma_f64_4x4x4_4b_f64", 0x6F, (2, 2, 2, 2), (4, 4)),
        ("v_mfma_f32_32x32x4_xf32", 0x3F, (16, 2, 2, 16), (8, None)),
        ("v_smfmac_f32_16x16x32_f16", 0x62, (4, 2, 4, 1), (4, 4)),
        ("v_smfmac_f32_32x32x64_fp8_fp8", 0x53, (16, 4, 8, 1), (None, 8)),
        ("v_mfma_scale_f32_32x32x64_f8f6f4", 0x2E | mfma.SCALED, (16, 8, 8, 16, 1, 1), (None, 16)),
    ],
)
def test_rows(name: str, opcode: int, registers: tuple[int, ...], passes: tuple[int | None, int | None]) -> None:
    definition = DEFINITIONS[name]
    assert mfma.operand_registers(definition, {}) == registers
    for arch, count in zip(("gfx942", "gfx950"), passes, strict=True):
        assert (arch in definition.archs) == (count is not None)
        if count:
            assert BY_OPCODE["MFMA", opcode, arch] is definition
            assert mfma.passes(definition, {}, arch) == count


@pytest.mark.parametrize("definition", [d for d in MATRIX if d.mfma and d.mfma.a == "f8f6f4"], ids=lambda d: d.name)
def test_formats_choose_widths_and_passes(definition: Definition) -> None:
    wide = definition.mfma.passes["gfx950"] if definition.mfma else 0
    for cbsz, a in enumerate((8, 8, 6, 6, 4)):
        for blgp, b in enumerate((8, 8, 6, 6, 4)):
            chosen = {"cbsz": cbsz, "blgp": blgp}
            assert mfma.operand_registers(definition, chosen)[1:3] == (a, b)
            assert mfma.passes(definition, chosen, "gfx950") == (wide if 8 in (a, b) else wide // 2)
    assert mfma.operand_registers(definition, {"cbsz": 7})[1] == 8
    with pytest.raises(KeyError, match="blgp:5"):
        mfma.element_formats(definition, {"blgp": 5}, "gfx950")


def test_chips_read_fp8_differently() -> None:
    definition = DEFINITIONS["v_mfma_f32_16x16x32_fp8_bf8"]
    assert mfma.element_formats(definition, {}, "gfx942") == ("e4m3fnuz", "e5m2fnuz")
    assert mfma.element_formats(definition, {}, "gfx950") == ("e4m3fn", "e5m2")


def test_exactness_is_declared() -> None:
    """Integers have one right answer; the last bits of floats depend on an order that no manual states."""
    for definition in MATRIX:
        assert definition.has("approximate") == (definition.mfma is not None and definition.mfma.d != "i32")
        assert definition.has("no_exec")
