"""Instruction to text to LLVM's bytes and back: every definition, every encoding, both chips."""

from __future__ import annotations

import pytest
from tests.isa.llvm_oracle import assemble_lines
from tests.isa.samples import samples

from pykittens.isa import DEFINITIONS, Instruction, decode, text
from pykittens.isa.define import ARCHS

FORMATS = sorted({definition.format for definition in DEFINITIONS.values()})


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("format", FORMATS)
def test_llvm_assembles_our_text_to_what_we_decode(format: str, arch: str) -> None:
    given = [
        instruction
        for definition in DEFINITIONS.values()
        if definition.format == format and arch in definition.archs
        for instruction in samples(definition, arch)
    ]
    lines = [text(instruction) for instruction in given]
    wrong = []
    for instruction, line, code in zip(given, lines, assemble_lines(lines, arch), strict=True):
        if isinstance(code, str):
            wrong.append(f"{line}: {code}")
            continue
        found = decode(code, arch)
        if len(found) != 1 or _facts(found[0]) != _facts(instruction) or text(found[0]) != line:
            wrong.append(f"{line}: {code.hex()} is read as {[text(i) for i in found]}")
    assert not wrong, f"{len(wrong)} of {len(lines)}: " + "\n".join(wrong[:40])


def _facts(instruction: Instruction) -> tuple[object, ...]:
    """All that says what an instruction does."""
    return (
        instruction.name,
        instruction.operands,
        dict(instruction.modifiers),
        instruction.encoding,
        instruction.size,
    )
