"""The `pk` command line: its commands, each in a file of its own that loads what it needs only when it runs."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from pykittens import __version__
from pykittens.cli.build import BuildGroup
from pykittens.cli.check import CheckGroup
from pykittens.cli.grid import grid
from pykittens.cli.lds import lds
from pykittens.cli.list import list_kernels
from pykittens.cli.one_line_errors import OneLineErrors
from pykittens.cli.profile import ProfileGroup
from pykittens.cli.run import RunGroup

app = typer.Typer(cls=OneLineErrors, name="pk", add_completion=False, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"pykittens {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def pk(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_show_version)] = False,
) -> None:
    """Tile kernels for AMD CDNA GPUs: built to code objects, and run on a virtual GPU on this computer.

    Exit status: 0 done and right, 1 wrong result or fault, 2 bad input.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


def _no_kernel(context: typer.Context) -> None:
    """Refuse ``pk run`` and ``pk build`` alone."""
    if context.invoked_subcommand is None:
        from pykittens.errors import InputError
        from pykittens.kernels.problems import PROBLEMS

        raise InputError(
            "no-kernel", f"{context.command_path} needs a kernel", fix=f"name one of {', '.join(PROBLEMS)}"
        )


def _add_group(group: type, name: str, words: str) -> None:
    app.add_typer(
        typer.Typer(cls=group, callback=_no_kernel, invoke_without_command=True, add_completion=False),
        name=name, help=words, subcommand_metavar="KERNEL [OPTIONS]",
    )  # fmt: skip


app.command("list")(list_kernels)
app.command("lds")(lds)
app.command("grid")(grid)
_add_group(BuildGroup, "build", "Build a kernel: code object, assembly, registers, LDS.")
_add_group(RunGroup, "run", "Run a kernel, or FILE.co --launch meta.json, on the virtual GPU and compare.")
_add_group(CheckGroup, "check", "Prove a kernel's or a FILE.co's waits, wait states and registers on every path.")
_add_group(ProfileGroup, "profile", "Model where every cycle of a kernel, or of a FILE.co, would go on a real chip.")


def main() -> None:
    """The entry point of the `pk` command."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal without Unicode gets \u1d40 for ᵀ, not an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="pk")


if __name__ == "__main__":
    main()
