"""Static costs of instructions against the published rules, on both chips."""

from __future__ import annotations

import pytest

from pykittens.arch import get
from pykittens.isa import lookup
from pykittens.isa.define import DEFINITIONS
from pykittens.isa.instruction import Instruction
from pykittens.model.timing_table import TIMING_OP, Kind, kind_of, timing_op, timing_table


def fields(name: str, arch: str = "gfx950", **modifiers: object) -> dict[str, int]:
    values = timing_op(Instruction(lookup(name), modifiers=modifiers), get(arch))
    return dict(zip(TIMING_OP.names or (), map(int, values), strict=True))


@pytest.mark.parametrize(
    ("name", "arch", "modifiers", "pipe", "first_alu", "first_packed"),
    [
        ("v_mfma_f32_16x16x16_f16", "gfx942", {}, 16, 4, 24),
        ("v_mfma_f32_16x16x32_bf16", "gfx950", {}, 16, 8, 28),
        ("v_mfma_f32_32x32x16_bf16", "gfx950", {}, 32, 8, 44),
        ("v_mfma_f32_16x16x128_f8f6f4", "gfx950", {}, 32, 12, 44),
        ("v_mfma_f32_16x16x128_f8f6f4", "gfx950", {"cbsz": 4, "blgp": 4}, 16, 8, 28),
    ],
)
def test_mfma(
    name: str, arch: str, modifiers: dict[str, object], pipe: int, first_alu: int, first_packed: int
) -> None:  # fmt: skip
    found = fields(name, arch, **modifiers)
    assert (found["pipe_clk"], found["first_alu"], found["first_packed"]) == (pipe, first_alu, first_packed)


@pytest.mark.parametrize(
    ("name", "arch", "clk"),
    [
        ("v_add_f32", "gfx950", 4), ("v_exp_f32", "gfx950", 8), ("v_exp_f32", "gfx942", 16),
        ("v_mul_lo_u32", "gfx950", 16), ("v_pk_mul_f32", "gfx950", 4), ("s_add_u32", "gfx950", 4),
        ("s_barrier", "gfx950", 4), ("s_branch", "gfx950", 24),
    ],
)  # fmt: skip
def test_issue(name: str, arch: str, clk: int) -> None:
    assert fields(name, arch)["issue"] == clk


def test_nops_and_sleeps() -> None:
    assert fields("s_nop", simm16=7)["issue"] == 32
    assert fields("s_sleep", simm16=2)["issue"] == 128


def test_waits_carry_their_counts() -> None:
    assert fields("s_waitcnt", vmcnt=6)["value"] == 6 | 0xFF00
    assert fields("s_waitcnt", lgkmcnt=0)["value"] == 0xFF


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("v_pk_fma_f32", Kind.PACKED), ("v_pk_mov_b32", Kind.PACKED), ("v_dot2_f32_f16", Kind.PACKED),
        ("v_dot4_i32_i8", Kind.PACKED), ("v_pk_add_f16", Kind.VECTOR), ("v_fma_mix_f32", Kind.VECTOR),
        ("ds_read_b128", Kind.LDS), ("ds_bpermute_b32", Kind.LDS), ("buffer_load_dwordx4", Kind.LOAD),
        ("global_store_dword", Kind.STORE), ("global_atomic_add", Kind.LOAD), ("s_load_dwordx4", Kind.SCALAR_LOAD),
        ("s_setprio", Kind.PRIORITY), ("s_endpgm", Kind.END), ("buffer_inv", Kind.IDLE),
    ],
)  # fmt: skip
def test_kinds(name: str, kind: Kind) -> None:
    assert kind_of(Instruction(lookup(name))) is kind


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_every_instruction_of_the_chip_has_a_cost(arch: str) -> None:
    """No mnemonic is refused, whatever its formats; and none is free."""
    chip = get(arch)
    own = [Instruction(each) for each in DEFINITIONS.values() if arch in each.archs and not each.has("illegal")]
    table = timing_table([*own, None], chip)
    assert len(table) == len(own) + 1
    assert (table["issue"] >= 4).all()
