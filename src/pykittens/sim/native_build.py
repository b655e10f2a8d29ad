"""The native core: compiles every .c file of native/, and of the cycle model's, for this machine and gives the
addresses of its functions.

ziglang's clang makes one object per file, llvmlite links them into this process; nothing of ours is executed from
disk, so a cache on a no-exec mount works. Objects are cached by source, headers, compiler and CPU.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import llvmlite.binding as llvm

from pykittens.errors import BuildError
from pykittens.sim import cache as disk
from pykittens.sim.engine import host

_DIRECTORIES = (Path(__file__).parent / "native", Path(__file__).parents[1] / "model" / "native")
_FLAGS = (
    "-c", "-O3", "-std=c11", "-nostdinc", "-ffp-contract=off", "-ffreestanding", "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables", "-fno-math-errno", "-fno-sanitize=all", "-Wall", "-Wextra", "-Werror",
)  # fmt: skip
_PLACEMENT = {"large": ("-fno-pic", "-mcmodel=large"), "small": ("-fPIC",)}
"""By code model: see `Target.placement`."""
_TIMEOUT_SECONDS = 300
_lock = threading.Lock()


@cache
def symbol(name: str) -> int:
    """The address of a function of the native core.

    Raises BuildError where the core does not compile, AssertionError for a name that no .c file defines.
    """
    with _lock:
        address: int = _engine().get_function_address(name)
    if not address:
        raise AssertionError(f"no native function is called {name}")
    return address


@cache
def _engine() -> llvm.ExecutionEngine:
    host()
    with ThreadPoolExecutor() as pool:
        objects = list(pool.map(_object, _files("*.c")))
    target = llvm.Target.from_default_triple().create_target_machine(jit=True, **host().placement)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    for blob in objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(blob))
    engine.finalize_object()
    return engine


def _object(source: Path) -> bytes:
    """The object code of one file, from the cache or freshly compiled."""
    key = hashlib.sha256(b"\0".join((_environment(), source.name.encode(), source.read_bytes()))).digest()
    blob = disk.load("native", key)
    if blob is None:
        blob = _compile(source)
        disk.store("native", key, blob)
    return blob


def _files(pattern: str) -> list[Path]:
    return [path for directory in _DIRECTORIES for path in sorted(directory.glob(pattern))]


@cache
def _environment() -> bytes:
    """Everything besides the source that decides the object code."""
    headers = [path.read_bytes() for path in _files("*.h")]
    return b"\0".join((f"{host().identity} ziglang {version('ziglang')} {_FLAGS}".encode(), *headers))


def _compile(source: Path) -> bytes:
    with tempfile.TemporaryDirectory(prefix="pykittens-") as directory:
        output = Path(directory) / "native.o"
        # ziglang's own headers: a machine without a C compiler has none, and others' may differ.
        headers = Path(str(files("ziglang"))) / "lib" / "include"
        cpu = "-march=native" if host().is_x86 else "-mcpu=native"
        command = [sys.executable, "-m", "ziglang", "clang", *_FLAGS, *_PLACEMENT[host().placement["codemodel"]], cpu]
        command += ["-isystem", str(headers), str(source), "-o", str(output)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            what = f"compiling the native core took more than {_TIMEOUT_SECONDS} s"
            raise BuildError("native-build", what, where=source.name) from None
        if done.returncode or not output.exists():
            what = f"the native core did not compile for this machine: {done.stderr.strip()[:2000]}"
            raise BuildError(
                "native-build", what, where=source.name, fix="check that ziglang 0.15.1 or newer is installed"
            )
        return output.read_bytes()
