"""The kernel descriptor: bits against clang's assembler, and the SGPR order against code that clang compiles."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.asm.clang_made import compile_c

from pykittens.arch import Arch
from pykittens.asm.code_object import read
from pykittens.asm.descriptor import KernelDescriptor
from pykittens.asm.toolchain import assemble
from pykittens.errors import BuildError, CodeObjectError

WIDTHS = {f.name: f.metadata["width"] for f in fields(KernelDescriptor)}
BITS = {f.name: f.metadata["bit"] for f in fields(KernelDescriptor)}

# Directive -> (value, field, what the field then holds). Values that differ from the assembler's defaults.
DIRECTIVES: dict[str, tuple[int, str, int]] = {
    "group_segment_fixed_size": (65536, "group_segment_fixed_size", 65536),
    "private_segment_fixed_size": (260, "private_segment_fixed_size", 260),
    "kernarg_size": (288, "kernarg_size", 288),
    "user_sgpr_dispatch_ptr": (1, "enable_sgpr_dispatch_ptr", 1),
    "user_sgpr_queue_ptr": (1, "enable_sgpr_queue_ptr", 1),
    "user_sgpr_kernarg_segment_ptr": (1, "enable_sgpr_kernarg_segment_ptr", 1),
    "user_sgpr_dispatch_id": (1, "enable_sgpr_dispatch_id", 1),
    "user_sgpr_private_segment_size": (1, "enable_sgpr_private_segment_size", 1),
    "user_sgpr_kernarg_preload_length": (5, "kernarg_preload_length", 5),
    "user_sgpr_kernarg_preload_offset": (3, "kernarg_preload_offset", 3),
    "uses_dynamic_stack": (1, "uses_dynamic_stack", 1),
    "enable_private_segment": (1, "enable_private_segment", 1),
    "system_sgpr_workgroup_id_x": (0, "enable_sgpr_workgroup_id_x", 0),
    "system_sgpr_workgroup_id_y": (1, "enable_sgpr_workgroup_id_y", 1),
    "system_sgpr_workgroup_id_z": (1, "enable_sgpr_workgroup_id_z", 1),
    "system_sgpr_workgroup_info": (1, "enable_sgpr_workgroup_info", 1),
    "system_vgpr_workitem_id": (2, "enable_vgpr_workitem_id", 2),
    "next_free_vgpr": (300, "granulated_workitem_vgpr_count", 37),
    "next_free_sgpr": (90, "granulated_wavefront_sgpr_count", 11),  # 96 with the six extra, by 8, less one
    "accum_offset": (180, "accum_offset_field", 44),
    "float_round_mode_32": (1, "float_round_mode_32", 1),
    "float_round_mode_16_64": (2, "float_round_mode_16_64", 2),
    "float_denorm_mode_32": (1, "float_denorm_mode_32", 1),
    "float_denorm_mode_16_64": (2, "float_denorm_mode_16_64", 2),
    "dx10_clamp": (0, "enable_dx10_clamp", 0),
    "ieee_mode": (0, "enable_ieee_mode", 0),
    "fp16_overflow": (1, "fp16_ovfl", 1),
    "tg_split": (1, "tg_split", 1),
    "exception_fp_ieee_invalid_op": (1, "enable_exception_ieee_754_fp_invalid_operation", 1),
    "exception_fp_denorm_src": (1, "enable_exception_fp_denormal_source", 1),
    "exception_fp_ieee_div_zero": (1, "enable_exception_ieee_754_fp_division_by_zero", 1),
    "exception_fp_ieee_overflow": (1, "enable_exception_ieee_754_fp_overflow", 1),
    "exception_fp_ieee_underflow": (1, "enable_exception_ieee_754_fp_underflow", 1),
    "exception_fp_ieee_inexact": (1, "enable_exception_ieee_754_fp_inexact", 1),
    "exception_int_div_zero": (1, "enable_exception_int_divide_by_zero", 1),
}
# accum_offset lies within the VGPRs, and it alone would not change them.
NEEDED = {
    "accum_offset": {"next_free_vgpr": 180},
    "next_free_vgpr": {"next_free_vgpr": 256, "accum_offset": 256},
}
REQUIRED = {"next_free_vgpr": 4, "next_free_sgpr": 4, "accum_offset": 4}


def assembled(directives: dict[str, int], arch: str = "gfx950") -> tuple[KernelDescriptor, bytes]:
    """The descriptor that clang makes of these directives, decoded and raw."""
    lines = [".text", ".p2align 8", "k:", "s_endpgm", ".rodata", ".p2align 6", ".amdhsa_kernel k"]
    lines += [f".amdhsa_{name} {value}" for name, value in (REQUIRED | directives).items()]
    code_object = read(assemble("\n".join([*lines, ".end_amdhsa_kernel", ""]), arch))
    kernel = code_object.kernel()
    return kernel.descriptor, code_object.bytes_at(kernel.descriptor_address, 64)


def test_every_directive_of_the_assembler_reaches_its_field(arch: Arch) -> None:
    descriptor, raw = assembled({name: value for name, (value, _, _) in DIRECTIVES.items()}, arch.name)
    for name, (_, field, expected) in DIRECTIVES.items():
        assert getattr(descriptor, field) == expected, name
    assert descriptor.to_bytes() == raw


@pytest.mark.parametrize("name", DIRECTIVES)
def test_each_directive_alone_changes_only_its_field(name: str) -> None:
    value, field, expected = DIRECTIVES[name]
    needed = NEEDED.get(name, {})
    plain, _ = assembled(needed)
    changed, raw = assembled({**needed, name: value})
    assert changed.to_bytes() == raw
    differing = {f.name for f in fields(plain) if getattr(plain, f.name) != getattr(changed, f.name)}
    assert differing - {"user_sgpr_count"} == {field}
    assert getattr(changed, field) == expected


def test_derived_numbers() -> None:
    descriptor, _ = assembled({"next_free_vgpr": 412, "accum_offset": 156, "next_free_sgpr": 96})
    assert (descriptor.vgprs, descriptor.accum_offset, descriptor.sgprs) == (416, 156, 112)
    descriptor, _ = assembled({"next_free_vgpr": 1, "accum_offset": 4, "next_free_sgpr": 1})
    assert (descriptor.vgprs, descriptor.accum_offset, descriptor.sgprs) == (8, 4, 16)
    assert descriptor.float_mode == 0xC0  # the assembler's default flushes f32 denormals
    assert replace(descriptor, float_denorm_mode_32=3, float_round_mode_16_64=1).float_mode == 0xF4
    assert [replace(descriptor, enable_vgpr_workitem_id=n).workitem_id_dimensions for n in range(4)] == [1, 2, 3, 3]


values = {
    name: st.integers(-(1 << 63), (1 << 63) - 1)
    if name == "kernel_code_entry_byte_offset"
    else (st.booleans() if width == 1 else st.integers(0, (1 << width) - 1))
    for name, width in WIDTHS.items()
}


@given(st.fixed_dictionaries(values))
def test_round_trip(chosen: dict[str, Any]) -> None:
    chosen |= {"enable_wavefront_size32": False, "user_sgpr_count": 31}
    chosen["kernarg_preload_length"] %= 16
    descriptor = KernelDescriptor(**chosen)
    assert KernelDescriptor.from_bytes(descriptor.to_bytes()) == descriptor


def test_every_bit_is_a_field_or_refused() -> None:
    places = [bit for name in BITS for bit in range(BITS[name], BITS[name] + WIDTHS[name])]
    assert len(places) == len(set(places))
    spare = replace(KernelDescriptor(), user_sgpr_count=31).to_bytes()
    for bit in set(range(512)) - set(places):
        damaged = bytearray(spare)
        damaged[bit // 8] |= 1 << bit % 8
        with pytest.raises(CodeObjectError, match=f"reserved bit {bit % 8} of byte {bit // 8}"):
            KernelDescriptor.from_bytes(bytes(damaged))


@pytest.mark.parametrize("size", [0, 63, 65])
def test_another_length_is_refused(size: int) -> None:
    with pytest.raises(CodeObjectError, match=f"64 bytes, not {size}"):
        KernelDescriptor.from_bytes(bytes(size))


def test_impossible_descriptors_are_refused() -> None:
    with pytest.raises(CodeObjectError, match="wave32"):
        KernelDescriptor.from_bytes(KernelDescriptor(enable_wavefront_size32=True).to_bytes())
    too_few = KernelDescriptor(enable_sgpr_kernarg_segment_ptr=True, user_sgpr_count=1)
    with pytest.raises(CodeObjectError, match="take 2, but user_sgpr_count is 1"):
        KernelDescriptor.from_bytes(too_few.to_bytes(), "x.co")


@pytest.mark.parametrize(
    ("field", "value"), [("user_sgpr_count", 32), ("kernarg_size", -1), ("kernel_code_entry_byte_offset", 1 << 63)]
)
def test_a_value_that_does_not_fit_is_refused(field: str, value: int) -> None:
    with pytest.raises(BuildError, match=f"{field} is {value}, outside"):
        replace(KernelDescriptor(), **{field: value}).to_bytes()


# Each "s" operand of an empty assembly statement shows in which SGPR the compiler found the value at the entry.
SHOW = """
#define SHOW(name, value) __asm__ volatile("; @" name " %0" ::"s"(value))
unsigned long dispatch_id(void) __asm__("llvm.amdgcn.dispatch.id");  // has no builtin
__attribute__((amdgpu_kernel, visibility("protected"))) void k(int n) {
  STATEMENTS
}
"""
SHOWN = {
    "dispatch_ptr": "__builtin_amdgcn_dispatch_ptr()",
    "queue_ptr": "__builtin_amdgcn_queue_ptr()",
    "kernarg_segment_ptr": "__builtin_amdgcn_kernarg_segment_ptr()",
    "dispatch_id": "dispatch_id()",
    "workgroup_id_x": "__builtin_amdgcn_workgroup_id_x()",
    "workgroup_id_y": "__builtin_amdgcn_workgroup_id_y()",
    "workgroup_id_z": "__builtin_amdgcn_workgroup_id_z()",
}


@pytest.mark.parametrize(
    "names",
    [
        list(SHOWN),
        ["kernarg_segment_ptr", "workgroup_id_x"],
        ["kernarg_segment_ptr", "workgroup_id_z", "workgroup_id_x"],
        ["queue_ptr", "kernarg_segment_ptr", "workgroup_id_y", "workgroup_id_x"],
        ["dispatch_id", "dispatch_ptr", "workgroup_id_x"],
    ],
    ids="+".join,
)
def test_initial_sgprs_are_where_compiled_code_looks(names: list[str], arch: Arch) -> None:
    source = SHOW.replace("STATEMENTS", " ".join(f'SHOW("{name}", {SHOWN[name]});' for name in names))
    text = compile_c(source, arch.name, "-S").decode()
    used = {name: int(first) for name, first in re.findall(r"; @(\w+) s\[?(\d+)", text)}
    assert set(used) == set(names)

    expected, position = {}, 0
    for name, count in read(compile_c(source, arch.name)).kernel().descriptor.initial_sgprs():
        expected[name] = position
        position += count
    assert {name: expected[name] for name in names} == used


def test_preloaded_arguments_come_after_the_pointers() -> None:
    descriptor, _ = assembled(
        {"user_sgpr_kernarg_segment_ptr": 1, "user_sgpr_queue_ptr": 1, "user_sgpr_kernarg_preload_length": 6}
    )
    assert descriptor.user_sgprs() == [("queue_ptr", 2), ("kernarg_segment_ptr", 2), ("kernarg_preload", 6)]
    assert descriptor.initial_sgprs()[3:] == [("workgroup_id_x", 1)]


def test_user_sgprs_that_nothing_fills_still_take_their_place() -> None:
    descriptor, _ = assembled({"user_sgpr_kernarg_segment_ptr": 1, "user_sgpr_count": 6})
    assert descriptor.initial_sgprs() == [("kernarg_segment_ptr", 2), ("unused", 4), ("workgroup_id_x", 1)]


def test_scratch_takes_no_sgpr() -> None:
    descriptor, _ = assembled({"enable_private_segment": 1, "private_segment_fixed_size": 64})
    assert descriptor.initial_sgprs() == [("workgroup_id_x", 1)]
