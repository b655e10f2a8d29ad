"""How waves begin: ids, hidden and preloaded arguments, dispatch packet, LDS, scratch and apertures."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from tests.sim.assembled import STORE, argument, kernel, pointers

from pykittens.asm.toolchain import assemble
from pykittens.errors import Fault, InputError
from pykittens.sim import Device


def test_workgroup_and_work_item_ids() -> None:
    body = """
      v_and_b32 v1, 0x3ff, v0
      v_bfe_u32 v2, v0, 10, 10
      v_bfe_u32 v3, v0, 20, 10
      s_mul_i32 s10, s4, 2
      s_add_u32 s10, s10, s3
      s_mul_i32 s10, s10, 3
      s_add_u32 s10, s10, s2
      s_mul_i32 s10, s10, 24
      v_mul_u32_u24 v4, 3, v3
      v_add_u32 v4, v4, v2
      v_mul_u32_u24 v4, 4, v4
      v_add_u32 v4, v4, v1
      v_add_u32 v4, s10, v4
      v_mov_b32 v31, v4
      v_mov_b32 v0, v4
    """
    out = np.full(3 * 2 * 2 * 24, 0xFFFF, np.uint32)
    kernel(body + STORE, workitem_id_dimensions=3).launch((3, 2, 2), (4, 3, 2), [out])
    assert (out == np.arange(len(out))).all()


def test_hidden_arguments() -> None:
    kinds = (
        ("hidden_block_count_x", 4), ("hidden_block_count_y", 4), ("hidden_block_count_z", 4),
        ("hidden_group_size_x", 2), ("hidden_group_size_y", 2), ("hidden_group_size_z", 2),
        ("hidden_remainder_x", 2), ("hidden_grid_dims", 2), ("hidden_none", 2), ("hidden_dynamic_lds_size", 4),
        ("hidden_private_base", 4), ("hidden_shared_base", 4),
    )  # fmt: skip
    args, offset = list(pointers(1)), 8
    for kind, size in kinds:
        args.append(argument(offset, kind, size))
        offset += size
    body = "  s_load_dwordx8 s[50:57], s[0:1], 0x8\n" + "  s_load_dwordx2 s[58:59], s[0:1], 0x28\n"
    body = body.replace("s[50:57]", "s[48:55]").replace("s[58:59]", "s[56:57]")
    body += "  s_waitcnt lgkmcnt(0)\n  v_mov_b32 v31, 0\n"
    body += "".join(f"  v_writelane_b32 v31, s{48 + i}, {i}\n" for i in range(9))
    target = kernel(body + STORE, tuple(args), kernarg_size=48)
    wanted = [7, 5, 3, 64 | 2 << 16, 1, 3, 512, 2 << 16, 1 << 16]
    out = np.zeros(128, np.uint32)
    target.launch((7, 5, 3), (64, 2), [out], lds=512)
    assert out[:9].tolist() == wanted
    buffer = target.module.device.buffer(np.zeros(128, np.uint32))
    target.launch((7, 5, 3), (64, 2), kernarg=struct.pack("<Q", buffer.address), lds=512)
    assert buffer.array[:9].tolist() == wanted


RAW = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl k
.p2align 8
.type k,@function
k:
{body}
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 96
  .amdhsa_accum_offset 32
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 64
{directives}
.end_amdhsa_kernel
"""


def raw_kernel(body: str, directives: str = "") -> object:
    """A kernel without metadata, with descriptor settings of its own."""
    return Device("gfx950").load(assemble(RAW.format(body=body, directives=directives), "gfx950")).kernel()


def test_preloaded_arguments_skip_the_prologue() -> None:
    body = """
      s_load_dwordx4 s[8:11], s[0:1], 0x0
      s_trap 2
      .p2align 8
      v_mov_b32 v31, s4
      v_mov_b32 v30, 0
      global_store_dword v30, v31, s[2:3]
      global_store_dword v30, v31, s[2:3] offset:4
      v_mov_b32 v31, s5
      global_store_dword v30, v31, s[2:3] offset:4
      s_endpgm
    """
    target = raw_kernel(body, "  .amdhsa_user_sgpr_kernarg_preload_length 3\n")
    buffer = target.module.device.buffer(np.zeros(2, np.uint32))
    target.launch((1, 1, 1), 64, kernarg=struct.pack("<QI", buffer.address, 77).ljust(64, b"\0"))
    assert buffer.array.tolist() == [77, 0]


def test_dispatch_packet_and_queue() -> None:
    directives = (
        "  .amdhsa_user_sgpr_dispatch_ptr 1\n  .amdhsa_user_sgpr_queue_ptr 1\n  .amdhsa_user_sgpr_dispatch_id 1\n"
    )
    body = """
      s_load_dwordx2 s[20:21], s[4:5], 0x0
      s_load_dword s22, s[0:1], 0x4
      s_load_dwordx2 s[24:25], s[0:1], 0xc
      s_load_dwordx2 s[26:27], s[2:3], 0x40
      s_waitcnt lgkmcnt(0)
      v_mov_b32 v31, 0
      v_writelane_b32 v31, s22, 0
      v_writelane_b32 v31, s24, 1
      v_writelane_b32 v31, s25, 2
      v_writelane_b32 v31, s26, 3
      v_writelane_b32 v31, s27, 4
      v_lshlrev_b32 v30, 2, v0
      global_store_dword v30, v31, s[20:21]
      s_endpgm
    """
    target = raw_kernel(body, directives)
    buffer = target.module.device.buffer(np.zeros(64, np.uint32))
    target.launch((3, 1), (64, 1), kernarg=struct.pack("<Q", buffer.address).ljust(64, b"\0"))
    assert buffer.array[:5].tolist() == [64 | 1 << 16, 192, 1, 1 << 16, 2 << 16]


def test_without_metadata_only_raw_arguments() -> None:
    with pytest.raises(InputError, match="no-metadata"):
        raw_kernel("s_endpgm").launch(1, 64, [])


def test_lds_comes_from_the_launch_too() -> None:
    body = """
      v_mov_b32 v1, 0x1000
      ds_write_b32 v1, v0
      ds_read_b32 v31, v1
      s_waitcnt lgkmcnt(0)
    """
    out = np.zeros(64, np.uint32)
    without = kernel(body + STORE).launch(1, 64, [out])
    assert (out == 0).all() and without.counts["lds_out_of_range"] == 2
    kernel(body + STORE).launch(1, 64, [out], lds=8192)
    assert (out == 63).all()


def test_scratch_and_flat_apertures() -> None:
    body = """
      v_add_u32 v1, 3, v0
      scratch_store_dword off, v1, off offset:12
      v_mov_b32 v2, 12
      s_mov_b64 s[10:11], src_private_base
      v_mov_b32 v3, s11
      flat_load_dword v4, v[2:3]
      s_waitcnt vmcnt(0) lgkmcnt(0)
      v_mov_b32 v2, 64
      s_mov_b64 s[10:11], src_shared_base
      v_mov_b32 v3, s11
      flat_store_dword v[2:3], v4
      s_waitcnt vmcnt(0) lgkmcnt(0)
      ds_read_b32 v31, v2
      s_waitcnt lgkmcnt(0)
    """
    out = np.zeros(64, np.uint32)
    kernel(body + STORE, scratch_bytes=16, lds_bytes=256).launch(1, 64, [out])
    assert (out == 66).all()
    with pytest.raises(Fault, match=r"scratch-range.*lane 0"):
        kernel(body.replace("off offset:12", "off offset:16") + STORE, scratch_bytes=16, lds_bytes=256).launch(
            1, 64, [out]
        )
