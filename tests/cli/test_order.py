"""``--order`` of the commands that take a kernel: given, chosen by the model, shown, refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import pk, pk_json, refusal

SIZES = ("-m", 300, "-n", 500, "-k", 64, "--tile", "128x128")


@pytest.mark.parametrize("order", ["best", "row-major", "chiplet:2,3", "chiplet:100,1000"])
def test_results_are_right_in_any_order_and_it_is_shown(order: str, tmp_path: Path) -> None:
    figures, status = pk_json("run", "gemm", *SIZES, "--order", order, "--out", tmp_path)
    assert status == 0
    assert figures["passed"]
    assert figures["order"] == order
    assert figures["launch_order"] == ("row-major" if order == "best" else order)
    assert ("order_" in figures["code_object"]) == (order != "best")
    assert Path(figures["code_object"]).is_file()


def test_the_model_chooses_what_pk_grid_says() -> None:
    sizes = ("-m", 9216, "-n", 9216, "-k", 512)
    profile, _ = pk_json("profile", "gemm", *sizes, "--tile", "192x256")
    grid, _ = pk_json("grid", *sizes, "--tile", "192x256")
    chosen = next(row for row in grid["orders"] if row["order"] == "at launch")
    expected = "row-major" if chosen["window"] is None else f"chiplet:{chosen['window']},{chosen['chunk']}"
    assert profile["launch_order"] == expected
    assert "grid order" in pk("profile", "gemm", "--order", "chiplet:8,64").stdout


def test_built_and_checked_with_an_order(tmp_path: Path) -> None:
    figures, _ = pk_json("build", "gemm_specialized", "--order", "chiplet:8,64", "--out", tmp_path)
    assert figures["order"] == "chiplet:8,64"
    assert pk("check", "gemm", *SIZES, "--order", "chiplet:1,2").exit_code == 0


@pytest.mark.parametrize("order", ["chiplet", "chiplet:8", "chiplet:0,4", "chiplet:a,b", "chiplet:8,64,2", "BEST", ""])
@pytest.mark.parametrize("command", ["run", "build", "check", "profile"])
def test_nonsense_is_refused(command: str, order: str) -> None:
    line = refusal(command, "gemm", "--order", order)
    assert "[grid-order]" in line


def test_listed() -> None:
    rows, _ = pk_json("list")
    assert all(any(o["flag"] == "--order" for o in row["options"]) for row in rows if row["kernel"].startswith("gemm"))
