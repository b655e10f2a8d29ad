"""The virtual GPU as people use it: `Device`, `Module` and `Kernel`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pykittens import arch as chips
from pykittens.asm import code_object
from pykittens.asm.code_object import CodeObject
from pykittens.asm.elf_image import Segment
from pykittens.asm.execution import WorkgroupTrace
from pykittens.asm.source_lines import SourceLines
from pykittens.errors import CodeObjectError, InputError
from pykittens.isa.define import Definition
from pykittens.isa.instruction import Instruction
from pykittens.sim import dispatch as dispatching
from pykittens.sim.arguments import Argument, Shape, fill_hidden, pack
from pykittens.sim.checked import CheckedRun, run_checked
from pykittens.sim.launch import MAX_INSTRUCTIONS, TIMEOUT, Order, Plan, Run, cores, run
from pykittens.sim.memory import (
    BUFFERS,
    CODE,
    GRANULE,
    POISON,
    SYSTEM,
    TEMPORARIES,
    Arena,
    Array,
    Buffer,
    LiveBuffers,
    Region,
    RegionTable,
    map_array,
    map_bytes,
)  # fmt: skip
from pykittens.sim.program import Program
from pykittens.sim.trace import MAX_SURVEYED, MAX_TRACED, Survey, survey_workgroups, trace_workgroups

_MAX_OVERREAD = 1 << 30
_MAX_IMAGE = 1 << 30
"""Bytes of a loaded code object; no real one comes near."""


class Device:
    """A virtual GPU of one chip, with memory of its own. Several devices, and launches on several threads, are fine.

    arch: ``"gfx942"`` or ``"gfx950"``; InputError for another. overread: bytes before and behind each buffer that loads
    may touch and find `memory.STRAY`; some kernels fetch a tile too many, which real allocations forgive. Stores
    there, and by default loads too, are faults.
    """

    def __init__(self, arch: str, overread: int = 0) -> None:
        if not isinstance(overread, int) or not 0 <= overread <= _MAX_OVERREAD:
            raise InputError("overread", f"overread is {overread!r}, expected 0 to {_MAX_OVERREAD} bytes")
        self.chip = chips.get(arch)
        self.overread = overread
        self._code, self._buffers = self.arena(CODE), self.arena(BUFFERS)
        self._live = LiveBuffers()
        self._modules: list[Module] = []

    def __repr__(self) -> str:
        return f"Device({self.chip.name!r})"

    def load(self, source: bytes | str | os.PathLike[str]) -> Module:
        """A code object, from its bytes or a file. Raises CodeObjectError where it is malformed or for another chip."""
        module = Module(self, code_object.read(source, self.chip.name))
        self._modules.append(module)
        return module

    def buffer(self, array: Array, name: str | None = None) -> Buffer:
        """Device memory over an array, without copying: it stays at its address for as long as the buffer lives.

        Kernels may write to it unless the array is read-only. name: what faults call it.
        """
        if not isinstance(array, np.ndarray):
            raise InputError("buffer-type", f"a buffer is made from a NumPy array, not {type(array).__name__}")
        buffer = Buffer(array, self._buffers, name or f"a buffer of {array.shape} {array.dtype}")
        self._live.add(buffer)
        return buffer

    def empty(self, shape: int | Sequence[int], dtype: Any = np.uint8, name: str | None = None) -> Buffer:
        """Device memory that nobody has written, as an allocation gives it: full of NaN, and checked launches follow
        which of its bytes are still undefined. The host fills it with `Buffer.upload`."""
        array = np.full(np.zeros(shape, dtype).nbytes, POISON, np.uint8).view(dtype).reshape(shape)
        buffer = Buffer(array, self._buffers, name or f"a buffer of {array.shape} {array.dtype}", undefined=True)
        self._live.add(buffer)
        return buffer

    def arena(self, start: int) -> Arena:
        """Room for buffers from a device address on."""
        return Arena(start, max(GRANULE, self.overread))

    def regions(self) -> list[Region]:
        """All memory that every launch can reach."""
        return [*self._live.regions(), *(region for module in self._modules for region in module.regions)]


class Module:
    """A loaded code object: its segments are in device memory, relocated."""

    def __init__(self, device: Device, code: CodeObject) -> None:
        self.device, self.code_object = device, code
        self.where = code.where or "code object"
        end = max((segment.end for segment in code.segments), default=0)
        if end > _MAX_IMAGE:
            raise CodeObjectError("too-large", f"the code object spans {end} bytes when loaded", where=code.where)
        self.load_address = device._code.place(end)
        self._memory = self._image(end)
        self.regions = [
            Region(
                f"the {_kind(s)} of {os.path.basename(self.where)}",
                self.load_address + s.address, s.memory_size, self._memory.ctypes.data + s.address, not s.writable,
                self._memory,
            )
            for s in code.segments
            if s.memory_size
        ]  # fmt: skip
        self._programs: dict[str, Program] = {}

    def _image(self, end: int) -> Array:
        image = np.zeros(end, np.uint8)
        for segment in self.code_object.segments:
            image[segment.address : segment.address + len(segment.data)] = np.frombuffer(segment.data, np.uint8)
        for relocation in self.code_object.relocations:
            patch = relocation.patch(self.load_address)
            if not 0 <= relocation.address <= end - len(patch):
                what = f"a relocation patches {relocation.address:#x}, outside the {end} bytes of the code object"
                raise CodeObjectError("bad-relocation", what, where=self.code_object.where)
            image[relocation.address : relocation.address + len(patch)] = np.frombuffer(patch, np.uint8)
        return image

    def kernel(self, name: str | None = None) -> Kernel:
        """A kernel by name, or the only one there is. Raises InputError that lists the names."""
        return Kernel(self, self.code_object.kernel(name))

    def program(self, kernel: code_object.Kernel) -> Program:
        """The kernel's translated code; made once."""
        if kernel.name not in self._programs:
            text = next(t for t in self.code_object.text if t.address <= kernel.entry < t.address + len(t.data))
            code = bytes(self._memory[text.address : text.address + len(text.data)])
            self._programs[kernel.name] = Program(
                code, self.load_address + text.address, self.load_address + kernel.preload_entry,
                self.code_object.arch, kernel.descriptor.accum_offset,
            )  # fmt: skip
        return self._programs[kernel.name]

    @cached_property
    def _lines(self) -> SourceLines | None:
        try:
            return SourceLines(self.code_object)
        except CodeObjectError:
            return None  # a damaged line table must not hide the fault that it was asked about

    def line(self, address: int) -> str | None:
        """The source line of an address of the code object, as ``"file.py:12"``."""
        line = self._lines.at(address) if self._lines else None
        return str(line) if line else None


