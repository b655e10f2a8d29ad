"""LLVM's assembler as an oracle: lines of assembly to the bytes of each, by ziglang's clang."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from elftools.elf.elffile import ELFFile

from pykittens.asm.toolchain import find_toolchain

_ERROR = re.compile(r"^lines\.s:(\d+):\d+: error: (.*)$", re.MULTILINE)


def assemble_lines(lines: Sequence[str], arch: str) -> list[bytes | str]:
    """The bytes of each line, or what the assembler says against it; one call for all (two if any is wrong)."""
    code, errors = _assemble(lines, arch)
    if errors:
        kept = ["" if i in errors else line for i, line in enumerate(lines)]
        code, more = _assemble(kept, arch)
        assert not more, more
    return [errors.get(i, piece) for i, piece in enumerate(code)]


def _assemble(lines: Sequence[str], arch: str) -> tuple[list[bytes], dict[int, str]]:
    """Line i of the text is line i of the file but one, so that error messages name it."""
    text = [".text"]
    text += [f".L{i}: {line}" for i, line in enumerate(lines)]
    text += [f".L{len(lines)}:", '.section .offsets,"",@progbits']
    text += [f".long .L{i}-.L0" for i in range(len(lines) + 1)]
    with TemporaryDirectory(prefix="pykittens-") as name:
        directory = Path(name)
        (directory / "lines.s").write_text("\n".join(text) + "\n")
        command = [*find_toolchain().clang, "--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-ferror-limit=0"]
        command += ["-c", "lines.s", "-o", "lines.o"]
        run = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600)
        errors = {int(number) - 2: message for number, message in _ERROR.findall(run.stderr)}
        if errors:
            return [b""] * len(lines), errors
        assert run.returncode == 0, run.stderr
        elf = ELFFile(BytesIO((directory / "lines.o").read_bytes()))
        code = elf.get_section_by_name(".text").data()
        raw = elf.get_section_by_name(".offsets").data()
    offsets = struct.unpack(f"<{len(raw) // 4}I", raw)
    return [code[start:end] for start, end in pairwise(offsets)], {}
