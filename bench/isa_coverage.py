"""Lists the mnemonics that LLVM knows for gfx942 and gfx950 and that pykittens lacks, or has beyond them.

    python bench/isa_coverage.py [--objdump llvm-objdump-22]

LLVM's list comes from its disassembler: every opcode of every encoding, with many settings of the other fields (unused
ones must be 0, and which are unused differs). Mnemonics are taken with their encoding suffix, so that a missing e64,
SDWA or DPP form shows too. Writes out/isa_coverage.json; exit status 1 if anything is missing.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from pykittens.isa import decode_one, text
from pykittens.isa.define import ARCHS
from pykittens.isa.formats import (
    DPP,
    DPP_WORD,
    FORMATS,
    LOAD_SCALE_OPCODE,
    MFMA,
    SDWA_WORD,
    SEGMENTS,
    VOP3_BASE,
    Format,
)

_TRIES = 96
"""Settings of the other fields that are tried for each opcode."""
_NOP = b"\x00\x00\x80\xbf"
_LINE = re.compile(r"^\t(\S+)(.*?)\s*// ([0-9A-F]{12}):")
_OBJDUMPS = ("llvm-objdump-22", "llvm-objdump")
_SCALED_DWORDS = 4


def _settings(rnd: Random, fmt: Format, opcode: int) -> int:
    """An encoding of this opcode, its other fields drawn from values that are often legal, many of them 0."""
    low, _ = fmt.fields["op"]
    bits = fmt.prefix << (32 - fmt.prefix_bits) | opcode << low
    density = rnd.choice((0.0, 0.2, 0.6))
    vectors = rnd.random() < 0.5
    for name, (at, width) in fmt.fields.items():
        if name == "op":
            continue
        choices = (2, 4, 128, 258) if width == 9 else (2, 4) if width > 3 else (1,)
        value = rnd.choice(choices) if rnd.random() < density else 0
        if width == 9 and vectors and rnd.random() < 0.8:
            value = 256 + 2 * rnd.randrange(4)
        elif name == "seg":
            value = rnd.randrange(len(SEGMENTS))
        elif name == "saddr" and rnd.random() < 0.5:
            value = 0x7F
        bits |= (value & ((1 << width) - 1)) << at
    return bits


def _candidates(rnd: Random) -> Iterator[bytes]:
    for fmt in FORMATS.values():
        width = fmt.fields["op"][1]
        for opcode in range(1 << width):
            for _ in range(_TRIES):
                bits = _settings(rnd, fmt, opcode)
                yield bits.to_bytes(fmt.size, "little")
                if fmt.name in VOP3_BASE:
                    yield from _with_second_dword(bits)
    for opcode in range(1 << MFMA.fields["op"][1]):
        scales = _settings(Random(0), FORMATS["VOP3P"], LOAD_SCALE_OPCODE) & 0xFFFFFFFF | (258 | 260 << 9) << 32
        low, _ = MFMA.fields["op"]
        # Registers v0, v[16:..], v[32:..], v0 and the bit that says that scales stand before.
        main = MFMA.prefix << (32 - MFMA.prefix_bits) | opcode << low | 1 << 11 | (272 | 288 << 9 | 256 << 18) << 32
        yield (scales & ~0xFFFF | main << 64).to_bytes(4 * _SCALED_DWORDS, "little")


def _with_second_dword(bits: int) -> Iterator[bytes]:
    # Whole dwords; of 64-bit DPP only the broadcast within a row exists.
    whole = [6 | 6 << 8 | 6 << 16, 6 | 6 << 8 | 6 << 16 | 6 << 24, 6 | 6 << 16 | 6 << 24]
    low = DPP.fields["dpp_ctrl"][0]
    broadcast = 6 | 0x150 << low | 0xFF << 24
    for source, seconds in ((SDWA_WORD, whole), (DPP_WORD, [broadcast])):
        for second in seconds:
            yield ((bits & ~511 & 0xFFFFFFFF) | source | second << 32).to_bytes(8, "little")


def _llvm_mnemonics(objdump: str, arch: str, candidates: list[bytes]) -> tuple[set[str], list[bytes]]:
    """The mnemonics that LLVM prints, and the candidates that it reads as one instruction."""
    padding = _NOP * 4
    places, code = [], bytearray()
    for candidate in candidates:
        places.append(len(code))
        code += candidate + padding
    with TemporaryDirectory(prefix="pykittens-") as name:
        directory = Path(name)
        (directory / "code.bin").write_bytes(code)
        (directory / "code.s").write_text('.incbin "code.bin"\n')
        command = [sys.executable, "-m", "ziglang", "clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={arch}"]
        subprocess.run([*command, "-c", "code.s", "-o", "code.o"], cwd=directory, check=True, timeout=300)
        command = [objdump, "-d", f"--mcpu={arch}", "code.o"]
        run = subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True, timeout=600)
    printed: dict[int, str] = {}
    for line in run.stdout.splitlines():
        match = _LINE.match(line)
        # What LLVM marks as invalid in a comment is no instruction.
        if match and match[1] != ".long" and "/*" not in match[2]:
            printed[int(match[3], 16)] = match[1]
    known = [candidate for place, candidate in zip(places, candidates, strict=True) if place in printed]
    return {printed[place] for place in places if place in printed}, known


def _our_mnemonics(arch: str, candidates: list[bytes]) -> set[str]:
    found = (decode_one(candidate + b"\0" * 8, 0, arch, 0) for candidate in candidates)
    return {text(instruction).split()[0] for instruction in found if not instruction.definition.has("illegal")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objdump", help="default: the first of " + ", ".join(_OBJDUMPS) + " that is there")
    wish = parser.parse_args().objdump
    objdump = next((found for name in ([wish] if wish else _OBJDUMPS) if (found := shutil.which(name))), None)
    if objdump is None:
        print("skipped: no llvm-objdump on this machine")
        return 0
    record = {}
    for arch in ARCHS:
        candidates = list(dict.fromkeys(_candidates(Random(0))))
        theirs, known = _llvm_mnemonics(objdump, arch, candidates)
        ours = _our_mnemonics(arch, known)
        beyond = _our_mnemonics(arch, candidates) - theirs
        record[arch] = {"llvm": len(theirs), "missing": sorted(theirs - ours), "beyond": sorted(beyond)}
        print(f"{arch}: LLVM has {len(theirs)} mnemonics; missing {sorted(theirs - ours)}; beyond {sorted(beyond)}")
    out = Path("out")
    out.mkdir(exist_ok=True)
    (out / "isa_coverage.json").write_text(json.dumps(record, indent=1) + "\n")
    return 1 if any(entry["missing"] for entry in record.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
