"""Registers: undefined ones, those outside of the allocation, odd tuples, and LDS offsets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.sim.assembled import code_object, pointers

from pykittens.asm.code_object import CodeObject, read
from pykittens.check.findings import Finding
from pykittens.check.static import check

from .assembled import codes, report


def with_descriptor(body: str, **fields: Any) -> CodeObject:
    """A kernel whose descriptor says something else than what it was assembled with."""
    settings: dict[str, Any] = {"vgprs": 64, "agprs": 64, "lds_bytes": 1024}
    found = read(code_object(f"{body}\n  s_endpgm\n", "gfx950", pointers(1), tuple(sorted(settings.items()))))
    kernel = found.kernel()
    changed = replace(kernel, descriptor=replace(kernel.descriptor, **fields))
    return replace(found, kernels={kernel.name: changed})


def only(source: CodeObject) -> Finding:
    (found,) = check(source).findings
    return found


@pytest.mark.parametrize(
    ("body", "register"),
    [
        ("v_add_u32 v1, v0, v9", "v9"), ("s_mov_b32 s8, s20", "s20"), ("v_accvgpr_read_b32 v1, a3", "a3"),
        ("v_cndmask_b32 v1, v0, v0, vcc", "vcc"), ("s_addc_u32 s8, s0, s1", "scc"), ("s_mov_b32 s8, m0", "m0"),
    ],
)  # fmt: skip
def test_registers_that_nothing_wrote(body: str, register: str) -> None:
    (found,) = report(f"  {body}\n  {body}\n").by_code("undefined-register")
    assert found.severity == "warning" and found.tile == register
    assert f"{register} is read, and 0 of the instructions" in found.why


def test_what_a_wave_starts_with_is_defined() -> None:
    assert codes("  v_mov_b32 v1, v0\n  s_add_u32 s8, s0, s1\n  s_add_u32 s8, s2, s3\n  s_mov_b64 s[8:9], exec\n") == []


def test_registers_of_the_descriptor_alone_are_defined() -> None:
    body = "  s_mov_b32 s8, s3\n"
    assert [
        f.tile
        for f in check(
            with_descriptor(body, enable_sgpr_workgroup_id_y=False, enable_sgpr_workgroup_id_z=False)
        ).findings
    ] == ["s3"]


def test_written_on_one_path_is_no_certain_mistake() -> None:
    code = "  s_cmp_eq_u32 s2, 0\n  s_cbranch_scc1 .Lover\n  v_mov_b32 v1, 0\n.Lover:\n  v_mov_b32 v2, v1\n"
    assert codes(code) == []


def test_parts_of_fresh_registers_may_be_written() -> None:
    assert codes("  v_writelane_b32 v5, s0, 0\n  global_load_short_d16 v6, v0, s[0:1]\n  s_waitcnt vmcnt(0)\n") == []


def test_registers_beyond_the_allocation() -> None:
    body = "  v_mov_b32 v3, 0\n  v_accvgpr_write_b32 a40, 0\n"
    found = only(with_descriptor(body, granulated_workitem_vgpr_count=11, accum_offset_field=15))
    assert found.code == "register-range" and found.tile == "a40"
    assert found.why == "a40 is register 104 of a lane, and the kernel descriptor allocates 96"


_64_AND_32 = {"granulated_workitem_vgpr_count": 11, "accum_offset_field": 15}
"""96 registers, AGPRs from 64 on."""
_SCALARS_48 = {"granulated_wavefront_sgpr_count": 5}
"""48 SGPRs, six of them at the end for VCC and others."""


@pytest.mark.parametrize(
    ("body", "fields", "found"),
    [
        ("v_accvgpr_write_b32 a31, 0", _64_AND_32, None),
        ("v_accvgpr_write_b32 a32, 0", _64_AND_32, "register-range"),
        ("v_mov_b32 v63, 0", _64_AND_32, None),
        ("v_mov_b32 v64, 0", _64_AND_32, "agpr-alias"),
        ("v_mov_b64 v[62:63], 0", _64_AND_32, None),
        ("v_mov_b64 v[64:65], 0", _64_AND_32, "agpr-alias"),
        ("s_mov_b32 s41, 0", _SCALARS_48, None),
        ("s_mov_b32 s42, 0", _SCALARS_48, "register-range"),
        ("s_mov_b64 vcc, 0", _SCALARS_48, None),
    ],
)  # fmt: skip
def test_the_last_register_that_is_allocated_and_the_one_behind(
    body: str, fields: dict[str, int], found: str | None
) -> None:
    assert [f.code for f in check(with_descriptor(f"  {body}\n", **fields)).findings] == [found] * (found is not None)


def test_the_highest_register_is_told_and_the_others_counted() -> None:
    body = "".join(f"  v_mov_b32 v{n}, 0\n" for n in (40, 50, 45))
    found = only(with_descriptor(body, granulated_workitem_vgpr_count=3, accum_offset_field=15))
    assert (found.code, found.tile, found.times) == ("register-range", "v50", 3)


def test_vgprs_where_the_agprs_are() -> None:
    found = only(with_descriptor("  v_mov_b32 v40, 0\n", accum_offset_field=7))
    assert (found.code, found.severity) == ("agpr-alias", "note")
    assert found.why == "v40 lies at or beyond accum_offset 32, where a8 is"


def test_scalar_registers_beyond_the_allocation() -> None:
    found = only(with_descriptor("  s_mov_b32 s60, 0\n", granulated_wavefront_sgpr_count=2))
    assert (found.code, found.tile) == ("register-range", "s60")


def test_odd_tuples() -> None:
    """v_pk_add_f32 v[1:2], v[4:5], v[4:5], which no assembler writes and no disassembler reads."""
    assert codes("  .long 0xd3b24001, 0x18020904\n") == ["illegal-instruction"]
    assert codes("  v_mov_b64 v[4:5], 0\n  .long 0xd3b24002, 0x18020904\n") == []


def test_lds_offsets_beyond_the_lds() -> None:
    unknown = {"lds_bytes": 1024, "max_workgroup_size": 1024, "vgprs": 64, "agprs": 64}
    assert codes("  ds_write_b32 v0, v0 offset:1020\n", **unknown) == []
    (found,) = report("  ds_write_b32 v0, v0 offset:1021\n", **unknown).by_code("lds-offset")
    assert "its offset alone leads to byte 1024, and the workgroup has 1024 bytes" in found.why
    two = "  ds_write2st64_b32 v0, v0, v0 offset0:0 offset1:{}\n"
    assert codes(two.format(3), **unknown) == []
    assert codes(two.format(4), **unknown) == ["lds-offset"]
    assert codes("  ds_bpermute_b32 v1, v0, v0 offset:4096\n  s_waitcnt lgkmcnt(0)\n", lds_bytes=1024) == []


@pytest.mark.parametrize(("shift", "last"), [(2, 1023), (3, 2043)])
def test_lds_addresses_beyond_the_lds(shift: int, last: int) -> None:
    """Of 256 work-items, each with a dword of its own."""
    found = report(f"  v_lshlrev_b32 v1, {shift}, v0\n  ds_write_b32 v1, v0\n", lds_bytes=1024).by_code("lds-offset")
    assert [f.why for f in found] == [
        f"it leads to byte {last}, and the workgroup has 1024 bytes of LDS" for _ in range(last > 1023)
    ]


@pytest.mark.parametrize(
    ("body", "holds"),
    [
        ("s_mov_b32 s0, s2", "s0"), ("s_mov_b32 s1, 0", "s1"), ("s_mov_b64 s[0:1], 0", "s[0:1]"),
        ("s_mov_b64 s[0:1], s[2:3]", None), ("s_add_u32 s0, s0, 64\n  s_addc_u32 s1, s1, 0", None),
        ("s_and_b32 s1, s1, 0xffff", None), ("s_mov_b32 s1, 0\n  s_load_dword s9, s[4:5], 0x0", None),
        ("s_load_dword s0, s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)", "s0"),
        ("s_load_dwordx2 s[0:1], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)", None),
    ],
)  # fmt: skip
def test_a_kernarg_pointer_that_is_overwritten(body: str, holds: str | None) -> None:
    start = "  s_mov_b64 s[4:5], s[0:1]\n"
    load = "" if "s9" in body else "  s_load_dword s8, s[0:1], 0x0\n"
    found = report(f"{start}  {body}\n{load}").by_code("kernarg-clobbered")
    assert [f.tile for f in found] == ([] if holds is None else [holds])
    assert all(f.why.endswith(f"s[0:1], and {holds} holds something else") for f in found)


def test_a_kernarg_pointer_that_is_overwritten_on_one_path_alone() -> None:
    code = "  s_cmp_eq_u32 s2, 0\n  s_cbranch_scc1 .Lover\n  s_mov_b32 s1, 0\n.Lover:\n  s_load_dword s8, s[0:1], 0x0\n"
    assert codes(code) == []
