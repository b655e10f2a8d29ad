"""Commands that begin with a kernel's name and go on with that kernel's own options, as its `Problem` lists them."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from pykittens.kernels.problem import Problem

DEFAULT_ARCH = "gfx950"
ORDERS = ("best", "row-major", "chiplet:WINDOW,CHUNK")
CODE_OBJECT_SUFFIXES = (".co", ".hsaco")


def parameter(name: str, kind: Any, default: Any, *flags: str, words: str, **limits: Any) -> inspect.Parameter:
    """One option of a command. ``kind`` is its Python type, ``limits`` are typer's (min, max, …)."""
    annotation = Annotated[kind, typer.Option(*flags, help=words, **limits)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def arch_parameter() -> inspect.Parameter:
    return parameter("arch", str, DEFAULT_ARCH, "--arch", words="The chip: gfx942 or gfx950.")


def out_parameter(words: str) -> inspect.Parameter:
    return parameter("out", str, "out", "--out", words=words)


def json_parameter() -> inspect.Parameter:
    return parameter("as_json", bool, False, "--json", words="Print one JSON object instead of a table.")


def size_flag(name: str) -> str:
    """``-m``, or ``--groups`` of longer names."""
    return f"-{name}" if len(name) == 1 else f"--{name}"


def size_parameters(problem: Problem) -> list[inspect.Parameter]:
    """``-m`` and the like; the names are ``size_m`` so that they meet no other option's."""
    return [
        parameter(
            f"size_{size.name}", int, size.default, size_flag(size.name),
            words=f"{size.words[:1].upper()}{size.words[1:]}.",
        )
        for size in problem.sizes
    ]  # fmt: skip


def option_parameters(problem: Problem) -> list[inspect.Parameter]:
    """The build-time choices; the names are ``option_dtype`` and so on."""
    defaults = problem.defaults()
    return [
        parameter(
            f"option_{option.name}", str, defaults[option.name], option.flag,
            words=f"{option.words[:1].upper()}{option.words[1:]}: {', '.join(option.values)}.",
        )
        for option in problem.options
    ] + [
        parameter(
            f"option_{option.name}", str, option.default, option.flag, words=f"{option.words}: {', '.join(ORDERS)}."
        )
        for option in order_options(problem)
    ]  # fmt: skip


@dataclass(frozen=True)
class OrderOption:
    """The grid order of a kernel that takes one, on the command line."""

    default: str
    name: str = "order"
    flag: str = "--order"
    words: str = "Which workgroup has which tile; best is what the model chooses for the sizes"


def order_options(problem: Problem) -> list[OrderOption]:
    """One, or none where the kernel takes no order."""
    return [OrderOption(str(order)) for name, order in problem.kernel.options().items() if name == "order"]


def sizes_of(problem: Problem, values: Mapping[str, Any]) -> dict[str, int]:
    return {size.name: values[f"size_{size.name}"] for size in problem.sizes}


def options_of(problem: Problem, values: Mapping[str, Any]) -> dict[str, str]:
    """The build-time choices by their names, the grid order (a name) among them."""
    return {name: values[f"option_{name}"] for name in option_names(problem)}


def option_names(problem: Problem) -> list[str]:
    """The names of the choices that a command has options for."""
    return [*(option.name for option in problem.options), *(option.name for option in order_options(problem))]


def command(
    name: str, words: str, parameters: list[inspect.Parameter], action: Callable[[dict[str, Any]], None]
) -> Any:
    """A command that calls ``action`` with the values of its parameters by name."""

    def call(**values: Any) -> None:
        action(values)

    # Help is rich's markup, in which [g] of ``starts[g]`` would be a style.
    from rich.markup import escape

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    app.command(name, help=escape(words))(call)
    return typer.main.get_command(app)


class KernelGroup(TyperGroup, ABC):
    """``pk run gemm -m 5``: the kernel's name chooses the command. The name may stand anywhere among the options."""

    @abstractmethod
    def kernel_command(self, problem: Problem) -> Any:
        """The command for a kernel of ours."""

    def file_command(self, path: str) -> Any:
        """The command for a code object's file, or None where there is none."""
        return None

    def list_commands(self, ctx: Any) -> list[str]:
        from pykittens.kernels.problems import PROBLEMS

        return list(PROBLEMS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Raises `InputError`, with the kernels there are, for an unknown name."""
        from pykittens.kernels import problems

        if cmd_name not in problems.PROBLEMS and _is_file(cmd_name):
            found = self.file_command(cmd_name)
            if found is not None:
                return found
        return self.kernel_command(problems.get(cmd_name))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        from pykittens.kernels.problems import PROBLEMS

        for i, arg in enumerate(args):
            if arg in PROBLEMS or (not arg.startswith("-") and arg.endswith(CODE_OBJECT_SUFFIXES)):
                args = [arg, *args[:i], *args[i + 1 :]]
                break
        return super().parse_args(ctx, args)


def _is_file(name: str) -> bool:
    import os

    return name.endswith(CODE_OBJECT_SUFFIXES) or os.sep in name or os.path.exists(name)
