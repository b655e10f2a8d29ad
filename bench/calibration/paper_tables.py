"""The paper's GEMM variants (tables 2 and 3) as our own kernels, timed from their machine code, and their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pykittens as pk
from pykittens.kernels import gemm, gemm_interleaved, gemm_specialized
from pykittens.schedule.grid import Chiplet, row_major
from pykittens.tile.kernel import Kernel

from .drained_gemm import gemm_drained

SIZE = 8192
ROWS_192 = 7680
"""Rows of A for tiles of 192: HipKittens' kernels for them take whole tiles only and are compiled for 7680 (published;
8192 is no multiple of 192)."""
TIE_PERCENT = 1.0
"""Published figures that differ by less have no order: 1278, 1281 and 1281 TFLOPS of table 2."""


@dataclass(frozen=True)
class Variant:
    """One variant: as the paper calls it, its published TFLOPS, our kernel with its options, the published grid order.

    rows: of A. against: the name of the variant that its ratio is taken to.
    """

    table: int
    name: str
    published: float
    kernel: Kernel
    options: dict[str, Any]
    order: Any
    against: str
    rows: int = SIZE


_BF16, _FP8 = "0P/8C 256x256", "FP8 4-wave"
_WIDE, _CHUNKS_16 = {"tile": "192x256"}, Chiplet(4, 16)
VARIANTS = (
    Variant(2, "4P/8C 128x256", 893, gemm_specialized, {"tile": "128x256"}, _CHUNKS_16, _BF16),
    Variant(2, "4P/12C 192x256", 1278, gemm_specialized, _WIDE, _CHUNKS_16, _BF16, ROWS_192),
    Variant(2, "4P/12C 192x256, flags", 1281, gemm_specialized, _WIDE | {"sync": "flags"}, _CHUNKS_16, _BF16, ROWS_192),
    Variant(2, "0P/8C 192x256", 1281, gemm_drained, {}, Chiplet(8, 64), _BF16, ROWS_192),
    Variant(2, _BF16, 1610, gemm, {"tile": "256x256"}, Chiplet(8, 64), _BF16),
    Variant(3, "FP8 8-wave", 3222, gemm, {"dtype": "e4m3fn"}, row_major, _FP8),
    Variant(3, _FP8, 3327, gemm_interleaved, {"dtype": "e4m3fn"}, Chiplet(4, 128), _FP8),
)  # fmt: skip


def table_rows() -> Iterator[dict[str, Any]]:
    """Published and modelled TFLOPS of each variant, with what the model says of its loop.

    ratio, published_ratio: to the variant named in ``against``. modelled_8192: TFLOPS at 8192 cubed, where it runs on
    fewer rows.
    """
    found = {variant.name: _modelled(variant, variant.rows) for variant in VARIANTS}
    published = {variant.name: variant.published for variant in VARIANTS}
    for variant in VARIANTS:
        mine, base = found[variant.name], found[variant.against]
        ratio, wanted = mine.tflops / base.tflops, variant.published / published[variant.against]
        yield {
            "table": variant.table, "variant": variant.name, "kernel": variant.kernel.name,
            "shape": f"{variant.rows}x{SIZE}x{SIZE}", "published": variant.published, "modelled": mine.tflops,
            "error_percent": 100 * (mine.tflops / variant.published - 1), "against": variant.against, "ratio": ratio,
            "published_ratio": wanted, "ratio_error_percent": 100 * (ratio / wanted - 1),
            "modelled_8192": mine.tflops if variant.rows == SIZE else _modelled(variant, SIZE).tflops,
            "loop_mfma_utilisation": mine.loop.utilisation if mine.loop else None,
            "cycles_per_iteration": mine.cycles_per_iteration,
        }  # fmt: skip


def _modelled(variant: Variant, rows: int) -> Any:
    exe = pk.compile(variant.kernel, "gfx950", order=variant.order, **variant.options)
    return pk.predict(exe, (rows, SIZE), (SIZE, SIZE), (rows, SIZE))


def verdict(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Whether the modelled order is the published one within each table, ties aside, and the worst ratio error.

    out_of_order: pairs of variants that are modelled the other way round. worst: the variant with the worst ratio.
    """
    wrong = []
    for one, other in combinations(rows, 2):
        small, large = sorted((one, other), key=lambda row: float(row["published"]))
        apart = 100 * (large["published"] / small["published"] - 1) > TIE_PERCENT
        if one["table"] == other["table"] and apart and small["modelled"] >= large["modelled"]:
            wrong.append((small["variant"], large["variant"]))
    worst = max(rows, key=lambda row: abs(float(row["ratio_error_percent"])))
    return {
        "order_right": not wrong, "out_of_order": wrong, "worst": worst["variant"],
        "worst_ratio_error_percent": worst["ratio_error_percent"],
    }  # fmt: skip
