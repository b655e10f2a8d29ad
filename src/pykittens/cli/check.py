"""``pk check``: what is wrong with a code object, or with a kernel of ours, on any path; exit status 0, 1 or 2."""

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
            [*kc.option_parameters(problem), kc.arch_parameter(), *_output_parameters()],
            partial(_check_kernel, problem),
        )

    def file_command(self, path: str) -> Any:
        return kc.command(
            path,
            "Check a code object, whoever made it.",
            [
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
    from pykittens.check.static import check
    from pykittens.cli.build import compiled

    exe, _ = compiled(problem, values["arch"], kc.options_of(problem, values))
    _show(check(exe), values)


def _check_file(path: str, values: dict[str, Any]) -> None:
    from pykittens.check.static import check

    _show(check(path, values["kernel"], values["arch"]), values)


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
        output.print_json(report.to_json())
    else:
        print(report.text(values["notes"]))
    if report.status:
        raise typer.Exit(report.status)
