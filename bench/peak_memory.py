"""Memory of a GEMM on the virtual GPU besides its data; ``python -m bench.peak_memory SIZE`` prints both in bytes."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import pykittens as pk

ARCH = "gfx950"


def peak_memory(size: int) -> dict[str, Any]:
    """A row; measured in a process of its own, everything that it imports included."""
    command = [sys.executable, "-m", "bench.peak_memory", str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=3600)
    beyond, data = map(int, done.stdout.split())
    return {
        "section": "memory", "arch": ARCH, "size": f"{size}³", "data_mib": data / 2**20, "beyond_mib": beyond / 2**20,
        "passed": beyond <= 1 << 30,
    }  # fmt: skip


def main() -> None:
    size = int(sys.argv[1])
    a, b = (np.full((size, size), 0.5, ml_dtypes.bfloat16) for _ in range(2))
    c = np.zeros((size, size), np.float32)
    pk.compile(pk.kernels.gemm, ARCH, dtype="bf16", out="f32", layout="ABt")(a, b, c)
    data = a.nbytes + b.nbytes + c.nbytes
    print(peak_bytes() - data, data)


def peak_bytes() -> int:
    """The most memory that this process has had. Linux counts what the parent had before exec in ``ru_maxrss`` too."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main()
