"""Nanoseconds and GFLOP/s of the native matrix routines, one core, operands in the cache (measured here and now)."""

from __future__ import annotations

import ctypes
import time

import llvmlite.binding as llvm
import numpy as np

from pykittens.isa.define import DEFINITIONS, Definition
from pykittens.isa.instruction import Instruction
from pykittens.isa.mfma import operand_registers
from pykittens.isa.registers import Reg
from pykittens.sim import mfma_handlers
from pykittens.sim.bind import BindContext
from pykittens.sim.mode import Mode

HOT: tuple[tuple[str, dict[str, object]], ...] = (
    ("v_mfma_f32_16x16x16_bf16", {}), ("v_mfma_f32_32x32x8_bf16", {}),
    ("v_mfma_f32_16x16x32_bf16", {}), ("v_mfma_f32_32x32x16_bf16", {}),
    ("v_mfma_f32_16x16x32_f16", {}), ("v_mfma_f32_32x32x16_f16", {}),
    ("v_mfma_f32_16x16x32_fp8_fp8", {}), ("v_mfma_f32_32x32x16_fp8_fp8", {}),
    ("v_mfma_f32_16x16x128_f8f6f4", {}), ("v_mfma_f32_32x32x64_f8f6f4", {}),
    ("v_mfma_f32_16x16x128_f8f6f4", {"cbsz": 2, "blgp": 2}),
    ("v_mfma_scale_f32_16x16x128_f8f6f4", {"cbsz": 4, "blgp": 4}),
    ("v_mfma_scale_f32_32x32x64_f8f6f4", {"cbsz": 4, "blgp": 4}),
    ("v_mfma_i32_16x16x32_i8", {}), ("v_mfma_i32_16x16x64_i8", {}), ("v_mfma_i32_32x32x32_i8", {}),
    ("v_mfma_f32_16x16x4_f32", {}), ("v_mfma_f32_32x32x2_f32", {}), ("v_mfma_f32_4x4x4_16b_f16", {}),
    ("v_mfma_f64_16x16x4_f64", {}), ("v_smfmac_f32_16x16x64_bf16", {}),
)  # fmt: skip

_LOOP = """
define void @repeat(ptr %handler, ptr %wave, ptr %op, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %event = call i32 %handler(ptr %wave, ptr %op)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def aligned(size: int) -> np.ndarray:
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]


def nanoseconds(repeat: ctypes._CFuncPtr, definition: Definition, modifiers: dict[str, object]) -> float:
    """The best of several runs."""
    counts = operand_registers(definition, modifiers)
    operands = [Reg("v", 32 * i, count) for i, count in enumerate(counts)]
    context = BindContext(definition.archs[-1], 256, Mode(), lambda pc: pc)
    bound = mfma_handlers.bind(Instruction(definition, tuple(operands), modifiers), context)
    wave, op = aligned(1024 + 512 * 256), np.zeros(16, np.uint32)
    # 0x38 in every byte: ordinary numbers in all formats; scales of 1.
    wave[1024:] = 0x38
    wave[1024 + 256 * 128 :] = 127
    op[2 : 2 + len(bound.fields)] = bound.fields
    best, count = float("inf"), 20000
    for _ in range(7):
        wave[1024 + 256 * 96 : 1024 + 256 * 128] = 0
        start = time.perf_counter()
        repeat(bound.handler, wave.ctypes.data, op.ctypes.data, count)
        best = min(best, (time.perf_counter() - start) / count * 1e9)
    return best


def main() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_LOOP), machine)
    engine.finalize_object()
    arguments = [ctypes.c_void_p] * 3 + [ctypes.c_int64]
    repeat = ctypes.CFUNCTYPE(None, *arguments)(engine.get_function_address("repeat"))
    print(f"{'instruction':52}{'ns':>8}{'GFLOP/s':>10}")
    for name, modifiers in HOT:
        shape = DEFINITIONS[name].mfma
        assert shape is not None
        time_taken = nanoseconds(repeat, DEFINITIONS[name], modifiers)
        label = " ".join([name, *(f"{key}:{value}" for key, value in modifiers.items())])
        flop = 2 * shape.m * shape.n * shape.k * shape.blocks
        print(f"{label:52}{time_taken:8.1f}{flop / time_taken:10.1f}")


if __name__ == "__main__":
    main()
