"""``pk run KERNEL``: build a kernel, run it on the virtual GPU with random inputs, compare with NumPy float64.

``pk run FILE.co`` is in launch.py.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pykittens.cli import kernel_commands as kc
from pykittens.cli.build import compiled, option_figures, order_figures, resources
from pykittens.cli.one_line_errors import WRONG_RESULT

if TYPE_CHECKING:
    from pykittens.executable import Executable
    from pykittens.kernels.problem import Problem


class RunGroup(kc.KernelGroup):
    """One command per kernel, and one for code objects."""

    def kernel_command(self, problem: Problem) -> Any:
        return kc.command(
            problem.name,
            f"Run {problem.name} on the virtual GPU: {problem.kernel.description}",
            [
                *kc.size_parameters(problem),
                *kc.option_parameters(problem),
                kc.arch_parameter(),
                kc.parameter("seed", int, 0, "--seed", words="Seed of the random inputs.", min=0),
                kc.out_parameter("Directory for the .co and the .s."),
                kc.json_parameter(),
            ],
            partial(_run, problem),
        )

    def file_command(self, path: str) -> Any:
        from pykittens.cli.launch import launch_command

        return launch_command(path)


def _run(problem: Problem, values: dict[str, Any]) -> None:
    import numpy as np

    from pykittens.cli import artifacts, output
    from pykittens.cli.host_memory import host_memory

    sizes, options = kc.sizes_of(problem, values), kc.options_of(problem, values)
    artifacts.check_directory(Path(values["out"]))
    problem.check_options(options)
    problem.check_sizes(sizes, options, host_memory())
    exe, compile_seconds = compiled(problem, values["arch"], options)
    tensors = problem.tensors(sizes, options, np.random.default_rng(values["seed"]))
    outcome = _launch(problem, exe, tensors, sizes, options)
    # Only now are the sizes known to be good: a launch that is refused leaves no files.
    co, assembly = artifacts.write_artifacts(exe, Path(values["out"]), artifacts.file_stem(exe, options))
    figures = {
        "kernel": exe.name, "arch": exe.arch, "device": "virtual GPU", "shape": list(sizes.values()),
        **option_figures(problem, options), **order_figures(exe, tensors), "seed": values["seed"], **outcome,
        **resources(exe),
        "compile_seconds": compile_seconds, "code_object": str(co), "assembly": str(assembly),
    }  # fmt: skip
    if values["as_json"]:
        output.print_json(figures)
    else:
        shape = " x ".join(map(str, sizes.values()))
        rows = {**figures, "shape": shape}.items()
        output.print_table(f"{exe.name} on the virtual {exe.arch}", ("figure", "value"), rows)
    if not figures["passed"]:
        print(f"pk: {figures['error']}", file=sys.stderr)
        raise typer.Exit(WRONG_RESULT)


def _launch(
    problem: Problem, exe: Executable, tensors: dict[str, Any], sizes: dict[str, int], options: dict[str, str]
) -> dict[str, Any]:
    """What came of it: ``passed``, the errors, instructions and seconds. A fault is a result too, and a wrong one."""
    from pykittens.errors import Fault

    start = time.perf_counter()
    try:
        run = exe(*tensors.values())
    except Fault as fault:
        return {
            "passed": False, "error": str(fault), "max_abs_error": None, "rel_fro_error": None, "tolerance": None,
            "wrong_elements": None, "instructions": None, "run_seconds": time.perf_counter() - start,
        }  # fmt: skip
    seconds = time.perf_counter() - start
    found = problem.compare(tensors, sizes, options)
    wrong = (
        f"{found.wrong_elements} of {found.elements} elements are wrong, "
        f"relative error {found.rel_fro_error:.3g} where {found.tolerance:.3g} is allowed [wrong-result]"
    )
    return {
        "passed": found.passed, **({} if found.passed else {"error": wrong}), "max_abs_error": found.max_abs_error,
        "rel_fro_error": found.rel_fro_error, "tolerance": found.tolerance, "wrong_elements": found.wrong_elements,
        "instructions": run.instructions if run is not None else 0, "run_seconds": seconds,
    }  # fmt: skip
