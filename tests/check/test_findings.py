"""Findings and reports: order, counts, verdicts, text, JSON and SARIF."""

from __future__ import annotations

import json
import re

import pytest

import pykittens as pk
from pykittens.check.findings import Finding, Place, Report
from pykittens.check.sarif import sarif
from pykittens.errors import InputError

PLACE = Place(0x140, "s_endpgm", "gemm.py:12", "00")
ERROR = Finding("wait-raw", "v1 is early", "wait", PLACE, Place(0x120, "s_nop 0"), tile="A", kernel="k")
NOTE = Finding("wait-loose", "could be looser", "loosen", Place(0x100, "s_nop 1"), kernel="k", times=3)
OPEN = Finding("not-followed", "unknown", place=PLACE, kernel="k")


def made(*findings: Finding) -> Report:
    return Report.of("gfx950", "x.co", ["k"], findings, 7)


def test_worst_first_and_equal_ones_once() -> None:
    found = made(NOTE, ERROR, ERROR)
    assert found.findings == (ERROR, NOTE)
    assert found.counts() == {"wait-raw": 1, "wait-loose": 1}
    assert found.by_code("wait-raw") == (ERROR,)
    with pytest.raises(InputError, match="one of wait-raw"):
        found.by_code("wait-rwa")


@pytest.mark.parametrize(
    ("findings", "clean", "complete", "status"),
    [((), True, True, 0), ((NOTE,), True, True, 0), ((ERROR, NOTE), False, True, 1), ((OPEN,), True, False, 2),
     ((OPEN, ERROR), False, False, 1)],
)  # fmt: skip
def test_verdicts(findings: tuple[Finding, ...], clean: bool, complete: bool, status: int) -> None:
    found = made(*findings)
    assert (found.clean, found.complete, found.status) == (clean, complete, status)


def test_more_findings_join_a_report() -> None:
    assert made(NOTE).merged([ERROR]).findings == (ERROR, NOTE)


def test_text_has_everything_that_is_known() -> None:
    text = made(ERROR, NOTE).text()
    assert "error: v1 is early [wait-raw]\n    at    0x140 `s_endpgm` (gemm.py:12, phase 00)\n" in text
    assert "    after 0x120 `s_nop 0`\n    tile  A\n    fix   wait\n" in text
    assert "seen  3 times" in text and "seen" not in made(NOTE, ERROR).text(notes=False)
    assert text.splitlines()[-1] == "x.co for gfx950: not clean: 7 instructions of 1 kernel: 1 wait-raw, 1 wait-loose"


def test_json_goes_through_json() -> None:
    record = json.loads(json.dumps(made(ERROR, NOTE).to_json()))
    assert (record["clean"], record["counts"]) == (False, {"wait-raw": 1, "wait-loose": 1})
    first = record["findings"][0]
    assert (first["pc"], first["where"], first["phase"], first["tile"]) == (0x140, "gemm.py:12", "00", "A")
    assert first["producer"]["pc"] == 0x120 and first["severity"] == "error"


def test_sarif_has_lines_where_they_are_known_and_addresses_always() -> None:
    log = json.loads(json.dumps(sarif(made(ERROR, NOTE))))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["wait-raw", "wait-loose"]
    first, second = run["results"]
    assert (first["level"], first["ruleIndex"], first["message"]["text"]) == ("error", 0, "v1 is early; wait")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "gemm.py" and place["region"] == {"startLine": 12}
    assert place["address"]["absoluteAddress"] == 0x140
    assert first["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "x.co"
    assert second["level"] == "note" and "region" not in second["locations"][0]["physicalLocation"]


def test_sarif_has_what_the_standard_requires() -> None:
    """SARIF 2.1.0 (OASIS), sections 3.13 to 3.30: required properties, their types and their values."""
    beside = Finding("unwritten-output", "3 of 4 bytes", tile="C", kernel="k")
    for report in (made(ERROR, NOTE, beside), made(OPEN), made()):
        log = json.loads(json.dumps(sarif(report)))
        assert set(log) == {"$schema", "version", "runs"} and log["$schema"].endswith("sarif-2.1.0.json")
        (run,) = log["runs"]
        driver = run["tool"]["driver"]
        assert isinstance(driver["name"], str) and driver["version"] == pk.__version__
        rules = [rule["id"] for rule in driver["rules"]]
        assert len(set(rules)) == len(rules) and all(rule["shortDescription"]["text"] for rule in driver["rules"])
        assert run["invocations"] == [{"executionSuccessful": report.complete, "exitCode": report.status}]
        assert len(run["results"]) == len(report.findings)
        for result in run["results"]:
            assert rules[result["ruleIndex"]] == result["ruleId"] and result["message"]["text"]
            assert result["level"] in ("none", "note", "warning", "error") and result["occurrenceCount"] >= 1
            for location in (*result["locations"], *result.get("relatedLocations", ())):
                physical = location["physicalLocation"]
                assert re.fullmatch(r"[A-Za-z0-9%._~/-]+", physical["artifactLocation"]["uri"])
                assert physical.get("region", {"startLine": 1})["startLine"] >= 1
                assert physical.get("address", {"absoluteAddress": 0})["absoluteAddress"] >= 0
                assert all(isinstance(each["name"], str) for each in location["logicalLocations"])
    assert sarif(made(beside))["runs"][0]["results"][0]["properties"] == {"tile": "C"}


def test_the_room_is_the_check() -> None:
    from tests.sim.assembled import COPY, code_object, pointers

    data = code_object(COPY, "gfx942", pointers(2), ())
    found = pk.check(data)
    assert found.clean and found.arch == "gfx942" and found.kernels == ("k",) and found.instructions == 10
    with pytest.raises(InputError, match="no kernel 'x'"):
        pk.check(data, kernel="x")
