"""`make bench`: the speed of the virtual GPU beside NumPy's on this machine, in one run; writes out/bench.json.

    python -m bench.speed            2048 x 2048 x 2048 on both chips
    python -m bench.speed --large    8192 x 8192 x 8192 too (minutes)

Every figure is measured on the host. None says how fast a GPU is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench.peak_memory import peak_memory
from bench.translation import translation_times
from bench.triton_rate import triton_rates
from rich.console import Console
from rich.table import Table

import pykittens as pk
from pykittens.kernels.problems import PROBLEMS

OUT = Path("out")
ARCHS = ("gfx950", "gfx942")
OPTIONS = {"dtype": "bf16", "out": "f32", "layout": "ABt"}
REPEATS = 3


def timed(repeats: int, action: Callable[[], Any]) -> tuple[list[float], Any]:
    """Seconds of each of several runs, and the last result. The quickest is what other work disturbed least."""
    seconds, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = action()
        seconds.append(time.perf_counter() - start)
    return seconds, result


def compile_times() -> list[dict[str, Any]]:
    """Python to code object, imports done."""
    rows = []
    for arch in ARCHS:
        seconds, _ = timed(REPEATS, partial(pk.compile, pk.kernels.gemm, arch))
        rows.append({"section": "compile", "kernel": "gemm", "arch": arch, "seconds": min(seconds)})
    return rows


def gemm_speed(size: int, repeats: int) -> list[dict[str, Any]]:
    """A square BF16 GEMM beside NumPy's float32 matmul of the same values, and whether it is right.

    The quickest run counts on both sides. Our first run also translates the code, or finds it in the cache.
    """
    problem = PROBLEMS["gemm"]
    tensors = problem.tensors(dict.fromkeys("mnk", size), OPTIONS, np.random.default_rng(0))
    a, b = tensors["A"].astype(np.float32), tensors["B"].astype(np.float32)
    operations = 2 * size**3
    numpy_seconds, _ = timed(repeats, lambda: a @ b.T)
    rows = []
    for arch in ARCHS:
        exe = pk.compile(problem.kernel, arch, **OPTIONS)
        seconds, run = timed(repeats, partial(exe, *tensors.values()))
        rows.append({
            "section": "gemm", "kernel": "gemm", "arch": arch, "size": f"{size}³", "shape": [size] * 3, **OPTIONS,
            "gflops": operations / min(seconds) / 1e9, "numpy_f32_gflops": operations / min(numpy_seconds) / 1e9,
            "ratio": min(numpy_seconds) / min(seconds), "first_run_seconds": seconds[0],
            "instructions": run.instructions, "threads": run.threads, "passed": right(tensors),
        })  # fmt: skip
    return rows


def right(tensors: dict[str, Any]) -> bool:
    """Every eighth row of C beside float64; the reference for all of a large C would take longer than the runs."""
    problem = PROBLEMS["gemm"]
    part = {"A": tensors["A"][::8], "B": tensors["B"], "C": tensors["C"][::8]}
    sizes = {"m": len(part["A"]), "n": len(part["B"]), "k": part["A"].shape[1]}
    return problem.compare(part, sizes, OPTIONS).passed


def print_tables(rows: list[dict[str, Any]]) -> None:
    """One table for each kind of figure."""
    columns = {
        "compile": {"arch": "arch", "Python to code object, seconds": "seconds"},
        "gemm": {
            "arch": "arch", "size": "size", "virtual GPU GFLOP/s": "gflops", "NumPy f32 GFLOP/s": "numpy_f32_gflops",
            "ratio": "ratio", "first run, seconds": "first_run_seconds", "right": "passed",
        },
        "translate": {
            "arch": "arch", "instructions": "instructions", "seconds": "seconds", "seconds, from the cache": "cached",
        },
        "triton": {
            "arch": "arch", "size": "size", "Triton's GFLOP/s": "gflops", "ours": "own_gflops", "ratio": "ratio",
            "right": "passed",
        },
        "memory": {"arch": "arch", "size": "size", "data, MiB": "data_mib", "beyond it, MiB": "beyond_mib"},
    }  # fmt: skip
    titles = {
        "compile": "Compiling the GEMM", "gemm": "BF16 GEMM on the virtual GPU, on this machine's cores",
        "translate": "First run of a kernel", "triton": "BF16 GEMM compiled by Triton, beside ours",
        "memory": "Peak memory of our GEMM",
    }  # fmt: skip
    for section, keys in columns.items():
        table = Table(*keys, title=titles[section], title_justify="left")
        for row in rows:
            if row["section"] == section and "skipped" in row:
                print(f"{titles[section]}: skipped: {row['skipped']}")
            elif row["section"] == section:
                table.add_row(*(_cell(row[key]) for key in keys.values()))
        Console(highlight=False, markup=False).print(table)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> int:
    """0, or 1 where a result is wrong."""
    parser = argparse.ArgumentParser(description="Speed of the virtual GPU beside NumPy's on this machine.")
    parser.add_argument("--large", action="store_true", help="8192 x 8192 x 8192 too; takes minutes")
    large = parser.parse_args().large
    rows = [
        *compile_times(), *gemm_speed(2048, REPEATS), *(gemm_speed(8192, 1) if large else []),
        *translation_times(ARCHS), *triton_rates(2048, ARCHS), peak_memory(8192 if large else 2048),
    ]  # fmt: skip
    OUT.mkdir(exist_ok=True)
    report = {
        "host": {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()},
        "numpy": np.__version__,
        "results": rows,
    }
    (OUT / "bench.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print_tables(rows)
    print(f"figures: {OUT / 'bench.json'}")
    return 0 if all(row.get("passed", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
