"""`make bench-model`: the cycle model beside published measurements, row by row; writes out/bench-model.json.

No hardware is involved: "published" is what others measured, "modelled" what the model says. Rows whose kernels cannot
be rebuilt from what is published are listed as such.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from calibration.cases import all_cases
from calibration.fit import error, fit
from calibration.launches import Case, Launched
from calibration.paper_tables import table_rows
from rich.console import Console
from rich.table import Table

from pykittens.model.clock import FITTED

OUT = Path("out")
PUBLISHED = Path(__file__).parent / "calibration" / "published.csv"


def published_rows() -> list[dict[str, str]]:
    with PUBLISHED.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def compared(cases: list[Case]) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """(rows with both figures, rows whose kernel is not rebuilt)."""
    known = {(case.kernel, case.shape, case.config): case.figures for case in cases}
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
            "points": modelled - value if row["unit"] == "%" else None,
        })  # fmt: skip
    return rows, missing


def fitted_rows(cases: list[Case]) -> dict[str, list[tuple[Launched, float]]]:
    """What the constants are fitted to, by family: times of launches whose clock is not published."""
    published = {(r["kernel"], r["shape"], r["config"], r["metric"]): r for r in published_rows()}
    found: dict[str, list[tuple[Launched, float]]] = {}
    for case in cases:
        launched = case.launched
        if launched is None or launched.chip.device.name != "MI355X":
            continue
        row = published.get((case.kernel, case.shape, case.config, launched.unit))
        if row is not None:
            family = f"{row['family']}, {case.kernel.split()[0]}"
            found.setdefault(family, []).append((launched, float(row["value"])))
    return found


def left_out(families: dict[str, list[tuple[Launched, float]]]) -> dict[str, float]:
    """By family, the mean error in percent on it with the constants fitted to all the others."""
    return {
        name: 100 * error(rows, fit([row for other, each in families.items() if other != name for row in each]))
        for name, rows in families.items()
    }  # fmt: skip


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
    parser = argparse.ArgumentParser(description="The cycle model beside published measurements.")
    parser.add_argument("--fit", action="store_true", help="fit the constants again and print them")
    start = time.perf_counter()
    cases = all_cases()
    families = fitted_rows(cases)
    if parser.parse_args().fit:
        everything = [row for rows in families.values() for row in rows]
        found = fit(everything)
        print(f"{found}: mean error {100 * error(everything, found):.2f} %")
        return 0
    rows, missing = compared(cases)
    totals, held_out = summary(rows), left_out(families)
    table = Table("kernel", "shape", "config", "metric", "published", "modelled", "error", title_justify="left",
                  title="The cycle model beside published measurements")  # fmt: skip
    for row in rows:
        off = f"{row['points']:+.1f} points" if row["points"] is not None else f"{row['error_percent']:+.1f} %"
        config = row["config"].split(";")[0]
        table.add_row(row["kernel"], row["shape"], config, row["metric"], f"{row['published']:,.5g}",
                      f"{row['modelled']:,.5g}", off)  # fmt: skip
    console = Console(highlight=False, markup=False, width=150)
    console.print(table)
    means = Table("family, metric", "rows", "mean |error|", "worst", "mean |points|", title_justify="left",
                  title="Errors of the model")  # fmt: skip
    for name, each in totals.items():
        points = each["mean_abs_points"]
        means.add_row(name, str(each["rows"]), f"{each['mean_abs_error_percent']:.1f} %",
                      f"{each['worst_percent']:.1f} %", "" if points is None else f"{points:.1f}")  # fmt: skip
    console.print(means)
    own = list(table_rows())
    title = "The paper's tables 2 and 3 with our own kernels at 8192 cubed"
    columns = ("variant", "our kernel", "published TFLOPS", "modelled", "error", "MFMA in loop")
    variants = Table(*columns, title_justify="left", title=title)
    for row in own:
        variants.add_row(row["variant"], row["kernel"], f"{row['published']:,.0f}", f"{row['modelled']:,.0f}",
                         f"{row['error_percent']:+.1f} %", f"{100 * row['loop_mfma_utilisation']:.1f} %")  # fmt: skip
    console.print(variants)
    print(f"fitted constants: {len(fields(FITTED))}: {FITTED}")
    for name, percent in held_out.items():
        print(f"  mean error on the times of {name}, with the constants fitted to all others: {percent:.1f} %")
    print(f"not rebuilt: {len(missing)} rows of {len({(r['kernel'], r['config']) for r in missing})} kernels")
    OUT.mkdir(exist_ok=True)
    report = {
        "rows": rows,
        "summary": totals,
        "own_kernels": own,
        "fitted": asdict(FITTED),
        "leave_one_family_out_percent": held_out,
        "not_rebuilt": missing,
        "seconds": time.perf_counter() - start,
    }
    (OUT / "bench-model.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"figures: {OUT / 'bench-model.json'}")
    exact = all(abs(row["error_percent"]) < 1e-6 for row in rows if row["family"] == "micro")
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(main())
