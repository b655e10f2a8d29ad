"""``pk check FILE.co --launch meta.json`` and ``pk check KERNEL``: what a run sees beyond the bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.sim.assembled import code_object, pointers

from .command import pk_json

BODY = """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_xor_b32 v2, 0x100, v1
  ds_write_b32 v1, v0
  {}
  s_barrier
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[8:9]
  s_endpgm
"""


def described(directory: Path, body: str, **changes: Any) -> tuple[Path, Path]:
    """A code object and a launch of it with two waves."""
    code, meta = directory / "k.co", directory / "meta.json"
    code.write_bytes(code_object(body, "gfx950", pointers(1), (("lds_bytes", 1024),)))
    (directory / "out.bin").write_bytes(bytes(512))
    (directory / "kernarg.bin").write_bytes(bytes(8))
    description = {
        "arch": "gfx950", "symbol": "k", "grid_workgroups": [1, 1, 1], "block": [128, 1, 1], "kernarg_size": 8,
        "kernarg_pointers": [{"offset": 0, "buffer": "out"}],
        "buffers": [{"name": "out", "file": "out.bin", "dtype": "uint32", "shape": [128]}],
    }  # fmt: skip
    meta.write_text(json.dumps(description | changes))
    return code, meta


@pytest.mark.parametrize(("wait", "codes"), [("s_waitcnt lgkmcnt(0)", []), ("s_nop 0", ["lds-race"])])
def test_a_race_is_found_by_running(tmp_path: Path, wait: str, codes: list[str]) -> None:
    code, meta = described(tmp_path, BODY.format(wait))
    assert pk_json("check", code)[1] == 0
    record, status = pk_json("check", code, "--launch", meta)
    assert [f["code"] for f in record["findings"]] == codes
    assert status == bool(codes)


def test_a_race_has_both_instructions(tmp_path: Path) -> None:
    code, meta = described(tmp_path, BODY.format("s_nop 0"))
    (finding,) = pk_json("check", code, "--launch", meta)[0]["findings"]
    assert finding["instruction"] == "ds_read_b32 v3, v2" and finding["times"] == 128
    assert finding["producer"]["instruction"] == "ds_write_b32 v1, v0"


def test_what_the_bytes_tell_is_told_once(tmp_path: Path) -> None:
    early = "  ds_read_b32 v3, v0\n  v_mov_b32 v4, v3\n  s_waitcnt lgkmcnt(0)\n  s_endpgm\n"
    code, meta = described(tmp_path, early)
    record, _ = pk_json("check", code, "--launch", meta)
    assert [f["code"] for f in record["findings"] if f["severity"] != "note"] == ["wait-raw"]


@pytest.mark.parametrize(("lanes", "codes"), [("-1", []), ("0xff", ["unwritten-output"])])
def test_results_that_are_expected_have_to_be_written(tmp_path: Path, lanes: str, codes: list[str]) -> None:
    body = BODY.format("s_waitcnt lgkmcnt(0)").replace("  global_store", f"  s_mov_b64 exec, {lanes}\n  global_store")
    result = {"buffer": "out", "file": "out.bin", "dtype": "uint32", "shape": [128], "kind": "u32", "exact": True}
    code, meta = described(tmp_path, body, expected=[result])
    record, status = pk_json("check", code, "--launch", meta)
    assert [f["code"] for f in record["findings"]] == codes and status == bool(codes)


def test_static_runs_nothing() -> None:
    with_run, _ = pk_json("check", "gemm", "-m", "256", "-n", "256", "-k", "256")
    without, _ = pk_json("check", "gemm", "--static")
    assert [f["code"] for f in with_run["findings"]] == ["barriers-differ"] and without["findings"] == []
