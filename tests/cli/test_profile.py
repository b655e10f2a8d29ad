"""`pk profile` and `pk grid`: their tables, JSON, pictures and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykittens import compile as pk_compile
from pykittens import kernels

from .command import pk, pk_json, refusal


def test_profile_prints_where_time_goes() -> None:
    text = pk("profile", "gemm", "-m", 512, "-n", 512, "-k", 512).stdout
    for words in ("modelled, not measured", "MFMA utilisation", "nobody measured", "By phase", "Hottest lines"):
        assert words in text


def test_profile_json() -> None:
    figures, status = pk_json("profile", "gemm", "-m", 512, "-n", 512, "-k", 512, "--arch", "gfx942")
    assert status == 0
    assert figures["modelled"] is True
    assert figures["arch"] == "gfx942"
    assert figures["device"] == "MI300X"
    assert figures["tflops"] > 0
    assert {"cycles", "mfma_utilisation", "l2_hit", "llc_hit", "stalls", "phases", "lines", "guesses"} <= set(figures)


def test_profile_chooses_the_device() -> None:
    figures, _ = pk_json("profile", "gemm", "-m", 512, "-n", 512, "-k", 512, "--device", "MI350X")
    assert figures["device"] == "MI350X"
    assert "MI999" in refusal("profile", "gemm", "--device", "MI999")


def test_profile_of_a_file_needs_a_launch(tmp_path: Path) -> None:
    path = tmp_path / "x.co"
    assert "cannot read" in refusal("profile", path)
    path.write_bytes(pk_compile(kernels.gemm).code_object)
    line = refusal("profile", path)
    assert "(gemm)" in line and "--launch" in line and "docs/profile.md" in line


def test_grid_json() -> None:
    figures, status = pk_json("grid", "--m", 4096, "--n", 4096, "--k", 4096)
    assert status == 0
    assert [row["order"] for row in figures["orders"]] == ["row-major", "XCD only", "joint", "best found", "at launch"]
    best = figures["orders"][-1]
    assert all(best["microseconds"] <= row["microseconds"] for row in figures["orders"])
    assert figures["best_over_row_major"] >= 0
    assert figures["modelled"] is True


def test_grid_table_and_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "orders.png"
    text = pk("grid", "--m", 2048, "--n", 2048, "--k", 2048, "--png", path).stdout
    assert "over row-major (modelled)" in text
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("--tile", "256"), "ROWSxCOLS"), (("--bytes", 3), "1, 2 or 4"), (("--arch", "gfx90a"), "gfx942")],
)
def test_grid_refuses(arguments: tuple[object, ...], words: str) -> None:
    assert words in refusal("grid", *arguments)
