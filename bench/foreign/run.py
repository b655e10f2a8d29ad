"""`make foreign`: other people's code on the virtual GPU, and under the static check.

Writes out/foreign.json, docs/foreign.md and docs/foreign_findings.md.

    python -m bench.foreign.run                       everything
    python -m bench.foreign.run aiter triton          some sections: aiter triton clang vectors binding decode static
    python -m bench.foreign.run aiter --match fmha    cases whose file or kernel has this in its name
    python -m bench.foreign.run vectors --vectors DIRECTORY   ready launch descriptions of AITER's kernels

What cannot be fetched is skipped with a reason. Exit status 1: something is wrong. The table in docs/ is only written
when everything but the vectors ran.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.foreign import static_checks, static_table, table, wheel
from bench.foreign.binding import bind_all
from bench.foreign.case import Case, run

from pykittens.errors import Error
from pykittens.sim.launch_description import LaunchDescription

OUT = Path("out")
SECTIONS = {
    "aiter": ("aiter_gemm", "aiter_forward", "aiter_backward", "aiter_rows", "aiter_paged", "aiter_moe"),
    "triton": ("triton_cases",), "clang": ("clang_cases",), "vectors": (), "binding": (), "decode": (), "static": (),
}  # fmt: skip
_TIMEOUT = 300.0
_Row = dict[str, Any]


def _cases(section: str, match: str) -> Iterator[Case]:
    for name in SECTIONS[section]:
        for case in import_module(f"bench.foreign.{name}").cases():
            if match in case.name or match in (case.kernel or ""):
                yield case


def _rows(cases: Iterable[Case]) -> list[_Row]:
    rows = []
    for case in cases:
        row = run(case, timeout=_TIMEOUT).row()
        rows.append(row)
        if not row["passed"]:
            print(f"FAILED {row['file']} {row['kernel']} {row['arch']} {row['shape']}: {row['problem']}", flush=True)
        elif sys.stdout.isatty():
            print(f"\r{len(rows)} {row['file'][:90]:90}", end="\r", flush=True)
    return rows


def _vectors(folder: Path | None, match: str) -> list[_Row]:
    if folder is None:
        raise wheel.OutOfReach("no --vectors given")
    rows = []
    for path in sorted(folder.glob("*/meta.json")):
        if match not in path.parent.name:
            continue
        description = LaunchDescription(path)
        name = (description.code_object or "").removeprefix(wheel.FOLDER)
        row = {
            "group": "vectors", "file": name, "kernel": path.parent.name, "arch": description.arch, "shape": "",
            "error": float("nan"), "instructions": 0, "seconds": 0.0, "passed": False, "problem": "",
        }  # fmt: skip
        start = time.perf_counter()
        try:
            outcome = description.launch(wheel.member(name), timeout=_TIMEOUT)
            row |= {
                "error": max((c.max_error for c in outcome.comparisons), default=0.0),
                "instructions": outcome.run.instructions, "passed": outcome.passed,
                "problem": "" if outcome.passed else "not within the stated tolerances",
            }  # fmt: skip
        except Error as problem:
            row["problem"] = str(problem)
        row["seconds"] = time.perf_counter() - start
        rows.append(row)
        print(f"{'passed' if row['passed'] else 'FAILED'} {path.parent.name} {row['problem']}")
    return rows


def _binding() -> _Row:
    """Every instruction of every one of AITER's files has a handler."""
    names = wheel.members()
    start = time.perf_counter()
    found = bind_all(map(wheel.member, names))
    return {
        "files": found.files, "distinct": found.distinct, "encodings": found.encodings, "forms": found.forms,
        "problems": dict(found.problems), "seconds": time.perf_counter() - start, "passed": not found.problems,
    }  # fmt: skip


def _decode() -> _Row:
    """Every instruction's text against llvm-objdump's, by bench/foreign_decode.py."""
    folder = wheel.packages() / "hsa"
    for name in wheel.members():
        path = folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wheel.member(name))
    script = Path(__file__).parent.parent / "foreign_decode.py"
    done = subprocess.run([sys.executable, str(script), str(folder)], capture_output=True, text=True, check=False)
    if done.stdout.startswith("skipped: "):
        raise wheel.OutOfReach(done.stdout.removeprefix("skipped: ").strip())
    if done.returncode not in (0, 1):
        return {"passed": False, "problem": done.stderr[-2000:]}
    record = json.loads((OUT / "foreign_decode.json").read_text())
    del record["differences"]
    return {**record, "passed": done.returncode == 0}


def _static() -> _Row:
    """Every one of AITER's files under the static check, and Triton's code objects."""
    found = static_checks.sweep()
    found["compiled"] = static_checks.of_cases(_cases("triton", ""))
    return {**found, "passed": static_table.passed(found)}


_WHOLE = {"binding": _binding, "decode": _decode, "static": _static}
"""Sections that look at all files at once."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="all by default")
    parser.add_argument("--match", default="")
    parser.add_argument("--vectors", type=Path)
    options = parser.parse_args()
    wanted = options.sections or list(SECTIONS)
    if set(wanted) - set(SECTIONS):
        parser.error(f"sections are {', '.join(SECTIONS)}")
    report: _Row = {"rows": [], "skipped": {}}
    OUT.mkdir(exist_ok=True)
    for section in wanted:
        start = time.perf_counter()
        try:
            if section in _WHOLE:
                report[section] = _WHOLE[section]()
            elif section == "vectors":
                report["rows"] += _vectors(options.vectors, options.match)
            else:
                report["rows"] += _rows(_cases(section, options.match))
        except wheel.OutOfReach as reason:
            report["skipped"][section] = str(reason)
            print(f"{section}: skipped: {reason}")
            continue
        print(f"{section}: {time.perf_counter() - start:.0f} s (measured)", flush=True)
    (OUT / "foreign.json").write_text(json.dumps(report, indent=1) + "\n")
    print(table.summary(report))
    if not options.match and set(wanted) == set(SECTIONS) and not report["skipped"].keys() - {"vectors"}:
        Path("docs/foreign.md").write_text(table.document(report))
        print("table: docs/foreign.md")
    if "static" in report:
        Path("docs/foreign_findings.md").write_text(static_table.document(report["static"]))
        print("table: docs/foreign_findings.md")
    print(f"figures: {OUT / 'foreign.json'}")
    return 0 if table.passed(report) else 1


if __name__ == "__main__":
    sys.exit(main())
