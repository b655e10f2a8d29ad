"""The native core: compiles every .c file beside it for this machine and gives the addresses of its functions.

ziglang's clang makes one object per file, llvmlite links them into this process; no file of ours is executed from
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
from pathlib import Path

import llvmlite.binding as llvm

from pykittens.errors import BuildError
from pykittens.sim import cache as disk

_DIRECTORY = Path(__file__).parent / "native"
_FLAGS = (
    "-c", "-O3", "-std=c11", "-march=native", "-ffp-contract=off", "-ffreestanding", "-fPIC", "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables", "-fno-math-errno", "-fno-sanitize=all", "-Wall", "-Werror",
)  # fmt: skip
_lock = threading.Lock()


def symbol(name: str) -> int:
    """The address of a function of the native core. Raises AssertionError for a name that no .c file defines."""
    with _lock:
        engine = _engine()
    address: int = engine.get_function_address(name)
    if not address:
        raise AssertionError(f"no native function is called {name}")
    return address


@cache
def _engine() -> llvm.ExecutionEngine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    sources = sorted(_DIRECTORY.glob("*.c"))
    with ThreadPoolExecutor() as pool:
        objects = list(pool.map(_object, sources))
    target = llvm.Target.from_default_triple().create_target_machine(reloc="pic", codemodel="small", jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    for blob in objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(blob))
    engine.finalize_object()
    return engine


def _object(source: Path) -> bytes:
    """The object code of one file, from the cache or freshly compiled."""
    text = source.read_bytes()
    key = hashlib.sha256(b"\0".join((_environment(), source.name.encode(), text))).digest()
    blob = disk.load("native", key)
    if blob is None:
        blob = _compile(source)
        disk.store("native", key, blob)
    return blob


@cache
def _environment() -> bytes:
    """Everything besides the source that decides the object code."""
    from importlib.metadata import version

    headers = [path.read_bytes() for path in sorted(_DIRECTORY.glob("*.h"))]
    features = llvm.get_host_cpu_features().flatten()
    machine = f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features} ziglang {version('ziglang')} {_FLAGS}"
    return b"\0".join((machine.encode(), *headers))


def _compile(source: Path) -> bytes:
    with tempfile.TemporaryDirectory(prefix="pykittens-") as directory:
        output = Path(directory) / "native.o"
        command = [sys.executable, "-m", "ziglang", "clang", *_FLAGS, str(source), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            what = f"the native core did not compile for this machine: {done.stderr.strip()[:2000]}"
            raise BuildError("native-build", what, where=source.name, fix="is the package ziglang 0.15 or newer installed?")
        return output.read_bytes()
