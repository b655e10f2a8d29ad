"""The `pk` command as a whole: help, version, wrong usage, and what its errors look like."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pykittens
from pykittens.cli import one_line_errors
from pykittens.cli.main import app
from pykittens.errors import BuildError

from .command import pk, refusal


def test_help_lists_the_commands() -> None:
    result = pk("--help")
    assert result.exit_code == 0
    for name in ("list", "build", "run"):
        assert name in result.stdout
    assert pk().stdout == result.stdout


def test_version() -> None:
    result = pk("--version")
    assert result.exit_code == 0
    assert result.stdout == f"pykittens {pykittens.__version__}\n"


@pytest.mark.parametrize("command", [*(each.name for each in app.registered_commands + app.registered_groups)])
def test_every_command_has_help(command: str) -> None:
    result = pk(command, "--help")
    assert result.exit_code == 0
    assert "--help" in result.stdout


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys\nfrom pykittens.cli.main import app\n"
        "try:\n    app(['--help'], prog_name='pk')\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "print('loaded', *sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'llvmlite', 'ml_dtypes'}),"
        " *sorted(m for m in sys.modules if m.startswith(('pykittens.isa', 'pykittens.sim', 'pykittens.tile'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["explode"], "No such command 'explode'; use one of list, "),
        (["--explode"], "No such option: --explode"),
        (["list", "extra"], "unexpected extra argument"),
        (["list", "--arch", "gfx90a"], "unknown arch 'gfx90a'; choose one of gfx942, gfx950"),
        (["run"], "pk run needs a kernel; name one of gemm"),
        (["build"], "pk build needs a kernel; name one of gemm"),
    ],
)
def test_wrong_usage_is_one_line(args: list[str], words: str) -> None:
    line = refusal(*args)
    assert line.startswith("pk: ")
    assert words in line
    assert line.endswith("]\n")


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (BuildError("budget", "two\nlines", where="k.py:3"), 2, "pk: k.py:3: two lines [budget]\n"),
        (KeyboardInterrupt(), 130, "pk: interrupted\n"),
        (MemoryError(), 2, "pk: this machine has too little memory left for it; use smaller sizes [memory]\n"),
    ],
)
def test_what_stops_a_command_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, line: str
) -> None:
    monkeypatch.setattr("pykittens.arch.get", lambda name: _raise(error))
    result = pk("list", "--arch", "gfx950")
    assert (result.exit_code, result.stdout) == (status, "")
    # Some releases of typer end the line of an interrupted terminal first.
    assert result.stderr.lstrip("\n") == line


def test_a_defect_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pykittens.arch.get", lambda name: _raise(AssertionError("our mistake")))
    with pytest.raises(AssertionError, match="our mistake"):
        pk("list", "--arch", "gfx950")


def test_statuses_are_what_the_help_says() -> None:
    text = " ".join(pk("--help").stdout.split())
    assert f"{one_line_errors.WRONG_RESULT} wrong result" in text
    assert f"{one_line_errors.BAD_INPUT} bad input" in text


def _process(arguments: str, output: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``pk ARGUMENTS`` as a process whose output the shell redirects."""
    command = f'"$0" -c "from pykittens.cli.main import main; main()" {arguments} {output}'
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command, sys.executable],
        capture_output=True, text=True, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", ["list", "list --json", "--help"])
def test_a_full_disk_is_one_line(arguments: str) -> None:
    done = _process(arguments, ">/dev/full")
    assert done.returncode == 2
    assert done.stderr == "pk: [Errno 28] No space left on device [system]\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("arguments", ["list", "list --json"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_readers_may_leave(arguments: str, unbuffered: str) -> None:
    done = _process(arguments, "| sleep 0", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (0, "")


def test_terminals_without_unicode() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from pykittens.cli.main import main; main()", "list", "--arch", "gfx942"],
        capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u1d40" in done.stdout


def test_the_package_is_the_command_too() -> None:
    command = [sys.executable, "-m", "pykittens", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("pykittens ")


def test_help_keeps_what_stands_in_brackets() -> None:
    words = " ".join(pk("run", "gemm_grouped", "--help").stdout.split())
    assert "starts[g]" in words