class Kernel:
    """A kernel of a loaded module. ``info`` is what the code object says of it."""

    def __init__(self, module: Module, info: code_object.Kernel) -> None:
        self.module, self.info = module, info

    @property
    def name(self) -> str:
        return self.info.name

    def launch(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Argument] | None = None,
        *,
        kernarg: bytes | None = None,
        lds: int = 0,
        order: Order | None = None,
        threads: int | None = None,
        max_instructions: int = MAX_INSTRUCTIONS,
        timeout: float = TIMEOUT,
    ) -> Run:
        """Run the kernel and wait for it.

        grid counts workgroups, block work-items, one to three numbers each. args: one value per argument in the
        metadata: arrays and buffers (the kernel works on their memory), ints, floats, NumPy scalars, bytes for structs,
        None for a null pointer; or else kernarg: the bytes of the kernarg segment, hidden arguments not needed. lds:
        bytes of dynamic LDS. order: see `Order`. threads: by default all cores, but one where workgroups' order matters
        to the result (atomics), so that it is the same in every run. max_instructions: for each wave. timeout: seconds.

        Raises InputError for a launch that cannot be, Fault for what the kernel does wrong.
        """
        plan = self._plan(grid, block, args, kernarg, lds, order, threads, max_instructions, timeout)
        try:
            return run(plan)
        finally:
            self.module.device._live.define()

    def trace(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Argument] | None = None,
        *,
        kernarg: bytes | None = None,
        lds: int = 0,
        workgroups: Sequence[int] = (0,),
        max_instructions: int = MAX_TRACED,
    ) -> list[WorkgroupTrace]:
        """Run only these workgroups (numbers in the grid) and record what each of their waves executes.

        Arguments as in `launch`. The workgroups run for real: what they store is stored. A wave is stopped after
        ``max_instructions``; its trace then is not `complete`. Raises as `launch` does.
        """
        plan = self._plan(grid, block, args, kernarg, lds, None, 1, MAX_INSTRUCTIONS, TIMEOUT)
        return trace_workgroups(plan, workgroups, max_instructions)

    def launch_checked(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Argument] | None = None,
        *,
        kernarg: bytes | None = None,
        lds: int = 0,
        order: Order | None = None,
        max_instructions: int = MAX_INSTRUCTIONS,
        timeout: float = TIMEOUT,
        undefined: Sequence[Array] = (),
    ) -> CheckedRun:
        """Run the kernel in checked mode: the same results, and what went wrong on the way, races that this order of
        waves did not bring about included. One workgroup after the other. Arguments as in `launch`; undefined: arrays
        among them whose contents count as never written.

        Raises InputError for a launch that cannot be; what the kernel does wrong is in the result.
        """
        plan = self._plan(grid, block, args, kernarg, lds, order, 1, max_instructions, timeout)
        return run_checked(plan, undefined)

    def survey(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Argument] | None = None,
        *,
        kernarg: bytes | None = None,
        lds: int = 0,
        workgroups: int = MAX_SURVEYED,
    ) -> Survey:
        """Where each of the first ``workgroups`` workgroups loads from, found by running it up to the end of its
        first loop that accesses memory.

        Arguments and effects as in `trace`.
        """
        plan = self._plan(grid, block, args, kernarg, lds, None, 1, MAX_INSTRUCTIONS, TIMEOUT)
        return survey_workgroups(plan, workgroups)

    def _plan(
        self, grid: int | Sequence[int], block: int | Sequence[int], args: Sequence[Argument] | None,
        kernarg: bytes | None, lds: int, order: Order | None, threads: int | None, max_instructions: int,
        timeout: float,
    ) -> Plan:  # fmt: skip
        """The launch that these arguments of `launch` make."""
        module, info = self.module, self.info
        where = f"{module.where}, kernel {self.name}"
        device = module.device
        plan_dispatch = dispatching.check(info, device.chip, grid, block, lds, where)
        _check_limits(threads, max_instructions, timeout, where)
        if order is not None and not isinstance(order, Order):
            raise InputError("order", f"order is {order!r}", where=where, fix="give a pk.sim.Order")
        program = module.program(info)
        system = device.arena(SYSTEM)
        mapped = _Arrays(device.arena(TEMPORARIES))
        queue = map_bytes(dispatching.queue_descriptor(), system, "the queue")
        shape = Shape(plan_dispatch.grid, plan_dispatch.block, plan_dispatch.dynamic_lds, queue.base)
        segment = self._segment(args, kernarg, shape, mapped, where)
        kernarg_region = map_bytes(
            segment.ljust(-(-max(1, len(segment)) // 64) * 64, b"\0"), system, "the kernel arguments"
        )
        descriptor = module.load_address + info.descriptor_address
        packet_bytes = dispatching.dispatch_packet(info, plan_dispatch, descriptor, kernarg_region.base)
        packet = map_bytes(packet_bytes, system, "the dispatch packet")
        pointers = dispatching.Pointers(kernarg_region.base, packet.base, queue.base)
        sgprs, group_ids = dispatching.initial_sgprs(info, plan_dispatch, pointers, segment, _UNDEFINED_SGPR, where)
        regions = RegionTable([*device.regions(), *mapped.regions, queue, kernarg_region, packet], device.overread)
        return Plan(
            program=program, dispatch=plan_dispatch, regions=regions, sgprs=sgprs, group_id_sgprs=group_ids,
            mode=dispatching.mode_register(info), id_dimensions=info.descriptor.workitem_id_dimensions,
            vgprs=info.descriptor.vgprs, order=order or Order(),
            threads=threads or (1 if _order_matters(program) else cores()), max_instructions=max_instructions,
            timeout=timeout, load_address=module.load_address, line=module.line, where=where,
        )  # fmt: skip

    def _segment(
        self, args: Sequence[Argument] | None, kernarg: bytes | None, shape: Shape, mapped: _Arrays, where: str
    ) -> bytes:
        """The kernarg segment from either form of arguments."""
        note = self.info.metadata
        if args is not None and kernarg is not None:
            raise InputError("both-arguments", "both args and kernarg are given, one of them is needed", where=where)
        if kernarg is None:
            if note is None:
                what = "the code object does not say what the kernel takes"
                raise InputError(
                    "no-metadata", what, where=where, fix="pass kernarg=, the bytes of the kernarg segment"
                )
            return pack(note, args or (), shape, mapped.pointer, where)
        if not isinstance(kernarg, (bytes, bytearray, memoryview)):
            raise InputError("kernarg-type", f"kernarg is {type(kernarg).__name__}, expected bytes", where=where)
        segment = bytearray(kernarg)
        explicit = max((a.offset + a.size for a in note.args if not a.hidden), default=0) if note else 0
        needed = explicit if note and note.args else self.info.kernarg_size
        if len(segment) < needed:
            what = f"kernarg has {len(segment)} bytes, the kernel takes {needed}"
            raise InputError("kernarg-size", what, where=where)
        given = len(segment)
        segment.extend(bytes(max(0, self.info.kernarg_size - given)))
        if note is not None:
            fill_hidden(segment, note, shape, given)
        return bytes(segment)


def _kind(segment: Segment) -> str:
    return "code" if segment.executable else "data" if segment.writable else "constants"


_UNDEFINED_SGPR = 0xFFFFFFFF


class _Arrays:
    """The arrays of one launch, each mapped once."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.regions: list[Region] = []
        self._known: dict[tuple[object, ...], int] = {}

    def pointer(self, array: Array, name: str) -> int:
        """The device address of the array's first element."""
        key = (array.ctypes.data, array.shape, array.strides, array.dtype.str, array.flags.writeable)
        if key not in self._known:
            region, address = map_array(array, self.arena, name)
            self.regions.append(region)
            self._known[key] = address
        return self._known[key]


def _check_limits(threads: int | None, max_instructions: int, timeout: float, where: str) -> None:
    if threads is not None and (not isinstance(threads, int) or not 1 <= threads <= 1024):
        raise InputError("threads", f"threads is {threads!r}, expected 1 to 1024", where=where)
    if not isinstance(max_instructions, int) or not 1 <= max_instructions < 1 << 63:
        raise InputError(
            "max-instructions", f"max_instructions is {max_instructions!r}, expected 1 or more", where=where
        )
    if not isinstance(timeout, (int, float)) or not timeout > 0:
        raise InputError("timeout", f"timeout is {timeout!r}, expected seconds above 0", where=where)


def _order_matters(program: Program) -> bool:
    """Whether workgroups may see each other's work: atomics outside LDS."""
    return any(_reaches_others(slot.definition) for slot in program.slots if isinstance(slot, Instruction))


def _reaches_others(definition: Definition) -> bool:
    access = definition.access
    return access is not None and access.kind == "atomic" and access.space != "lds"
