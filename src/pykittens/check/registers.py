"""Registers: read before anything wrote them, or outside of the allocation; LDS offsets beyond the allocation.

Wide operands at odd registers are no instructions to the decoder, nor to LLVM's.
"""

from __future__ import annotations

from pykittens.arch import get
from pykittens.asm.control_flow import forward
from pykittens.check.code import KernelCode
from pykittens.check.findings import Finding
from pykittens.isa.define import Definition
from pykittens.isa.effects import FIRST_FREE_BIT, FLAT_SCRATCH, MODE, PC, keeps_part, mask_of, reads
from pykittens.isa.hazard_classes import M0, selects_lane
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Reg, exec_, s, v

_SCALARS = 102
"""s0 to s101; above them are registers of their own, which every wave has."""
_SPECIAL_SGPRS = 6
"""VCC, FLAT_SCRATCH and XNACK_MASK lie at the end of the allocation (llvm)."""


def check_undefined(code: KernelCode) -> list[Finding]:
    """Registers that are read although no path to there has written them, each once where it is read first.

    A register that is written under some EXEC counts as written. What an instruction keeps of its destination is no
    read here: compilers write parts of fresh registers.
    """
    sources, graph = _sources(code), code.paths.plain

    def through(block: int, undefined: int) -> int:
        for n in range(graph[block].start, graph[block].stop):
            undefined &= ~code.writes[n]
        return undefined

    found: list[Finding] = []
    said = 0
    start = ((1 << FIRST_FREE_BIT) - 1) & ~_defined_at_start(code)
    entries = forward(graph, start, through, int.__and__)
    for block, entry in zip(graph, entries, strict=True):
        undefined = (entry or 0) & ~said
        for n in range(block.start, block.stop):
            here = sources[n] & undefined
            if here and n in code.meant and code.meant[n].may_read & ~undefined:
                # Which of them it reads is not known, and some are written.
                here &= ~code.meant[n].may_read
            if here:
                registers = code.names(here)
                why = f"{registers} is read, and 0 of the instructions on the way from the entry write it"
                fix = "write it first, or let the kernel descriptor ask for it"
                found.append(
                    Finding("undefined-register", why, fix, code.place(n), tile=registers, kernel=code.kernel.name)
                )
                said |= here
                undefined &= ~said
            undefined &= ~code.writes[n]
    return found


def _sources(code: KernelCode) -> list[int]:
    known: dict[tuple[int, int, int, str], int] = {}
    masks = []
    for i, all_read in zip(code.instructions, code.reads, strict=True):
        mask = all_read & ~M0 if _updates_m0(i.definition) else all_read
        if keeps_part(i) or selects_lane(i.definition, i.encoding):
            key = id(i.definition), id(i.operands), id(i.modifiers), i.encoding
            if key not in known:
                known[key] = mask_of([r for r in reads(i) if r in i.dsts and r not in i.srcs], code.accum_offset)
            mask &= ~known[key]
        masks.append(mask)
    return masks


def _updates_m0(definition: Definition) -> bool:
    """Whether it writes some bits of M0 and keeps the others."""
    return all(any(o.implicit == "m0" for o in side) for side in (definition.dsts, definition.srcs))


def _defined_at_start(code: KernelCode) -> int:
    defined = [v[0], exec_, MODE, PC, FLAT_SCRATCH, s[104:105], s[108:123]]
    first = 0
    for name, count in code.kernel.descriptor.initial_sgprs():
        if name != "unused":
            defined.append(Reg("s", first, count))
        first += count
    return mask_of(defined, code.accum_offset)


def check_allocation(code: KernelCode) -> list[Finding]:
    """Operands outside of what the kernel descriptor allocates, and LDS offsets beyond the LDS."""
    return _Allocation(code).findings()


