"""How fast matrix products compiled by Triton run on the virtual GPU, beside our own of the same size."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
from bench.foreign import wheel
from bench.foreign.aiter_gemm import BF16
from bench.foreign.triton_cases import compiled

import pykittens as pk
from pykittens.sim import Device

KERNEL, TILE = "matmul_bf16_256x256x64_by16", 256
_REPEATS = 3


def triton_rates(size: int, archs: tuple[str, ...]) -> list[dict[str, Any]]:
    """Rows for both; one row with the reason where Triton's kernels cannot be had. Results are exact integers."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (size, size)).astype(BF16) for _ in range(2))
    wanted = a.astype(np.float32) @ b.astype(np.float32).T
    rows = []
    for arch in archs:
        try:
            folder = compiled(arch)
        except wheel.OutOfReach as reason:
            return [{"section": "triton", "arch": arch, "skipped": str(reason)}]
        about = json.loads((folder / "kernels.json").read_text())[KERNEL]
        kernel = Device(arch).load((folder / f"{KERNEL}.co").read_bytes()).kernel()
        ours = pk.compile(pk.kernels.gemm, arch, dtype="bf16", out="f32", layout="ABt")
        c, d = (np.zeros((size, size), np.float32) for _ in range(2))
        grid, block = (-(-size // TILE), -(-size // TILE), 1), (64 * about["warps"], 1, 1)
        args = [a, b, c, size, size, size, None, None]
        quickest = [np.inf, np.inf]
        for _ in range(_REPEATS):
            for which, action in enumerate(
                (lambda: kernel.launch(grid, block, args, lds=about["lds"]), lambda: ours(a, b, d))  # noqa: B023
            ):
                start = time.perf_counter()
                action()
                quickest[which] = min(quickest[which], time.perf_counter() - start)
        operations = 2e-9 * size**3
        rows.append({
            "section": "triton", "kernel": KERNEL, "arch": arch, "size": f"{size}³",
            "gflops": operations / quickest[0], "own_gflops": operations / quickest[1],
            "ratio": quickest[1] / quickest[0], "passed": bool((c == wanted).all() and (d == wanted).all()),
        })  # fmt: skip
    return rows
