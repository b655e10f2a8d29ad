"""Code that LLVM made keeps to the hazard table and to the rules of the counters: no false alarm."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache

import pytest

from pykittens.asm.code_object import read
from pykittens.asm.control_flow import Block, blocks, forward
from pykittens.asm.pending import Pending, accesses
from pykittens.isa import decode
from pykittens.isa.effects import mask_of, reads, writes
from pykittens.isa.hazards import Ages, Missing, Profile, Tracker, join
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Label

from .clang_made import compile_c

ARCHS = ("gfx942", "gfx950")

SOURCE = """
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3), loader_uninitialized))
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16_ __attribute__((ext_vector_type(16)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
typedef double d4 __attribute__((ext_vector_type(4)));
static LDS float shared[1024];

KERNEL void divide(GLOBAL double *d, GLOBAL float *a, int n) {
  int i = __builtin_amdgcn_workitem_id_x();
  for (int k = 0; k < n; k++) {
    a[i + k * 64] = a[i] / a[i + 1] + __builtin_amdgcn_rcpf(a[i + 2]) * __builtin_sqrtf(a[i + 3]);
    d[i + k * 64] = d[i] / d[i + 1] + d[i + 2];
  }
}
KERNEL void lanes(GLOBAL int *a, GLOBAL int *b) {
  int i = __builtin_amdgcn_workitem_id_x();
  int x = a[i];
  x += __builtin_amdgcn_update_dpp(0, x, 0x111, 0xf, 0xf, 0);
  x += __builtin_amdgcn_mov_dpp(x, 0x142, 0xf, 0xf, 1);
  int s = __builtin_amdgcn_readlane(x, 63);
  int t = __builtin_amdgcn_readfirstlane(x * 3);
  b[s & 1023] = __builtin_amdgcn_readlane(x, t & 63) + b[t];
  x = x > t ? x * s : b[x];
  shared[i] = x;
  __builtin_amdgcn_s_barrier();
  b[i] = shared[(i + t) & 1023] + __builtin_amdgcn_ds_bpermute(i * 4, x);
}
KERNEL void matrix(GLOBAL h4 *a, GLOBAL f16_ *c, GLOBAL f4 *e, GLOBAL d4 *d, int n) {
  int i = __builtin_amdgcn_workitem_id_x();
  f16_ acc = c[i];
  f4 small = e[i];
  d4 wide = d[i];
  for (int k = 0; k < n; k++) {
    h4 x = a[i + k * 64], y = a[i + k * 64 + 32];
    acc = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, acc, 0, 0, 0);
    small = __builtin_amdgcn_mfma_f32_16x16x16f16(y, x * (h4)(2), small, 0, 0, 0);
    small = __builtin_amdgcn_mfma_f32_4x4x4f16(x, y, small, 0, 0, 0);
    small = __builtin_amdgcn_mfma_f32_16x16x4f32(small.x, acc[3], small, 0, 0, 0);
    acc[k & 1] = small.y * 3.0f;
    wide = __builtin_amdgcn_mfma_f64_16x16x4f64(wide.x, wide.y, wide, 0, 0, 0);
    wide.z = __builtin_fma(wide.x, wide.z, wide.w);
  }
  c[i] = acc;
  e[i] = small;
  d[i] = wide;
}
"""

# What LLVM 22 does not know yet: forwarding between two matrix instructions, stores with an SGPR offset.
NEWER_THAN_LLVM_22 = {"xdl-other-c", "xdl-other-c-f32", "sgemm-other-c", "store-offset-valu"}


@cache
def kernels(arch: str) -> dict[str, tuple[list[Instruction], list[Block]]]:
    found = read(compile_c(SOURCE, arch))
    result = {}
    for name, kernel in found.kernels.items():
        instructions = decode(found.code(kernel), arch, kernel.entry)
        result[name] = instructions, _graph(instructions)
    return result


def _graph(instructions: list[Instruction]) -> list[Block]:
    places = {instruction.pc: n for n, instruction in enumerate(instructions)}

    def target(n: int) -> int:
        instruction = instructions[n]
        (distance,) = (o.offset for o in instruction.operands if isinstance(o, Label))
        assert distance is not None
        return places[instruction.pc + instruction.size + distance]

    return blocks(instructions, target)


def hazards(instructions: list[Instruction], graph: list[Block], arch: str) -> list[Missing]:
    """All that is open anywhere in a kernel."""
    profiles: dict[Hashable, Profile] = {n: Profile(i, arch) for n, i in enumerate(instructions)}
    found: list[Missing] = []

    def through(n: int, ages: Ages, out: list[Missing] | None = None) -> Ages:
        tracker = Tracker(profiles, ages)
        for i in range(graph[n].start, graph[n].stop):
            if out is not None:
                out += tracker.missing(profiles[i])
            tracker.issue(i)
        return tracker.ages()

    start: Ages = {}
    for n, entry in enumerate(forward(graph, start, through, join)):
        if entry is not None:
            through(n, entry, found)
    return found


def read_too_early(instructions: list[Instruction], graph: list[Block]) -> list[Instruction]:
    """Instructions of a kernel that read what may still be on its way."""
    written = [mask_of(writes(i)) for i in instructions]
    found: list[Instruction] = []

    def through(n: int, entry: Pending, out: list[Instruction] | None = None) -> Pending:
        pending = entry.copy()
        for i in range(graph[n].start, graph[n].stop):
            instruction = instructions[i]
            needed = mask_of(reads(instruction))
            if out is not None and any(written[item] & needed for item in pending.items()):
                out.append(instruction)
            if instruction.definition.has("waitcnt"):
                pending.waited(instruction.modifiers)
            pending.issue(i, accesses(instruction), bool(written[i]))
        return pending

    for n, entry in enumerate(forward(graph, Pending(), through, Pending.join)):
        if entry is not None:
            through(n, entry, found)
    return found


@pytest.mark.parametrize("arch", ARCHS)
def test_llvm_keeps_to_the_hazard_table(arch: str) -> None:
    found = [m for kernel in kernels(arch).values() for m in hazards(*kernel, arch)]
    assert [m for m in found if m.there < m.agreed] == []
    assert {m.row.name for m in found if "llvm" in m.row.source} <= NEWER_THAN_LLVM_22


@pytest.mark.parametrize("arch", ARCHS)
def test_llvm_waits_for_what_it_reads(arch: str) -> None:
    for kernel in kernels(arch).values():
        assert read_too_early(*kernel) == []


def test_without_its_waits_and_nops_the_same_code_is_wrong() -> None:
    for instructions, _ in kernels("gfx950").values():
        bare = [i for i in instructions if not (i.definition.has("waitcnt") or i.definition.has("branch"))]
        graph = [Block(0, len(bare), (), ())]
        assert read_too_early(bare, graph)
        shorter = [i for i in bare if not i.definition.has("nop")]
        assert hazards(shorter, [Block(0, len(shorter), (), ())], "gfx950")


@pytest.mark.parametrize("arch", ARCHS)
def test_the_kernels_have_what_is_looked_for(arch: str) -> None:
    units = {i.definition.unit.name for instructions, _ in kernels(arch).values() for i in instructions}
    assert units >= {"SALU", "VALU", "TRANS", "MFMA", "LDS", "VMEM", "SMEM", "BRANCH"}
    assert any(i.definition.has("nop") for instructions, _ in kernels(arch).values() for i in instructions)