class _Allocation:
    """One finding for each kind of mistake: the worst place, and how many others there are."""

    def __init__(self, code: KernelCode) -> None:
        self.code = code
        d = code.kernel.descriptor
        self.vgprs, self.accum_offset, self.sgprs = d.vgprs, d.accum_offset, min(d.sgprs - _SPECIAL_SGPRS, _SCALARS)
        self.worst: dict[str, tuple[int, int, Reg]] = {}
        self.times: dict[str, int] = {}

    def findings(self) -> list[Finding]:
        judged: dict[tuple[int, int], list[tuple[str, int, Reg]]] = {}
        for n, instruction in enumerate(self.code.instructions):
            key = id(instruction.definition), id(instruction.operands)
            if key not in judged:
                judged[key] = [m for o in instruction.operands if isinstance(o, Reg) for m in self._mistakes(o)]
            for name, badness, reg in judged[key]:
                self.times[name] = self.times.get(name, 0) + 1
                if name not in self.worst or badness > self.worst[name][0]:
                    self.worst[name] = badness, n, reg
        return [self._finding(name) for name in self.worst] + _lds_offsets(self.code)

    def _mistakes(self, reg: Reg) -> list[tuple[str, int, Reg]]:
        found = []
        row = reg.last + (self.accum_offset if reg.file == "a" else 0)
        if reg.file in ("v", "a"):
            if row >= self.vgprs:
                found.append((f"range {reg.file}", row, reg))
            elif reg.file == "v" and row >= self.accum_offset:
                found.append(("alias", row, reg))
        elif reg.file == "s" and self.sgprs <= reg.last < _SCALARS:
            found.append(("range s", reg.last, reg))
        return found

    def _finding(self, name: str) -> Finding:
        _, n, reg = self.worst[name]
        if name == "alias":
            why = f"{reg} lies at or beyond accum_offset {self.accum_offset}, where a{reg.last - self.accum_offset} is"
            return self._say("agpr-alias", why, "name it as an AGPR, or raise accum_offset", n, reg, name)
        if reg.file == "s":
            why = f"{reg} is used, and the kernel descriptor allocates s0 to s{self.sgprs - 1}"
        else:
            row = reg.last + (self.accum_offset if reg.file == "a" else 0)
            why = f"{reg} is register {row} of a lane, and the kernel descriptor allocates {self.vgprs}"
        return self._say("register-range", why, "raise the count in the kernel descriptor", n, reg, name)

    def _say(self, code: str, why: str, fix: str, n: int, reg: Reg, name: str) -> Finding:
        kernel = self.code.kernel.name
        return Finding(code, why, fix, self.code.place(n), tile=str(reg), kernel=kernel, times=self.times[name])


def _lds_offsets(code: KernelCode) -> list[Finding]:
    """LDS addresses are unsigned, so that none lies below the instruction's own offset."""
    chip, own = get(code.arch).lds_bytes, code.kernel.lds_bytes
    limit = own or chip
    told: dict[int, int] = {}
    for (_, n), place in code.lds_places.items():
        if place is not None and place.symbol is None:
            told[n] = max(place.last, told.get(n, place.last))
    found = []
    for n, instruction in enumerate(code.instructions):
        last, what = _last_lds_byte(instruction), "its offset alone leads"
        if (last is None or last < limit) and n in told:
            last, what = told[n], "it leads"
        if last is not None and last >= limit:
            why = f"{what} to byte {last}, and the workgroup has {limit} bytes of LDS"
            fix = "lower the address, or allocate more LDS (memory given only at launch counts as none here)"
            found.append(Finding("lds-offset", why, fix, code.place(n), kernel=code.kernel.name))
    return found


def _last_lds_byte(instruction: Instruction) -> int | None:
    access = instruction.definition.access
    if access is None or access.space != "lds" or access.kind == "permute":
        return None
    m = instruction.modifiers
    offsets = [m.get(name, 0) for name in ("offset", "offset0", "offset1")]
    size, step = access.bytes, 1
    if access.stride:
        size, step = access.bits // 8, access.stride * (access.bits // 8)
    return max(o * (step if access.stride else 1) for o in offsets if isinstance(o, int)) + size - 1
