"""Decodes every code object below a directory and compares each instruction's text with llvm-objdump's.

    python bench/foreign_decode.py DIRECTORY [--objdump llvm-objdump-22] [--limit N]

Files with the same code are compared once. Prints counts and the first differences, and writes them to
out/foreign_decode.json. Exit status 0: no differences, or skipped with a reason (no objdump, no files); 1: differences.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from elftools.elf.elffile import ELFFile

from pykittens.isa import decode, text

_MACHINES = {0x4C: "gfx942", 0x4F: "gfx950"}
"""The low byte of the ELF header's flags to chip (llvm, EF_AMDGPU_MACH)."""
_LINE = re.compile(r"^\t(.*?)\s*// ([0-9A-F]{12}):")
_OBJDUMPS = ("llvm-objdump-22", "llvm-objdump")
_KEPT_DIFFERENCES = 200


@dataclass
class _Code:
    """The executable part of a code object: chip, bytes, address, and names of addresses in it."""

    arch: str
    code: bytes
    base: int
    labels: dict[int, str]


@dataclass
class _Tally:
    files: int = 0
    distinct: int = 0
    instructions: Counter[str] = field(default_factory=Counter)
    illegal: int = 0
    seconds: float = 0.0
    differences: list[dict[str, str]] = field(default_factory=list)
    different: int = 0


def _read(path: Path) -> _Code | None:
    elf = ELFFile(BytesIO(path.read_bytes()))
    section = elf.get_section_by_name(".text")
    arch = _MACHINES.get(elf.header.e_flags & 0xFF)
    if section is None or arch is None:
        return None
    symbols = elf.get_section_by_name(".symtab")
    labels = {} if symbols is None else {s.entry.st_value: s.name for s in symbols.iter_symbols() if s.name}
    return _Code(arch, section.data(), section["sh_addr"], labels)


def _objdump_lines(objdump: str, path: Path, arch: str) -> Iterator[tuple[int, str]]:
    """Address and text of each instruction, as they come."""
    command = [objdump, "-d", f"--mcpu={arch}", "--section=.text", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            match = _LINE.match(line)
            if match:
                yield int(match[2], 16), match[1]


def _compare(path: Path, code: _Code, objdump: str, tally: _Tally) -> None:
    start = time.perf_counter()
    instructions = decode(code.code, code.arch, code.base)
    tally.seconds += time.perf_counter() - start
    tally.instructions[code.arch] += len(instructions)
    # Equal bytes have equal text, but for branches, whose labels depend on where they stand.
    texts: dict[bytes, str] = {}
    ours: dict[int, str] = {}
    for instruction in instructions:
        at = instruction.pc - code.base
        key = code.code[at : at + instruction.size]
        if instruction.definition.has("branch"):
            ours[instruction.pc] = text(instruction, code.labels)
            continue
        if key not in texts:
            texts[key] = text(instruction, code.labels)
        ours[instruction.pc] = texts[key]
        tally.illegal += instruction.definition.has("illegal")
    seen = 0
    for pc, theirs in _objdump_lines(objdump, path, code.arch):
        seen += 1
        if ours.get(pc) != theirs:
            _differ(tally, path, pc, ours.get(pc, "(no instruction starts here)"), theirs)
    if seen != len(instructions):
        _differ(tally, path, code.base, f"{len(instructions)} instructions", f"{seen} instructions")


def _differ(tally: _Tally, path: Path, pc: int, ours: str, theirs: str) -> None:
    tally.different += 1
    if len(tally.differences) < _KEPT_DIFFERENCES:
        tally.differences.append({"file": path.name, "pc": f"{pc:#x}", "pykittens": ours, "llvm": theirs})


def _find_objdump(wish: str | None) -> str | None:
    return next((found for name in ([wish] if wish else _OBJDUMPS) if (found := shutil.which(name))), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--objdump", help="default: the first of " + ", ".join(_OBJDUMPS) + " that is there")
    parser.add_argument("--limit", type=int, help="compare so many distinct files at most")
    arguments = parser.parse_args()
    objdump = _find_objdump(arguments.objdump)
    paths = sorted(arguments.directory.rglob("*.co"))
    if objdump is None or not paths:
        print(
            "skipped: " + ("no llvm-objdump on this machine" if objdump is None else f"no .co in {arguments.directory}")
        )
        return 0
    tally = _Tally()
    seen: set[tuple[str, bytes]] = set()
    for path in paths:
        code = _read(path)
        if code is None:
            continue
        tally.files += 1
        key = (code.arch, hashlib.sha256(code.code).digest())
        if key in seen or (arguments.limit is not None and len(seen) >= arguments.limit):
            continue
        seen.add(key)
        tally.distinct = len(seen)
        _compare(path, code, objdump, tally)
        if sys.stdout.isatty():
            print(f"\r{tally.distinct} distinct of {tally.files} files", end="", flush=True)
    return _report(tally, objdump)


def _report(tally: _Tally, objdump: str) -> int:
    count = sum(tally.instructions.values())
    per_instruction = 1e6 * tally.seconds / max(count, 1)
    print(
        f"\n{tally.files} files, {tally.distinct} with distinct code, {count} instructions {dict(tally.instructions)}"
    )
    print(f"{tally.illegal} not decoded, {tally.different} texts differ from {Path(objdump).name}'s")
    print(f"decoding took {tally.seconds:.1f} s, {per_instruction:.2f} us an instruction (measured)")
    for difference in tally.differences[:20]:
        print("  {file} {pc}: {pykittens} | {llvm}".format(**difference))
    out = Path("out")
    out.mkdir(exist_ok=True)
    record = {
        "files": tally.files, "distinct": tally.distinct, "instructions": dict(tally.instructions),
        "not_decoded": tally.illegal, "different": tally.different, "seconds": tally.seconds,
        "us_per_instruction": per_instruction, "differences": tally.differences,
    }  # fmt: skip
    (out / "foreign_decode.json").write_text(json.dumps(record, indent=1) + "\n")
    return 1 if tally.different else 0


if __name__ == "__main__":
    sys.exit(main())
