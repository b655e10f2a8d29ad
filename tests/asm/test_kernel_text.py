"""Kernel text: what comes back from the assembled file, and that it is what clang makes of the same kernel."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from tests.asm.clang_made import compile_c

from pykittens.arch import Arch
from pykittens.asm.code_object import CodeObject, read
from pykittens.asm.kernel_text import FloatMode, render_kernel
from pykittens.asm.metadata import KernelArgument
from pykittens.asm.source_lines import SourceLines
from pykittens.asm.toolchain import assemble
from pykittens.errors import BuildError, InputError

ARGS = (
    KernelArgument(0, 8, "global_buffer", name="A", type_name="bf16*", address_space="global", access="read_only"),
    KernelArgument(8, 4, "by_value", name="M"),
    KernelArgument(12, 4, "by_value", name="alpha"),
)
SETTINGS: dict[str, Any] = {
    "args": ARGS,
    "kernarg_size": 16,
    "vgprs": 37,
    "agprs": 64,
    "sgprs": 40,
    "lds_bytes": 65536,
    "max_workgroup_size": 512,
}
BODY = [".loc 1 12", "s_nop 0", ".loc 1 14", "s_endpgm"]


def text_of(arch: str = "gfx950", name: str = "gemm", body: list[str] | None = None, **changes: Any) -> str:
    return render_kernel(name, arch, body or ["s_endpgm"], **(SETTINGS | changes))


def built(arch: str = "gfx950", **changes: Any) -> CodeObject:
    return read(assemble(text_of(arch, **changes), arch))


def test_what_is_asked_for_comes_back(arch: Arch) -> None:
    code_object = built(arch.name, scratch_bytes=128, workitem_id_dimensions=2, reqd_workgroup_size=(256, 2, 1))
    kernel = code_object.kernel("gemm")
    descriptor, metadata = kernel.descriptor, kernel.metadata
    assert metadata is not None
    assert (descriptor.accum_offset, descriptor.vgprs, descriptor.sgprs) == (40, 104, 48)
    assert (metadata.vgprs, metadata.agprs, metadata.sgprs) == (104, 64, 46)
    assert (kernel.lds_bytes, kernel.scratch_bytes, kernel.kernarg_size) == (65536, 128, 16)
    assert (metadata.lds_bytes, metadata.scratch_bytes, metadata.kernarg_align) == (65536, 128, 8)
    assert descriptor.enable_private_segment
    assert descriptor.workitem_id_dimensions == 2
    assert descriptor.initial_sgprs() == [
        ("kernarg_segment_ptr", 2),
        ("workgroup_id_x", 1),
        ("workgroup_id_y", 1),
        ("workgroup_id_z", 1),
    ]
    assert metadata.args == ARGS
    assert (metadata.max_workgroup_size, metadata.reqd_workgroup_size) == (512, (256, 2, 1))
    assert (metadata.wavefront_size, metadata.uniform_workgroup_size, metadata.language) == (64, True, "OpenCL C")
    assert code_object.metadata is not None
    assert (code_object.metadata.version, code_object.metadata.target) == ((1, 2), f"amdgcn-amd-amdhsa--{arch.name}")
    assert code_object.abi_version == 3  # code object version 5
    assert code_object.code(kernel) == bytes.fromhex("000081bf")


def test_the_fetcher_finds_padding_behind_the_code() -> None:
    (text,) = built().text
    assert len(text.data) == 64 + 256 * 4
    assert text.data[4:] == bytes.fromhex("00009fbf") * (len(text.data) // 4 - 1)  # s_code_end


@pytest.mark.parametrize(
    ("vgprs", "agprs", "accum_offset", "allocated"),
    [(0, 0, 4, 8), (1, 0, 4, 8), (9, 0, 12, 16), (0, 16, 4, 24), (256, 0, 256, 256), (253, 1, 256, 264)],
)
def test_a0_follows_the_last_v(vgprs: int, agprs: int, accum_offset: int, allocated: int) -> None:
    kernel = built(vgprs=vgprs, agprs=agprs, max_workgroup_size=256).kernel()
    assert (kernel.descriptor.accum_offset, kernel.descriptor.vgprs) == (accum_offset, allocated)


def test_float_modes() -> None:
    plain = built().kernel().descriptor
    assert (plain.float_mode, plain.enable_ieee_mode, plain.enable_dx10_clamp, plain.fp16_ovfl) == (0xF0, True, True, 0)
    flushed = built(float_mode=FloatMode(f32_denormals=False, ieee=False, dx10_clamp=False)).kernel().descriptor
    assert (flushed.float_mode, flushed.enable_ieee_mode, flushed.enable_dx10_clamp) == (0xC0, False, False)
    other = built(float_mode=FloatMode(f16_f64_denormals=False, fp16_ovfl=True)).kernel().descriptor
    assert (other.float_mode, other.fp16_ovfl) == (0x30, True)


@pytest.mark.parametrize(("dimensions", "names"), [(1, "x"), (2, "xy"), (3, "xyz")])
def test_workgroup_ids(dimensions: int, names: str) -> None:
    descriptor = built(workgroup_id_dimensions=dimensions).kernel().descriptor
    assert [name for name, _ in descriptor.initial_sgprs()[1:]] == [f"workgroup_id_{axis}" for axis in names]


def test_header_and_lines() -> None:
    text = text_of(body=BODY, files=["kernels/gemm.py"], header="gemm\n\nv[0:3] address")
    assert text.startswith("; gemm\n;\n; v[0:3] address\n.amdgcn_target")
    code_object = read(assemble(text, "gfx950"))
    entry = code_object.kernel().entry
    assert [str(SourceLines(code_object).at(entry + i)) for i in (0, 4)] == ["kernels/gemm.py:12", "kernels/gemm.py:14"]


def test_debuggers_find_the_lines_by_a_compile_unit() -> None:
    code_object = read(assemble(text_of(body=BODY, files=['a "quoted" \\ name.py']), "gfx950"))
    dwarf = ELFFile(io.BytesIO(code_object.data)).get_dwarf_info()
    (unit,) = dwarf.iter_CUs()
    top = unit.get_top_DIE()
    assert top.attributes["DW_AT_low_pc"].value == code_object.kernel().entry
    assert top.attributes["DW_AT_high_pc"].value == code_object.kernel().code_size
    assert top.attributes["DW_AT_name"].value == b'a "quoted" \\ name.py'
    states = [entry.state for entry in dwarf.line_program_for_CU(unit).get_entries() if entry.state]
    assert [state.line for state in states if not state.end_sequence] == [12, 14]


def test_the_same_arguments_give_the_same_text() -> None:
    assert text_of(body=BODY, files=["k.py"]) == text_of(body=list(BODY), files=("k.py",))


COMPILED = """
#define GLOBAL __attribute__((address_space(1)))
__attribute__((amdgpu_kernel, visibility("protected"), amdgpu_flat_work_group_size(1, 512)))
void gemm(GLOBAL float *A, int M, float alpha) {
  int i = __builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x();
  if (i < M) A[i] *= alpha * __builtin_amdgcn_workgroup_id_y() + __builtin_amdgcn_workgroup_id_z();
}
"""


def test_descriptor_and_note_are_those_of_a_compiled_kernel(arch: Arch) -> None:
    theirs = read(compile_c(COMPILED, arch.name, "-mcode-object-version=5"))
    metadata = theirs.kernel().metadata
    assert metadata is not None and metadata.agprs is not None
    ours = built(
        arch.name,
        args=metadata.args,
        kernarg_size=metadata.kernarg_size,
        vgprs=metadata.vgprs - metadata.agprs,
        agprs=metadata.agprs,
        sgprs=metadata.sgprs - 6,
        lds_bytes=metadata.lds_bytes,
        max_workgroup_size=metadata.max_workgroup_size,
    )
    elsewhere = {"kernel_code_entry_byte_offset": 0}
    assert replace(ours.kernel().descriptor, **elsewhere) == replace(theirs.kernel().descriptor, **elsewhere)
    # What hipcc adds to plain C: the language, and that work-groups are uniform.
    hip = {"language": "OpenCL C", "language_version": (2, 0), "uniform_workgroup_size": True}
    assert ours.kernel().metadata == replace(metadata, **hip)
    assert (ours.abi_version, ours.xnack, ours.sramecc) == (theirs.abi_version, theirs.xnack, theirs.sramecc)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vgprs": 257}, "257 VGPRs; gfx942 has 0 to 256"),
        ({"vgprs": -1}, "-1 VGPRs; gfx942 has 0 to 256"),
        ({"agprs": 257}, "257 AGPRs; gfx942 has 0 to 256"),
        ({"sgprs": 103}, "103 SGPRs; gfx942 has 0 to 102"),
        ({"lds_bytes": 65537}, "65537 bytes of LDS; gfx942 has 0 to 65536"),
        ({"scratch_bytes": -4}, "-4 bytes of scratch"),
        ({"max_workgroup_size": 1025}, "1025 work-items a workgroup; gfx942 has 1 to 1024"),
        ({"max_workgroup_size": 0}, "0 work-items a workgroup; gfx942 has 1 to 1024"),
        ({"vgprs": 256, "agprs": 4}, "260 registers a lane .* workgroups of 512 work-items; .* room for 256 then"),
        ({"vgprs": 129, "agprs": 0, "max_workgroup_size": 1024}, "129 registers .* 1024 work-items; .* room for 128"),
        ({"workgroup_id_dimensions": 0}, "wants 0 dimensions"),
        ({"workitem_id_dimensions": 4}, "wants 4 dimensions"),
        ({"kernarg_size": 15}, "argument alpha of kernel gemm ends at byte 16 of a kernarg segment of 15"),
        ({"args": (ARGS[0], replace(ARGS[1], offset=4))}, "argument M .* starts at byte 4, before byte 8 is free"),
        ({"name": "2d"}, "'2d' cannot be the name of a kernel"),
        ({"name": "a b"}, "'a b' cannot be the name of a kernel"),
        ({"files": ["a\nb.py"]}, "unprintable file name"),
    ],
)
def test_beyond_the_chip_is_an_error_with_both_numbers(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BuildError, match=message):
        text_of("gfx942", **changes)


def test_the_limits_themselves_are_allowed(arch: Arch) -> None:
    largest = {"vgprs": 256, "agprs": 256, "sgprs": 102, "lds_bytes": arch.max_lds_per_workgroup}
    kernel = built(arch.name, **largest, max_workgroup_size=256).kernel()
    assert (kernel.descriptor.vgprs, kernel.descriptor.sgprs) == (512, 112)
    assert kernel.lds_bytes == {"gfx942": 65536, "gfx950": 163840}[arch.name]
    assert built(arch.name, vgprs=128, agprs=0, max_workgroup_size=1024).kernel().descriptor.vgprs == 128


def test_an_unknown_arch_is_an_error() -> None:
    with pytest.raises(InputError, match="gfx1100"):
        text_of("gfx1100")
