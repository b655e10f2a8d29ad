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
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from calibration.cases import NOT_REBUILT, all_cases
from calibration.fit import error, fit, fit_orders
from calibration.launches import Case, Launched
from calibration.order_cases import TABLE_4, order_times
from calibration.paper_tables import table_rows, verdict
from rich.console import Console
from rich.table import Table

import pykittens as pk
from pykittens.model.clock import FITTED

OUT = Path("out")
PUBLISHED = Path(__file__).parent / "calibration" / "published.csv"
CONSTANTS = {
    "mhz_16": "MHz of MI355X while 16x16 MFMAs of bf16 never pause",
    "mhz_32": "MHz of MI355X while 32x32 MFMAs of bf16 never pause",
    "load_power": "power of loads that fill the L1s' buses, of these MFMAs'",
    "hbm_write_gbps": "GB/s of writes to MI355X's HBM",
    "order_misses": "of the time of its misses that an order costs (comparing orders only)",
}
SIZE = 8192


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


def fitted_again(cases: list[Case], families: dict[str, list[tuple[Launched, float]]]) -> None:
    """Prints what the constants would be now."""
    everything = [row for rows in families.values() for row in rows]
    found = fit(everything)
    tflops = {
        (row["kernel"], row["shape"], row["config"]): float(row["value"])
        for row in published_rows() if row["metric"] == "tflops"
    }  # fmt: skip
    found = replace(found, order_misses=fit_orders(order_times(cases, tflops)))
    print(f"{found}: mean error {100 * error(everything, found):.2f} %")


def speed() -> dict[str, Any]:
    """Seconds that predictions at 8192 cubed take: of a first GEMM, of a variant; and if the first comes out again."""
    found: dict[str, Any] = {}
    first: Any = None
    for name, options in (("first", {}), ("variant", {"tile": "192x256"}), ("again", {})):
        exe = pk.compile(pk.kernels.gemm, "gfx950", **options)
        start, processor = time.perf_counter(), time.process_time()
        prediction = pk.predict(exe, *[(SIZE, SIZE)] * 3)
        found[name] = time.perf_counter() - start
        found[f"{name}_processor"] = time.process_time() - processor
        first = first or prediction
    found["same"] = json.dumps(first.figures()) == json.dumps(prediction.figures())
    return found


