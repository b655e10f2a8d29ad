"""Why we believe what the static check finds in AITER: by kind of finding and family, each traced in the code.

A finding that no reason fits makes `make foreign` fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """what: a title. kinds: a pattern for the whole `static_checks.kind` of a finding. families: None for all."""

    what: str
    kinds: str
    families: tuple[str, ...] | None
    why: str

    def fits(self, kind: str, family: str) -> bool:
        return (self.families is None or family in self.families) and re.fullmatch(self.kinds, kind) is not None


REASONS = (
    # -- waits for registers ---------------------------------------------------------------------------------------
    Reason(
        "LDS results read by atomics",
        r"wait-raw: ds_read_b32 -> global_atomic_pk_add_\w+",
        ("fmoe",),
        "16 reads are issued, and the only `lgkmcnt` wait before the atomics is a whole loop body later; some hundred "
        "instructions are in between, and time alone makes it work",
    ),
    Reason(
        "LDS results read by matrix instructions",
        r"wait-raw: ds_read_b(64|128) -> v_mfma_\w+",
        ("pa", "mla"),
        "32 reads, then `s_waitcnt vmcnt(0)` without an `lgkmcnt`, a barrier, and the matrix instructions; time alone",
    ),
    Reason(
        "a result over a load",
        r"wait-waw: buffer_load_dword -> v_lshrrev_b32_e32",
        ("fmoe",),
        "`v44` is loaded in the prologue, never read, and some 180 instructions later a result goes to it with no wait "
        "between; the load wins if it is that late",
    ),
    Reason(
        "loads in the first turn",
        r"wait-raw: buffer_load_dwordx4 -> v_(mfma|pk_mul|pk_fma|cvt|mul)_\w+",
        ("fmoe", "fmoe_2stages"),
        "in the first turn of the loop fewer loads are behind than in later ones, and `vmcnt(30)` leaves one too many: "
        "29 would do",
    ),
    Reason(
        "loads in the first turn",
        r"wait-raw: buffer_load_dword -> v_mul_u32_u24_dpp",
        ("mla", "pa"),
        "the count is one too high on the way into the loop",
    ),
    Reason(
        "loads in the first turn",
        r"wait-raw: buffer_load_dwordx4 -> v_accvgpr_read_b32",
        ("fmoe",),
        "`vmcnt(21)` at the start of the body leaves loads behind it, and none waits before the read, where 24 would "
        "do; time alone",
    ),
    Reason(
        "loads behind a loop",
        r"wait-raw: buffer_load_dword -> v_(perm_b32|cndmask_b32_e64)",
        ("fmha_v3_fwd",),
        "one way out of the loop comes to `vmcnt(4)` with no more than four loads issued, and these are read next; the "
        "loop's counter is an argument, so that whether that way is taken is not told",
    ),
    Reason(
        "addresses over loads",
        r"wait-waw: buffer_load_dword -> v_add_u32_e32",
        ("mla",),
        "registers that a load is still to fill are computed anew",
    ),
    Reason(
        "arguments read early",
        r"wait-raw: s_load_dword(x2)? -> (v_mov_b32_e32|v_mul_f32_e32|s_\w+)",
        ("mla",),
        "the scalar load comes right behind the last `lgkmcnt(0)`; some 300 instructions and `vmcnt(0)` later its "
        "result is read without another one, and time alone makes it work",
    ),
    # -- wait states -----------------------------------------------------------------------------------------------
    Reason(
        "matrix results read early",
        r"wait-states: v_s?mfma\w+ -> \w+ \[(xdl|sgemm|dgemm)[\w-]*\]",
        None,
        "straight code, two to ten states where 7 or 11 are asked for, and too few even if each matrix instruction "
        "between waits for the one before. The known `v_subrev_f32` with DPP after a 4-pass MFMA in the hd192 backward "
        "kernels, 6 states of 7 or 8, is among them",
    ),
    Reason(
        "DPP sources",
        r"wait-states: v_\w+ -> v_\w+_dpp \[vgpr-dpp\]",
        ("pa",),
        "one state, or none, where DPP's own source needs two",
    ),
    Reason(
        "lanes read as numbers",
        r"wait-states: v_readlane_b32 -> v_\w+ \[sgpr-constant\]",
        ("topksoftmax",),
        "the SGPR is read by the very next instruction where two states are asked for",
    ),
    Reason(
        "descriptors from lanes",
        r"wait-states: v_readlane_b32 -> buffer_store\w+ \[sgpr-vmem\]",
        ("allreduce", "all_reduce"),
        "three states of five; the descriptor's words that the SALU reads in between are notes",
    ),
    Reason(
        "swapped lanes",
        r"wait-states: v_permlane\w+ -> v_permlane\w+ \[vgpr-permlane\]",
        ("fmha_v3_fwd", "mla"),
        "one state of two",
    ),
    Reason(
        "swapped lanes in matrices",
        r"wait-states: v_permlane\w+ -> v_mfma\w+ \[valu-mfma\]",
        ("fmha_v3_bwd",),
        "one state of two",
    ),
    Reason(
        "a load over a store's data",
        r"wait-states: buffer_store_dwordx4 -> ds_read_b128 \[store-load\]",
        ("f4gemm",),
        "the next instruction loads over the store's data; the manual alone asks for one state",
    ),
    # -- LDS -------------------------------------------------------------------------------------------------------
    Reason(
        "LDS rewritten while it is read",
        r"lds-(race|order): ds_read\w+ -> (ds_write\w+|buffer_load\w+)",
        None,
        "all waves read, each waits for its own reads, and then writes over what the others read, with no barrier "
        "since (fmoe, fmoe_2stages, f8_block_scale, mla, layer_norm, and the hd192 forward kernels; the last two go "
        "wrong in other orders of waves); or the reads were waited for only in part before the barrier (fmha_v3_bwd, "
        "f4gemm). A read takes less time than what comes before the write, and nothing else orders them. Checked mode "
        "sees the same in the launches of layer_norm, f4gemm and hd192",
    ),
    Reason(
        "copies that cross a barrier",
        r"lds-(race|order): buffer_load_dword\w* -> (ds_\w+|buffer_load\w+)",
        None,
        "the counter is waited for behind the barrier, or for one copy too few before it, so that it says nothing of "
        "other waves' copies (i8gemm); or two waves copy to the same bytes (mla with two rows a step). Checked mode "
        "sees it in the launches of i8gemm",
    ),
    Reason(
        "LDS read before it is known to be written",
        r"lds-race: ds_write\w+ -> ds_read\w+",
        ("mla", "pa", "fmoe"),
        "the write is not waited for before the barrier that stands between it and the other waves' reads; LDS serves "
        "what came first in time. Checked mode sees it in the launches of mla_dec_stage1",
    ),
    # -- registers -------------------------------------------------------------------------------------------------
    Reason(
        "half a descriptor",
        r"undefined-register: s_and_b32",
        ("i8gemm", "gemm_a8w8"),
        "one of eight descriptors has the high word of its address masked like the others, and is not used; no effect",
    ),
    Reason(
        "a step behind the last store",
        r"undefined-register: s_mul_i32",
        ("mla",),
        "the offset of a store is moved on by four times `s77` behind the last store of a turn, and computed anew "
        "before the next one; no effect",
    ),
    Reason(
        "a descriptor's size",
        r"undefined-register: s_cselect_b32",
        ("fmha_v3_bwd",),
        "of two descriptors one is chosen, sizes with it, before the sizes are set; both are written before the "
        "descriptor is used; no effect",
    ),
    Reason(
        "the fourth of three maxima",
        r"undefined-register: ds_write_b128",
        ("pa",),
        "a store of four maxima for each row, of which the kernel for ten heads computes three; what reads them reads "
        "the fourth too and makes nothing of it that we could find",
    ),
    Reason(
        "the mask's bounds",
        r"undefined-register: s_(cmp_le_i32|add_u32)",
        ("pa",),
        "the masked kernels have four bodies, chosen by an argument; the first, for one query row, compares with "
        "bounds (`s89`, `s91`) that the other three set first. What the registers happen to hold decides whether keys "
        "are masked, if the host ever starts it so",
    ),
)


def reason(kind: str, family: str) -> Reason | None:
    """Why a finding of this kind is believed; None if nobody has looked."""
    return next((r for r in REASONS if r.fits(kind, family)), None)
