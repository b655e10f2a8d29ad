"""How long the first run of a kernel of 5,000 instructions takes to translate, with an empty cache and with a full one.

Each figure is a process of its own: ``python -m bench.translation ARCH`` prints the seconds from loading the code
object to the end of a launch of one wave. The virtual GPU's own C code is in the cache in both cases; it is compiled
once after installing.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from typing import Any

from pykittens.asm.toolchain import assemble
from pykittens.sim import Device

INSTRUCTIONS = 5000
_SCALAR = (
    "s_add_u32 {s}, {s}, {s}", "s_mul_i32 {s}, {s}, {c}", "s_lshl_b32 {s}, {s}, {c}", "s_and_b32 {s}, {s}, {s}",
    "s_bfe_u32 {s}, {s}, 0x80004", "s_min_i32 {s}, {s}, {s}", "s_cmp_lt_u32 {s}, {s}", "s_cselect_b32 {s}, {s}, {c}",
)  # fmt: skip
_VECTOR = (
    "v_add_u32_e32 {v}, {v}, {v}", "v_lshlrev_b32_e32 {v}, {c}, {v}", "v_mul_f32_e32 {v}, {v}, {v}",
    "v_fma_f32 {v}, {v}, {v}, {v}", "v_add_f32_e32 {v}, {s}, {v}", "v_max_f32_e32 {v}, {v}, {v}",
    "v_exp_f32_e32 {v}, {v}",
    "v_cvt_f16_f32_e32 {v}, {v}", "v_perm_b32 {v}, {v}, {v}, {s}", "v_mad_u32_u24 {v}, {v}, {c}, {v}",
    "v_cmp_gt_f32_e32 vcc, {v}, {v}", "v_cndmask_b32_e32 {v}, {v}, {v}, vcc", "v_mul_lo_u32 {v}, {v}, {v}",
    "v_add3_u32 {v}, {v}, {v}, {s}", "v_pk_mul_f32 v[10:11], v[12:13], v[14:15]", "v_bfe_u32 {v}, {v}, {c}, {c}",
    "v_add_f32_dpp {v}, {v}, {v} row_shr:1 row_mask:0xf bank_mask:0xf", "v_rcp_f32_e32 {v}, {v}",
    "v_mfma_f32_16x16x16_f16 v[40:43], v[44:45], v[46:47], v[40:43]", "ds_bpermute_b32 {v}, {v}, {v}",
    "v_med3_f32 {v}, {v}, {v}, {v}", "v_xor_b32_e32 {v}, {v}, {v}", "v_sub_f32_e64 {v}, |{v}|, -{v}",
)  # fmt: skip


def program() -> str:
    """A straight line of 5,000 instructions like those of a kernel; the same in every run."""
    rng = random.Random(5)
    lines = []
    while len(lines) < INSTRUCTIONS - 1:
        line = rng.choice(_VECTOR if rng.random() < 0.8 else _SCALAR)
        for kind, pick in (("{s}", lambda: f"s{rng.randrange(8, 60)}"), ("{v}", lambda: f"v{rng.randrange(1, 39)}"),
                           ("{c}", lambda: str(rng.randrange(1, 31)))):  # fmt: skip
            while kind in line:
                line = line.replace(kind, pick(), 1)
        lines.append(line)
    body = "\n".join(lines)
    return f"""
.amdgcn_target "amdgcn-amd-amdhsa--ARCH"
.text
.globl k
.p2align 8
.type k,@function
k:
{body}
s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 64
  .amdhsa_next_free_sgpr 64
  .amdhsa_accum_offset 64
.end_amdhsa_kernel
"""


def translation_times(archs: tuple[str, ...]) -> list[dict[str, Any]]:
    """One row for each chip."""
    rows = []
    for arch in archs:
        with tempfile.TemporaryDirectory() as cache:
            _child(arch, cache, "warm")  # the C code
            cold, cached = _child(arch, cache), _child(arch, cache)
        rows.append(
            {"section": "translate", "arch": arch, "instructions": INSTRUCTIONS, "seconds": cold, "cached": cached}
        )
    return rows


def _child(arch: str, cache: str, *more: str) -> float:
    environment = os.environ | {"PYKITTENS_CACHE": cache}
    command = [sys.executable, "-m", "bench.translation", arch, *more]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=600)
    return float(done.stdout)


def main() -> None:
    arch = sys.argv[1]
    text = program().replace("ARCH", arch)
    if len(sys.argv) > 2:
        head, _, tail = text.partition("k:\n")
        text = f"{head}k:\n{tail[tail.index('s_endpgm') :]}"
    code = assemble(text, arch)
    start = time.perf_counter()
    Device(arch).load(code).kernel().launch(1, 64, kernarg=b"")
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
