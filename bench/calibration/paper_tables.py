"""The paper's GEMM variants (tables 2 and 3) as our own kernels, timed from their machine code at 8192 cubed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pykittens as pk
from pykittens.schedule.grid import Chiplet

SIZE = 8192
ORDER = Chiplet(8, 64)


@dataclass(frozen=True)
class Variant:
    """One variant: as the paper calls it, its published TFLOPS, and our kernel with its options."""

    table: int
    name: str
    published: float
    kernel: str
    options: dict[str, Any]


VARIANTS = (
    Variant(2, "4P/8C 128x256", 893, "gemm_specialized", {"tile": "128x256"}),
    Variant(2, "4P/12C 192x256", 1278, "gemm_specialized", {"tile": "192x256"}),
    Variant(2, "0P/8C 192x256", 1281, "gemm", {"tile": "192x256"}),
    Variant(2, "0P/8C 256x256", 1610, "gemm", {"tile": "256x256"}),
    Variant(3, "FP8 8-wave", 3222, "gemm", {"dtype": "e4m3fn"}),
    Variant(3, "FP8 4-wave", 3327, "gemm_interleaved", {"dtype": "e4m3fn"}),
)


def table_rows() -> Iterator[dict[str, Any]]:
    """Published and modelled TFLOPS of each variant, with what the model says of its loop."""
    for variant in VARIANTS:
        exe = pk.compile(pk.kernels.KERNELS[variant.kernel], "gfx950", order=ORDER, **variant.options)
        found = pk.predict(exe, *[(SIZE, SIZE)] * 3)
        yield {
            "table": variant.table, "variant": variant.name, "kernel": variant.kernel, "published": variant.published,
            "modelled": found.tflops, "error_percent": 100 * (found.tflops / variant.published - 1),
            "loop_mfma_utilisation": found.loop.utilisation if found.loop else None,
            "cycles_per_iteration": found.cycles_per_iteration,
        }  # fmt: skip
