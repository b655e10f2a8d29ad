"""The kernarg pointer: whether what scalar loads take for it still is it.

Kernels load their arguments through the pair of SGPRs that the descriptor puts the pointer in. Code that overwrites one
of the two alone, or both with constants, and then loads through the pair has clobbered it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.asm.code_object import Kernel
from pykittens.asm.control_flow import forward
from pykittens.check.findings import Finding
from pykittens.check.numbers import key_of
from pykittens.isa.define import Unit
from pykittens.isa.effects import mask_of
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Reg, s

if TYPE_CHECKING:
    from pykittens.check.code import KernelCode

_NAME = "kernarg_segment_ptr"


def pointer_of(kernel: Kernel) -> Reg | None:
    """The pair that the kernarg pointer starts in."""
    first = 0
    for name, count in kernel.descriptor.initial_sgprs():
        if name == _NAME:
            return s[first : first + 1]
        first += count
    return None


def pointer_needed(instruction: Instruction, pointer: Reg | None) -> int:
    """The pair as bits, if this scalar access goes through it."""
    access = instruction.definition.access
    if pointer is None or access is None or instruction.definition.unit is not Unit.SMEM or "sbase" not in access.roles:
        return 0
    base = instruction.srcs[access.roles.index("sbase")]
    return mask_of([pointer]) if base == pointer else 0


def check_kernarg(code: KernelCode) -> list[Finding]:
    """Scalar loads through what is no longer the kernarg pointer, each once."""
    pointer = pointer_of(code.kernel)
    if pointer is None:
        return []
    loads = {n for n, i in enumerate(code.instructions) if pointer_needed(i, pointer)}
    wrong = _half_overwritten(code, pointer, loads)
    for _, here in code.paths.found:
        for each in here:
            halves = [each.values.get(key_of(pointer) + dword) for dword in (0, 1)]
            if each.n in loads and all(half is not None and half.symbol is None for half in halves):
                wrong.setdefault(each.n, pointer)
    fix = "keep the pointer, or load through another pair"
    return [
        Finding(
            "kernarg-clobbered", f"it loads through the kernarg pointer {pointer}, and {register} holds something else",
            fix, code.place(n), tile=str(register), kernel=code.kernel.name,
        )
        for n, register in sorted(wrong.items())
    ]  # fmt: skip


def _half_overwritten(code: KernelCode, pointer: Reg, loads: set[int]) -> dict[int, Reg]:
    """Loads at which one half of the pointer has been overwritten on all paths and the other on none.

    What is computed from either half is still a pointer's; what is loaded through it is not.
    """
    both = mask_of([pointer])
    halves = [mask_of([pointer[dword]]) for dword in (0, 1)]
    graph = code.paths.plain

    def after(n: int, overwritten: tuple[int, int]) -> tuple[int, int]:
        written = code.writes[n] & both
        if not written:
            return overwritten
        always, ever = overwritten
        computes = code.instructions[n].definition.access is None
        if computes and code.reads[n] & both & ~ever:
            return always & ~written, ever & ~written
        return always | written, ever | written

    def through(block: int, overwritten: tuple[int, int]) -> tuple[int, int]:
        for n in range(graph[block].start, graph[block].stop):
            overwritten = after(n, overwritten)
        return overwritten

    def join(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] & b[0], a[1] | b[1]

    found: dict[int, Reg] = {}
    entries = forward(graph, (0, 0), through, join)
    for block, entry in zip(graph, entries, strict=True):
        for n in range(block.start, block.stop) if entry is not None else ():
            assert entry is not None
            for dword, half in enumerate(halves):
                if n in loads and entry[0] & half and not entry[1] & halves[1 - dword]:
                    found[n] = pointer[dword]
            entry = after(n, entry)
    return found
