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
    def placement(self) -> dict[str, str]:
        """Relocations and code model. On x86 an object's sections come to lie anywhere in a process, so that 32-bit
        distances between them break beside gigabytes of arrays; elsewhere llvmlite keeps them together."""
        return {"reloc": "static", "codemodel": "large"} if self.is_x86 else {"reloc": "pic", "codemodel": "small"}

    @property
    def identity(self) -> str:
        """All that decides what this LLVM makes of IR for this CPU."""
        version = ".".join(map(str, llvm.llvm_version_info))
        return f"llvm {version} {self.triple} {self.cpu} {self.features} {self.placement['codemodel']}"

    def compile(self, ir: str) -> bytes:
        """An object file; RuntimeError with LLVM's words for IR that it does not take. Threads may compile at once."""
        blob: bytes = _machine(self).emit_object(llvm.parse_assembly(ir, context=llvm.create_context()))
        return blob


_local = threading.local()


def _machine(target: Target) -> llvm.TargetMachine:
    """This thread's own code generator for a target: they are not to be shared."""
    machines: dict[Target, llvm.TargetMachine] = _local.__dict__.setdefault("machines", {})
    if target not in machines:
        machines[target] = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=2, jit=True, **target.placement
        )
    return machines[target]


@cache
def host() -> Target:
    """This machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:
        # LLVM cannot tell on this system: the baseline of the architecture it is.
        return Target(llvm.get_process_triple(), "", "")
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


class Engine:
    """Objects that are linked into this process, for as long as it lives."""

    def __init__(self) -> None:
        self._jit = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(host()))
        self._lock = threading.RLock()

    def add_object(self, blob: bytes) -> None:
        """Link an object file. Symbols that it needs must have been added before."""
        with self._lock:
            self._jit.add_object_file(llvm.ObjectFileRef.from_data(blob))
            self._jit.finalize_object()

    def address(self, symbol: str) -> int:
        """The address of a function; AssertionError if no object has it."""
        with self._lock:
            found: int = self._jit.get_function_address(symbol)
        if not found:
            raise AssertionError(f"no object defines {symbol}")
        return found


_engines: list[Engine] = []
_starting = threading.Lock()


def engine() -> Engine:
    """The one engine of this process."""
    with _starting:
        if not _engines:
            _engines.append(Engine())
    return _engines[0]


__all__ = ["Engine", "Target", "engine", "host"]
