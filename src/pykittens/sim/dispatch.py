"""How waves begin: SGPRs, float mode, LDS and scratch as the kernel descriptor asks for them, and the dispatch packet.

Source: LLVM, "User Guide for AMDGPU Backend", initial kernel execution state. gfx942 and gfx950 have an architected
flat scratch.
"""

from __future__ import annotations

import operator
import struct
from dataclasses import dataclass

from pykittens.arch import Arch
from pykittens.asm.code_object import Kernel
from pykittens.errors import CodeObjectError, InputError
from pykittens.isa.constants import APERTURES
from pykittens.sim.bind import NONE, SCALARS
from pykittens.sim.memory import SCRATCH
from pykittens.sim.mode import DX10_CLAMP, FP16_OVFL, IEEE
from pykittens.sim.native_types import LANES

_DYNAMIC_STACK = 65536
"""Bytes a lane for kernels whose stack the compiler cannot bound, unless their descriptor asks for more. LLVM moves the
stack pointer by 64 times what an array of run-time size needs."""
_MAX_PRIVATE = 8191 * 1024 // LANES
"""13 bits of 1,024 bytes for a wave (llvm: COMPUTE_TMPRING_SIZE)."""
_MAX_ITEMS = 1024

Dimensions = tuple[int, int, int]


