"""Small kernels in assembly, assembled and loaded once per session."""

from __future__ import annotations

from functools import cache
from typing import Any

from pykittens.asm.kernel_text import FloatMode, render_kernel
from pykittens.asm.metadata import KernelArgument
from pykittens.asm.toolchain import assemble
from pykittens.sim import Device, Kernel


def argument(offset: int, kind: str = "global_buffer", size: int = 8, name: str | None = None) -> KernelArgument:
    space = "global" if kind == "global_buffer" else None
    return KernelArgument(offset, size, kind, name=name, address_space=space)


def pointers(count: int) -> tuple[KernelArgument, ...]:
    """So many pointers, called ``p0 p1 …``."""
    return tuple(argument(8 * i, name=f"p{i}") for i in range(count))


@cache
def code_object(body: str, arch: str, args: tuple[KernelArgument, ...], options: tuple[tuple[str, Any], ...]) -> bytes:
    settings: dict[str, Any] = {
        "kernarg_size": max((a.offset + a.size for a in args), default=0), "vgprs": 32, "agprs": 0, "sgprs": 96,
        "lds_bytes": 0, "max_workgroup_size": 1024,
    } | dict(options)  # fmt: skip
    return assemble(render_kernel("k", arch, body.splitlines(), args=args, **settings), arch)


def kernel(
    body: str, args: tuple[KernelArgument, ...] = pointers(1), arch: str = "gfx950", overread: int = 0, **options: Any
) -> Kernel:
    """The kernel on a device of its own. v0 is the work-item id, s[0:1] the kernarg, s2, s3, s4 the workgroup id."""
    return Device(arch, overread).load(code_object(body, arch, args, tuple(sorted(options.items())))).kernel()


STORE = """
  s_load_dwordx2 s[40:41], s[0:1], 0x0
  v_lshlrev_b32 v30, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v30, v31, s[40:41]
  s_endpgm
"""
"""Ends a kernel: v31 goes to the first argument, an element for each work-item."""

COPY = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_lshl_b32 s8, s2, 8
  v_lshlrev_b32 v1, 2, v0
  v_add_u32 v1, s8, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  v_add_u32 v2, 1, v2
  global_store_dword v1, v2, s[6:7]
  s_endpgm
"""
"""Workgroups of one wave: second argument = first argument + 1."""

ENDLESS = "  v_mov_b32 v31, 0\n.Lagain:\n  s_cmp_eq_u32 s2, s2\n  s_cbranch_scc1 .Lagain\n"

ATOMIC = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v1, 0
  v_cvt_f32_u32 v2, v0
  v_mul_f32 v2, 0x3dcccccd, v2
  v_cvt_f32_u32 v3, s2
  v_add_f32 v2, v2, v3
  s_waitcnt lgkmcnt(0)
  global_atomic_add_f32 v1, v2, s[4:5]
  s_endpgm
"""
"""Floats of all work-items of all workgroups, added up in the first argument."""

__all__ = ["ATOMIC", "COPY", "ENDLESS", "STORE", "FloatMode", "argument", "code_object", "kernel", "pointers"]
