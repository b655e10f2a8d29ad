"""The process's one LLVM engine: compiles IR for this CPU, links objects, and knows where their functions are."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm


@dataclass(frozen=True)
class Target:
    """A CPU as code generation sees it. ``features`` in LLVM's notation (``+avx,-fma``)."""

    triple: str
    cpu: str
    features: str

    def has(self, feature: str) -> bool:
        return f"+{feature}" in self.features.split(",")

    @property
    def is_x86(self) -> bool:
        return self.triple.startswith(("x86_64", "amd64", "i386", "i686"))

    @property
    def fma(self) -> bool:
        """Fused multiply-add is one instruction; every other kind of CPU we run on has it."""
        return not self.is_x86 or self.has("fma")

    @property
    def f16(self) -> bool:
        """f16 and f32 convert in one instruction."""
        return not self.is_x86 or self.has("f16c")

    @property
    def wide_masks(self) -> bool:
        """Mask registers for 64 lanes."""
        return self.has("avx512bw") and self.has("avx512vl")

    @property
    def identity(self) -> str:
        """All that decides what this LLVM makes of IR for this CPU."""
        version = ".".join(map(str, llvm.llvm_version_info))
        return f"llvm {version} {self.triple} {self.cpu} {self.features}"

    def compile(self, ir: str) -> bytes:
        """An object file; RuntimeError with LLVM's words for IR that it does not take."""
        with _lock:
            module = llvm.parse_assembly(ir)
            blob: bytes = self._machine.emit_object(module)
        return blob

    def assembly(self, ir: str) -> str:
        """The same as text, for people and tests."""
        with _lock:
            text: str = self._machine.emit_assembly(llvm.parse_assembly(ir))
        return text

    @property
    def _machine(self) -> llvm.TargetMachine:
        return _machine(self)


@cache
def _machine(target: Target) -> llvm.TargetMachine:
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=2, reloc="pic", codemodel="small", jit=True
    )  # fmt: skip


@cache
def host() -> Target:
    """This machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


class Engine:
    """Objects that are linked into this process, for as long as it lives."""

    def __init__(self) -> None:
        self._machine = _machine(host())
        self._jit = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._machine)

    def add_object(self, blob: bytes) -> None:
        """Link an object file. Symbols that it needs must have been added before."""
        with _lock:
            self._jit.add_object_file(llvm.ObjectFileRef.from_data(blob))
            self._jit.finalize_object()

    def address(self, symbol: str) -> int:
        """The address of a function; AssertionError if no object has it."""
        with _lock:
            found: int = self._jit.get_function_address(symbol)
        if not found:
            raise AssertionError(f"no object defines {symbol}")
        return found


_lock = threading.RLock()


@cache
def engine() -> Engine:
    """The one engine of this process."""
    return Engine()


__all__ = ["Engine", "Target", "engine", "host"]
