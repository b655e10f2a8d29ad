"""AITER's code objects: the wheel, fetched by name from the package registry, checked, and read member by member."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from pykittens.sim.cache import directory

REQUIREMENT = "amd-aiter==0.1.7.post2.dev18"
FILE = "amd_aiter-0.1.7.post2.dev18-py3-none-any.whl"
SHA256 = "fe139d74438217c35e87e3b961166bac8db2d381eadccb371da2e63615f05a31"
FOLDER = "aiter_meta/hsa/"


class OutOfReach(Exception):
    """A package that could not be had, with the reason."""


def packages() -> Path:
    """The folder that fetched packages are kept in, beside the cache of generated code."""
    root = directory()
    return (Path(tempfile.gettempdir()) / "pykittens" if root is None else root) / "foreign"


def pip(*arguments: str) -> None:
    """Run pip. Raises OutOfReach with its last line of complaint."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise OutOfReach(f"pip {arguments[0]} did not finish: {problem}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise OutOfReach(lines[-1] if lines else f"pip {arguments[0]} failed")


@cache
def wheel() -> Path:
    """The wheel's path; downloaded if need be. Raises OutOfReach, also for a wheel with other content."""
    folder = packages()
    path = folder / FILE
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as name:
            pip("download", "--no-deps", "--pre", "--only-binary=:all:", "--dest", name, REQUIREMENT)
            fetched = Path(name) / FILE
            if not fetched.exists():
                raise OutOfReach(f"pip brought {', '.join(os.listdir(name)) or 'nothing'} for {REQUIREMENT}")
            os.replace(fetched, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != SHA256:
        raise OutOfReach(f"{FILE} has sha256 {digest[:16]}…, expected {SHA256[:16]}…; delete it to fetch it again")
    return path


@cache
def _archive() -> zipfile.ZipFile:
    return zipfile.ZipFile(wheel())


def members(suffix: str = ".co") -> list[str]:
    """Names below ``hsa/`` of all files that end so, sorted."""
    return sorted(n.removeprefix(FOLDER) for n in _archive().namelist() if n.startswith(FOLDER) and n.endswith(suffix))


def member(name: str) -> bytes:
    """The bytes of a file below ``hsa/``."""
    return _archive().read(FOLDER + name)
