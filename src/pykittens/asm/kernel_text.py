"""The full assembly text of one kernel: target, code, kernel descriptor, metadata and debug information.

Directives and metadata are those that hipcc emits (code object version 5, which every ROCm that knows gfx942 or
gfx950 loads), so that HIP's loader takes the result as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pykittens import arch as chips
from pykittens.arch import Arch
from pykittens.asm.metadata import KernelArgument, KernelMetadata, Metadata, render_metadata
from pykittens.errors import BuildError

_CODE_OBJECT_VERSION = 5
_KERNARG_ALIGN = 8

# The private segment of a wave is at most 8191 KiB: 13 bits of 1,024 bytes in COMPUTE_TMPRING_SIZE (llvm).
_MAX_SCRATCH = 8191 * 1024 // 64

# VCC, FLAT_SCRATCH and XNACK_MASK, which the assembler adds to the SGPRs that a kernel names (llvm).
_EXTRA_SGPRS = 6

# The instruction fetcher runs ahead of the wave. After the code LLVM fills up the cache line of 64 bytes and then
# 256 dwords with s_code_end, so that it reads nothing that belongs to others.
_PADDING = (".p2alignl 6, 0xbf9f0000", ".fill 256, 4, 0xbf9f0000")

_SYMBOL = re.compile(r"[A-Za-z_.$][A-Za-z0-9_.$]*")


@dataclass(frozen=True)
class FloatMode:
    """How a kernel starts to compute; the defaults are hipcc's. Rounding is to nearest even.

    f32_denormals, f16_f64_denormals: kept, or flushed to zero as inputs and results.
    ieee: quiet signalling NaNs. dx10_clamp: clamp turns NaN to 0. fp16_ovfl: f16 overflow saturates.
    """

    f32_denormals: bool = True
    f16_f64_denormals: bool = True
    ieee: bool = True
    dx10_clamp: bool = True
    fp16_ovfl: bool = False


HIPCC_FLOAT_MODE = FloatMode()


def render_kernel(
    name: str,
    arch: str,
    body_lines: Iterable[str],
    *,
    args: Sequence[KernelArgument],
    kernarg_size: int,
    vgprs: int,
    agprs: int,
    sgprs: int,
    lds_bytes: int,
    max_workgroup_size: int,
    scratch_bytes: int = 0,
    reqd_workgroup_size: tuple[int, int, int] | None = None,
    workgroup_id_dimensions: int = 3,
    workitem_id_dimensions: int = 1,
    float_mode: FloatMode = HIPCC_FLOAT_MODE,
    files: Sequence[str] = (),
    header: str = "",
) -> str:
    """The ``.s`` file of kernel `name` for `arch`, ready for `assemble`.

    body_lines: the code, label and ``.loc`` lines up to and including the last s_endpgm; ``.loc 1`` means files[0].
    kernarg_size, lds_bytes (of a workgroup), scratch_bytes (of a work-item): bytes.
    vgprs, agprs: VGPRs v0.. and accumulation VGPRs a0.. used; a0 is placed at the next multiple of 4 after the last v.
    sgprs: SGPRs s0.. used, without VCC. max_workgroup_size: work-items.
    workgroup_id_dimensions: 1 to 3 ids in SGPRs after s[0:1], the kernarg pointer.
    workitem_id_dimensions: 1 to 3 ids packed into v0. header: comment at the top of the text.

    Raises BuildError for a name that is no symbol, and for whatever goes beyond the chip.
    """
    chip = chips.get(arch)
    body = list(body_lines)
    accum_offset = max(chip.accum_offset_min, -(-vgprs // chip.accum_offset_granule) * chip.accum_offset_granule)
    total_vgprs = accum_offset + agprs if agprs else vgprs
    _check_name(name)
    _check_limits(chip, name, vgprs, agprs, sgprs, lds_bytes, scratch_bytes, max_workgroup_size)
    _check_occupancy(chip, name, total_vgprs, max_workgroup_size)
    _check_dimensions(name, workgroup_id_dimensions, workitem_id_dimensions)
    _check_arguments(name, args, kernarg_size)
    target = f"amdgcn-amd-amdhsa--{arch}"
    directives = {
        "group_segment_fixed_size": lds_bytes,
        "private_segment_fixed_size": scratch_bytes,
        "kernarg_size": kernarg_size,
        "user_sgpr_count": 2,
        "user_sgpr_kernarg_segment_ptr": 1,
        "uses_dynamic_stack": 0,
        "enable_private_segment": int(scratch_bytes > 0),
        "system_sgpr_workgroup_id_x": 1,
        "system_sgpr_workgroup_id_y": int(workgroup_id_dimensions > 1),
        "system_sgpr_workgroup_id_z": int(workgroup_id_dimensions > 2),
        "system_vgpr_workitem_id": workitem_id_dimensions - 1,
        "next_free_vgpr": max(total_vgprs, 1),
        "next_free_sgpr": sgprs,
        "accum_offset": accum_offset,
        "float_round_mode_32": 0,
        "float_round_mode_16_64": 0,
        "float_denorm_mode_32": 3 * float_mode.f32_denormals,
        "float_denorm_mode_16_64": 3 * float_mode.f16_f64_denormals,
        "dx10_clamp": int(float_mode.dx10_clamp),
        "ieee_mode": int(float_mode.ieee),
        "fp16_overflow": int(float_mode.fp16_ovfl),
        "tg_split": 0,
    }
    metadata = KernelMetadata(
        name=name,
        symbol=f"{name}.kd",
        args=tuple(args),
        kernarg_size=kernarg_size,
        kernarg_align=_KERNARG_ALIGN,
        lds_bytes=lds_bytes,
        scratch_bytes=scratch_bytes,
        wavefront_size=chip.wave_size,
        max_workgroup_size=max_workgroup_size,
        sgprs=sgprs + _EXTRA_SGPRS,
        vgprs=total_vgprs,
        agprs=agprs,
        sgpr_spills=0,
        vgpr_spills=0,
        uses_dynamic_stack=False,
        uniform_workgroup_size=True,
        reqd_workgroup_size=reqd_workgroup_size,
        language="OpenCL C",
        language_version=(2, 0),
    )
    lines = [f"; {line}".rstrip() for line in header.splitlines()]
    lines += [f'.amdgcn_target "{target}"', f".amdhsa_code_object_version {_CODE_OBJECT_VERSION}", ".text"]
    lines += [f".file {number} {_quoted(path)}" for number, path in enumerate(files, 1)]
    lines += [f".protected {name}", f".globl {name}", ".p2align 8", f".type {name},@function", f"{name}:"]
    lines += [*body, f".Lend_{name}:", f".size {name}, .Lend_{name}-{name}", *_PADDING]
    lines += ['.section .rodata,"a",@progbits', ".p2align 6, 0x0", f".amdhsa_kernel {name}"]
    lines += [f"  .amdhsa_{key} {value}" for key, value in directives.items()]
    lines.append(".end_amdhsa_kernel")
    lines += _compile_unit(name, files[0]) if files else []
    return "\n".join([*lines, render_metadata(Metadata((metadata,), (1, 2), target))])


def _check_name(name: str) -> None:
    if not _SYMBOL.fullmatch(name):
        fix = "use letters, digits and _ . $, and no digit first"
        raise BuildError("bad-name", f"{name!r} cannot be the name of a kernel", fix=fix)


def _check_limits(
    chip: Arch, name: str, vgprs: int, agprs: int, sgprs: int, lds_bytes: int, scratch_bytes: int, workgroup_size: int
) -> None:
    limits = [
        ("VGPRs", vgprs, 0, chip.max_vgprs),
        ("AGPRs", agprs, 0, chip.max_vgprs),
        ("SGPRs", sgprs, 0, chip.max_sgprs),
        ("bytes of LDS", lds_bytes, 0, chip.max_lds_per_workgroup),
        ("bytes of scratch a work-item", scratch_bytes, 0, _MAX_SCRATCH),
        ("work-items a workgroup", workgroup_size, 1, chip.max_workgroup_size),
    ]
    for what, value, low, high in limits:
        if not low <= value <= high:
            raise BuildError("chip-limit", f"kernel {name} wants {value} {what}; {chip.name} has {low} to {high}")


def _check_occupancy(chip: Arch, name: str, registers: int, workgroup_size: int) -> None:
    """A workgroup runs on one CU: the registers of all its waves must fit there at once."""
    waves = -(-workgroup_size // chip.wave_size)
    waves_per_simd = -(-waves // chip.simds_per_cu)
    if waves_per_simd > chip.waves_for_vgprs(registers):
        room = chip.vgprs // waves_per_simd // chip.vgpr_granule * chip.vgpr_granule
        message = (
            f"kernel {name} wants {registers} registers a lane (v and a together) in workgroups of {workgroup_size}"
        )
        fix = f"use at most {room}, or workgroups of fewer waves than {waves}"
        raise BuildError("chip-limit", f"{message} work-items; {chip.name} has room for {room} then", fix=fix)


def _check_dimensions(name: str, *dimensions: int) -> None:
    for count in dimensions:
        if count not in (1, 2, 3):
            raise BuildError("chip-limit", f"kernel {name} wants {count} dimensions of ids; there are 1 to 3")


def _check_arguments(name: str, args: Sequence[KernelArgument], kernarg_size: int) -> None:
    end = 0
    for argument in args:
        label = f"argument {argument.name or argument.kind} of kernel {name}"
        if argument.offset < end:
            raise BuildError("kernarg-layout", f"{label} starts at byte {argument.offset}, before byte {end} is free")
        end = argument.offset + argument.size
        if end > kernarg_size:
            raise BuildError("kernarg-layout", f"{label} ends at byte {end} of a kernarg segment of {kernarg_size}")


def _compile_unit(name: str, file: str) -> list[str]:
    """A DWARF 5 compile unit over the kernel: debuggers and disassemblers find the line table through it."""
    return [
        '.section .debug_abbrev,"",@progbits',
        ".Labbrev:",
        ".byte 1, 0x11, 0",  # abbreviation 1: DW_TAG_compile_unit, no children
        ".byte 0x03, 0x08",  # DW_AT_name, DW_FORM_string
        ".byte 0x10, 0x17",  # DW_AT_stmt_list, DW_FORM_sec_offset
        ".byte 0x11, 0x01",  # DW_AT_low_pc, DW_FORM_addr
        ".byte 0x12, 0x06",  # DW_AT_high_pc, DW_FORM_data4
        ".byte 0, 0, 0",
        '.section .debug_info,"",@progbits',
        ".long .Lunit_end-.Lunit",
        ".Lunit:",
        ".short 5",  # DWARF version
        ".byte 1, 8",  # DW_UT_compile, bytes of an address
        ".long .Labbrev",
        ".byte 1",
        f".asciz {_quoted(file)}",
        ".long .Lline_table",
        f".quad {name}",
        f".long .Lend_{name}-{name}",
        ".Lunit_end:",
        '.section .debug_line,"",@progbits',
        ".Lline_table:",
    ]


def _quoted(text: str) -> str:
    if not text.isprintable():
        raise BuildError("bad-name", f"the assembly cannot hold the unprintable file name {text!r}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
