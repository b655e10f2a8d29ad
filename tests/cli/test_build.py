"""``pk build``: files, figures, and nothing at all when the input was bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykittens.asm import code_object

from .command import pk, pk_json, refusal


def test_json_tells_what_was_built_and_where(tmp_path: Path) -> None:
    figures, status = pk_json(
        "build", "gemm", "--arch", "gfx942", "--out-dtype", "f32", "--out", tmp_path / "new", "--registers"
    )
    assert status == 0
    assert (figures["kernel"], figures["arch"], figures["out_dtype"]) == ("gemm", "gfx942", "f32")
    code = code_object.read(figures["code_object"])
    kernel = code.kernel("gemm")
    assert code.arch == "gfx942"
    assert kernel.metadata is not None
    assert figures["vgprs"] + figures["agprs"] == kernel.metadata.vgprs
    assert figures["sgprs"] == kernel.metadata.sgprs
    assert figures["lds_bytes"] == kernel.lds_bytes > 0
    assert Path(figures["assembly"]).read_text().count("s_endpgm") == 1
    assert any(" f32 " in line and "a[" in line for line in figures["registers"])
    # Nothing but the two files, no half-written ones either.
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(
        Path(figures[key]).name for key in ("code_object", "assembly")
    )


def test_table_and_register_map(tmp_path: Path) -> None:
    """The kernel's name may come last."""
    result = pk("build", "--out", tmp_path, "--registers", "gemm")
    assert result.exit_code == 0
    for words in ("gfx950", "agprs", "lds_bytes", "compile_seconds", "registers  f32"):
        assert words in result.stdout


BAD = [
    (["build", "gem"], "there is no kernel 'gem'; use one of gemm, "),
    (["build", "gemm", "--arch", "gfx90a"], "unknown arch 'gfx90a'; choose one of gfx942, gfx950"),
    (["build", "gemm", "--dtype", "f64"], "no --dtype 'f64'; use one of bf16, f16"),
    (["build", "gemm", "--out-dtype", "i8"], "use one of bf16, f16, f32"),
    (["build", "gemm", "--layout", "BA"], "use one of ABt, AB"),
    (["build", "gemm", "--tiles", "64"], "No such option: --tiles"),
    (["build", "x.co"], "there is no kernel 'x.co'"),
]


@pytest.mark.parametrize(("args", "words"), BAD)
def test_bad_input_is_one_line_and_leaves_nothing(args: list[str], words: str, tmp_path: Path) -> None:
    assert words in refusal(*args, "--out", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    line = refusal("build", "gemm", "--out", tmp_path / "file")
    assert "cannot write there" in line
    assert str(tmp_path / "file") in line
