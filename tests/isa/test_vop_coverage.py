"""Every vector ALU opcode that LLVM disassembles for a chip is defined there under LLVM's name, and no other."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess

import pytest

from pykittens.isa import DEFINITIONS
from pykittens.isa.define import ARCHS

TOOL = shutil.which("llvm-mc-22") or shutil.which("llvm-mc")
_V4, _V6, _V8, _V10 = 4, 256 + 6, 256 + 8, 256 + 10
OPCODES = {"VOP1": range(256), "VOP2": range(62), "VOPC": range(256), "VOP3": range(448, 896), "VOP3P": range(128)}

MATRIX = ("v_mfma", "v_smfmac")
WITH_LITERAL = (23, 24, 36, 37)
"""VOP2 opcodes of two words."""


def candidates(format: str, opcode: int) -> list[list[int]]:
    """Words of an opcode with as many operands as it may take; LLVM rejects what does not fit."""
    if format == "VOP1":
        short = 0x7E000000 | opcode << 9
        return [[short | _V4 << 17 | _V6], [short]]
    if format == "VOP2":
        short = opcode << 25 | _V4 << 17 | 8 << 9 | _V6
        return [[short, 0x3C003C00]] if opcode in WITH_LITERAL else [[short]]
    if format == "VOPC":
        return [[0x7C000000 | opcode << 17 | 8 << 9 | _V6]]
    sources = [_V6 | _V8 << 9 | _V10 << 18, _V6 | _V8 << 9, _V6, _V6 | 8 << 9, 6 | 8 << 9]
    if format == "VOP3":
        return [[0xD0000000 | opcode << 16 | _V4, word] for word in sources]
    return [[0xD3804000 | opcode << 16 | _V4, word | 3 << 27] for word in sources]


def llvm_names(arch: str) -> dict[tuple[str, int], str]:
    """Names by format and opcode, of what LLVM disassembles without objection."""
    keys, groups = [], []
    for format, opcodes in OPCODES.items():
        for opcode in opcodes:
            for words in candidates(format, opcode):
                keys.append((format, opcode))
                groups.append("[" + ",".join(f"0x{b:02x}" for b in struct.pack(f"<{len(words)}I", *words)) + "]")
    command = [str(TOOL), "--disassemble", "-triple=amdgcn", f"-mcpu={arch}"]
    result = subprocess.run(command, input="\n".join(groups) + "\n", capture_output=True, text=True, timeout=120)
    rejected = {int(line) - 1 for line in re.findall(r"^<stdin>:(\d+):.*invalid", result.stderr, re.MULTILINE)}
    lines = [line.split()[0] for line in result.stdout.splitlines() if line.startswith("\tv_")]
    kept = [key for i, key in enumerate(keys) if i not in rejected]
    assert len(kept) == len(lines)
    return {key: re.sub(r"_e(32|64)$", "", name) for key, name in zip(kept, lines, strict=True)}


@pytest.mark.foreign
@pytest.mark.skipif(TOOL is None, reason="llvm-mc is not installed")
@pytest.mark.parametrize("arch", ARCHS)
def test_llvm_and_the_definitions_know_the_same_opcodes(arch: str) -> None:
    theirs = {key: name for key, name in llvm_names(arch).items() if not name.startswith(MATRIX)}
    definitions = [d for d in DEFINITIONS.values() if arch in d.archs and not d.name.startswith(MATRIX)]
    assert theirs == {(d.format, d.opcode): d.name for d in definitions if d.format in OPCODES}
