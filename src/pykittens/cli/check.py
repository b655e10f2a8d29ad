"""``pk check``: what is wrong with a code object or a kernel of ours, on any path and in a run; exit status 0, 1, 2."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pykittens.cli import kernel_commands as kc

if TYPE_CHECKING:
    import inspect

    from pykittens.check.findings import Report
    from pykittens.kernels.problem import Problem


class CheckGroup(kc.KernelGroup):
    """One command per kernel, and one for code objects."""

    def kernel_command(self, problem: Problem) -> Any:
        return kc.command(
            problem.name,
            f"Check {problem.name}: {problem.kernel.description}",
            [
                *kc.size_parameters(problem),
                *kc.option_parameters(problem),
                kc.arch_parameter(),
                kc.parameter("static", bool, False, "--static", words="Check every path, but run nothing."),
                *_output_parameters(),
            ],
            partial(_check_kernel, problem),
        )

    def file_command(self, path: str) -> Any:
        return kc.command(
            path,
            "Check a code object, whoever made it.",
            [
                kc.parameter("launch", str | None, None, "--launch", words="Also run it, as this meta.json says."),
                kc.parameter("kernel", str | None, None, "--kernel", words="The kernel to check instead of all."),
                kc.parameter("arch", str | None, None, "--arch", words="The chip, where a bundle has code for both."),
                *_output_parameters(),
            ],
            partial(_check_file, path),
        )


def _output_parameters() -> list[inspect.Parameter]:
    return [
        kc.parameter("notes", bool, False, "--notes", words="Print each note too, not only their number."),
        kc.parameter("sarif", str | None, None, "--sarif", words="Write the findings to this file as SARIF 2.1.0."),
        kc.json_parameter(),
    ]


def _check_kernel(problem: Problem, values: dict[str, Any]) -> None:
    import numpy as np

    from pykittens.check.static import check
    from pykittens.checking import check_call, merged
    from pykittens.cli.build import compiled
    from pykittens.cli.host_memory import host_memory

    sizes, options = kc.sizes_of(problem, values), kc.options_of(problem, values)
    problem.check_options(options)
    problem.check_sizes(sizes, options, host_memory())
    exe, _ = compiled(problem, values["arch"], options)
    report = check(exe)
    if not values["static"]:
        tensors = problem.tensors(sizes, options, np.random.default_rng(0))
        report = merged(report, check_call(exe, *tensors.values()))
    _show(report, values)


def _check_file(path: str, values: dict[str, Any]) -> None:
    from pykittens.asm import code_object
    from pykittens.check.static import check
    from pykittens.checking import check_described, merged

    if values["launch"] is None:
        _show(check(path, values["kernel"], values["arch"]), values)
        return
    from pykittens.sim.launch_description import LaunchDescription

    description = LaunchDescription(values["launch"])
    code = code_object.read(path, values["arch"] or description.arch)
    kernel = values["kernel"] or description.symbol
    _show(merged(check(code, kernel), check_described(description, code.data, kernel)), values)


def _show(report: Report, values: dict[str, Any]) -> None:
    from pykittens.check.sarif import sarif
    from pykittens.cli import output
    from pykittens.errors import InputError

    if values["sarif"]:
        try:
            Path(values["sarif"]).write_text(json.dumps(sarif(report), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            what = f"cannot write the findings: {error.strerror}"
            raise InputError("unwritable-file", what, where=values["sarif"]) from None
    if values["as_json"]:
        output.print_json(report.to_json() | _lds_figures(report))
    else:
        for line in _lds_lines(report):
            print(line)
        print(report.text(values["notes"]))
    if report.status:
        raise typer.Exit(report.status)


def _lds_figures(report: Report) -> dict[str, Any]:
    """Bank conflicts of each LDS access by name, where the code was run."""
    if report.lds is None:
        return {}
    rows = [
        {
            "name": row.name, "instruction": row.instruction, "degree": row.degree, "executions": row.executions,
            "extra_passes": row.extra_passes, "phases": row.known,
        }
        for row in report.lds
    ]  # fmt: skip
    return {"lds": rows}


def _lds_lines(report: Report) -> list[str]:
    """The same as text, a line for each."""
    if report.lds is None:
        return []
    return [
        f"LDS {row.name}: degree {row.degree}, {row.extra_passes:,} extra passes in {row.executions:,} executions of "
        f"{row.instruction.split()[0]} (phases {row.known})"
        for row in report.lds
    ]
