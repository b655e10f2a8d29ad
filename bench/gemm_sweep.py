"""Every matrix product over 200 shapes a build beside NumPy float64, each launch through the checkers.

    python -m bench.gemm_sweep [--kernel gemm] [--arch gfx950] [--shapes 200] [--jobs N]

Builds: of each kernel on each chip all types and layouts; each other choice (tile, epilogue, …) occurs in one or more.
Shapes: powers of two, odd sizes, primes, 1, 57 tiles along a side, tails of K. A build's code is checked on all paths,
and every launch runs in checked mode: races, undefined data, bounds, bytes of C that nobody wrote. Prints a line for
each build and writes out/sweep.json. The exit status is 1 if a result is wrong or a checker found something.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

import pykittens as pk
from pykittens.checking import check_launch
from pykittens.kernels.problem import Problem
from pykittens.kernels.problems import PROBLEMS
from pykittens.tile.dtypes import DTYPES

ARCHS = ("gfx950", "gfx942")
SIZES = (1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 33, 64, 67, 96, 127, 128, 129, 160, 191, 192, 251, 256, 257, 320)
DEPTHS = (0, 1, 2, 7, 16, 31, 32, 63, 64, 65, 96, 127, 128, 129, 192, 200, 255, 256, 257, 320, 383, 512, 520, 1024)
FEW_ROWS = (1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 31, 32, 33, 47, 63, 64)
LONG_DEPTHS = (*DEPTHS, 2048, 3001, 4096)
"""Of products with few rows."""
MANY_TILES = 57
ENOUGH_FOR_A_NORM = 64
"""Elements of C."""
_MAY_BE_REFUSED = ((), ("mfma",), ("tile",), ("mfma", "tile"))
"""Choices that not every type and chip has: the usual ones are taken instead."""

Shape = tuple[int, int, int]
Task = tuple[str, str, dict[str, str], int, int]
"""Kernel, chip, options, shapes, seed."""


@dataclass
class Row:
    """What came of one build. ``wrong``: shapes with wrong elements. ``findings``: of the checkers, with the shape."""

    kernel: str
    arch: str
    options: dict[str, str]
    shapes: int = 0
    instructions: int = 0
    wrong: list[Shape] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    worst_rel_fro_error: float = 0.0
    seconds: float = 0.0


def builds(problem: Problem, arch: str) -> Iterator[dict[str, str]]:
    """The options of each build: every value occurs, and the layouts with every type that the chip has."""
    values = {option.name: option.values for option in problem.options}
    types = [dtype for dtype in values["dtype"] if DTYPES[dtype].arch in (None, arch)]
    pairs = [(dtype, layout) for layout in values.get("layout", ("",)) for dtype in types]
    for i in range(max(len(pairs), *(len(each) for name, each in values.items() if name not in ("dtype", "layout")))):
        options = {name: each[i % len(each)] for name, each in values.items()}
        options["dtype"], layout = pairs[i % len(pairs)]
        yield {**options, "layout": layout} if layout else options


def compiled(problem: Problem, arch: str, options: dict[str, str]) -> pk.Executable | pk.Error:
    """The build, with the usual tile or MFMA where those asked for do not exist; or why there is none."""
    refusal = None
    for names in _MAY_BE_REFUSED:
        usual = {name: value for name, value in problem.defaults().items() if name in names}
        try:
            return pk.compile(problem.kernel, arch, **{**options, **usual})
        except (pk.errors.BuildError, pk.errors.InputError) as error:
            refusal = refusal or error
    assert refusal is not None
    return refusal


def shapes_for(exe: pk.Executable, count: int, seed: int) -> list[Shape]:
    """So many (m, n, k): cubes, a row and a column of 57 tiles, one long sum, and then all sizes at random."""
    rng = np.random.default_rng(seed)
    few = exe.name == "gemm_split"
    rows, depths = (FEW_ROWS, LONG_DEPTHS) if few else (SIZES, DEPTHS)
    found = [(size, size, size) for size in rows]
    work = exe.built.trace.placement.work
    found += [(1, MANY_TILES * work.cols - 3, 64), (MANY_TILES * work.rows - 5, 1, 64), (1, 1, 4096)]
    while len(found) < count:
        found.append(tuple(int(rng.choice(each)) for each in (rows, SIZES, depths)))
    return found[:count]


def sweep(task: Task) -> Row | None:
    """One build; None if the chip has no such kernel."""
    name, arch, options, count, seed = task
    start, problem = time.perf_counter(), PROBLEMS[name]
    exe = compiled(problem, arch, options)
    if isinstance(exe, pk.Error):
        return None
    chosen = {option.name: exe.built.options[option.name] for option in problem.options}
    row = Row(name, arch, chosen)
    row.findings += [str(found) for found in pk.check(exe).findings if found.severity != "note"]
    for number, (m, n, k) in enumerate(shapes_for(exe, count, seed)):
        sizes = {"m": m, "n": n, "k": k, "groups": 1 + number % 4}
        tensors = problem.tensors(sizes, chosen, np.random.default_rng(number))
        launch = exe.launch_arguments(*tensors.values())
        assert launch is not None
        report = check_launch(exe.sim_kernel, outputs={"C": tensors["C"]}, **launch)
        row.findings += [f"{(m, n, k)}: {found}" for found in report.findings if found.severity != "note"]
        found = problem.compare(tensors, sizes, chosen)
        # Every element has to be right. The norm says something where many elements share it: one sum alone that
        # happens to be near 0 has any relative error.
        many = m * n >= ENOUGH_FOR_A_NORM
        row.worst_rel_fro_error = max(row.worst_rel_fro_error, found.rel_fro_error if many else 0.0)
        if found.wrong_elements or (many and not found.passed):
            row.wrong.append((m, n, k))
        row.shapes, row.instructions = row.shapes + 1, row.instructions + report.instructions
    row.seconds = time.perf_counter() - start
    return row


def line(row: Row) -> str:
    """A build in words: what is not usual, and what came of it."""
    usual = PROBLEMS[row.kernel].defaults()
    choices = " ".join(value for name, value in row.options.items() if name != "dtype" and value != usual[name])
    return (
        f"{row.kernel:<17}{row.arch} {row.options['dtype']:<9}{row.shapes} shapes, {len(row.wrong)} wrong, "
        f"{len(row.findings)} findings, worst error {row.worst_rel_fro_error:.1e}, {row.seconds:.0f} s  {choices}"
    )


def untried(rows: list[Row]) -> list[str]:
    """Choices that no build has had, as words."""
    found = []
    for name in {row.kernel for row in rows}:
        for option in PROBLEMS[name].options:
            had = {row.options[option.name] for row in rows if row.kernel == name}
            found += [f"{name} {option.flag} {value}" for value in option.values if value not in had]
    return sorted(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", choices=sorted(PROBLEMS), help="only this one")
    parser.add_argument("--arch", choices=ARCHS, help="only this chip")
    parser.add_argument("--shapes", type=int, default=200, help="shapes for each build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    kernels = [arguments.kernel] if arguments.kernel else list(PROBLEMS)
    tasks = [
        (name, arch, options, arguments.shapes, seed)
        for name in kernels
        for arch in ([arguments.arch] if arguments.arch else ARCHS)
        for seed, options in enumerate(builds(PROBLEMS[name], arch))
    ]
    rows = []
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        for row in pool.imap(sweep, tasks):
            if row is not None:
                rows.append(row)
                print(line(row), *row.findings[:3], *row.wrong[:3], sep="\n  ", flush=True)
    left = [] if arguments.arch else untried(rows)
    wrong, findings = (sum(len(getattr(row, name)) for row in rows) for name in ("wrong", "findings"))
    print(
        f"all: {len(rows)} builds, {sum(row.shapes for row in rows)} checked launches of "
        f"{sum(row.instructions for row in rows)} instructions, {wrong} wrong, {findings} findings"
    )
    for words in left:
        print(f"in no build: {words}")
    out = Path("out")
    out.mkdir(exist_ok=True)
    (out / "sweep.json").write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 1 if wrong or findings or left else 0


if __name__ == "__main__":
    sys.exit(main())
