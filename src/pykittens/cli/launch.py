"""``pk run FILE.co --launch meta.json``: run anybody's code object as a launch description says, and compare."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from pykittens.cli import kernel_commands as kc
from pykittens.cli.one_line_errors import WRONG_RESULT

if TYPE_CHECKING:
    from pykittens.sim.launch_description import Comparison, LaunchDescription, Outcome


def launch_command(path: str) -> Any:
    """The command that runs the code object at ``path``."""
    return kc.command(
        path,
        f"Run a kernel of {path} on the virtual GPU, as a launch description says.",
        [
            kc.parameter("launch", str, "", "--launch", words="The launch description (meta.json), or its directory."),
            kc.parameter("kernel", str, "", "--kernel", words="The kernel, where the file has several."),
            kc.parameter("arch", str, "", "--arch", words="The chip; by default the launch description's."),
            kc.json_parameter(),
        ],
        partial(_launch, path),
    )


def described(path: str, launch: str) -> LaunchDescription:
    """The launch description at ``launch`` for the code object at ``path``.

    Raises InputError for a code object or a description that cannot be read, and where there is none.
    """
    from pykittens.asm import code_object
    from pykittens.errors import InputError
    from pykittens.sim.launch_description import LaunchDescription

    if launch:
        return LaunchDescription(launch)
    names = ", ".join(code_object.read(path).kernels)
    raise InputError(
        "no-launch", f"a code object ({names}) needs a grid, a block and arguments", where=path,
        fix="give --launch meta.json, which says them (docs/profile.md, 'Launch descriptions')",
    )  # fmt: skip


def _launch(path: str, values: dict[str, Any]) -> None:
    from pykittens.asm import code_object
    from pykittens.cli import output
    from pykittens.errors import Fault, InputError

    description = described(path, values["launch"])
    if values["arch"] and values["arch"] != description.arch:
        what = f"the launch description is for {description.arch}, --arch is {values['arch']}"
        raise InputError("wrong-arch", what, where=str(description.path))
    code = code_object.read(path, description.arch)
    kernel = code.kernel(values["kernel"] or description.symbol)
    figures: dict[str, Any] = {
        "kernel": kernel.name, "arch": code.arch, "device": "virtual GPU", "code_object": path,
        "launch": str(description.path), "lds_bytes": kernel.lds_bytes + description.lds,
    }  # fmt: skip
    start = time.perf_counter()
    try:
        outcome = description.launch(code.data, kernel.name)
    except Fault as fault:
        figures |= {"passed": False, "error": str(fault), "instructions": None, "buffers": [], "overwritten": []}
    else:
        figures |= _figures(outcome)
    figures["run_seconds"] = time.perf_counter() - start
    if values["as_json"]:
        output.print_json(figures)
    else:
        plain = {key: value for key, value in figures.items() if not isinstance(value, list)}
        output.print_table(f"{kernel.name} on the virtual {code.arch}", ("figure", "value"), plain.items())
        if figures["buffers"]:
            columns = tuple(figures["buffers"][0])
            rows = [tuple(each.values()) for each in figures["buffers"]]
            output.print_table("Results beside the expected ones", columns, rows)
    if not figures["passed"]:
        print(f"pk: {figures['error']}", file=sys.stderr)
        raise typer.Exit(WRONG_RESULT)


def _figures(outcome: Outcome) -> dict[str, Any]:
    """``passed``, an ``error`` where it did not, and what each buffer holds beside what was expected."""
    wrong = [each.buffer for each in outcome.comparisons if not each.passed]
    problems = [f"wrong results in {', '.join(wrong)}"] * bool(wrong)
    problems += [f"bytes around {', '.join(outcome.overwritten)} were overwritten"] * bool(outcome.overwritten)
    return {
        "passed": outcome.passed,
        **({"error": f"{' and '.join(problems)} [wrong-result]"} if problems else {}),
        "instructions": outcome.run.instructions,
        "buffers": [_buffer(each) for each in outcome.comparisons],
        "overwritten": list(outcome.overwritten),
    }


def _buffer(comparison: Comparison) -> dict[str, Any]:
    limits = ", ".join(f"{name} {value:g}" for name, value in sorted(comparison.limits.items()))
    return {
        "buffer": comparison.buffer, "passed": comparison.passed, "max_error": comparison.max_error,
        "mean_error": comparison.mean_error, "wrong": comparison.wrong, "elements": comparison.elements,
        "limits": limits,
    }  # fmt: skip
