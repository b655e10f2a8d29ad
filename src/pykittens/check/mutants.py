"""Mutants of machine code: each wait, barrier and ``s_nop`` taken out, loosened or shortened, one at a time.

They measure the checks: a mutant has to be found, or proved to be as good as the original. All of them are made in the
bytes and keep the layout: what is taken out becomes ``s_nop 0``, which as one instruction takes the one wait state
that the wait or barrier took. An ``s_nop`` that is taken out moves to the end of its block, behind what it held up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pykittens.asm.code_object import CodeObject
from pykittens.asm.control_flow import jumps
from pykittens.asm.pending import CAPS
from pykittens.check.code import KernelCode
from pykittens.isa import text
from pykittens.isa.instruction import Instruction

_NOP_0 = 0xBF800000
"""``s_nop 0``."""
_COUNTS = {"vmcnt": (0xC00F, lambda n: n & 15 | n >> 4 << 14), "lgkmcnt": (0x0F00, lambda n: n << 8)}
"""The bits of each counter in an ``s_waitcnt``, and how a value is put into them (ISA manual, SOPP)."""


@dataclass(frozen=True)
class Mutant:
    """One change. kind: ``remove-wait loosen-wait remove-barrier remove-nop lower-nop``.

    pc: the instruction in question. change: in words. address, code: the bytes that are different. counts: of waits,
    the counters that are looser than before and their new values.
    """

    kind: str
    pc: int
    change: str
    address: int
    code: bytes = field(repr=False)
    counts: dict[str, int] = field(default_factory=dict, hash=False)

    def applied(self, code_object: CodeObject) -> CodeObject:
        """The code object with this change in its code and in the file itself."""
        (n,) = [n for n, s in enumerate(code_object.text) if s.address <= self.address < s.address + len(s.data)]
        section, data = code_object.text[n], code_object.data
        start = self.address - section.address
        # Code this long stands once in a file, and where is told to nobody but the loader.
        place = data.index(section.data) + start
        patched = replace(section, data=_patched(section.data, start, self.code))
        sections = (*code_object.text[:n], patched, *code_object.text[n + 1 :])
        return replace(code_object, text=sections, data=_patched(data, place, self.code))


def _patched(data: bytes, start: int, code: bytes) -> bytes:
    return data[:start] + code + data[start + len(code) :]


def mutants(code: KernelCode, code_object: CodeObject) -> Iterator[Mutant]:
    """All mutants of a kernel, in the order of its code."""
    stop = {n: block.stop for block in code.graph for n in range(block.start, block.stop)}
    for n, instruction in enumerate(code.instructions):
        word = int.from_bytes(_bytes(code_object, instruction.pc, 4), "little")
        d = instruction.definition
        if d.has("waitcnt"):
            yield from _of_wait(instruction, word)
        elif d.has("barrier"):
            yield _replaced("remove-barrier", instruction, _NOP_0, "left out")
        elif d.has("nop"):
            count = word & 15
            if count:
                yield _replaced("lower-nop", instruction, word - 1, f"lowered to {count - 1}")
            moved = _moved_nop(code, code_object, n, stop[n])
            if moved is not None:
                yield moved


def _of_wait(instruction: Instruction, word: int) -> Iterator[Mutant]:
    counts = {name: n for name in CAPS if isinstance(n := instruction.modifiers.get(name), int)}
    if counts:
        yield _replaced("remove-wait", instruction, _NOP_0, "left out", {name: CAPS[name] for name in counts})
    for name, count in counts.items():
        bits, put = _COUNTS[name]
        looser = word & ~bits | put(count + 1)
        yield _replaced("loosen-wait", instruction, looser, f"{name}({count + 1})", {name: count + 1})


def _replaced(
    kind: str, instruction: Instruction, word: int, change: str, counts: dict[str, int] | None = None
) -> Mutant:
    words = f"{text(instruction)}: {change}"
    return Mutant(kind, instruction.pc, words, instruction.pc, word.to_bytes(4, "little"), counts or {})


def _moved_nop(code: KernelCode, code_object: CodeObject, n: int, stop: int) -> Mutant | None:
    """The nop behind the rest of its block, or behind the block's branch; None where nothing follows it there."""
    last = stop - 1
    end = last if jumps(code.instructions[last]) or code.instructions[last].definition.has("ends") else stop
    following = code.instructions[n + 1 : end]
    instruction = code.instructions[n]
    if any(i.definition.has("getpc") or i.definition.has("call") for i in following):
        return None
    rest = b"".join(_bytes(code_object, i.pc, i.size) for i in following)
    nop = _bytes(code_object, instruction.pc, 4)
    change = "left out"
    if not following:
        if end == stop or not jumps(code.instructions[last]) or code.instructions[last].definition.has("indirect"):
            return None
        # The branch comes first and has to reach one dword further; who falls through it meets the nop after all.
        branch = int.from_bytes(_bytes(code_object, code.instructions[last].pc, 4), "little")
        rest = (branch & ~0xFFFF | (branch + 1) & 0xFFFF).to_bytes(4, "little")
        change = "left out where the branch is taken"
    return Mutant("remove-nop", instruction.pc, f"{text(instruction)}: {change}", instruction.pc, rest + nop)


def _bytes(code_object: CodeObject, address: int, size: int) -> bytes:
    section = next(s for s in code_object.text if s.address <= address < s.address + len(s.data))
    return section.data[address - section.address :][:size]
