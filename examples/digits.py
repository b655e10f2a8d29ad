"""The main job of `make run`: handwritten digits compared and classified by the GEMM on the virtual GPU.

All similarities X Xᵀ of scikit-learn's digits (1797 images of 64 pixels) are computed by the code object that is read
back from disk, for both chips, and compared with NumPy float64; then each image gets the label of its nearest other
image, from either's similarities. Writes the code objects and assembly to out/, and all figures to out/run.json.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import pykittens as pk

OUT = Path("out")
ARCHS = ("gfx950", "gfx942")
# Sums of up to 64 products of integers below 17 are exact in f32, so nothing at all may be lost.
MAX_RELATIVE_ERROR = 1e-6


def run_on(arch: str, pixels: Any, labels: Any, reference: Any, reference_accuracy: float) -> dict[str, Any]:
    """Compile for a chip, write, read back, run, compare: the figures, with ``passed``."""
    compile, gemm = pk.compile, pk.kernels.gemm  # loads the compiler, so that only its work is timed
    start = time.perf_counter()
    exe = compile(gemm, arch, dtype="bf16", out="f32")
    compile_seconds = time.perf_counter() - start

    co, assembly = OUT / f"gemm-{arch}.co", OUT / f"gemm-{arch}.s"
    co.write_bytes(exe.code_object)
    assembly.write_text(exe.assembly, encoding="utf-8")
    exe = pk.Executable(replace(exe.built, code_object=co.read_bytes()))

    images = pixels.astype(ml_dtypes.bfloat16)
    similarities = np.full(reference.shape, np.nan, np.float32)
    start = time.perf_counter()
    run = exe(images, images, similarities)
    run_seconds = time.perf_counter() - start

    difference = similarities - reference
    error = float(np.linalg.norm(difference) / np.linalg.norm(reference))
    accuracy = nearest_neighbour_accuracy(similarities.astype(np.float64), labels)
    metadata = exe.metadata
    return {
        "kernel": "gemm",
        "arch": arch,
        "device": "virtual GPU",
        "shape": [*similarities.shape, images.shape[1]],
        "dtype": "bf16",
        "out_dtype": "f32",
        "passed": error <= MAX_RELATIVE_ERROR and accuracy == reference_accuracy,
        "max_abs_error": float(np.abs(difference).max()),
        "rel_fro_error": error,
        "accuracy": accuracy,
        "numpy_accuracy": reference_accuracy,
        "vgprs": metadata.vgprs - metadata.agprs,
        "agprs": metadata.agprs,
        "sgprs": metadata.sgprs,
        "lds_bytes": metadata.lds_bytes,
        "instructions": run.instructions,
        "compile_seconds": compile_seconds,
        "run_seconds": run_seconds,
        "code_object": str(co),
        "assembly": str(assembly),
    }


def nearest_neighbour_accuracy(similarities: Any, labels: Any) -> float:
    """The share of images whose nearest other image shows the same digit; |x - y|² = x·x + y·y - 2 x·y."""
    norms = np.diag(similarities)
    distances = norms[:, None] + norms[None, :] - 2 * similarities
    np.fill_diagonal(distances, np.inf)
    return float(np.mean(labels[distances.argmin(axis=1)] == labels))


def print_table(results: list[dict[str, Any]]) -> None:
    """One column per chip."""
    table = Table(title="Digits: X Xᵀ in bf16 with f32 sums, on the virtual GPU", title_justify="left")
    table.add_column("arch", style="bold")
    rows = {
        "shape": "shape", "largest error": "max_abs_error", "relative Frobenius error": "rel_fro_error",
        "nearest-neighbour accuracy": "accuracy", "NumPy's accuracy": "numpy_accuracy", "VGPRs": "vgprs",
        "AGPRs": "agprs", "SGPRs": "sgprs", "LDS bytes": "lds_bytes", "instructions executed": "instructions",
        "seconds to compile": "compile_seconds", "seconds to run": "run_seconds", "code object": "code_object",
        "assembly": "assembly",
    }  # fmt: skip
    for result in results:
        table.add_column(result["arch"], justify="right", overflow="fold")
    for words, key in rows.items():
        table.add_row(words, *(_cell(result[key]) for result in results))
    table.add_row("result", *("right" if result["passed"] else "WRONG" for result in results))
    Console(highlight=False, markup=False).print(table)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return " x ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def main() -> int:
    """0 if both chips compute what NumPy does, else 1; 2 and one line for whatever stops it."""
    digits = load_digits()
    pixels, labels = digits.data, digits.target  # 0 to 16, exact in bf16
    reference = pixels @ pixels.T
    reference_accuracy = nearest_neighbour_accuracy(reference, labels)
    try:
        OUT.mkdir(exist_ok=True)
        results = [run_on(arch, pixels, labels, reference, reference_accuracy) for arch in ARCHS]
    except (pk.Error, OSError) as error:
        print(f"digits: {error}", file=sys.stderr)
        return 2
    passed = all(result["passed"] for result in results)
    report = {"passed": passed, "data": "scikit-learn digits", "results": results}
    (OUT / "run.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print_table(results)
    print(f"figures: {OUT / 'run.json'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
