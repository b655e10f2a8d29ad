"""The 64-byte kernel descriptor: every field of it by name, and the SGPRs that a wave starts with.

Source: LLVM, "User Guide for AMDGPU Backend", kernel descriptor (code object V3 and later), for gfx942 and gfx950.
Field names are LLVM's, in lower case.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from pykittens.errors import BuildError, CodeObjectError

DESCRIPTOR_BYTES = 64

# Granules of the counts in COMPUTE_PGM_RSRC1 and 3 (llvm). SGPRs are encoded by 8 and allocated by 16.
VGPR_GRANULE = 8
SGPR_ENCODING_GRANULE = 8
SGPR_ALLOCATION_GRANULE = 16
ACCUM_OFFSET_GRANULE = 4

# Byte offsets of the words that hold bit fields.
_RSRC3, _RSRC1, _RSRC2, _PROPERTIES, _PRELOAD = 44, 48, 52, 56, 58


def _bits(byte: int, shift: int, width: int) -> Any:
    """A field of `width` bits that starts at bit `shift` of the word at `byte`. One bit wide means bool."""
    return field(default=False if width == 1 else 0, metadata={"bit": 8 * byte + shift, "width": width})


@dataclass(frozen=True)
class KernelDescriptor:
    """A kernel descriptor, decoded. Sizes are in bytes; the defaults are all zero bits.

    `kernel_code_entry_byte_offset` is signed and counts from the descriptor's own address.
    """

    group_segment_fixed_size: int = _bits(0, 0, 32)
    private_segment_fixed_size: int = _bits(4, 0, 32)
    kernarg_size: int = _bits(8, 0, 32)
    kernel_code_entry_byte_offset: int = _bits(16, 0, 64)

    accum_offset_field: int = _bits(_RSRC3, 0, 6)
    tg_split: bool = _bits(_RSRC3, 16, 1)

    granulated_workitem_vgpr_count: int = _bits(_RSRC1, 0, 6)
    granulated_wavefront_sgpr_count: int = _bits(_RSRC1, 6, 4)
    priority: int = _bits(_RSRC1, 10, 2)
    float_round_mode_32: int = _bits(_RSRC1, 12, 2)
    float_round_mode_16_64: int = _bits(_RSRC1, 14, 2)
    float_denorm_mode_32: int = _bits(_RSRC1, 16, 2)
    float_denorm_mode_16_64: int = _bits(_RSRC1, 18, 2)
    priv: bool = _bits(_RSRC1, 20, 1)
    enable_dx10_clamp: bool = _bits(_RSRC1, 21, 1)
    debug_mode: bool = _bits(_RSRC1, 22, 1)
    enable_ieee_mode: bool = _bits(_RSRC1, 23, 1)
    bulky: bool = _bits(_RSRC1, 24, 1)
    cdbg_user: bool = _bits(_RSRC1, 25, 1)
    fp16_ovfl: bool = _bits(_RSRC1, 26, 1)

    enable_private_segment: bool = _bits(_RSRC2, 0, 1)
    user_sgpr_count: int = _bits(_RSRC2, 1, 5)
    enable_trap_handler: bool = _bits(_RSRC2, 6, 1)
    enable_sgpr_workgroup_id_x: bool = _bits(_RSRC2, 7, 1)
    enable_sgpr_workgroup_id_y: bool = _bits(_RSRC2, 8, 1)
    enable_sgpr_workgroup_id_z: bool = _bits(_RSRC2, 9, 1)
    enable_sgpr_workgroup_info: bool = _bits(_RSRC2, 10, 1)
    enable_vgpr_workitem_id: int = _bits(_RSRC2, 11, 2)
    enable_exception_address_watch: bool = _bits(_RSRC2, 13, 1)
    enable_exception_memory: bool = _bits(_RSRC2, 14, 1)
    granulated_lds_size: int = _bits(_RSRC2, 15, 9)
    enable_exception_ieee_754_fp_invalid_operation: bool = _bits(_RSRC2, 24, 1)
    enable_exception_fp_denormal_source: bool = _bits(_RSRC2, 25, 1)
    enable_exception_ieee_754_fp_division_by_zero: bool = _bits(_RSRC2, 26, 1)
    enable_exception_ieee_754_fp_overflow: bool = _bits(_RSRC2, 27, 1)
    enable_exception_ieee_754_fp_underflow: bool = _bits(_RSRC2, 28, 1)
    enable_exception_ieee_754_fp_inexact: bool = _bits(_RSRC2, 29, 1)
    enable_exception_int_divide_by_zero: bool = _bits(_RSRC2, 30, 1)

    enable_sgpr_private_segment_buffer: bool = _bits(_PROPERTIES, 0, 1)
    enable_sgpr_dispatch_ptr: bool = _bits(_PROPERTIES, 1, 1)
    enable_sgpr_queue_ptr: bool = _bits(_PROPERTIES, 2, 1)
    enable_sgpr_kernarg_segment_ptr: bool = _bits(_PROPERTIES, 3, 1)
    enable_sgpr_dispatch_id: bool = _bits(_PROPERTIES, 4, 1)
    enable_sgpr_flat_scratch_init: bool = _bits(_PROPERTIES, 5, 1)
    enable_sgpr_private_segment_size: bool = _bits(_PROPERTIES, 6, 1)
    enable_wavefront_size32: bool = _bits(_PROPERTIES, 10, 1)
    uses_dynamic_stack: bool = _bits(_PROPERTIES, 11, 1)

    kernarg_preload_length: int = _bits(_PRELOAD, 0, 7)
    kernarg_preload_offset: int = _bits(_PRELOAD, 7, 9)

    @classmethod
    def from_bytes(cls, data: bytes, where: str | None = None) -> KernelDescriptor:
        """Decode 64 bytes. Raises CodeObjectError for another length, for reserved bits that are set, for wave32
        (gfx942 and gfx950 have wave64 only) and for fewer user SGPRs than the enabled ones take."""
        if len(data) != DESCRIPTOR_BYTES:
            what = f"a kernel descriptor has {DESCRIPTOR_BYTES} bytes, not {len(data)}"
            raise CodeObjectError("bad-descriptor", what, where=where)
        whole = int.from_bytes(data, "little")
        if reserved := whole & ~_KNOWN_BITS:
            bit = (reserved & -reserved).bit_length() - 1
            what = f"the kernel descriptor has reserved bit {bit % 8} of byte {bit // 8} set"
            raise CodeObjectError(
                "bad-descriptor", what, where=where, fix="the file is damaged or newer than LLVM 22's"
            )
        values: dict[str, Any] = {}
        for name, (bit, width) in _PLACES.items():
            value = whole >> bit & (1 << width) - 1
            values[name] = bool(value) if width == 1 else value
        entry = values["kernel_code_entry_byte_offset"]
        values["kernel_code_entry_byte_offset"] = entry - (1 << 64) if entry >> 63 else entry
        descriptor = cls(**values)
        if descriptor.enable_wavefront_size32:
            what = "the kernel descriptor asks for wave32, and gfx942 and gfx950 have 64 lanes only"
            raise CodeObjectError("bad-descriptor", what, where=where)
        taken = sum(count for _, count in descriptor._enabled_user_sgprs())
        if taken > descriptor.user_sgpr_count:
            what = f"the enabled user SGPRs take {taken}, but user_sgpr_count is {descriptor.user_sgpr_count}"
            raise CodeObjectError("bad-descriptor", what, where=where)
        return descriptor

    def to_bytes(self) -> bytes:
        """Encode to 64 bytes. Raises BuildError for a value that its field cannot hold."""
        whole = 0
        for name, (bit, width) in _PLACES.items():
            value = int(getattr(self, name))
            signed = name == "kernel_code_entry_byte_offset"
            low, high = (-(1 << 63), (1 << 63) - 1) if signed else (0, (1 << width) - 1)
            if not low <= value <= high:
                what = f"kernel descriptor field {name} is {value}, outside {low}..{high}"
                raise BuildError("descriptor-range", what)
            whole |= (value & (1 << width) - 1) << bit
        return whole.to_bytes(DESCRIPTOR_BYTES, "little")

    @property
    def vgprs(self) -> int:
        """VGPRs allocated per lane, accumulation VGPRs included."""
        return (self.granulated_workitem_vgpr_count + 1) * VGPR_GRANULE

    @property
    def accum_offset(self) -> int:
        """Where a0 lies in the register file: a0 is the VGPR of this number."""
        return (self.accum_offset_field + 1) * ACCUM_OFFSET_GRANULE

    @property
    def sgprs(self) -> int:
        """SGPRs allocated per wave, the six for VCC, FLAT_SCRATCH and XNACK_MASK included."""
        encoded = (self.granulated_wavefront_sgpr_count + 1) * SGPR_ENCODING_GRANULE
        return -(-encoded // SGPR_ALLOCATION_GRANULE) * SGPR_ALLOCATION_GRANULE

    @property
    def float_mode(self) -> int:
        """FP_ROUND and FP_DENORM as the low byte of the MODE register: round 32, round 16/64, denorm 32, denorm 16/64,
        two bits each from bit 0. 0xF0 keeps all denormals, 0xC0 flushes those of f32."""
        return (
            self.float_round_mode_32
            | self.float_round_mode_16_64 << 2
            | self.float_denorm_mode_32 << 4
            | self.float_denorm_mode_16_64 << 6
        )

    @property
    def workitem_id_dimensions(self) -> int:
        """1, 2 or 3: how many work-item ids v0 carries (x in bits 9:0, y in 19:10, z in 29:20)."""
        return min(self.enable_vgpr_workitem_id, 2) + 1

    def user_sgprs(self) -> list[tuple[str, int]]:
        """(name, number of SGPRs) of what the command processor writes, in order from s0.

        The preloaded kernel arguments follow the pointers; "unused" fills up to `user_sgpr_count`, which alone decides
        where the work-group ids start.
        """
        enabled = self._enabled_user_sgprs()
        unused = self.user_sgpr_count - sum(count for _, count in enabled)
        return enabled + ([("unused", unused)] if unused else [])

    def initial_sgprs(self) -> list[tuple[str, int]]:
        """(name, number of SGPRs) of everything that is set before the first instruction, in order from s0.

        Work-group ids and info follow the user SGPRs. There is no scratch wave offset: gfx942 and gfx950 have an
        architected FLAT_SCRATCH, which the hardware sets itself when `enable_private_segment` is on.
        """
        system = {
            "workgroup_id_x": self.enable_sgpr_workgroup_id_x,
            "workgroup_id_y": self.enable_sgpr_workgroup_id_y,
            "workgroup_id_z": self.enable_sgpr_workgroup_id_z,
            "workgroup_info": self.enable_sgpr_workgroup_info,
        }
        return self.user_sgprs() + [(name, 1) for name, enabled in system.items() if enabled]

    def _enabled_user_sgprs(self) -> list[tuple[str, int]]:
        order = [
            ("private_segment_buffer", 4 * self.enable_sgpr_private_segment_buffer),
            ("dispatch_ptr", 2 * self.enable_sgpr_dispatch_ptr),
            ("queue_ptr", 2 * self.enable_sgpr_queue_ptr),
            ("kernarg_segment_ptr", 2 * self.enable_sgpr_kernarg_segment_ptr),
            ("dispatch_id", 2 * self.enable_sgpr_dispatch_id),
            ("flat_scratch_init", 2 * self.enable_sgpr_flat_scratch_init),
            ("private_segment_size", 1 * self.enable_sgpr_private_segment_size),
            ("kernarg_preload", self.kernarg_preload_length),
        ]
        return [(name, count) for name, count in order if count]


# name -> (first bit, width) in the descriptor taken as one 512-bit little-endian number.
_PLACES = {f.name: (f.metadata["bit"], f.metadata["width"]) for f in fields(KernelDescriptor)}
_KNOWN_BITS = sum((1 << width) - 1 << bit for bit, width in _PLACES.values())
