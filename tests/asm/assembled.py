"""Finished programs as code objects, and what is in them after the assembler."""

from __future__ import annotations

from pykittens.asm.code_object import CodeObject, read
from pykittens.asm.finish import finish
from pykittens.asm.kernel_text import render_kernel
from pykittens.asm.program import Program
from pykittens.asm.toolchain import assemble
from pykittens.isa import decode
from pykittens.isa.instruction import Instruction


def code_object(program: Program) -> CodeObject:
    """The program, finished, as a kernel that may use all registers."""
    lines, files = finish(program).assembly()
    text = render_kernel(
        "k", program.arch, lines, args=(), kernarg_size=0, vgprs=256, agprs=256, sgprs=100, lds_bytes=65536,
        max_workgroup_size=256, files=files,
    )  # fmt: skip
    return read(assemble(text, program.arch))


def instructions(program: Program) -> list[Instruction]:
    """What the assembler made of the finished program, decoded."""
    found = code_object(program)
    kernel = found.kernel()
    return decode(found.code(kernel), program.arch, kernel.entry)
