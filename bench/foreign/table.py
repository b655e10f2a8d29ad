"""The report of `make foreign` as text: a few lines for the terminal, a page with tables for docs/."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from bench.foreign import static_table
from bench.foreign.wheel import REQUIREMENT

_Row = dict[str, Any]
_GROUPS = {
    "AITER": (
        f"The code objects of `{REQUIREMENT}`, hand-written for silicon, launched as the host code in the same package "
        "does. References are float64; small integers and fp4 products must be exact."
    ),
    "Triton": "Kernels of our own in Triton 3.9, compiled offline; references by NumPy.",
    "Clang": (
        "Functions of our own in C++, compiled by ziglang's clang at -O0, -O1, -O2 and -O3 for both chips, against the "
        "same text compiled for the host, bit for bit. One line sums up the eight launches of a function."
    ),
}


def passed(report: _Row) -> bool:
    """Whether nothing that ran is wrong."""
    sections = [report[key] for key in ("binding", "decode", "static") if key in report]
    return all(row["passed"] for row in (*report["rows"], *sections))


def summary(report: _Row) -> str:
    """Lines for the terminal."""
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    for row in report["rows"]:
        counts[row["group"]][row["passed"]] += 1
    lines = [f"{group}: {c[True]} of {c.total()} launches are right" for group, c in counts.items()]
    if "binding" in report:
        lines.append(_binding(report["binding"]))
    if "decode" in report:
        lines.append(_decode(report["decode"]))
    if "static" in report:
        lines.append(static_table.summary(report["static"]))
    return "\n".join(lines)


def document(report: _Row) -> str:
    """The page. Seconds are measured, on the machine that made it."""
    parts = [
        "# Other people's code\n\nMade by `make foreign`; every launch runs on the virtual GPU in its default order of "
        "waves, with guard bytes around each buffer. Seconds are measured and include loading, translating and a share "
        "of the first compilation; `error` is the largest of all results.\n\n" + summary(report).replace("\n", "  \n")
    ]
    for group, words in _GROUPS.items():
        rows = [row for row in report["rows"] if row["group"] == group]
        if not rows:
            continue
        lines = _joined(rows) if group == "Clang" else rows
        parts.append(f"## {group}\n\n{words}\n\n" + _table(lines))
    return "\n\n".join(parts) + "\n"


def _joined(rows: list[_Row]) -> list[_Row]:
    """One row for each function, over chips and levels."""
    found: dict[tuple[str, str], _Row] = {}
    for row in rows:
        key = row["file"].split()[0], row["kernel"]
        if key not in found:
            found[key] = row | {"file": key[0], "arch": "both"}
        else:
            own = found[key]
            own["error"] = max(own["error"], row["error"])
            own["passed"] &= row["passed"]
            for figure in ("instructions", "seconds"):
                own[figure] += row[figure]
    return list(found.values())


def _table(rows: Iterable[_Row]) -> str:
    lines = ["| file | kernel | chip | shape | error | instructions | seconds |", "|---|---|---|---|---:|---:|---:|"]
    for row in rows:
        name = row["file"].removeprefix(f"{row['arch']}/")
        error = f"{row['error']:.2g}" if row["passed"] else f"**{row['problem'] or 'failed'}**"
        figures = f"{error} | {row['instructions']:,} | {row['seconds']:.2f}"
        lines.append(f"| {name} | `{row['kernel']}` | {row['arch']} | {row['shape']} | {figures} |")
    return "\n".join(lines)


def _binding(found: _Row) -> str:
    words = f"{found['files']:,} files, {found['distinct']:,} with distinct code: {found['encodings']:,} distinct"
    if found["passed"]:
        return f"{words} instructions, all of which can be executed ({found['forms']} forms of arithmetic)"
    return f"{words} instructions, of which some cannot be executed: {found['problems']}"


def _decode(found: _Row) -> str:
    if "files" not in found:
        return f"the comparison with llvm-objdump failed: {found['problem']}"
    total = sum(found["instructions"].values())
    verdict = "none differs" if not found["different"] else f"{found['different']} differ"
    return (
        f"{found['files']:,} files decoded, {total:,} instructions in distinct code: texts against llvm-objdump's: "
        f"{verdict}, {found['not_decoded']} not decoded"
    )
