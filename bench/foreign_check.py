"""Checks every code object below a directory without running it, and sums up the findings by what they are about.

    python bench/foreign_check.py DIRECTORY [--limit N] [--jobs N]

Kernels with the same code and descriptor are checked once. Prints counts by code and family (the directory of the
file) and the groups of findings, and writes them to out/foreign_check.json. Exit status 1: the checker itself failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from pykittens.asm.code_object import read
from pykittens.check.codes import CODES
from pykittens.check.findings import Finding
from pykittens.check.static import check
from pykittens.errors import Error

_ROW = re.compile(r"\(([a-z0-9-]+), [a-z ]+\)$")
_EXAMPLES = 3


def _group(finding: Finding) -> str:
    """What findings of one cause have in common: mnemonics, and the row of the hazard table."""
    row = _ROW.search(finding.why)
    pair = [p.instruction.split()[0] for p in (finding.producer, finding.place) if p is not None]
    return f"{finding.code}: {' -> '.join(pair)}{f' [{row[1]}]' if row else ''}"


def _check(path: str) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        report = check(path)
    except Error as error:
        return {"path": path, "refused": str(error)}
    except Exception as error:
        return {"path": path, "failed": repr(error)}
    groups = Counter(_group(f) for f in report.findings)
    worst = {_group(f): f"{f.pc or 0:#x}: {f.why}" for f in reversed(report.findings)}
    return {
        "path": path, "arch": report.arch, "instructions": report.instructions, "counts": report.counts(),
        "groups": dict(groups), "worst": worst, "clean": report.clean, "seconds": time.perf_counter() - start,
    }  # fmt: skip


def _distinct(paths: list[Path]) -> dict[bytes, list[Path]]:
    """Files by what is checked in them, the largest first."""
    found: dict[bytes, list[Path]] = defaultdict(list)
    for path in sorted(paths, key=lambda p: (-p.stat().st_size, p)):
        try:
            code_object = read(path)
        except Error as error:
            print(f"not read: {error}")
            continue
        digest = hashlib.sha256(code_object.arch.encode())
        for section in code_object.text:
            digest.update(section.data)
        for kernel in code_object.kernels.values():
            digest.update(repr((kernel.entry, kernel.descriptor, kernel.lds_bytes)).encode())
        found[digest.digest()].append(path)
    return dict(found)


def _summary(
    directory: Path, same: dict[bytes, list[Path]], results: list[dict[str, Any]], seconds: float
) -> dict[str, Any]:
    """Everything that is printed and written."""
    copies = {str(paths[0]): paths for paths in same.values()}
    files = Counter[str]()
    families: dict[str, Counter[str]] = defaultdict(Counter)
    groups: dict[str, dict[str, Any]] = {}
    for result in results:
        paths = copies[result["path"]]
        for name, count in result.get("groups", {}).items():
            group = groups.setdefault(name, {"findings": 0, "kernels": 0, "files": 0, "examples": []})
            group["findings"] += count
            group["kernels"] += 1
            group["files"] += len(paths)
            if len(group["examples"]) < _EXAMPLES:
                group["examples"].append(f"{paths[0].relative_to(directory)} {result['worst'][name]}")
        for path in paths:
            family = str(path.parent.relative_to(directory))
            families[family]["files"] += 1
            families[family]["clean"] += result.get("clean", False)
            files.update(result.get("counts", {}))
            families[family].update(result.get("counts", {}))
    slowest = max((r for r in results if "seconds" in r), key=lambda r: r["seconds"], default=None)
    return {
        "files": sum(map(len, same.values())), "distinct": len(results), "seconds": round(seconds, 1),
        "instructions": sum(r.get("instructions", 0) for r in results),
        "clean": sum(bool(r.get("clean")) for r in results),
        "refused": [r for r in results if "refused" in r], "failed": [r for r in results if "failed" in r],
        "slowest": slowest and {key: slowest[key] for key in ("path", "instructions", "seconds")},
        "kernels_with": {code: sum(code in r.get("counts", {}) for r in results) for code in CODES},
        "counts": dict(files), "families": {name: dict(families[name]) for name in sorted(families)},
        "groups": dict(sorted(groups.items(), key=lambda item: -item[1]["kernels"])),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--limit", type=int, help="check so many distinct files at most, the largest first")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    paths = [p for p in arguments.directory.rglob("*") if p.suffix in (".co", ".hsaco")]
    if not paths:
        print(f"skipped: no code objects in {arguments.directory}")
        return 0
    start = time.perf_counter()
    same = dict(list(_distinct(paths).items())[: arguments.limit])
    results = []
    with multiprocessing.Pool(arguments.jobs) as pool:
        for result in pool.imap_unordered(_check, [str(found[0]) for found in same.values()]):
            results.append(result)
            if sys.stdout.isatty():
                print(f"\r{len(results)} of {len(same)}", end="", flush=True)
    results.sort(key=lambda r: r["path"])
    summary = _summary(arguments.directory, same, results, time.perf_counter() - start)
    out = Path("out")
    out.mkdir(exist_ok=True)
    (out / "foreign_check.json").write_text(json.dumps(summary, indent=1) + "\n")
    _print(summary)
    return 1 if summary["failed"] else 0


def _print(summary: dict[str, Any]) -> None:
    print(
        f"{summary['files']} files, {summary['distinct']} distinct, {summary['instructions']:,} instructions in "
        f"{summary['seconds']} s (measured); {summary['clean']} distinct ones are clean"
    )
    for each in summary["refused"] + summary["failed"]:
        print(f"  {each}")
    print(f"slowest: {summary['slowest']}")
    for code, count in summary["kernels_with"].items():
        if count:
            print(f"{count:6} files with {code}, {summary['counts'].get(code, 0)} findings with all copies")
    for name, group in summary["groups"].items():
        print(f"{group['kernels']:6} files {group['findings']:7} {name}")


if __name__ == "__main__":
    sys.exit(main())
