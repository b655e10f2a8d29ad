"""`make bench-model`: the cycle model beside published measurements, row by row; writes out/bench-model.json.

No hardware is involved: "published" is what others measured, "modelled" what the model says. Rows whose kernels cannot
be rebuilt from what is published are listed as such.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from calibration.cases import all_cases
from rich.console import Console
from rich.table import Table

OUT = Path("out")
PUBLISHED = Path(__file__).parent / "calibration" / "published.csv"
_POINTS = ("%",)


def published_rows() -> list[dict[str, str]]:
    with PUBLISHED.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def compared() -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """(rows with both figures, rows whose kernel is not rebuilt)."""
    known = {(case.kernel, case.shape, case.config): case.figures for case in all_cases()}
    rows, missing = [], []
    for row in published_rows():
        figures = known.get((row["kernel"], row["shape"], row["config"]), {})
        if row["metric"] not in figures:
            missing.append(row)
            continue
        value, modelled = float(row["value"]), figures[row["metric"]]
        rows.append({
            **{key: row[key] for key in ("gpu", "family", "kernel", "shape", "config", "metric", "unit", "source")},
            "published": value, "modelled": modelled, "error_percent": 100 * (modelled / value - 1),
            "points": modelled - value if row["unit"] in _POINTS else None,
        })  # fmt: skip
    return rows, missing


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and worst by family and metric, and over all rows."""
    found: dict[str, Any] = {}
    for key in sorted({(row["family"], row["metric"]) for row in rows}):
        mine = [row for row in rows if (row["family"], row["metric"]) == key]
        errors = np.abs([row["error_percent"] for row in mine])
        points = [abs(row["points"]) for row in mine if row["points"] is not None]
        found[" ".join(key)] = {
            "rows": len(mine), "mean_abs_error_percent": float(errors.mean()),
            "worst_percent": float(errors.max()), "mean_abs_points": float(np.mean(points)) if points else None,
        }  # fmt: skip
    errors = np.abs([row["error_percent"] for row in rows])
    found["all"] = {
        "rows": len(rows), "mean_abs_error_percent": float(errors.mean()), "worst_percent": float(errors.max()),
        "mean_abs_points": None,
    }  # fmt: skip
    return found


def main() -> int:
    """0; 1 where the LDS figures, which nothing was fitted to, are not exact."""
    start = time.perf_counter()
    rows, missing = compared()
    totals = summary(rows)
    table = Table("kernel", "shape", "config", "metric", "published", "modelled", "error", title_justify="left",
                  title="The cycle model beside published measurements")  # fmt: skip
    for row in rows:
        error = f"{row['points']:+.1f} points" if row["points"] is not None else f"{row['error_percent']:+.1f} %"
        config = row["config"].split(";")[0]
        table.add_row(row["kernel"], row["shape"], config, row["metric"], f"{row['published']:,.5g}",
                      f"{row['modelled']:,.5g}", error)  # fmt: skip
    console = Console(highlight=False, markup=False, width=150)
    console.print(table)
    means = Table("family, metric", "rows", "mean |error|", "worst", "mean |points|", title_justify="left",
                  title="Errors of the model")  # fmt: skip
    for name, each in totals.items():
        points = each["mean_abs_points"]
        means.add_row(name, str(each["rows"]), f"{each['mean_abs_error_percent']:.1f} %",
                      f"{each['worst_percent']:.1f} %", "" if points is None else f"{points:.1f}")  # fmt: skip
    console.print(means)
    print(f"not rebuilt: {len(missing)} rows of {len({(r['kernel'], r['config']) for r in missing})} kernels")
    OUT.mkdir(exist_ok=True)
    report = {"rows": rows, "summary": totals, "not_rebuilt": missing, "seconds": time.perf_counter() - start}
    (OUT / "bench-model.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"figures: {OUT / 'bench-model.json'}")
    exact = all(abs(row["error_percent"]) < 1e-6 for row in rows if row["family"] == "micro")
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(main())
