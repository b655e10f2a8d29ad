"""Launch descriptions: a kernel of our own described, launched and compared, and descriptions that are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.sim.assembled import COPY, code_object, pointers

from pykittens.errors import InputError
from pykittens.sim.launch_description import LaunchDescription

COUNT = 128
EXACT = {"buffer": "B", "file": "b.expected.bin", "dtype": "uint32", "shape": [COUNT], "kind": "u32", "exact": True}
CODE = code_object(COPY, "gfx950", pointers(2), ())


def describe(directory: Path, expected: list[dict[str, Any]] | None = None, **changes: Any) -> Path:
    """A description of the kernel that adds 1, with its files; ``changes`` replace entries (None removes one)."""
    a = np.arange(COUNT, dtype=np.uint32)
    a.tofile(directory / "a.bin")
    np.zeros(COUNT, np.uint32).tofile(directory / "b.bin")
    (a + 1).tofile(directory / "b.expected.bin")
    (directory / "kernarg.bin").write_bytes(bytes(16))
    meta: dict[str, Any] = {
        "arch": "gfx950", "symbol": "k", "co": "k.co", "grid_workgroups": [2, 1, 1], "block": [64, 1, 1],
        "kernarg_size": 16, "kernarg_pointers": [{"offset": 0, "buffer": "A"}, {"offset": 8, "buffer": "B"}],
        "buffers": [
            {"name": "A", "file": "a.bin", "dtype": "uint32", "shape": [COUNT], "role": "in"},
            {"name": "B", "file": "b.bin", "dtype": "uint32", "shape": [COUNT], "role": "out"},
        ],
        "expected": expected or [EXACT],
    }  # fmt: skip
    meta.update(changes)
    path = directory / "meta.json"
    path.write_text(json.dumps({key: value for key, value in meta.items() if value is not None}))
    return path


def test_what_is_expected_comes_out(tmp_path: Path) -> None:
    outcome = LaunchDescription(describe(tmp_path)).launch(CODE)
    assert outcome.passed and outcome.comparisons[0].wrong == 0
    assert (outcome.buffers["B"].view(np.uint32) == np.arange(COUNT) + 1).all()
    assert LaunchDescription(tmp_path).launch(CODE, "k", threads=1).run.workgroups == 2


def test_wrong_results_are_counted(tmp_path: Path) -> None:
    path = describe(tmp_path)
    wanted = np.arange(COUNT, dtype=np.uint32) + 1
    wanted[[3, 70]] += 5
    wanted.tofile(tmp_path / "b.expected.bin")
    outcome = LaunchDescription(path).launch(CODE)
    assert not outcome.passed
    assert (outcome.comparisons[0].wrong, outcome.comparisons[0].max_error) == (2, 5)


def test_guard_bytes_are_checked(tmp_path: Path) -> None:
    """Three workgroups on buffers for two: the third writes behind the second buffer."""
    outcome = LaunchDescription(describe(tmp_path, grid_workgroups=[3, 1, 1])).launch(CODE)
    assert outcome.overwritten == ("B",) and not outcome.passed


@pytest.mark.parametrize(
    ("limits", "passes"),
    [
        ({"atol": 1.9, "rtol": 0}, False), ({"atol": 2.1, "rtol": 0}, True), ({"atol": 0, "rtol": 0.7}, True),
        ({"atol": 0, "rtol": 0.5}, False), ({"atol": 2.1, "rtol": 0, "mean_atol": 1.9}, False),
        ({"atol": 2.1, "rtol": 0, "mean_atol": 2.1}, True),
    ],
)  # fmt: skip
def test_tolerances(tmp_path: Path, limits: dict[str, float], passes: bool) -> None:
    """The buffer's numbers are 1, 2, 3, … and 2 less than expected."""
    entry = {"buffer": "B", "file": "far.bin", "dtype": "float32", "shape": [COUNT], "kind": "u32"} | limits
    path = describe(tmp_path, [entry])
    (np.arange(COUNT, dtype=np.float32) + 3).tofile(tmp_path / "far.bin")
    assert LaunchDescription(path).launch(CODE).passed is passes


@pytest.mark.parametrize(("ulp", "passes"), [(0, False), (1, True), (2, True)])
def test_units_in_the_last_place(tmp_path: Path, ulp: int, passes: bool) -> None:
    """bf16 bits: neighbouring numbers, also on both sides of zero, are one unit apart."""
    entry = {"buffer": "B", "file": "near.bin", "dtype": "uint16", "shape": [2 * COUNT], "kind": "bf16bits", "ulp": ulp}
    path = describe(tmp_path, [entry])
    bits = (np.arange(COUNT, dtype=np.uint32) + 1).view(np.uint16).copy()
    bits[0] += 1
    bits[1] = 0x8000
    bits.tofile(tmp_path / "near.bin")
    assert LaunchDescription(path).launch(CODE).passed is passes


def test_floats_are_compared_as_numbers(tmp_path: Path) -> None:
    """Equal infinities and NaNs agree; a NaN in place of a number is infinitely wrong."""
    entry = {
        "buffer": "B",
        "file": "f.bin",
        "dtype": "float32",
        "shape": [2 * COUNT],
        "kind": "bf16",
        "atol": 0,
        "rtol": 0,
    }
    path = describe(tmp_path, [entry])
    a = np.full(COUNT, 0x7F807FC0 - 1, np.uint32)
    a.tofile(tmp_path / "a.bin")
    wanted = (a + 1).view(np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    wanted.tofile(tmp_path / "f.bin")
    assert LaunchDescription(path).launch(CODE).passed
    wanted[0] = 1.0
    wanted.tofile(tmp_path / "f.bin")
    comparison = LaunchDescription(path).launch(CODE).comparisons[0]
    assert (comparison.wrong, comparison.max_error) == (1, np.inf)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arch": None}, "lacks 'arch'"), ({"block": 64}, "expected list"),
        ({"buffers": [{"name": "A"}]}, "lacks 'file'"),
        ({"kernarg_pointers": [{"offset": 12, "buffer": "A"}]}, "does not fit"),
        ({"kernarg_pointers": [{"offset": 0, "buffer": "C"}]}, "buffer 'C'"),
        ({"expected": [{"buffer": "C", "file": "b.bin", "dtype": "uint32", "kind": "u32", "exact": True}]}, "'C'"),
        ({"expected": [{"buffer": "B", "file": "b.bin", "dtype": "uint32", "kind": "u32"}]}, "no tolerance"),
        ({"expected": [{"buffer": "B", "file": "b.bin", "dtype": "uint32", "kind": "u128", "exact": True}]}, "u128"),
        ({"expected": [{"buffer": "B", "file": "no.bin", "dtype": "uint32", "kind": "u32", "exact": True}]}, "no.bin"),
        ({"grid_workgroups": [0, 1, 1]}, "grid"), ({"arch": "gfx90a"}, "gfx90a"), ({"symbol": "other"}, "other"),
        ({"lds": "much"}, "expected int"),
    ],
)  # fmt: skip
def test_descriptions_that_are_wrong(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        LaunchDescription(describe(tmp_path, **changes)).launch(CODE)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"arch": 1}'])
def test_files_that_are_no_descriptions(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.json").write_text(text)
    with pytest.raises(InputError):
        LaunchDescription(tmp_path)
    with pytest.raises(InputError, match="cannot read"):
        LaunchDescription(tmp_path / "other.json")
