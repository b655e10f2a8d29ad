"""Code objects that clang makes from C, as an oracle for what we write and read."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from pykittens.asm.toolchain import find_toolchain

# Scratch, hidden arguments, LDS, a device function, data, and a pointer that the loader must relocate.
SOURCE = """
#define GLOBAL __attribute__((address_space(1)))
#define CONSTANT __attribute__((address_space(4)))
#define LDS __attribute__((address_space(3), loader_uninitialized))
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))

GLOBAL int table[4] = {1, 2, 3, 4};
GLOBAL int *into_table = table + 2;
static LDS int shared[100];

__attribute__((noinline, visibility("protected"))) float triple(float x) { return x * 3; }

KERNEL __attribute__((amdgpu_flat_work_group_size(1, 256)))
void scratchy(GLOBAL float *a, int n) {
  volatile float local[64];
  for (int i = 0; i < n; i++) local[i & 63] = a[i];
  const CONSTANT unsigned *dispatch = __builtin_amdgcn_dispatch_ptr();
  const CONSTANT unsigned *hidden = __builtin_amdgcn_implicitarg_ptr();
  a[__builtin_amdgcn_workitem_id_z() + __builtin_amdgcn_workgroup_id_z()] = local[n & 63] + dispatch[1] + hidden[3];
}

KERNEL void calls(GLOBAL float *a, GLOBAL int *b) {
  shared[__builtin_amdgcn_workitem_id_x()] = *into_table;
  __builtin_amdgcn_s_barrier();
  b[0] = shared[b[1] & 63];
  a[0] = triple(a[1]);
}
"""


@cache
def compile_c(source: str = SOURCE, arch: str = "gfx950", *flags: str) -> bytes:
    """The linked code object of `source`; with "-S" among the flags, the assembly text."""
    tools = find_toolchain()
    target = ["--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-O2", "-nogpulib"]
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "kernel.c").write_text(source)
        step = [] if "-S" in flags else ["-c"]
        _run([*tools.clang, *target, *flags, *step, "kernel.c", "-o", "kernel.o"], name)
        if "-S" in flags:
            return (Path(name) / "kernel.o").read_bytes()
        _run([*tools.lld, "-shared", "kernel.o", "-o", "kernel.co"], name)
        return (Path(name) / "kernel.co").read_bytes()


def _run(command: list[str], directory: str) -> None:
    subprocess.run(command, cwd=directory, check=True, timeout=60, capture_output=True)
