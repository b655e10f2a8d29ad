"""``pk run FILE.co --launch meta.json``: code objects of any origin, by launch description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pykittens.asm.kernel_text import render_kernel
from pykittens.asm.metadata import KernelArgument
from pykittens.asm.toolchain import assemble

from .command import pk, pk_json, refusal

BODY = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_add_u32_e32 v2, 7, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v2, s[4:5]
  s_endpgm
"""


@pytest.fixture(scope="module")
def fill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A code object whose kernel ``fill`` writes 7 + i to element i, one per work-item."""
    text = render_kernel(
        "fill", "gfx950", BODY.splitlines(), args=[KernelArgument(0, 8, "global_buffer", name="out")], kernarg_size=8,
        vgprs=3, agprs=0, sgprs=6, lds_bytes=0, max_workgroup_size=128,
    )  # fmt: skip
    path = tmp_path_factory.mktemp("fill") / "fill.co"
    path.write_bytes(assemble(text, "gfx950"))
    return path


def describe(directory: Path, **changes: Any) -> Path:
    """A launch of ``fill`` for 64 elements, and what comes out."""
    (directory / "out.bin").write_bytes(bytes(256))
    (directory / "expected.bin").write_bytes((np.arange(64, dtype=np.uint32) + 7).tobytes())
    (directory / "kernarg.bin").write_bytes(bytes(8))
    meta: dict[str, Any] = {
        "arch": "gfx950", "symbol": "fill", "grid_workgroups": [1, 1, 1], "block": [64, 1, 1], "kernarg_size": 8,
        "kernarg_pointers": [{"offset": 0, "buffer": "out"}],
        "buffers": [{"name": "out", "file": "out.bin", "dtype": "uint32", "shape": [64]}],
        "expected": [
            {"buffer": "out", "file": "expected.bin", "dtype": "uint32", "shape": [64], "kind": "u32", "exact": True}
        ],
    }  # fmt: skip
    path = directory / "meta.json"
    path.write_text(json.dumps(meta | changes))
    return path


def test_a_right_run(fill: Path, tmp_path: Path) -> None:
    figures, status = pk_json("run", fill, "--launch", describe(tmp_path))
    assert (status, figures["passed"], figures["kernel"], figures["arch"]) == (0, True, "fill", "gfx950")
    assert figures["instructions"] == 6
    assert figures["buffers"][0]["elements"] == 64
    assert figures["code_object"] == str(fill)
    # The file may come last, and the description be named by its directory.
    result = pk("run", "--launch", tmp_path, "--kernel", "fill", fill)
    assert result.exit_code == 0
    assert "out" in result.stdout


def test_a_wrong_result_is_status_1(fill: Path, tmp_path: Path) -> None:
    launch = describe(tmp_path)
    (tmp_path / "expected.bin").write_bytes(bytes(256))
    figures, status = pk_json("run", fill, "--launch", launch)
    assert (status, figures["passed"], figures["buffers"][0]["wrong"]) == (1, False, 64)
    result = pk("run", fill, "--launch", launch)
    assert (result.exit_code, result.stderr) == (1, "pk: wrong results in out [wrong-result]\n")


def test_bytes_around_a_buffer_are_guarded(fill: Path, tmp_path: Path) -> None:
    """128 work-items write 256 bytes too far."""
    figures, status = pk_json("run", fill, "--launch", describe(tmp_path, block=[128, 1, 1]))
    assert (status, figures["passed"], figures["overwritten"]) == (1, False, ["out"])
    assert figures["error"] == "bytes around out were overwritten [wrong-result]"


def test_a_fault_is_status_1(fill: Path, tmp_path: Path) -> None:
    figures, status = pk_json("run", fill, "--launch", describe(tmp_path, kernarg_pointers=[]))
    assert (status, figures["passed"], figures["instructions"]) == (1, False, None)
    assert "global_store_dword v1, v2, s[4:5]" in figures["error"]


@pytest.mark.parametrize(
    ("changes", "args", "words"),
    [
        ({}, [], "give --launch meta.json, which says them"),
        ({}, ["--launch", "missing.json"], "missing.json: cannot read the launch description"),
        ({"arch": "gfx942"}, ["--launch", "meta.json"], "the code object is for gfx950, not gfx942 [wrong-arch]"),
        ({}, ["--launch", "meta.json", "--arch", "gfx942"], "is for gfx950, --arch is gfx942 [wrong-arch]"),
        ({"arch": "gfx1"}, ["--launch", "meta.json"], "unknown arch 'gfx1'"),
        ({"symbol": "full"}, ["--launch", "meta.json"], "no kernel 'full'; it has fill [unknown-kernel]"),
        ({}, ["--launch", "meta.json", "--kernel", "f"], "no kernel 'f'; it has fill [unknown-kernel]"),
        ({"block": "64"}, ["--launch", "meta.json"], "'block' is '64', expected list [launch-description]"),
        ({"block": [4096, 1, 1]}, ["--launch", "meta.json"], "4096"),
        ({}, ["-m", "5"], "No such option: -m; use one of --launch"),
    ],
)
def test_bad_input_is_one_line(
    fill: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: Any, args: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    describe(tmp_path, **changes)
    assert words in refusal("run", fill, *args)


@pytest.mark.parametrize("content", [None, b"", b"\x7fELF", b"not a code object at all"])
def test_files_that_are_no_code_objects(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "x.co"
    if content is not None:
        path.write_bytes(content)
    assert f"{path}: " in refusal("run", path, "--launch", describe(tmp_path))
