"""``pk run KERNEL``: right, wrong, faulting and refused runs."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pykittens.cli import host_memory
from pykittens.errors import Fault
from pykittens.executable import Executable
from pykittens.kernels.product_problem import ProductProblem
from pykittens.tile import Kernel, build

from .command import pk, pk_json, refusal

KEYS = {
    "kernel", "arch", "shape", "dtype", "out_dtype", "layout", "passed", "max_abs_error", "rel_fro_error", "vgprs",
    "agprs", "sgprs", "lds_bytes", "instructions", "compile_seconds", "run_seconds", "code_object",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pykittens.executable.compile", _compile)


@functools.cache
def _compile(kernel: Kernel, arch: str, **options: str) -> Executable:
    return Executable(build(kernel, arch, **options))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_json_has_all_figures(arch: str, tmp_path: Path) -> None:
    figures, status = pk_json(
        "run", "gemm", "--arch", arch, "-m", 33, "-n", 17, "-k", 65, "--out", tmp_path, "--out-dtype", "f32"
    )
    assert status == 0
    assert figures.keys() >= KEYS
    assert figures["passed"] is True
    assert figures["shape"] == [33, 17, 65]
    assert 0 < figures["rel_fro_error"] <= 1e-6
    assert figures["instructions"] > 0
    assert figures["device"] == "virtual GPU"
    assert Path(figures["code_object"]).read_bytes()[:4] == b"\x7fELF"
    assert Path(figures["assembly"]).is_file()


def test_table_says_virtual_gpu(tmp_path: Path) -> None:
    result = pk("run", "gemm", "-m", 5, "-n", 6, "-k", 7, "--out", tmp_path)
    assert result.exit_code == 0
    for words in ("virtual gfx950", "5 x 6 x 7", "rel_fro_error", "passed"):
        assert words in result.stdout


def test_no_depth_gives_zeros_and_no_rows_launch_nothing(tmp_path: Path) -> None:
    figures, status = pk_json("run", "gemm", "-m", 3, "-n", 3, "-k", 0, "--out", tmp_path)
    assert (status, figures["passed"], figures["max_abs_error"]) == (0, True, 0.0)
    assert figures["instructions"] > 0
    figures, status = pk_json("run", "gemm", "-m", 0, "-n", 3, "-k", 3, "--out", tmp_path)
    assert (status, figures["passed"], figures["instructions"]) == (0, True, 0)


def test_the_seed_decides_the_inputs(tmp_path: Path) -> None:
    runs = [pk_json("run", "gemm", "-m", 9, "-n", 9, "--seed", seed, "--out", tmp_path)[0] for seed in (1, 1, 2)]
    assert runs[0]["max_abs_error"] == runs[1]["max_abs_error"] != runs[2]["max_abs_error"]


def test_a_wrong_result_is_status_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    true = ProductProblem.expected

    def one_off(self: ProductProblem, tensors: Any, options: Any) -> Any:
        expected = true(self, tensors, options)
        expected["C"][2, 3] += 1.0
        return expected

    monkeypatch.setattr(ProductProblem, "expected", one_off)
    args = ("run", "gemm", "-m", 64, "-n", 64, "-k", 64, "--out", tmp_path)
    figures, status = pk_json(*args)
    assert (status, figures["passed"], figures["wrong_elements"]) == (1, False, 1)
    # The norm alone would have let it pass.
    assert figures["rel_fro_error"] <= figures["tolerance"]
    result = pk(*args)
    assert result.exit_code == 1
    assert result.stderr.startswith("pk: 1 of 4096 elements are wrong")
    assert result.stderr.count("\n") == 1


def test_a_fault_is_status_1_and_names_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*args: Any, **options: Any) -> Any:
        raise Fault("wild-address", "read of unowned memory", where="gemm.py:40", pc=64, lane=3)

    monkeypatch.setattr(Executable, "__call__", fail)
    figures, status = pk_json("run", "gemm", "-m", 4, "--out", tmp_path)
    assert (status, figures["passed"], figures["max_abs_error"]) == (1, False, None)
    assert "gemm.py:40: read of unowned memory [wild-address]" in figures["error"]
    result = pk("run", "gemm", "-m", 4, "--out", tmp_path)
    assert result.exit_code == 1
    assert "gemm.py:40" in result.stderr


def test_nan_results_are_null_in_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kernel that stores nothing leaves the NaN that C is full of."""
    monkeypatch.setattr(Executable, "__call__", lambda *args, **options: None)
    figures, status = pk_json("run", "gemm", "-m", 4, "-n", 4, "--out", tmp_path)
    assert (status, figures["wrong_elements"], figures["max_abs_error"]) == (1, 16, None)


