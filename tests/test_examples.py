"""The examples do what they say, as processes of their own."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pykittens.asm import code_object

ROOT = Path(__file__).resolve().parent.parent
_FIRST_KERNEL = ROOT / "examples" / "my_first_kernel.py"
_QUICKSTART = ROOT / "docs" / "quickstart.md"

# The main job with one similarity changed after the virtual GPU wrote it.
_ONE_WRONG = """
import runpy, sys
import pykittens as pk

call = pk.Executable.__call__

def wrong(self, a, b, c):
    run = call(self, a, b, c)
    c[5, 7] += 1e4
    return run

pk.Executable.__call__ = wrong
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.fixture
def digits() -> Path:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    return ROOT / "examples" / "digits.py"


def test_digits(digits: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, digits], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "on the virtual GPU" in done.stdout
    report = json.loads((tmp_path / "out" / "run.json").read_text())
    assert report["passed"] is True
    assert {result["arch"] for result in report["results"]} == {"gfx942", "gfx950"}
    for result in report["results"]:
        assert result["shape"] == [1797, 1797, 64]
        assert result["rel_fro_error"] <= 1e-6
        assert result["accuracy"] == result["numpy_accuracy"] > 0.9
        assert code_object.read(tmp_path / result["code_object"]).arch == result["arch"]
        assert (tmp_path / result["assembly"]).is_file()


def test_digits_notices_a_wrong_result(digits: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _ONE_WRONG, digits], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "WRONG" in done.stdout
    assert json.loads((tmp_path / "out" / "run.json").read_text())["passed"] is False


def _first_kernel(
    directory: Path, *options: str, change: tuple[str, str] = ("", "")
) -> subprocess.CompletedProcess[str]:
    """Run a copy of the example, as a user's own file outside the package, with one thing changed."""
    text = _FIRST_KERNEL.read_text(encoding="utf-8")
    assert change[0] in text
    (directory / "mine.py").write_text(text.replace(*change, 1), encoding="utf-8")
    return subprocess.run([sys.executable, "mine.py", *options], cwd=directory, capture_output=True, text=True)


@pytest.mark.parametrize(("arch", "dtype"), [("gfx950", "bf16"), ("gfx942", "f16")])
def test_first_kernel(arch: str, dtype: str, tmp_path: Path) -> None:
    done = _first_kernel(tmp_path, "--arch", arch, "--dtype", dtype)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "right"
    assert f"matmul for {arch}: clean" in done.stdout


@pytest.mark.parametrize(
    ("without", "code"),
    [
        ("pk.wait_for(As, Bs)", "lds-read-early"),
        ("pk.barrier()  # ... and", "lds-read-early"),
        ("pk.barrier()  # nobody", "lds-overwrite-early"),
    ],
)
def test_first_kernel_without_its_waits_is_not_built(without: str, code: str, tmp_path: Path) -> None:
    done = _first_kernel(tmp_path, change=(without, "pass  #"))
    assert done.returncode != 0
    error = done.stderr.splitlines()[-1]
    assert "mine.py:" in error and f"[{code}]" in error


def test_first_kernel_notices_a_wrong_result(tmp_path: Path) -> None:
    done = _first_kernel(tmp_path, change=("B.tile(col, t)", "B.tile(row, t)"))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "WRONG")


def _quickstart() -> list[str]:
    """The page's Python blocks, which together are one program."""
    return re.findall(r"```python\n(.*?)```", _QUICKSTART.read_text(encoding="utf-8"), re.S)


def test_quickstart_shows_the_first_kernel() -> None:
    assert _kernel(_quickstart()[0]) == _kernel(_FIRST_KERNEL.read_text(encoding="utf-8"))


def test_quickstart_runs(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("".join(_quickstart()), encoding="utf-8")
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert code_object.read(tmp_path / "matmul.co").arch == "gfx950"


def _kernel(source: str) -> str:
    """The syntax tree of `matmul` in a source, which comments are no part of."""
    return ast.dump(next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == "matmul"))
