"""``pk profile --html --trace``: files for kernels of ours and for code objects with sources beside them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.sim.assembled import STORE, code_object, pointers

from .command import pk, pk_json, refusal
from .test_launch import describe

SMALL = ("profile", "gemm", "-m", 256, "-n", 128, "-k", 256)


def test_both_files_of_a_kernel(tmp_path: Path) -> None:
    page, trace = tmp_path / "r.html", tmp_path / "t.json"
    result = pk(*SMALL, "--html", page, "--trace", trace)
    assert result.exit_code == 0 and f"html: {page}" in result.stdout and f"trace: {trace}" in result.stdout
    text = page.read_text(encoding="utf-8")
    assert "def gemm(" in text and "c[0, 0]" in text and "phase 00" in text
    assert json.loads(trace.read_text())["otherData"]["kernel"] == "gemm"


def test_json_names_the_files(tmp_path: Path) -> None:
    figures, status = pk_json(*SMALL, "--html", tmp_path / "r.html")
    assert status == 0 and figures["html"] == str(tmp_path / "r.html") and figures["modelled"] is True
    assert "trace" not in figures


def test_a_code_object_with_its_source_beside_it(tmp_path: Path) -> None:
    page, code = tmp_path / "r.html", tmp_path / "k.co"
    located = '  .file 1 "fill.s"\n  .loc 1 2 0\n' + STORE
    code.write_bytes(code_object(located, "gfx950", pointers(1), ()))
    (tmp_path / "fill.s").write_text("first line\nthe source's second line\n")
    launch = describe(tmp_path, symbol="k")
    assert pk("profile", code, "--launch", launch, "--html", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "k on MI355X" in text and "the source&#x27;s second line" in text
    (tmp_path / "fill.s").unlink()
    assert pk("profile", code, "--launch", launch, "--html", page).exit_code == 0
    assert "the file was not found" in page.read_text(encoding="utf-8")


def test_a_compressed_trace_is_the_same(tmp_path: Path) -> None:
    for name in ("t.json", "t.json.gz"):
        assert pk(*SMALL, "--trace", tmp_path / name).exit_code == 0
    packed = (tmp_path / "t.json.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "t.json").read_bytes()
    assert len(packed) < (tmp_path / "t.json").stat().st_size / 5


@pytest.mark.parametrize("option", ["--html", "--trace"])
def test_an_unwritable_file(tmp_path: Path, option: str) -> None:
    assert "cannot write the report" in refusal(*SMALL, option, tmp_path / "none" / "x")
