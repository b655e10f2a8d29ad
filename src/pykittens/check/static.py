"""The static check of a code object: all that can be told from its bytes over every path of every kernel."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pykittens.asm.code_object import CodeObject, read
from pykittens.check.code import KernelCode, NamedRegisters, Places, follow
from pykittens.check.findings import Finding, Report
from pykittens.check.hazards import check_hazards
from pykittens.check.kernarg_pointer import check_kernarg
from pykittens.check.lds_waits import check_lds_waits
from pykittens.check.loose_waits import loose_waits
from pykittens.check.registers import check_allocation, check_undefined
from pykittens.check.waits import WaitModel, check_waits
from pykittens.errors import InputError


class Compiled(Protocol):
    """A compiled kernel (`pykittens.Executable`); ``registers`` is its register map (`tile.allocate.RegisterMap`).

    lds_names: the shared tile that an instruction accesses and how (``Bs read``), by the instruction's address.
    """

    name: str
    code_object: bytes
    registers: Any

    def lds_names(self) -> Mapping[int, str]: ...


_LDS_ORDER = ("lds-order", "lds-race")

Source = bytes | str | os.PathLike[str] | Compiled | CodeObject


def check(source: Source, kernel: str | None = None, arch: str | None = None) -> Report:
    """Check waits, wait states, registers and control flow on every path, without running anything.

    source: a file, its bytes, a `CodeObject`, or a compiled kernel. kernel: the one to check; all of them if None.
    arch: which chip's code object to take from an offload bundle that has several.
    Raises InputError and CodeObjectError where there is nothing to check.
    """
    code_object, name = _code_object(source, arch)
    kernels = [code_object.kernel(kernel)] if kernel is not None else list(code_object.kernels.values())
    places, tiles = Places(code_object), _tiles(source)
    findings: list[Finding] = []
    instructions = 0
    for each in kernels:
        code = follow(code_object, each, places, tiles)
        instructions += len(code.instructions)
        findings += check_kernel(code)
    findings = _with_shared_tiles(source, findings)
    return Report.of(code_object.arch, name, [k.name for k in kernels], findings, instructions)


def check_kernel(code: KernelCode) -> Iterable[Finding]:
    """All static checks of one kernel."""
    model = WaitModel(code)
    return [
        *code.findings, *check_waits(model), *loose_waits(model), *check_lds_waits(model), *check_hazards(code),
        *check_undefined(code), *check_kernarg(code), *check_allocation(code),
    ]  # fmt: skip


def _tiles(source: Source) -> Sequence[NamedRegisters]:
    """The register tiles of a kernel of ours."""
    if isinstance(source, (CodeObject, bytes, bytearray, memoryview, str, os.PathLike)):
        return ()
    return [(life.tile.name, life.tile.regs or ()) for life in source.registers.lives]


def _with_shared_tiles(source: Source, findings: list[Finding]) -> list[Finding]:
    """Findings about the order of LDS accesses name the shared tile of a kernel of ours."""
    if isinstance(source, (CodeObject, bytes, bytearray, memoryview, str, os.PathLike)):
        return findings
    if not any(f.code in _LDS_ORDER for f in findings):
        return findings
    names = source.lds_names()
    return [replace(f, tile=names.get(f.pc or 0)) if f.code in _LDS_ORDER else f for f in findings]


def _code_object(source: Source, arch: str | None) -> tuple[CodeObject, str]:
    if isinstance(source, CodeObject):
        return source, source.where or "code object"
    if isinstance(source, (bytes, bytearray, memoryview)):
        return read(bytes(source), arch), "code object"
    if isinstance(source, (str, os.PathLike)):
        return read(source, arch), os.fspath(source)
    if not hasattr(source, "code_object"):
        raise InputError("no-code-object", f"{source!r} is no code object", fix="give a file, its bytes or a kernel")
    return read(source.code_object), source.name
