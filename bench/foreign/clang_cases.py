"""The corpus in clang/, compiled for the GPU at every level of optimization and, from the same text, for the host."""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np
from bench.foreign.case import Array, Case, Expected

from pykittens.sim import cache as disk
from pykittens.sim.engine import engine, host

SOURCES = Path(__file__).with_name("clang")
LEVELS = ("-O0", "-O1", "-O2", "-O3")
_OUTS, _GROUP, _COUNT = 8, 128, 512
"""As corpus.h has them, and work-items of a launch."""
_LANGUAGE = ["-x", "c++", "-std=c++20", "-fno-exceptions", "-fno-rtti", "-ffreestanding", "-ffp-contract=off", "-w"]
_DYNAMIC_LDS = {"hidden_arguments": 4 * _GROUP}


@cache
def inputs() -> tuple[Array, Array]:
    """Two arrays of u64: numbers of every size, patterns of floats of every kind, and values at the edges."""
    rng = np.random.default_rng(2024)
    made = []
    for _ in range(2):
        x = rng.integers(0, 1 << 64, _COUNT, dtype=np.uint64) >> rng.integers(0, 64, _COUNT, dtype=np.uint64)
        x[::4] = rng.integers(0, 1 << 64, len(x[::4]), dtype=np.uint64)
        floats = rng.normal(0, 100, len(x[1::4])).astype(np.float32).view(np.uint32).astype(np.uint64)
        x[1::4] = floats | floats << np.uint64(32)
        x[2::8] = rng.normal(0, 1e4, len(x[2::8])).view(np.uint64)
        edges = [
            0, 1, 0x7F, 0x80, 0xFFFF, 0x3C00, 0x7C00, 0x8001, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x3F800000,
            0x7F800000, 0x7FC00000, 0x00000001, 0x007FFFFF, 0x7F7FFFFF, 1 << 63, (1 << 64) - 1,
            0x7FF << 52, 0xFFF << 52, 1 << 52, 0x3FF << 52, 0x7FF8 << 48,
        ]  # fmt: skip
        at = rng.permutation(_COUNT)[: 2 * len(edges)]
        x[at] = np.array(edges * 2, np.uint64)
        made.append(x)
    return made[0], made[1]


def names(source: Path) -> list[str]:
    """The functions of a source file."""
    return re.findall(r"^(?:GROUP_|WAVE_)?KERNEL\((\w+)", source.read_text(), re.MULTILINE) + (
        ["hidden_arguments"] if source.stem == "gpu" else []
    )


def build(source: Path, target: str, level: str) -> bytes:
    """A code object for a chip, or for ``"host"`` an object file; kept in the disk cache.

    Raises RuntimeError with clang's words if it refuses the source, which is a mistake in the corpus.
    """
    text = (SOURCES / "corpus.h").read_bytes() + source.read_bytes()
    parts = (text, target.encode(), level.encode(), version("ziglang").encode(), host().identity.encode())
    key = hashlib.sha256(b"\0".join((*parts, *map(str.encode, _LANGUAGE)))).digest()
    blob = disk.load("clang-corpus", key)
    if blob is None:
        blob = _build(source, target, level)
        disk.store("clang-corpus", key, blob)
    return blob


def _build(source: Path, target: str, level: str) -> bytes:
    zig = [sys.executable, "-m", "ziglang"]
    with tempfile.TemporaryDirectory() as name:
        made = Path(name) / "made.o"
        command = [*zig, "clang", *_LANGUAGE, level, f"-I{SOURCES}", "-c", str(source), "-o", str(made)]
        if target == "host":
            cpu = "-march=native" if host().is_x86 else "-mcpu=native"
            command += [cpu, "-fPIC", "-Xclang", "-ffloat16-excess-precision=none", "-fno-stack-protector"]
            _run([*command, "-isystem", str(Path(str(files("ziglang"))) / "lib" / "include")])
            return made.read_bytes()
        _run([*command, "--target=amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib"])
        linked = Path(name) / "made.co"
        _run([*zig, "ld.lld", "-shared", "--no-undefined", str(made), "-o", str(linked)])
        return linked.read_bytes()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[:2000])


@cache
def _host_functions(source: Path) -> dict[str, Callable[..., None]]:
    engine().add_object(build(source, "host", "-O1"))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
    return {name: kind(engine().address(f"{name}_host")) for name in names(source)}


@cache
def _on_host(source: Path, name: str) -> Array:
    a, b = inputs()
    out = np.zeros((_COUNT, _OUTS), np.uint64)
    _host_functions(source)[name](a.ctypes.data, b.ctypes.data, out.ctypes.data, _COUNT)
    return out


def _halves(got: Array) -> Array:
    """u64 as pairs of u32, which float64 holds exactly."""
    return got.view(np.uint32)


def case(source: Path, name: str, arch: str, level: str) -> Case:
    """One function on one chip, compiled at one level."""
    a, b = inputs()
    out = np.zeros((_COUNT, _OUTS), np.uint64)
    return Case(
        "Clang", f"{source.stem}.cpp {level}", f"{_COUNT}", arch, partial(build, source, arch, level),
        (_COUNT // _GROUP, 1, 1), (_GROUP, 1, 1), {"a": a, "b": b, "out": out},
        lambda: [Expected("out", _halves(_on_host(source, name)), view=_halves)],
        args=["a", "b", "out", _COUNT], kernel=f"{name}_kernel", lds=_DYNAMIC_LDS.get(name, 0),
    )  # fmt: skip


def cases(levels: tuple[str, ...] = LEVELS) -> Iterator[Case]:
    """Every function on both chips at these levels."""
    for source in sorted(SOURCES.glob("*.cpp")):
        for arch in ("gfx942", "gfx950"):
            for level in levels:
                for name in names(source):
                    yield case(source, name, arch, level)
