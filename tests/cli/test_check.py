"""``pk check``: verdicts as exit statuses, text, JSON, SARIF, and kernels of ours with their Python lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.sim.assembled import code_object, pointers

from pykittens.kernels.problems import PROBLEMS

from .command import pk, pk_json, refusal

CLEAN = "  s_endpgm\n"
EARLY = "  global_load_dword v1, v0, s[0:1]\n  v_add_u32 v2, v0, v1\n  s_endpgm\n"
LOOSE = "  s_waitcnt vmcnt(0)\n  s_endpgm\n"
OPEN = "  s_setpc_b64 s[0:1]\n"


def saved(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "k.co"
    path.write_bytes(code_object(body, "gfx942", pointers(1), ()))
    return path


@pytest.mark.parametrize(("body", "status"), [(CLEAN, 0), (LOOSE, 0), (EARLY, 1), (OPEN, 2)])
def test_exit_status(tmp_path: Path, body: str, status: int) -> None:
    path = saved(tmp_path, body)
    result = pk("check", path)
    assert result.exit_code == status and "for gfx942" in result.stdout
    record, again = pk_json("check", path)
    assert again == status and record["source"] == str(path)


def test_notes_are_printed_when_asked_for(tmp_path: Path) -> None:
    path = saved(tmp_path, LOOSE)
    assert "note:" not in pk("check", path).stdout and "1 wait-loose" in pk("check", path).stdout
    assert "note: vmcnt(0) is not needed" in pk("check", path, "--notes").stdout


def test_sarif_file(tmp_path: Path) -> None:
    log = tmp_path / "k.sarif"
    assert pk("check", saved(tmp_path, EARLY), "--sarif", log, "--kernel", "k").exit_code == 1
    assert json.loads(log.read_text())["runs"][0]["results"][0]["ruleId"] == "wait-raw"
    assert "cannot write the findings" in refusal("check", saved(tmp_path, EARLY), "--sarif", tmp_path)


def test_refusals(tmp_path: Path) -> None:
    assert "no kernel 'x'" in refusal("check", saved(tmp_path, CLEAN), "--kernel", "x")
    assert "cannot read" in refusal("check", tmp_path / "none.co")
    damaged = tmp_path / "damaged.co"
    damaged.write_bytes(saved(tmp_path, CLEAN).read_bytes()[:300])
    assert refusal("check", damaged).startswith("pk: ")
    assert "needs a kernel" in refusal("check")


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_our_kernels_are_clean(name: str, arch: str) -> None:
    """Notes are of waits that a full counter makes needless, and of waves that are a barrier apart on purpose."""
    result = pk("check", name, "--arch", arch, "--json")
    if result.exit_code == 2:
        assert any(code in result.stderr for code in ("[kernel-arch]", "[dtype-arch]"))
        pytest.skip(f"not for {arch}: {result.stderr.strip()}")
    record = json.loads(result.stdout)
    assert result.exit_code == 0 and record["clean"] and record["complete"]
    assert record["instructions"] > 100
    assert record["lds"] and {row["degree"] for row in record["lds"]} == {1}
    notes = [f for f in record["findings"] if f["code"] != "barriers-differ"]
    assert all("lgkmcnt(14) is not needed" in note["why"] for note in notes)


def test_degrees_of_lds_accesses_are_shown() -> None:
    """What was run has them, what was only read has none."""
    lines = pk("check", "gemm", "--arch", "gfx942").stdout.splitlines()
    assert lines[2].startswith("LDS As read: degree 1, 0 extra passes in ")
    assert [line.split(":")[0] for line in lines[:4]] == ["LDS As write", "LDS Bs write", "LDS As read", "LDS Bs read"]
    assert "LDS" not in pk("check", "gemm", "--arch", "gfx942", "--static").stdout
