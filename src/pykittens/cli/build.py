"""``pk build KERNEL``: a kernel's code object and assembly, with the registers and LDS that it takes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykittens.cli import kernel_commands as kc

if TYPE_CHECKING:
    from pykittens.executable import Executable
    from pykittens.kernels.problem import Problem


class BuildGroup(kc.KernelGroup):
    """One command per kernel."""

    def kernel_command(self, problem: Problem) -> Any:
        return kc.command(
            problem.name,
            f"Build {problem.name}: {problem.kernel.description}",
            [
                *kc.option_parameters(problem),
                kc.arch_parameter(),
                kc.out_parameter("Directory for the .co and the .s."),
                kc.parameter("registers", bool, False, "--registers", words="Print the register map too."),
                kc.parameter("png", str, "", "--png", words="Draw the register map into this file."),
                kc.json_parameter(),
            ],
            partial(_build, problem),
        )


def compiled(problem: Problem, arch: str, options: dict[str, str]) -> tuple[Executable, float]:
    """The kernel with these options, and the seconds from Python to the code object's bytes."""
    from pykittens.executable import compile
    from pykittens.schedule import grid

    problem.check_options(options)
    grid.named(options.get("order", "best"))
    start = time.perf_counter()
    exe = compile(problem.kernel, arch, **options)
    return exe, time.perf_counter() - start


def resources(exe: Executable) -> dict[str, int]:
    """Registers of a wave and LDS bytes of a workgroup, as the code object's metadata has them (AGPRs apart)."""
    metadata = exe.metadata
    return {
        "vgprs": metadata.vgprs - (metadata.agprs or 0),
        "agprs": metadata.agprs or 0,
        "sgprs": metadata.sgprs,
        "lds_bytes": metadata.lds_bytes,
    }


def option_figures(problem: Problem, options: dict[str, str]) -> dict[str, str]:
    """The options by their names on the command line: ``out_dtype`` for ``--out-dtype``."""
    flags = {option.name: option.flag.strip("-").replace("-", "_") for option in problem.options}
    return {flags.get(name, name): options[name] for name in kc.option_names(problem)}


def order_figures(exe: Executable, tensors: Mapping[str, Any]) -> dict[str, str]:
    """The grid order that a launch on these tensors has, of a kernel that takes one."""
    return {"launch_order": str(exe.order_for(*tensors.values()) or "none")} if "order" in exe.built.options else {}


def _build(problem: Problem, values: dict[str, Any]) -> None:
    from pykittens.cli import artifacts, output

    options = kc.options_of(problem, values)
    exe, seconds = compiled(problem, values["arch"], options)
    co, assembly = artifacts.write_artifacts(exe, Path(values["out"]), artifacts.file_stem(exe, options))
    figures: dict[str, Any] = {
        "kernel": exe.name, "arch": exe.arch, **option_figures(problem, options), **resources(exe),
        "code_object": str(co), "assembly": str(assembly), "code_object_bytes": len(exe.code_object),
        "compile_seconds": seconds,
    }  # fmt: skip
    if values["png"]:
        from pykittens.report.register_figure import RegisterBar, draw_registers

        bars = [RegisterBar(*bar) for bar in exe.registers.bars()]
        draw_registers(bars, f"{exe.name}, {exe.arch}", Path(values["png"]))
        figures["png"] = values["png"]
    register_map = exe.registers.text()
    if values["as_json"]:
        output.print_json({**figures, **({"registers": register_map} if values["registers"] else {})})
        return
    output.print_table(f"{exe.name} for {exe.arch}", ("figure", "value"), figures.items())
    if values["registers"]:
        print("\n".join(register_map))
