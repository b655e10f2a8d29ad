"""`make bench`: the speed of the virtual GPU beside NumPy's on this machine, in one run; writes out/bench.json.

    python bench/speed.py            2048 x 2048 x 2048 on both chips
    python bench/speed.py --large    8192 x 8192 x 8192 too (minutes)

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
from rich.console import Console
from rich.table import Table

import pykittens as pk
from pykittens.kernels.problems import PROBLEMS

OUT = Path("out")
ARCHS = ("gfx950", "gfx942")
OPTIONS = {"dtype": "bf16", "out": "f32", "layout": "ABt"}
REPEATS = 3


def best_of(repeats: int, action: Callable[[], Any]) -> float:
    """Seconds of the quickest of several runs: the one that other work on the machine disturbed least."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def compile_times() -> list[dict[str, Any]]:
    """Python to code object, imports done."""
    gemm, compile = pk.kernels.gemm, pk.compile
    return [
        {
            "section": "compile",
            "kernel": "gemm",
            "arch": arch,
            "seconds": best_of(REPEATS, partial(compile, gemm, arch)),
        }
        for arch in ARCHS
    ]


def gemm_speed(size: int, repeats: int) -> list[dict[str, Any]]:
    """A square BF16 GEMM beside NumPy's float32 matmul of the same values, and whether it is right."""
    problem = PROBLEMS["gemm"]
    sizes = dict.fromkeys("mnk", size)
    tensors = problem.tensors(sizes, OPTIONS, np.random.default_rng(0))
    a, b = tensors["A"].astype(np.float32), tensors["B"].astype(np.float32)
    operations = 2 * size**3
    numpy_rate = operations / best_of(repeats, lambda: a @ b.T) / 1e9
    rows = []
    for arch in ARCHS:
        exe = pk.compile(problem.kernel, arch, **OPTIONS)
        start = time.perf_counter()
        run = exe(*tensors.values())
        first = time.perf_counter() - start
        rate = operations / best_of(repeats, partial(exe, *tensors.values())) / 1e9
        rows.append({
            "section": "gemm", "kernel": "gemm", "arch": arch, "shape": [size] * 3, **OPTIONS, "gflops": rate,
            "numpy_f32_gflops": numpy_rate, "ratio": rate / numpy_rate, "first_run_seconds": first,
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
            "arch": "arch", "shape": "shape", "virtual GPU GFLOP/s": "gflops", "NumPy f32 GFLOP/s": "numpy_f32_gflops",
            "ratio": "ratio", "first run, seconds": "first_run_seconds", "right": "passed",
        },
    }  # fmt: skip
    titles = {"compile": "Compiling the GEMM", "gemm": "BF16 GEMM on the virtual GPU, on this machine's cores"}
    for section, keys in columns.items():
        table = Table(*keys, title=titles[section], title_justify="left")
        for row in rows:
            if row["section"] == section:
                table.add_row(*(_cell(row[key]) for key in keys.values()))
        Console(highlight=False, markup=False).print(table)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, list):
        return "x".join(map(str, value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> int:
    """0, or 1 where a result is wrong."""
    parser = argparse.ArgumentParser(description="Speed of the virtual GPU beside NumPy's on this machine.")
    parser.add_argument("--large", action="store_true", help="8192 x 8192 x 8192 too; takes minutes")
    large = parser.parse_args().large
    rows = [*compile_times(), *gemm_speed(2048, REPEATS), *(gemm_speed(8192, 1) if large else [])]
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
