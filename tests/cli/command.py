"""Runs `pk` in this process, as a shell would."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from pykittens.cli.main import app


def pk(*args: object) -> Any:
    """The result of ``pk ARGS``: exit_code, stdout, stderr. A traceback is the test's own failure."""
    result = CliRunner().invoke(app, [str(arg) for arg in args], prog_name="pk")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def pk_json(*args: object) -> Any:
    """What ``pk ARGS --json`` prints, which is one line with one JSON value, and its exit status."""
    result = pk(*args, "--json")
    assert result.stdout.count("\n") == 1, result.stdout + result.stderr
    return json.loads(result.stdout), result.exit_code


def refusal(*args: object) -> str:
    """The one line that ``pk ARGS`` says on stderr when it exits with status 2 and prints nothing else."""
    result = pk(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return str(result.stderr)