def table_4(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Mean errors of the paper's table 4: points of L2 and LLC hits, percent of TFLOPS."""
    mine = [row for row in rows if row["kernel"] == TABLE_4]
    return {
        metric: float(np.mean([abs(row[key]) for row in mine if row["metric"] == metric]))
        for metric, key in (("l2_hit", "points"), ("llc_hit", "points"), ("tflops", "error_percent"))
    }


def print_rows(console: Console, rows: list[dict[str, Any]]) -> None:
    """Every published row beside the model's figure."""
    table = Table("kernel", "shape", "config", "metric", "published", "modelled", "error", title_justify="left",
                  title="The cycle model beside published measurements")  # fmt: skip
    for row in rows:
        off = f"{row['points']:+.1f} points" if row["points"] is not None else f"{row['error_percent']:+.1f} %"
        config = row["config"].split(";")[0]
        table.add_row(row["kernel"], row["shape"], config, row["metric"], f"{row['published']:,.5g}",
                      f"{row['modelled']:,.5g}", off)  # fmt: skip
    console.print(table)


def print_means(console: Console, totals: dict[str, Any]) -> None:
    """Mean and worst by family."""
    means = Table("family, metric", "rows", "mean |error|", "worst", "mean |points|", title_justify="left",
                  title="Errors of the model")  # fmt: skip
    for name, each in totals.items():
        points = each["mean_abs_points"]
        means.add_row(name, str(each["rows"]), f"{each['mean_abs_error_percent']:.1f} %",
                      f"{each['worst_percent']:.1f} %", "" if points is None else f"{points:.1f}")  # fmt: skip
    console.print(means)


def print_own(console: Console, own: list[dict[str, Any]]) -> None:
    """Our own kernels beside the paper's tables 2 and 3."""
    title = "The paper's tables 2 and 3 with our own kernels, N = K = 8192; ratios to 0P/8C 256x256 and FP8 4-wave"
    columns = (
        "variant", "M", "TFLOPS", "modelled", "error", "ratio", "modelled", "error", "repository", "at 7680",
        "TFLOPS at 8192 cubed", "MFMA in loop",
    )  # fmt: skip
    variants = Table(*columns, title_justify="left", title=title)
    for row in own:
        variants.add_row(row["variant"], str(row["rows"]), f"{row['published']:,.0f}", f"{row['modelled']:,.0f}",
                         f"{row['error_percent']:+.1f} %", f"{row['published_ratio']:.3f}", f"{row['ratio']:.3f}",
                         f"{row['ratio_error_percent']:+.1f} %",
                         f"{row['repository_ratio']:.3f}" if row["repository_ratio"] else "",
                         f"{row['ratio_7680']:.3f}" if row["ratio_7680"] else "",
                         f"{row['modelled_8192']:,.0f}", f"{100 * row['loop_mfma_utilisation']:.1f} %")  # fmt: skip
    console.print(variants)
    found = verdict(own)
    pairs = "".join(f"; {small} is modelled faster than {large}" for small, large in found["out_of_order"])
    print(f"order of all variants right: {'yes' if found['order_right'] else 'no'}{pairs}; worst ratio "
          f"{found['worst_ratio_error_percent']:+.1f} % ({found['worst']})")  # fmt: skip


def main() -> int:
    """0; 1 where LDS figures, which nothing was fitted to, are not exact or a prediction does not come out again."""
    parser = argparse.ArgumentParser(description="The cycle model beside published measurements.")
    parser.add_argument("--fit", action="store_true", help="fit the constants again and print them")
    start = time.perf_counter()
    cases = all_cases()
    families = fitted_rows(cases)
    if parser.parse_args().fit:
        fitted_again(cases, families)
        return 0
    rows, missing = compared(cases)
    totals, held_out, orders = summary(rows), left_out(families), table_4(rows)
    console = Console(highlight=False, markup=False, width=150)
    print_rows(console, rows)
    print_means(console, totals)
    own = list(table_rows())
    print_own(console, own)
    print(f"the paper's table 4, mean errors over six orders: L2 {orders['l2_hit']:.1f} points, "
          f"LLC {orders['llc_hit']:.1f} points, TFLOPS {orders['tflops']:.1f} %")  # fmt: skip
    print(f"fitted constants: {len(fields(FITTED))}")
    for name, value in asdict(FITTED).items():
        print(f"  {name} = {value:g} {CONSTANTS[name]}")
    for name, percent in held_out.items():
        print(f"  mean error on the times of {name}, with the constants fitted to all others: {percent:.1f} %")
    print(f"not rebuilt: {len(missing)} rows of {len({(r['kernel'], r['config']) for r in missing})} kernels")
    for kernel in sorted({row["kernel"] for row in missing}):
        print(f"  {kernel}: {NOT_REBUILT[kernel]}")
    took = speed()
    for name, words in (("first", f"a prediction of our GEMM at {SIZE} cubed"), ("variant", "of a later variant")):
        print(f"{words}: {took[name]:.1f} s ({took[f'{name}_processor']:.1f} s of one processor)")
    print(f"the first one again: {'the same' if took['same'] else 'NOT the same'}")
    OUT.mkdir(exist_ok=True)
    report = {
        "rows": rows, "summary": totals, "table_4": orders, "own_kernels": own, "fitted": asdict(FITTED),
        "leave_one_family_out_percent": held_out, "prediction_seconds": took,
        "not_rebuilt": [row | {"reason": NOT_REBUILT[row["kernel"]]} for row in missing],
        "seconds": time.perf_counter() - start,
    }  # fmt: skip
    (OUT / "bench-model.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"figures: {OUT / 'bench-model.json'}")
    exact = all(abs(row["error_percent"]) < 1e-6 for row in rows if row["family"] == "micro")
    return 0 if exact and took["same"] else 1


if __name__ == "__main__":
    sys.exit(main())
