"""What checked mode costs: a GEMM on the virtual GPU with and without it, on one thread each, in one run.

    python bench/checked.py          512 x 512 x 512 on both chips
    python bench/checked.py 1024     another size

Exit status 1 where checked mode takes more than 10 times as long. Measured on the host.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import pykittens as pk
from pykittens.kernels.problems import PROBLEMS

ARCHS = ("gfx950", "gfx942")
REPEATS = 5
MOST = 10.0
"""How much longer checked mode may take."""


def quickest(action: Callable[[], Any]) -> float:
    """Seconds of the run that other work disturbed least; code is made before."""
    action()
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def costs(arch: str, size: int) -> tuple[float, float]:
    """Seconds of a launch without checks and with them."""
    problem = PROBLEMS["gemm"]
    tensors = problem.tensors(dict.fromkeys("mnk", size), problem.defaults(), np.random.default_rng(0))
    exe = pk.compile(pk.kernels.gemm, arch)
    launch = exe.launch_arguments(*tensors.values())
    assert launch is not None
    kernel = exe.sim_kernel
    return quickest(lambda: kernel.launch(**launch, threads=1)), quickest(lambda: kernel.launch_checked(**launch))


def main() -> int:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 512
    table = Table("arch", "seconds", "checked", "times", title=f"Checked mode, gemm {size} x {size} x {size}, measured")
    worst = 0.0
    for arch in ARCHS:
        plain, checked = costs(arch, size)
        worst = max(worst, checked / plain)
        table.add_row(arch, f"{plain:.4f}", f"{checked:.4f}", f"{checked / plain:.1f}")
    Console().print(table)
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
