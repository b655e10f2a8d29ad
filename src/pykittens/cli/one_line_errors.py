"""Errors of the command line: one line on stderr and exit status 2, whatever was wrong with the input."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from pykittens.errors import Error

WRONG_RESULT = 1
BAD_INPUT = 2
INTERRUPTED = 130

# click's base of all errors in usage. Newer releases of typer carry click inside, so it is named by what they export.
_USAGE_ERROR: Any = typer.BadParameter.__bases__[0]


class OneLineErrors(TyperGroup):
    """The `pk` command: errors, wrong usage and interrupts end in one line, a defect of ours in its traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Click would call it wrong (status 1) that whoever read the output has left."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit from None

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Run and exit, with status 0, 1 (wrong result), 2 (bad input) or 130 (interrupted)."""
        try:
            status = super().main(args, prog_name, **{**extra, "standalone_mode": False})
            print(end="", flush=True)
        except Error as error:
            fail(str(error))
        except _USAGE_ERROR as error:
            fail(_usage(error))
        except (KeyboardInterrupt, typer.Abort):
            fail("interrupted", INTERRUPTED)
        except BrokenPipeError:
            # Whoever read the output has left (pk list | head): nothing to say, and nobody to say it to.
            _drop_output()
            sys.exit(0)
        except OSError as error:
            # A full disk, no more files, …: the machine's fault, which its own words tell best.
            _drop_output()
            fail(f"{error} [system]")
        except MemoryError:
            fail("this machine has too little memory left for it; use smaller sizes [memory]")
        if status == INTERRUPTED:  # newer releases of typer return it, older ones raise Abort
            fail("interrupted", INTERRUPTED)
        sys.exit(status if isinstance(status, int) else 0)


def _drop_output() -> None:
    """What could not be written is not tried again at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(line: str, status: int = BAD_INPUT) -> Any:
    """Print the line on stderr and exit."""
    print(f"pk: {' '.join(line.split())}", file=sys.stderr)
    sys.exit(status)


def _usage(error: Any) -> str:
    """What is wrong with the arguments, which command said so, and what it knows instead of an unknown name."""
    context, message = error.ctx, error.format_message().rstrip(".")
    if context is None:
        return f"{message} [usage]"
    known: list[str] = []
    # Releases of click and typer word these two differently, and some add names that look alike.
    if hasattr(error, "possibilities") and hasattr(error, "option_name"):
        message = f"No such option: {error.option_name}"
        known = [max(p.opts, key=len) for p in context.command.get_params(context) if p.param_type_name == "option"]
    elif isinstance(context.command, OneLineErrors) and context.invoked_subcommand is None:
        message = error.message.partition(". Did you mean")[0].rstrip(".")
        known = context.command.list_commands(context)
    place = f"{context.command_path}: " if context.parent else ""
    return f"{place}{message}{'; use one of ' * bool(known)}{', '.join(known)} [usage]"
