"""Assembling: AMDGPU assembly text to a code object, by clang and lld.

Both come from the ``ziglang`` package unless the environment names others:

- ``PYKITTENS_CLANG``: path of a clang with the AMDGPU target, or ``rocm`` for the one of ROCm (``$ROCM_PATH``, else
  ``/opt/rocm``).
- ``PYKITTENS_LLD``: path of an ``ld.lld`` or ``lld``; by default the one beside that clang.

The same text gives the same bytes in every directory and on every host with the same LLVM.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pykittens import arch as chips
from pykittens.errors import BuildError

# Assembling takes about 10 ms and linking 5 (measured); a thousand times that is a hang.
_TIMEOUT_SECONDS = 60

# The names that the two programs see; they run inside a directory of their own, so that no path gets into the bytes.
_TEXT, _OBJECT, _CODE_OBJECT = "kernel.s", "kernel.o", "kernel.co"


@dataclass(frozen=True)
class Toolchain:
    """The commands that start clang and lld, without arguments, and where they come from in words."""

    clang: tuple[str, ...]
    lld: tuple[str, ...]
    origin: str

    def version(self) -> str:
        """First line of what clang says of its version; part of the key of whatever is kept of its output."""
        return _run([*self.clang, "--version"], Path.cwd()).partition("\n")[0].strip()


def find_toolchain(environment: Mapping[str, str] = os.environ) -> Toolchain:
    """The toolchain that `environment` asks for, else ziglang's. Raises BuildError where a program is missing."""
    wish = environment.get("PYKITTENS_CLANG", "")
    if wish:
        origin = f"PYKITTENS_CLANG={wish}"
        if wish == "rocm":
            wish = str(Path(environment.get("ROCM_PATH") or "/opt/rocm") / "llvm" / "bin" / "clang")
        clang: tuple[str, ...] = (_program(wish, origin),)
    else:
        origin = "ziglang"
        zig = _zig()
        clang = (zig, "clang")
    lld_wish = environment.get("PYKITTENS_LLD", "")
    if lld_wish:
        lld = _lld(_program(lld_wish, f"PYKITTENS_LLD={lld_wish}"))
    elif wish:
        lld = _lld(_program(str(Path(os.path.realpath(clang[0])).with_name("ld.lld")), f"the lld of {origin}"))
    else:
        lld = (zig, "ld.lld")
    return Toolchain(clang, lld, origin)


def assemble(text: str, arch: str) -> bytes:
    """Assemble and link `text` for `arch` ("gfx942" or "gfx950") to a code object, a shared ELF file.

    Raises BuildError with the first line that clang refuses, and with the Python line where a ``.loc`` directive or
    a ``; file.py:12`` comment tells it; InputError for an unknown arch.
    """
    chips.get(arch)
    tools = find_toolchain()
    with tempfile.TemporaryDirectory(prefix="pykittens-") as name:
        directory = Path(name)
        (directory / _TEXT).write_text(text, encoding="utf-8", newline="\n")
        compile_command = [*tools.clang, "--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-fdebug-compilation-dir=."]
        _run([*compile_command, "-x", "assembler", "-c", _TEXT, "-o", _OBJECT], directory, text)
        _run([*tools.lld, "-shared", "--no-undefined", _OBJECT, "-o", _CODE_OBJECT], directory)
        return (directory / _CODE_OBJECT).read_bytes()


def _run(command: Sequence[str], directory: Path, text: str = "") -> str:
    """Standard output of `command`; BuildError, with the line of `text` at fault, when it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except OSError as error:
        raise BuildError("toolchain", f"{command[0]} does not start: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        what = f"{command[0]} did not finish within {_TIMEOUT_SECONDS} s"
        raise BuildError("toolchain", what) from None
    if done.returncode:
        raise _refusal(done.stderr or done.stdout or f"exit status {done.returncode}", command, text)
    return done.stdout


def _refusal(messages: str, command: Sequence[str], text: str) -> BuildError:
    found = re.findall(rf"^{re.escape(_TEXT)}:(\d+):\d+: (?:fatal )?error: (.*)$", messages, re.MULTILINE)
    if not found:
        program = Path(command[0]).name
        errors = re.findall(r"error: (.*)", messages)
        return BuildError("assembler", f"{program} refuses the kernel: {(errors or messages.split(chr(10)))[0]}")
    number, complaint = int(found[0][0]), found[0][1]
    lines = text.split("\n")
    offender = lines[number - 1].strip() if number <= len(lines) else ""
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    what = f"line {number} of the assembly, `{offender}`: {complaint}{more}"
    return BuildError("assembler", what, where=_python_line(lines[:number]))


def _python_line(lines: Sequence[str]) -> str | None:
    """The "file.py:12" that the last of `lines` belongs to: its own comment, else the nearest ``.loc`` or comment
    above."""
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"', "\n".join(lines), re.MULTILINE))
    for line in reversed(lines):
        if comment := re.search(r"(?:;|//)\s*(\S+\.py:\d+)\b", line):
            return comment[1]
        if (location := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", line)) and location[1] in files:
            return f"{files[location[1]]}:{location[2]}"
    return None


def _zig() -> str:
    spec = find_spec("ziglang")
    if spec is None or spec.origin is None:
        fix = "install the ziglang package, or set PYKITTENS_CLANG to a clang with the AMDGPU target"
        raise BuildError("toolchain", "there is no assembler: the ziglang package is not installed", fix=fix)
    # The binary itself: `python -m ziglang` would start a Python in front of it each time.
    return _program(str(Path(spec.origin).with_name("zig.exe" if os.name == "nt" else "zig")), "the ziglang package")


def _program(path: str, origin: str) -> str:
    found = shutil.which(path)
    if found is None:
        raise BuildError("toolchain", f"{origin} leads to {path}, which is no program that can be run")
    return os.path.abspath(found)


def _lld(path: str) -> tuple[str, ...]:
    return (path, "-flavor", "gnu") if Path(path).stem == "lld" else (path,)
