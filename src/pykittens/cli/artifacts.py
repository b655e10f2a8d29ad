"""The files that commands leave: a kernel's code object (.co) and assembly (.s)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pykittens.errors import InputError

if TYPE_CHECKING:
    from pykittens.executable import Executable


def file_stem(exe: Executable, options: dict[str, str]) -> str:
    """``gemm-gfx950-bf16-f32-ABt-bias_row``: kernel, chip and what was chosen; builds do not overwrite each other."""
    chosen = {name: value for name, value in options.items() if value not in ("none", "auto", "best")}
    plain = ("dtype", "out", "layout")
    parts = [value if name in plain else f"{name}_{value}" for name, value in chosen.items()]
    # Of an order's name (chiplet:8,64) what some file systems do not take is left out.
    return "-".join([exe.name, exe.arch, *parts]).replace(":", "_").replace(",", "_")


def check_directory(directory: Path) -> None:
    """Raise InputError where `write_artifacts` is sure to fail, before anybody waits for a run."""
    existing = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    reason = "" if existing.is_dir() else f"{existing} is no directory"
    if not reason and not os.access(existing, os.W_OK | os.X_OK):
        reason = f"{existing} is not writable"
    if reason:
        raise InputError("unwritable", f"cannot write there: {reason}", where=str(directory))


def write_artifacts(exe: Executable, directory: Path, stem: str) -> tuple[Path, Path]:
    """Write ``stem.co`` and ``stem.s`` into the directory, made if missing; their paths.

    Each file appears whole or not at all. Raises InputError where the directory cannot be written.
    """
    co, assembly = directory / f"{stem}.co", directory / f"{stem}.s"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _replace(co, exe.code_object)
        _replace(assembly, exe.assembly.encode())
    except OSError as error:
        raise InputError("unwritable", f"cannot write there: {error.strerror}", where=str(directory)) from None
    return co, assembly


def _replace(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
