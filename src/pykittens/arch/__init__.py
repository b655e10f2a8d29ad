"""The chips: what is known of each, and how it is known.

``get("gfx950")`` gives the chip; its fields are bare values for code, `describe` prints them with their sources.
"""

from __future__ import annotations

from pykittens.arch.fact import SOURCES, Fact
from pykittens.arch.facts import Arch, Device
from pykittens.arch.gfx942 import gfx942
from pykittens.arch.gfx950 import gfx950
from pykittens.arch.lds_phases import LdsAccess
from pykittens.errors import CodeObjectError, InputError

ARCHS: dict[str, Arch] = {arch.name: arch for arch in (gfx942, gfx950)}

__all__ = [
    "ARCHS",
    "SOURCES",
    "Arch",
    "Device",
    "Fact",
    "LdsAccess",
    "describe",
    "get",
    "gfx942",
    "gfx950",
    "of_elf_mach",
]


def get(name: str) -> Arch:
    """The chip with LLVM's processor name `name`; InputError lists the known ones."""
    if isinstance(name, str) and name in ARCHS:
        return ARCHS[name]
    raise InputError("unknown-arch", f"unknown arch {name!r}", fix=f"choose one of {', '.join(ARCHS)}")


def of_elf_mach(mach: int, where: str | None = None) -> Arch:
    """The chip of a code object whose e_flags have `mach` in the low byte; CodeObjectError for another chip's."""
    for arch in ARCHS.values():
        if arch.elf_mach == mach:
            return arch
    known = ", ".join(f"{arch.name} ({arch.elf_mach:#04x})" for arch in ARCHS.values())
    raise CodeObjectError(
        "unknown-chip", f"the code object is for machine {mach:#04x}", where=where, fix=f"build it for one of {known}"
    )


def describe(arch: Arch) -> str:
    """Every fact of `arch`, one a line: name, value, source word, note."""
    rows = [(path, _text(each.value), each.source, each.note) for path, each in arch.facts()]
    name, value, source = (max(len(row[column]) for row in rows) for column in range(3))
    lines = [f"{row[0]:<{name}}  {row[1]:<{value}}  {row[2]:<{source}}  {row[3]}".rstrip() for row in rows]
    return "\n".join([f"{arch.name} ({arch.generation})", *lines])


def _text(value: object) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return f"{len(value)} x {len(value[0])} lanes"
    return str(value)
