"""The code of one kernel as its paths reach it: decoded from the entry along branches and calls, with its blocks.

What lies in the code and is never reached (padding, constants) is not looked at. Where a path cannot be followed, it
ends and a finding says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from pykittens.asm.code_object import CodeObject, Kernel
from pykittens.asm.control_flow import Block, falls_through, jumps
from pykittens.asm.phases import Phases
from pykittens.asm.source_lines import SourceLines
from pykittens.check.findings import Finding, Place
from pykittens.check.indexed_registers import Indexed, Meant, index_of, indexed, meant
from pykittens.check.kernarg_pointer import pointer_needed, pointer_of
from pykittens.check.lds_places import Place as LdsPlace
from pykittens.check.lds_places import Places as LdsPlaces
from pykittens.check.lds_places import places_needed
from pykittens.check.numbers import key_of
from pykittens.check.paths import Code, Paths
from pykittens.check.register_names import names_of
from pykittens.check.scalar_constants import ScalarConstants
from pykittens.check.vskip import may_be_skipped
from pykittens.isa import Instruction, Label, Reg, decode_one, text
from pykittens.isa.effects import mask_of, reads, writes
from pykittens.isa.lds_requests import uses_lds


@dataclass(frozen=True)
class KernelCode:
    """Instructions that are reached, in the order of the code from the entry on, and their blocks.

    Block 0 is empty and leads to the entry, and to the entry for chips that have preloaded arguments where there is
    one. findings: what was wrong on the way. tiles: register tiles by name, where they are known.
    """

    arch: str
    kernel: Kernel
    instructions: list[Instruction]
    graph: list[Block]
    findings: list[Finding]
    places: Places
    tiles: Sequence[NamedRegisters] = ()

    @property
    def accum_offset(self) -> int:
        return self.kernel.descriptor.accum_offset

    @cached_property
    def reads(self) -> list[int]:
        """What each instruction reads or, of registers that depend on M0, may read, as bits of `effects.mask_of`."""
        return self._named_reads if not self.meant else self._with_meant(self._named_reads, "read")

    @cached_property
    def writes(self) -> list[int]:
        """What each instruction writes or may write, likewise."""
        return self._named_writes if not self.meant else self._with_meant(self._named_writes, "written")

    @cached_property
    def meant(self) -> dict[int, Meant]:
        """What instructions read and write whose registers depend on M0, as far as M0 is known."""
        if not self._indexed:
            return {}
        indices: dict[int, frozenset[int] | None] = {}
        for n in self._index_setters:
            index = index_of(self.instructions[n])
            indices[n] = frozenset((index,)) if isinstance(index, int) else frozenset()
        for _, here in self.paths.found:
            for each in here:
                before = indices.get(each.n)
                if before is not None and (key := self._index_key(each.n)) is not None:
                    numbers = each.numbers(key)
                    indices[each.n] = None if numbers is None else before | numbers
        return self._meant(indices)

    @cached_property
    def paths(self) -> Paths:
        """The ways through the code that are left once branches on known values are decided."""
        widest = self._meant({})
        reads_, writes_ = list(self._named_reads), list(self._named_writes)
        for n, each in widest.items():
            reads_[n], writes_[n] = each.read, each.written
        pointer = pointer_of(self.kernel)
        needed = [places_needed(i, self.accum_offset) | pointer_needed(i, pointer) for i in self.instructions]
        for n in self._index_setters:
            index = index_of(self.instructions[n])
            needed[n] |= mask_of([index]) if isinstance(index, Reg) else 0
        blind = self.skipped | frozenset(self._indexed)
        return Paths(Code(self.arch, self.kernel, self.instructions, self.graph, reads_, writes_, blind, needed))

    @cached_property
    def lds_places(self) -> dict[tuple[int, int], LdsPlace | None]:
        """Where LDS instructions go, as far as the code tells: by block of ``paths.apart`` and number."""
        places = LdsPlaces(self.instructions, self.arch, self.accum_offset)
        for block, here in self.paths.found:
            for each in here:
                if uses_lds(self.instructions[each.n]):
                    places.add(block, each)
        return places.settled()

    @cached_property
    def skipped(self) -> frozenset[int]:
        """Vector instructions that may be skipped (vskip.py)."""
        return may_be_skipped(self.instructions, self.graph)

    @cached_property
    def _indexed(self) -> dict[int, tuple[Indexed, ...]]:
        return indexed(self.instructions, self.graph)

    @cached_property
    def _named_reads(self) -> list[int]:
        return self._masks(reads)

    @cached_property
    def _named_writes(self) -> list[int]:
        return self._masks(writes)

    @cached_property
    def _index_setters(self) -> frozenset[int]:
        return frozenset(w.by for ways in self._indexed.values() for w in ways if w.by is not None)

    def _index_key(self, n: int) -> int | None:
        index = index_of(self.instructions[n])
        return key_of(index) if isinstance(index, Reg) else None

    def _meant(self, indices: Mapping[int, frozenset[int] | None]) -> dict[int, Meant]:
        """``indices``: what is added, by the instruction that sets it."""
        rows = self.kernel.descriptor.vgprs
        return {
            n: meant(self._named_reads[n], self._named_writes[n], ways, indices, self.accum_offset, rows)
            for n, ways in self._indexed.items()
        }

    def _with_meant(self, masks: Sequence[int], side: str) -> list[int]:
        return [getattr(self.meant[n], side) if n in self.meant else mask for n, mask in enumerate(masks)]

    def _masks(self, registers: Callable[[Instruction], list[Reg]]) -> list[int]:
        # Instructions of one encoding share operands and modifiers, and in unrolled loops there are many of them.
        known: dict[tuple[int, int, int, str], int] = {}
        masks = []
        for i in self.instructions:
            key = id(i.definition), id(i.operands), id(i.modifiers), i.encoding
            mask = known.get(key)
            if mask is None:
                mask = known[key] = mask_of(registers(i), self.accum_offset)
            masks.append(mask)
        return masks

    def names(self, bits: int) -> str:
        """The registers of a set for people, with the tiles that lie there at some time."""
        registers = names_of(bits, self.accum_offset)
        tiles = [name for name, regs in self.tiles if mask_of(regs, self.accum_offset) & bits]
        return f"{registers} (of {' or '.join(dict.fromkeys(tiles))})" if tiles else registers

    def place(self, n: int) -> Place:
        """Where instruction ``n`` is."""
        return self.places.of(self.instructions[n])


NamedRegisters = tuple[str, Sequence[Reg]]
"""A tile's name and its registers."""


