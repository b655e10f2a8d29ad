"""Faults in words: what stopped a launch, where, and the nearest thing that the program may have meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pykittens.errors import Fault
from pykittens.isa.instruction import Instruction
from pykittens.isa.text import text
from pykittens.sim.bind import NONE
from pykittens.sim.memory import RegionTable, distance
from pykittens.sim.native_types import Code, FaultRecord, Group, WaveHeader
from pykittens.sim.program import EndOfCode, Join, Program

_BARRIER, _ENDED = 2, 1
_PURPOSES = ("load", "store", "atomic")

Line = Callable[[int], str | None]
"""Gives the source line of a byte address of the code object, if it is known."""


@dataclass(frozen=True)
class Scene:
    """What a message is made from. ``load_address`` is taken off code addresses, so that they match a disassembly."""

    program: Program
    regions: RegionTable
    load_address: int
    line: Line
    where: str
    lds_bytes: int
    private_bytes: int
    max_instructions: int


def fault_of(scene: Scene, record: FaultRecord, group: Group, waves: list[WaveHeader]) -> Fault:
    """The error for a workgroup that stopped by itself."""
    return _fault(scene, Code(record.code), record, group, waves)


def timeout(scene: Scene, seconds: float, group: Group, waves: list[WaveHeader]) -> Fault:
    """The error for a launch that took too long."""
    what = f"the launch took more than {seconds:g} s; in workgroup {_name(group)} {_places(scene, waves)}"
    return Fault("timeout", what, where=scene.where, fix="raise timeout= if the work is that long")


def _name(group: Group) -> str:
    return f"({', '.join(map(str, group.coordinate))})"


def _fault(scene: Scene, code: Code, record: FaultRecord, group: Group, waves: list[WaveHeader]) -> Fault:
    pc, instruction = _place(scene, record.op)
    lane = None if record.lane == NONE else record.lane
    name, what, fix = _words(scene, code, record, waves)
    about_memory = code in (Code.WILD, Code.READ_ONLY_MEMORY, Code.MISALIGNED)
    return Fault(
        name,
        f"{what}, in workgroup {_name(group)}",
        where=scene.line(pc) or scene.where,
        fix=fix,
        pc=pc,
        instruction=instruction,
        wave=record.wave,
        lane=lane,
        address=record.address if about_memory else None,
    )


def _words(scene: Scene, code: Code, record: FaultRecord, waves: list[WaveHeader]) -> tuple[str, str, str]:
    """Code name, what is wrong, what to do."""
    access = f"{_PURPOSES[record.purpose]} of {record.bytes} bytes"
    region = scene.regions.nearest(record.address)
    outside = region is None or distance(region, record.address) != 0 or not region.read_only
    if code == Code.WILD or (code == Code.READ_ONLY_MEMORY and outside):  # stores to where only loads may stray
        return "wild-address", f"{access} outside all buffers{_nearest(scene.regions, record)}", ""
    if code == Code.READ_ONLY_MEMORY:
        fix = "pass an array that is writable if the kernel should change it"
        return "read-only", f"{access} to {region.name if region else 'memory'}, which is read-only", fix
    if code == Code.MISALIGNED:
        return "misaligned", f"{access} at {record.address:#x}, which is no multiple of {record.bytes}", ""
    if code == Code.PRIVATE_RANGE:
        offset = record.address - (1 << 64) if record.address >> 63 else record.address
        return "scratch-range", f"{access} at offset {offset} of {scene.private_bytes} bytes of scratch a lane", ""
    if code == Code.SHARED_RANGE:
        return "lds-range", f"{access} at offset {record.address} of {scene.lds_bytes} bytes of LDS", ""
    if code == Code.BUDGET:
        what = f"a wave has executed {scene.max_instructions} instructions, the most allowed; {_places(scene, waves)}"
        return "instruction-budget", what, "is this loop endless? raise max_instructions= if not"
    if code == Code.BAD_JUMP:
        target = record.address - scene.load_address
        return "bad-jump", f"the wave jumps to {target:#x} (address {record.address:#x}), where no code is", ""
    if code == Code.ILLEGAL:
        return "illegal-instruction", _illegal(scene, record.op), ""
    return {
        Code.TRAP: ("trap", f"the program stops itself by trap {record.address}", ""),
        Code.END_OF_CODE: ("end-of-code", "execution runs past the last byte of the code", ""),
        Code.HALT: ("halt", "the wave halts itself, and nothing could ever wake it", ""),
        Code.PARTIAL_EXEC: ("partial-exec", "a transposing LDS read needs all 64 lanes active", ""),
        Code.NOT_SIMULATED: ("not-simulated", "this instruction needs parts of a GPU that are not simulated", ""),
    }[code]


def _nearest(regions: RegionTable, record: FaultRecord) -> str:
    region = regions.nearest(record.address)
    if region is None:
        return ""
    end, last = region.base + region.size, record.address + record.bytes
    if distance(region, record.address) == 0:
        return f": it ends {last - end} bytes behind {region.name} of {region.size} bytes"
    if record.address >= end:
        return f": {record.address - end} bytes behind the end of {region.name} of {region.size} bytes"
    return f": {region.base - record.address} bytes before {region.name} of {region.size} bytes"


def _place(scene: Scene, op: int) -> tuple[int, str]:
    """Byte address, as in the file, and text of an operation."""
    slot = scene.program.slot(op)
    if isinstance(slot, Join):
        return slot.target - scene.load_address, ""
    if isinstance(slot, EndOfCode):
        return slot.pc - scene.load_address, ""
    return slot.pc - scene.load_address, text(slot)


def _illegal(scene: Scene, op: int) -> str:
    slot = scene.program.slot(op)
    problem = scene.program.problem(op)
    if not isinstance(slot, Instruction):
        return problem
    data = scene.program.code[slot.pc - scene.program.base :][: slot.size]
    return f"bytes {data.hex(' ')}: {problem}"


def _places(scene: Scene, waves: list[WaveHeader]) -> str:
    """Where every wave of a workgroup is; waves at one place are named together."""
    found: dict[str, list[int]] = {}
    for number, wave in enumerate(waves):
        if wave.status == _ENDED:
            place = "ended"
        elif wave.status == _BARRIER:
            place = f"wait at the barrier at pc {_place(scene, wave.barrier)[0]:#x}"
        else:
            place = f"run at pc {_place(scene, min(wave.pc, len(scene.program.slots) - 1))[0]:#x}"
        found.setdefault(place, []).append(number)
    return ", ".join(f"wave{'s' * (len(n) > 1)} {', '.join(map(str, n))} {place}" for place, n in found.items())