@dataclass(frozen=True)
class Dispatch:
    """A launch checked against the kernel and the chip: grid in workgroups, block in work-items, sizes in bytes."""

    grid: Dimensions
    block: Dimensions
    lds_bytes: int
    private_bytes: int
    dynamic_lds: int

    @property
    def items(self) -> int:
        """Work-items of a workgroup."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def waves(self) -> int:
        return -(-self.items // LANES)

    @property
    def groups(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]


def check(kernel: Kernel, chip: Arch, grid: object, block: object, lds: object, where: str) -> Dispatch:
    """The launch of a kernel; InputError for sizes that the kernel or the chip does not have."""
    grid, block = _dimensions("grid", grid, where), _dimensions("block", block, where)
    items = block[0] * block[1] * block[2]
    note = kernel.metadata
    limit = min(_MAX_ITEMS, note.max_workgroup_size if note and note.max_workgroup_size else _MAX_ITEMS)
    if items > limit:
        raise InputError(
            "block-size", f"a block of {block} is {items} work-items, the kernel takes {limit}", where=where
        )
    required = note.reqd_workgroup_size if note else None
    if required and tuple(required) != block:
        raise InputError(
            "block-size", f"the block is {block}, the kernel is compiled for {tuple(required)}", where=where
        )
    for axis, groups, size in zip("xyz", grid, block, strict=True):
        if groups * size >= 1 << 32:
            what = f"the grid has {groups} x {size} work-items in {axis}, and 2^32 - 1 is the most there can be"
            raise InputError("grid-size", what, where=where)
    dynamic = _whole(lds)
    if dynamic is None or dynamic < 0:
        raise InputError("lds-size", f"lds is {lds!r}, expected a number of bytes", where=where)
    wanted = kernel.lds_bytes + dynamic
    if wanted > chip.max_lds_per_workgroup:
        what = f"{kernel.lds_bytes} bytes of fixed and {dynamic} of dynamic LDS are more than a workgroup has"
        raise InputError("lds-size", f"{what} on {chip.name}, {chip.max_lds_per_workgroup}", where=where)
    rounded = min(-(-wanted // chip.lds_granule) * chip.lds_granule, chip.max_lds_per_workgroup)
    return Dispatch(grid, block, rounded, _private_bytes(kernel, where), dynamic)


def _dimensions(name: str, value: object, where: str) -> Dimensions:
    given = value if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(given) <= 3:
        raise InputError(f"{name}-size", f"{name} is {value!r}, expected one to three whole numbers", where=where)
    numbers = [_whole(number) for number in (*given, 1, 1)[:3]]
    for number in numbers:
        if number is None or not 1 <= number < 1 << 32:
            raise InputError(f"{name}-size", f"{name} is {value!r}, expected numbers from 1 to 2^32 - 1", where=where)
    x, y, z = (number or 1 for number in numbers)
    return x, y, z


def _whole(value: object) -> int | None:
    """An int of Python or NumPy; None for anything else, bool included."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _private_bytes(kernel: Kernel, where: str) -> int:
    descriptor, note = kernel.descriptor, kernel.metadata
    size = kernel.scratch_bytes
    if descriptor.uses_dynamic_stack or (note and note.uses_dynamic_stack):
        size = max(size, _DYNAMIC_STACK)
    if size > _MAX_PRIVATE:
        what = f"the kernel asks for {size} bytes of scratch a work-item, and {_MAX_PRIVATE} is the most there is"
        raise CodeObjectError("scratch-size", what, where=where)
    return -(-size // 16) * 16


def mode_register(kernel: Kernel) -> int:
    """MODE as a wave starts with it."""
    d = kernel.descriptor
    return d.float_mode | d.enable_dx10_clamp << DX10_CLAMP | d.enable_ieee_mode << IEEE | d.fp16_ovfl << FP16_OVFL


@dataclass(frozen=True)
class Pointers:
    """Device addresses of what the initial SGPRs may point to."""

    kernarg: int
    dispatch: int
    queue: int


def initial_sgprs(
    kernel: Kernel, dispatch: Dispatch, pointers: Pointers, kernarg: bytes, undefined: int, where: str
) -> tuple[list[int], list[int]]:
    """All 128 SGPRs of every wave, and the numbers of those that take workgroup id x, y, z and info (NONE: nowhere)."""
    sgprs = [undefined] * SCALARS
    numbers = {"workgroup_id_x": NONE, "workgroup_id_y": NONE, "workgroup_id_z": NONE, "workgroup_info": NONE}
    values = {
        "private_segment_buffer": [0, 0, 0, 0],
        "dispatch_ptr": _pair(pointers.dispatch),
        "queue_ptr": _pair(pointers.queue),
        "kernarg_segment_ptr": _pair(pointers.kernarg),
        "dispatch_id": [0, 0],
        "flat_scratch_init": _pair(SCRATCH),
        "private_segment_size": [dispatch.private_bytes],
        "kernarg_preload": _preloaded(kernel, kernarg, where),
    }
    at = 0
    for name, count in kernel.descriptor.initial_sgprs():
        if at + count > SCALARS - 24:
            raise CodeObjectError(
                "sgpr-count", f"the descriptor sets up {at + count} SGPRs, there are 104", where=where
            )
        if name in numbers:
            numbers[name] = at
        elif name in values:
            sgprs[at : at + count] = values[name]
        at += count
    return sgprs, list(numbers.values())


def _pair(address: int) -> list[int]:
    return [address & 0xFFFFFFFF, address >> 32]


def _preloaded(kernel: Kernel, kernarg: bytes, where: str) -> list[int]:
    """The dwords of the kernarg segment that the chip puts into SGPRs itself."""
    first, count = 4 * kernel.descriptor.kernarg_preload_offset, kernel.descriptor.kernarg_preload_length
    data = kernarg[first : first + 4 * count]
    if len(data) < 4 * count:
        what = f"the descriptor preloads {first + 4 * count} bytes of kernel arguments, the segment has {len(kernarg)}"
        raise CodeObjectError("kernarg-preload", what, where=where)
    return list(struct.unpack(f"<{count}I", data))


def dispatch_packet(kernel: Kernel, dispatch: Dispatch, kernel_object: int, kernarg: int) -> bytes:
    """The AQL packet of 64 bytes that started the kernel (HSA: hsa_kernel_dispatch_packet_t)."""
    items = [groups * size for groups, size in zip(dispatch.grid, dispatch.block, strict=True)]
    return struct.pack(
        "<HH3HH3IIIQQQQ", 2, 3, *dispatch.block, 0, *items, dispatch.private_bytes, dispatch.lds_bytes, kernel_object,
        kernarg, 0, 0,
    )  # fmt: skip


def queue_descriptor() -> bytes:
    """The parts of the queue that code reads: the high halves of the LDS and scratch apertures (llvm: amd_queue_t)."""
    queue = bytearray(256)
    struct.pack_into("<II", queue, 0x40, APERTURES[235] >> 32, APERTURES[237] >> 32)
    return bytes(queue)