class Places:
    """Source lines and phases of one code object."""

    def __init__(self, code_object: CodeObject) -> None:
        self._code_object = code_object

    @cached_property
    def _lines(self) -> SourceLines:
        return SourceLines(self._code_object)

    @cached_property
    def _phases(self) -> Phases:
        return Phases(self._code_object)

    def of(self, instruction: Instruction) -> Place:
        line = self._lines.at(instruction.pc)
        return Place(instruction.pc, text(instruction), str(line) if line else None, self._phases.at(instruction.pc))


def follow(code_object: CodeObject, kernel: Kernel, places: Places, tiles: Sequence[NamedRegisters] = ()) -> KernelCode:
    """Decode a kernel along all its paths."""
    return replace(_Walk(code_object, kernel, places).result(), tiles=tiles)


class _Walk:
    """A walk over the code from the entry; instructions and what follows each, by address."""

    def __init__(self, code_object: CodeObject, kernel: Kernel, places: Places) -> None:
        self.arch, self.kernel, self.places = code_object.arch, kernel, places
        self.text = code_object.text
        self.found: dict[int, Instruction] = {}
        self.after: dict[int, tuple[int, ...]] = {}
        self.findings: list[Finding] = []
        self.constants = ScalarConstants(self.arch)
        self.calls: dict[int, list[int]] = {}
        self.returns: list[Instruction] = []

    def result(self) -> KernelCode:
        starts = list(dict.fromkeys((self.kernel.entry, self.kernel.preload_entry)))
        self._walk(starts)
        self._return_from_calls()
        self._find_overlaps()
        order = sorted(self.found, key=lambda pc: (pc < self.kernel.entry, pc))
        number = {pc: n for n, pc in enumerate(order)}
        instructions = [self.found[pc] for pc in order]
        after = [tuple(number[pc] for pc in self.after[address]) for address in order]
        ends = {n for n, instruction in enumerate(instructions) if jumps(instruction)}
        graph = _blocks(after, ends, [number[pc] for pc in starts if pc in number])
        return KernelCode(self.arch, self.kernel, instructions, graph, self.findings, self.places)

    def _walk(self, starts: list[int]) -> None:
        todo = list(starts)
        while todo:
            pc = todo.pop()
            came_from: Instruction | None = None
            self.constants.forget()
            while pc not in self.found:
                instruction = self._instruction(pc, came_from)
                if instruction is None:
                    break
                self.found[pc] = came_from = instruction
                following = self._following(instruction)
                self.after[pc] = tuple(following)
                self.constants.after(instruction)
                end = pc + instruction.size
                todo += [f for f in following if f != end and f not in self.found]
                if end not in following:
                    break
                pc = end
        # Paths that ended early are cut where they ended.
        for pc, targets in self.after.items():
            if any(f not in self.found for f in targets):
                self.after[pc] = tuple(f for f in targets if f in self.found)

    def _instruction(self, pc: int, came_from: Instruction | None) -> Instruction | None:
        section = next((s for s in self.text if s.address <= pc < s.address + len(s.data)), None)
        if section is None or pc % 4:
            self._outside(pc, came_from)
            return None
        instruction = decode_one(section.data, pc - section.address, self.arch, pc)
        if instruction.definition.has("illegal"):
            why = f"the word {section.data[pc - section.address :][:4][::-1].hex()} is no instruction of {self.arch}"
            self._say("illegal-instruction", why, "check what leads there", instruction, came_from)
            return None
        return instruction

    def _outside(self, pc: int, came_from: Instruction | None) -> None:
        low = min(s.address for s in self.text)
        high = max(s.address + len(s.data) for s in self.text)
        if came_from is not None and not jumps(came_from):
            why = f"execution goes on at {pc:#x}, and the code ends at {high:#x}"
            self._say("runs-past-end", why, "end it with s_endpgm", came_from)
            return
        why = f"{pc:#x} is no multiple of 4" if pc % 4 else f"{pc:#x} is outside of the code, {low:#x} to {high:#x}"
        self._say("branch-target", why, "branch to an instruction of this code object", came_from)

    def _following(self, instruction: Instruction) -> list[int]:
        """Addresses that may come next."""
        end = instruction.pc + instruction.size
        d = instruction.definition
        following = [end] if falls_through(instruction) else []
        if not jumps(instruction):
            return following
        if d.has("unsupported_in_sim") and not d.has("conditional"):
            # A fork takes both ways, one after the other, and a join or a return from a trap goes to what is saved.
            self._say_not_followed(instruction)
            return []
        label = next((o for o in instruction.operands if isinstance(o, Label)), None)
        if label is not None and label.offset is not None:
            target: int | None = end + label.offset
        else:
            target = self.constants.target(instruction)
        if target is None:
            self.returns.append(instruction)
            return following
        if d.has("call"):
            self.calls.setdefault(self.constants.saved_in(instruction), []).append(end)
        return [*following, target] if self._instruction(target, instruction) is not None else following

    def _return_from_calls(self) -> None:
        """Jumps to a pair of registers in which calls save their return address return from these calls."""
        followed: dict[int, list[int]] = {}
        while True:
            # Behind a return there may be more calls, of what has returned already too.
            waiting = [i for i in self.returns if followed.get(i.pc) != self._places_after_calls(i)]
            if not waiting:
                break
            for instruction in waiting:
                back = followed[instruction.pc] = self._places_after_calls(instruction)
                self._walk(back)
                self.after[instruction.pc] = tuple(pc for pc in back if pc in self.found)
        for instruction in self.returns:
            if not followed[instruction.pc]:
                self._say_not_followed(instruction)

    def _places_after_calls(self, instruction: Instruction) -> list[int]:
        """Where a jump to registers returns to, if it does."""
        if instruction.definition.has("call"):
            return []
        return list(self.calls.get(self.constants.source_of(instruction), []))

    def _say_not_followed(self, instruction: Instruction) -> None:
        why = "where it leads depends on values that are known only when it runs"
        self._say("not-followed", why, "check what it leads to on the virtual GPU", instruction)

    def _find_overlaps(self) -> None:
        for pc, following in pairwise(sorted(self.found)):
            instruction = self.found[pc]
            if pc + instruction.size > following:
                why = f"a path enters it at {following:#x}, {following - pc} of its {instruction.size} bytes in"
                self._say("branch-target", why, "branch to an instruction's start", instruction)

    def _say(
        self, code: str, why: str, fix: str, instruction: Instruction | None, producer: Instruction | None = None
    ) -> None:
        place = self.places.of(instruction) if instruction is not None else None
        after = self.places.of(producer) if producer is not None else None
        self.findings.append(Finding(code, why, fix, place, after, kernel=self.kernel.name))


def _blocks(after: list[tuple[int, ...]], ends: set[int], starts: list[int]) -> list[Block]:
    """Basic blocks of instructions 0, 1, …: ``after`` tells what follows each, ``ends`` which end a block anyhow."""
    leaders = {0, *starts}
    for n, following in enumerate(after):
        if following != (n + 1,) or n in ends:
            leaders.add(n + 1)
            leaders.update(following)
    bounds = sorted(n for n in leaders if n < len(after))
    number = {start: n + 1 for n, start in enumerate(bounds)}
    spans = [(0, 0), *pairwise([*bounds, len(after)])] if bounds else [(0, 0)]
    successors = [tuple(number[s] for s in starts)]
    successors += [tuple(number[f] for f in after[stop - 1]) for _, stop in spans[1:]]
    predecessors: list[list[int]] = [[] for _ in spans]
    for n, following in enumerate(successors):
        for f in following:
            predecessors[f].append(n)
    return [
        Block(start, stop, follow, tuple(before))
        for (start, stop), follow, before in zip(spans, successors, predecessors, strict=True)
    ]
