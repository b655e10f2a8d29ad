"""The examples do what they say, as processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pykittens.asm import code_object

ROOT = Path(__file__).resolve().parent.parent

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
