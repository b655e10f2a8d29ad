"""SARIF 2.1.0 of a report: findings as code scanning services and editors read them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from pykittens import __version__
from pykittens.check.codes import CODES
from pykittens.check.findings import Finding, Place, Report

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(report: Report) -> dict[str, Any]:
    """One SARIF log with one run; findings in Python lines where these are known, else at addresses of the file. A run
    that was not complete counts as not successful."""
    codes = [code for code in CODES if report.by_code(code)]
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].title},
            "defaultConfiguration": {"level": CODES[code].severity},
        }
        for code in codes
    ]
    driver = {"name": "pykittens", "version": __version__, "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [{"executionSuccessful": report.complete, "exitCode": report.status}],
                "results": [_result(f, codes, report) for f in report.findings],
            }
        ],
    }


def _result(finding: Finding, codes: list[str], report: Report) -> dict[str, Any]:
    text = f"{finding.why}; {finding.fix}" if finding.fix else finding.why
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.severity,
        "message": {"text": text},
        "locations": [_location(finding.place, finding.kernel, report)],
        "occurrenceCount": finding.times,
    }
    known = {"tile": finding.tile, "phase": finding.phase, "access": finding.place.tile if finding.place else None}
    result["properties"] = {name: value for name, value in known.items() if value is not None}
    if finding.producer:
        related = _location(finding.producer, finding.kernel, report)
        result["relatedLocations"] = [related | {"message": {"text": f"the earlier one: {finding.producer}"}}]
    return result


def _location(place: Place | None, kernel: str | None, report: Report) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(report.source)}}
    if place is not None:
        physical["address"] = {"absoluteAddress": place.pc, "name": place.instruction}
        file, _, line = (place.where or "").rpartition(":")
        if file and line.isdecimal():
            physical["artifactLocation"] = {"uri": _uri(file)}
            physical["region"] = {"startLine": int(line)}
    logical = [{"name": kernel, "kind": "function"}] if kernel else []
    return {"physicalLocation": physical, "logicalLocations": logical}


def _uri(path: str) -> str:
    """A path as a URI reference."""
    return quote(path.replace("\\", "/"))
