"""Every matrix product over many shapes beside NumPy float64: powers of two, odd, primes, 1, tails of K, epilogues.

    python bench/gemm_sweep.py [--kernel gemm] [--shapes 200]

Prints one line for each kernel, chip and type, and writes out/gemm-sweep.json. The exit status is 1 if one
is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import pykittens as pk
from pykittens.kernels.epilogue import CHOICES
from pykittens.kernels.problem import Problem
from pykittens.kernels.problems import PROBLEMS

TYPES = {
    "gfx950": (("bf16", "bf16"), ("f16", "f32"), ("e4m3fn", "bf16"), ("e5m2", "f32")),
    "gfx942": (("bf16", "bf16"), ("f16", "f32"), ("e4m3fnuz", "bf16"), ("e5m2fnuz", "f32")),
}
SIZES = (1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 33, 64, 67, 96, 127, 128, 129, 160, 191, 192, 251, 256, 257, 320)
DEPTHS = (1, 2, 7, 16, 31, 32, 63, 64, 65, 96, 127, 128, 129, 192, 200, 255, 256, 257, 320, 383, 512, 520, 1024)
MANY_TILES = 57
"""Tiles along the longer side in one of the shapes."""
FEW_ROWS = 64
ENOUGH_FOR_A_NORM = 64
"""Elements of C."""


def shapes_for(kernel: str, count: int, tile: tuple[int, int], seed: int) -> list[tuple[int, int, int]]:
    """So many (m, n, k): all sizes occur, squares and cubes first, and one row and one column of 57 tiles."""
    rng = np.random.default_rng(seed)
    rows = [size for size in SIZES if kernel != "gemm_split" or size <= FEW_ROWS]
    found = [(size, size, size) for size in rows]
    found += [(1, MANY_TILES * tile[1] - 3, 64), (1, 1, 4096)]
    if kernel != "gemm_split":
        found.append((MANY_TILES * tile[0] - 5, 1, 64))
    while len(found) < count:
        found.append(tuple(int(rng.choice(each)) for each in (rows, SIZES, DEPTHS)))
    return found[:count]


def builds(problem: Problem) -> list[tuple[str, dict[str, str]]]:
    """(chip, options): each type of each chip that the kernel has, both layouts, and two of them with an epilogue."""
    values = {option.name: option.values for option in problem.options}
    found: list[tuple[str, dict[str, str]]] = []
    for arch, types in TYPES.items():
        for number, (dtype, out) in enumerate(types):
            if dtype not in values["dtype"]:
                continue
            options = {"dtype": dtype, "out": out}
            if "layout" in values and number == 1:
                options["layout"] = "AB"
            if number < 2:
                options |= {name: each[-1] for name, each in CHOICES.items() if name in values and number == 0}
            found.append((arch, options))
    return found


def sweep(problem: Problem, arch: str, options: dict[str, str], count: int) -> dict[str, Any] | None:
    """The figures of one build; None if the chip has no such kernel."""
    start = time.process_time()
    try:
        exe = pk.compile(problem.kernel, arch, **options)
    except pk.errors.BuildError as error:
        if error.code != "kernel-arch":
            raise
        return None
    seconds = time.process_time() - start
    chosen = {option.name: exe.built.options[option.name] for option in problem.options}
    worst, wrong = 0.0, []
    shapes = shapes_for(problem.name, count, (256, 256), len(problem.name))
    for number, (m, n, k) in enumerate(shapes):
        sizes = {"m": m, "n": n, "k": k, "groups": 1 + number % 4}
        tensors = problem.tensors(sizes, chosen, np.random.default_rng(number))
        exe(*tensors.values())
        found = problem.compare(tensors, sizes, chosen)
        # Every element has to be right. The norm says something where many elements share it: one sum alone that
        # happens to be near 0 has any relative error.
        many = m * n >= ENOUGH_FOR_A_NORM
        worst = max(worst, found.rel_fro_error) if many else worst
        if found.wrong_elements or (many and not found.passed):
            wrong.append((m, n, k))
    return {
        "kernel": problem.name, "arch": arch, **options, "shapes": len(shapes), "wrong": wrong,
        "worst_rel_fro_error": worst, "compile_cpu_seconds": seconds,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", choices=sorted(PROBLEMS), help="only this one")
    parser.add_argument("--shapes", type=int, default=200, help="shapes for each build")
    arguments = parser.parse_args()
    rows = []
    for problem in PROBLEMS.values():
        if "dtype" not in problem.defaults() or arguments.kernel not in (None, problem.name):
            continue
        for arch, options in builds(problem):
            row = sweep(problem, arch, options, arguments.shapes)
            if row is None:
                continue
            rows.append(row)
            print(
                f"{row['kernel']:<18} {arch} {options['dtype']:<9} to {options['out']:<5} {row['shapes']} shapes, "
                f"{len(row['wrong'])} wrong, worst error {row['worst_rel_fro_error']:.2e}, "
                f"compiled in {row['compile_cpu_seconds']:.2f} s of CPU",
                flush=True,
            )
    out = Path("out")
    out.mkdir(exist_ok=True)
    (out / "gemm-sweep.json").write_text(json.dumps(rows, indent=2) + "\n")
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
