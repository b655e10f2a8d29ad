"""``pk list``."""

from __future__ import annotations

from pathlib import Path

from pykittens.kernels import KERNELS

from .command import pk, pk_json


def test_table_has_every_kernel_and_its_options() -> None:
    result = pk("list")
    assert result.exit_code == 0
    for words in (*KERNELS, "--dtype", "--out-dtype", "--layout", "gfx942", "gfx950"):
        assert words in result.stdout


def test_json_says_what_run_takes() -> None:
    kernels, status = pk_json("list")
    assert status == 0
    assert [kernel["kernel"] for kernel in kernels] == list(KERNELS)
    gemm = kernels[0]
    assert gemm["description"].startswith("C[M, N] = A[M, K] B[N, K]")
    assert [size["name"] for size in gemm["sizes"]] == ["m", "n", "k"]
    layout = next(option for option in gemm["options"] if option["flag"] == "--layout")
    assert layout["values"] == ["ABt", "AB"]
    assert layout["default"] == "ABt"


def test_one_chip_alone() -> None:
    kernels, _ = pk_json("list", "--arch", "gfx942")
    assert all(kernel["archs"] == ["gfx942"] for kernel in kernels)
    assert "gemm_specialized" not in [kernel["kernel"] for kernel in kernels]


def test_chips_and_flags_are_those_that_build_and_run_take(tmp_path: Path) -> None:
    kernels, _ = pk_json("list")
    for kernel in kernels:
        for arch in ("gfx942", "gfx950"):
            result = pk("build", kernel["kernel"], "--arch", arch, "--out", str(tmp_path))
            assert (result.exit_code == 0) == (arch in kernel["archs"]), result.stderr
    assert "--groups " in pk("list").stdout