BAD = [
    (["gem"], "there is no kernel 'gem'; use one of gemm, "),
    (["gemm", "--arch", "gfx1100"], "unknown arch 'gfx1100'"),
    (["gemm", "-m", "-5"], "m is -5, the smallest is 0 (rows of A and C) [size]"),
    (["gemm", "-k", "-1"], "k is -1, the smallest is 0"),
    (["gemm", "-m", "x"], "Invalid value for '-m'"),
    (["gemm", "-m"], "-m"),
    (["gemm", "-m", "1000000", "-n", "1000000"], "gemm with m=1000000, n=1000000, k=256 takes 66"),
    (["gemm", "-k", "99999999999999999999"], "k=99999999999999999999 takes"),
    (["gemm", "--seed", "-1"], "Invalid value for '--seed'"),
    (["gemm", "--dtype", "fp8"], "no --dtype 'fp8'; use one of bf16, f16"),
    (["gemm", "--out-dtype", "f64"], "no --out-dtype 'f64'; use one of bf16, f16, f32"),
    (["gemm", "--layout", "AtB"], "use one of ABt, AB"),
    (["gemm", "--size", "3"], "No such option: --size; use one of -m, -n, -k,"),
    (["gemm", "extra"], "unexpected extra argument"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "words"), BAD)
def test_bad_input_is_one_line_and_leaves_nothing(
    args: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = refusal("run", *args)
    assert words in line
    assert list(tmp_path.iterdir()) == []


def test_absurd_sizes_are_refused_with_both_numbers_before_allocating(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProductProblem, "tensors", lambda *args: pytest.fail("tensors were made"))
    line = refusal("run", "gemm", "-m", 10**6, "-n", 10**6, "-k", 10**6, "--out", tmp_path / "out")
    assert f"this machine has {host_memory.host_memory()}" in line
    assert not (tmp_path / "out").exists()


def test_a_launch_that_is_refused_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows too long for the kernel's 32-bit offsets are found only by the launch."""
    monkeypatch.setattr(
        ProductProblem, "tensors", lambda *args: {"A": np.zeros((2, 2)), "B": np.zeros((2, 2)), "C": np.zeros((2, 2))}
    )
    line = refusal("run", "gemm", "-m", 2, "-n", 2, "-k", 2, "--out", tmp_path / "out")
    assert "A is float64, the kernel takes bfloat16" in line
    assert not (tmp_path / "out").exists()


def test_host_memory_obeys_a_containers_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlimited, limited = tmp_path / "max", tmp_path / "limit"
    unlimited.write_text("max\n")
    limited.write_text("1048576\n")
    monkeypatch.setattr(host_memory, "_LIMITS", (str(unlimited), str(tmp_path / "missing")))
    whole = host_memory.host_memory()
    assert whole > 1 << 26
    monkeypatch.setattr(host_memory, "_LIMITS", (str(unlimited), str(limited)))
    assert host_memory.host_memory() == 1048576


def test_as_a_process_of_its_own(tmp_path: Path) -> None:
    """Status and streams, as a shell sees them."""
    command = [sys.executable, "-m", "pykittens.cli.main", "run", "gemm", "-m", "8", "-n", "8"]
    done = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "rel_fro_error" in done.stdout
    done = subprocess.run([*command, "-k", "-2"], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pk: k is -2, the smallest is 0 (the length that is summed over) [size]\n"


def test_an_output_that_is_no_directory_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("the kernel ran")

    monkeypatch.setattr(Executable, "__call__", never)
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        said = refusal("run", "gemm", "-m", 5, "--out", path)
        assert said == f"pk: {path}: cannot write there: {tmp_path / 'file'} is no directory [unwritable]\n"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user who may not write everywhere")
def test_a_directory_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert f"{tmp_path} is not writable [unwritable]" in refusal("run", "gemm", "-m", 5, "--out", tmp_path / "new")
