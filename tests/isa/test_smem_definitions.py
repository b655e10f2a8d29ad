"""Scalar memory definitions: operands, widths, atomics and clocks."""

from __future__ import annotations

from tests.isa.access_facts import access_of, check_consistent, check_integer_atomics, check_widths, of_format

from pykittens.isa import smem
from pykittens.isa.define import Counter

SMEM = of_format("SMEM")


def test_definitions_are_consistent() -> None:
    assert smem.__doc__ and len(SMEM) == 84
    check_consistent(SMEM)
    assert all(d.counter is Counter.LGKM for d in SMEM.values())


def test_widths_follow_the_names() -> None:
    assert check_widths(SMEM, "s") == 5 + 3
    assert check_widths(SMEM, "s_buffer") == 5 + 3
    assert check_widths(SMEM, "s_scratch") == 3 + 3


def test_atomics_return_over_their_data() -> None:
    check_integer_atomics(SMEM, "s_atomic", "in_place")
    check_integer_atomics(SMEM, "s_buffer_atomic", "in_place")


def test_buffer_forms_take_a_descriptor_and_the_others_an_address() -> None:
    for name, d in SMEM.items():
        roles = access_of(d).roles
        if "sbase" in roles:
            base = d.explicit_srcs[roles.index("sbase")]
            assert base.bits == (128 if "buffer" in name else 64), name


def test_scratch_offsets_count_64_bytes() -> None:
    scaled = {name for name, d in SMEM.items() if access_of(d).soffset_scale == 64}
    assert scaled == {name for name in SMEM if name.startswith("s_scratch_")} and len(scaled) == 6


def test_clocks_and_cache_upkeep() -> None:
    clocks = {name: access_of(d).op for name, d in SMEM.items() if access_of(d).kind == "clock"}
    assert clocks == {"s_memtime": "cycles", "s_memrealtime": "realtime"}
    assert all(SMEM[name].explicit_dsts[0].dwords == 2 for name in clocks)
    upkeep = {name: access_of(d).op for name, d in SMEM.items() if access_of(d).kind == "control"}
    assert upkeep == {
        "s_dcache_inv": "inv", "s_dcache_inv_vol": "inv", "s_dcache_wb": "wb", "s_dcache_wb_vol": "wb",
        "s_dcache_discard": "discard", "s_dcache_discard_x2": "discard", "s_atc_probe": "probe",
        "s_atc_probe_buffer": "probe",
    }  # fmt: skip
    assert (access_of(SMEM["s_dcache_discard"]).bytes, access_of(SMEM["s_dcache_discard_x2"]).bytes) == (64, 128)
