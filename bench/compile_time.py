"""`make bench-compile`: from Python to code object, CPU seconds of every kernel; writes out/bench-compile.json.

    python -m bench.compile_time [--kernel gemm]

Every choice of type, layout, tile and MFMA that a kernel has is built as it is and with everything that an epilogue can
do. What a kernel refuses is counted. CPU time is that of this process and of the assembler, so other work on the
machine does not count. The exit status is 1 where a build takes longer than the aim.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import pykittens as pk
from pykittens.errors import Error
from pykittens.kernels.problem import Problem
from pykittens.kernels.problems import PROBLEMS

OUT = Path("out/bench-compile.json")
ARCHS = ("gfx950", "gfx942")
AIM_SECONDS = 1.0
CHOICES = ("dtype", "layout", "tile", "mfma", "split")
LONGEST_EPILOGUE = {
    "scales": "both", "scaling": "alpha_beta", "bias": "row", "activation": "gelu_erf", "residual": "add",
}  # fmt: skip


def option_sets(problem: Problem) -> Iterator[dict[str, str]]:
    """All values of the choices together, plain and with the longest epilogue that the kernel takes."""
    options = [option for option in problem.options if option.name in CHOICES]
    known = problem.kernel.options()
    longest = {name: value for name, value in LONGEST_EPILOGUE.items() if name in known}
    for values in itertools.product(*(option.values for option in options)):
        chosen = {option.name: value for option, value in zip(options, values, strict=True)}
        yield chosen
        yield {**chosen, **longest}


def cpu_seconds() -> float:
    """CPU time of this process and of the children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure(problem: Problem, arch: str) -> dict[str, Any]:
    """CPU seconds of one build of each option set, and what was refused."""
    built: list[tuple[float, dict[str, str]]] = []
    refused = 0
    for options in option_sets(problem):
        start = cpu_seconds()
        try:
            pk.compile(problem.kernel, arch, **options)
        except Error:
            refused += 1
        else:
            built.append((cpu_seconds() - start, options))
    seconds = [each for each, _ in built]
    worst, options = max(built, key=lambda each: each[0], default=(0.0, {}))
    return {
        "kernel": problem.name, "arch": arch, "builds": len(built), "refused": refused,
        "median": statistics.median(seconds) if seconds else 0.0, "worst": worst, "options": options,
    }  # fmt: skip


def main() -> int:
    """0, or 1 where a build takes too long."""
    parser = argparse.ArgumentParser(description="CPU seconds from Python to code object.")
    parser.add_argument("--kernel", choices=list(PROBLEMS), help="this kernel alone")
    chosen = parser.parse_args().kernel
    problems = [problem for problem in PROBLEMS.values() if chosen in (None, problem.name)]
    pk.compile(pk.kernels.gemm, ARCHS[0])  # imports, and the assembler's files, are no part of a build
    rows = [measure(problem, arch) for problem in problems for arch in ARCHS]
    table = Table(
        "kernel", "arch", "builds", "refused", "median", "worst", "options of the worst",
        title="Python to code object, CPU seconds", title_justify="left",
    )  # fmt: skip
    for row in rows:
        options = " ".join(row["options"].values())
        figures = (str(row["builds"]), str(row["refused"]), f"{row['median']:.2f}", f"{row['worst']:.2f}")
        table.add_row(row["kernel"], row["arch"], *figures, options)
    Console(highlight=False, markup=False).print(table)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"python": sys.version.split()[0], "results": rows}, indent=2) + "\n", encoding="utf-8")
    print(f"figures: {OUT}")
    return 0 if all(row["worst"] < AIM_SECONDS for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
