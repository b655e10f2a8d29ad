"""The static check over all of AITER's code objects: what is found, by kind and family, and how long it takes.

Kernels with the same code and descriptor are checked once. A kind of finding is its code, the mnemonics of the two
instructions, and the row of the hazard table; a family is the directory of the file, or the first word of its name.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from bench.foreign import wheel
from bench.foreign.case import Case

from pykittens.asm.code_object import read
from pykittens.check.entry_values import workgroup
from pykittens.check.findings import Finding
from pykittens.check.static import check
from pykittens.errors import Error

_Row = dict[str, Any]
_TABLE_ROW = re.compile(r"\(([a-z0-9-]+), [a-z ]+\)$")
_STEMS = ("fmoe", "pa", "layer_norm", "all_reduce", "allreduce", "gemm_a8w8", "f8_block_scale", "flatmm")
"""Families of the files that lie in no folder of their own."""


def family(name: str) -> str:
    """``gfx942/fmoe/silu/x.co`` is of fmoe, ``gfx942/layer_norm.co`` of layer_norm."""
    parts = name.split("/")[1:]
    if len(parts) > 1:
        return parts[0]
    return next((stem for stem in _STEMS if parts[0].startswith(stem)), parts[0].removesuffix(".co"))


def kind(finding: Finding) -> str:
    """What findings of one cause have in common."""
    row = _TABLE_ROW.search(finding.why)
    pair = [p.instruction.split()[0] for p in (finding.producer, finding.place) if p is not None]
    return f"{finding.code}: {' -> '.join(pair)}{f' [{row[1]}]' if row else ''}"


def _check(file: tuple[str, bytes]) -> _Row:
    """The check of one file; seconds are the processor's, as other work may go on beside it."""
    name, data = file
    start = time.process_time()
    try:
        report = check(data)
    except Error as error:
        return {"name": name, "refused": str(error)}
    except Exception as error:
        return {"name": name, "failed": repr(error)}
    seconds = time.process_time() - start
    kinds: Counter[str] = Counter()
    first: dict[str, str] = {}
    for f in report.findings:
        if f.severity != "note":
            kinds[kind(f)] += 1
            first.setdefault(kind(f), f"{f.pc or 0:#x}: {f.why}")
    notes = Counter(f.code for f in report.findings if f.severity == "note")
    return {
        "name": name, "instructions": report.instructions, "kinds": dict(kinds), "first": first, "notes": dict(notes),
        "clean": report.clean, "complete": report.complete, "seconds": seconds,
    }  # fmt: skip


def _distinct(names: Iterable[str]) -> dict[str, list[str]]:
    """Files by the first one with the same code and descriptors, the largest first."""
    found: dict[bytes, list[str]] = defaultdict(list)
    sizes: dict[str, int] = {}
    for name in names:
        data = wheel.member(name)
        sizes[name] = len(data)
        code_object = read(data)
        digest = hashlib.sha256(code_object.arch.encode())
        for section in code_object.text:
            digest.update(section.data)
        for kernel in code_object.kernels.values():
            digest.update(repr((kernel.entry, kernel.descriptor, kernel.lds_bytes, workgroup(kernel))).encode())
        found[digest.digest()].append(name)
    return dict(sorted(((same[0], same) for same in found.values()), key=lambda item: (-sizes[item[0]], item[0])))


def sweep(names: Iterable[str] | None = None) -> _Row:
    """Check these files, or all of them.

    found: the kinds of errors and warnings of each distinct file that has any, with their numbers and the first of
    each. notes: distinct files and notes by code. failed: what the check itself broke on.
    """
    start = time.perf_counter()
    jobs = os.cpu_count() or 1
    same = _distinct(wheel.members() if names is None else names)
    results = []
    with multiprocessing.Pool(jobs) as pool:
        # The archive is read here: its file has one position for all processes.
        for result in pool.imap_unordered(_check, ((name, wheel.member(name)) for name in same)):
            results.append(result)
            if sys.stdout.isatty():
                print(f"\r{len(results)} of {len(same)}", end="", flush=True)
    results.sort(key=lambda r: r["name"])
    done = [r for r in results if "seconds" in r]
    slowest = max(done, key=lambda r: r["seconds"])
    return {
        "files": sum(map(len, same.values())), "distinct": len(results), "jobs": jobs,
        "seconds": time.perf_counter() - start, "processor_seconds": sum(r["seconds"] for r in done),
        "instructions": sum(r["instructions"] for r in done), "clean": sum(r["clean"] for r in done),
        "incomplete": [r["name"] for r in done if not r["complete"]],
        "slowest": {key: slowest[key] for key in ("name", "instructions", "seconds")},
        "failed": [r for r in results if "seconds" not in r],
        "found": {r["name"]: {"kinds": r["kinds"], "first": r["first"]} for r in done if r["kinds"]},
        "notes": {
            code: [sum(code in r["notes"] for r in done), sum(r["notes"].get(code, 0) for r in done)]
            for code in sorted({code for r in done for code in r["notes"]})
        },
    }  # fmt: skip


def of_cases(cases: Iterable[Case]) -> dict[str, _Row]:
    """By group, how many distinct code objects its cases have, and which of them are not clean, with the first finding.

    Of compilers' code nothing should be found.
    """
    seen: set[bytes] = set()
    groups: dict[str, _Row] = {}
    for case in cases:
        code = case.code()
        if code in seen:
            continue
        seen.add(code)
        group = groups.setdefault(case.group, {"distinct": 0, "unclean": []})
        group["distinct"] += 1
        report = check(code)
        if report.status:
            group["unclean"].append(f"{case.name} {case.kernel or ''} {case.arch}: {report.findings[0]}")
    return groups
