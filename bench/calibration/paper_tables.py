"""The paper's GEMM variants (tables 2 and 3) as our own kernels, timed from their machine code, and their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import pykittens as pk
from pykittens.kernels import gemm, gemm_interleaved, gemm_specialized
from pykittens.schedule.grid import Chiplet, row_major
from pykittens.tile.kernel import Kernel

from .drained_gemm import gemm_drained

SIZE = 8192
MICRO_ROWS = 7680
"""Rows of A for HipKittens' micro-benchmarks, whose sources are compiled for 7680 (published): they take whole tiles
only, and 8192 is no multiple of 192."""
TIE_PERCENT = 1.0
"""Published figures that differ by less have no order: 1278, 1281 and 1281 TFLOPS of table 2."""


@dataclass(frozen=True)
class Variant:
    """One variant: as the paper calls it, its published TFLOPS, our kernel with its options, the published grid order.

    against: the name of the variant that its ratio is taken to. rows: of A. repository: TFLOPS of the same kernel at
    7680 x 8192 x 8192 in HipKittens' repository (published.csv); their ratios are not the paper's.
    """

    table: int
    name: str
    published: float
    kernel: Kernel
    options: dict[str, Any]
    order: Any
    against: str
    rows: int = SIZE
    repository: float | None = None


_BF16, _FP8 = "0P/8C 256x256", "FP8 4-wave"
_NARROW, _WIDE = {"tile": "128x256"}, {"tile": "192x256"}
_FLAGS = _WIDE | {"sync": "flags"}
_16, _64, _128 = Chiplet(4, 16), Chiplet(8, 64), Chiplet(4, 128)
VARIANTS = (
    Variant(2, "4P/8C 128x256", 893, gemm_specialized, _NARROW, _16, _BF16, MICRO_ROWS, 964),
    Variant(2, "4P/12C 192x256", 1278, gemm_specialized, _WIDE, _16, _BF16, MICRO_ROWS, 1251.18),
    Variant(2, "4P/12C 192x256, flags", 1281, gemm_specialized, _FLAGS, _16, _BF16, MICRO_ROWS),
    Variant(2, "0P/8C 192x256", 1281, gemm_drained, {}, _64, _BF16, MICRO_ROWS),
    Variant(2, _BF16, 1610, gemm, {"tile": "256x256"}, _64, _BF16, SIZE, 1521.94),
    Variant(3, "FP8 8-wave", 3222, gemm, {"dtype": "e4m3fn"}, row_major, _FP8),
    Variant(3, _FP8, 3327, gemm_interleaved, {"dtype": "e4m3fn"}, _128, _FP8),
)


def table_rows() -> Iterator[dict[str, Any]]:
    """Published and modelled TFLOPS of each variant, with what the model says of its loop.

    ratio, published_ratio: to the variant named in ``against``; repository_ratio and ratio_7680 the same of the
    repository's figures, all at 7680 x 8192 x 8192. modelled_8192: TFLOPS at 8192 cubed.
    """
    known = {variant.name: variant for variant in VARIANTS}
    for variant in VARIANTS:
        base = known[variant.against]
        mine = _modelled(variant, variant.rows)
        ratio, wanted = mine.tflops / _modelled(base, base.rows).tflops, variant.published / base.published
        row = {
            "table": variant.table, "variant": variant.name, "kernel": variant.kernel.name,
            "rows": variant.rows, "published": variant.published, "modelled": mine.tflops,
            "error_percent": 100 * (mine.tflops / variant.published - 1), "against": variant.against, "ratio": ratio,
            "published_ratio": wanted, "ratio_error_percent": 100 * (ratio / wanted - 1),
            "modelled_8192": _modelled(variant, SIZE).tflops, "repository_ratio": None, "ratio_7680": None,
            "loop_mfma_utilisation": mine.loop.utilisation if mine.loop else None,
            "cycles_per_iteration": mine.cycles_per_iteration,
        }  # fmt: skip
        if variant.repository and base.repository and variant is not base:
            row["repository_ratio"] = variant.repository / base.repository
            row["ratio_7680"] = _modelled(variant, MICRO_ROWS).tflops / _modelled(base, MICRO_ROWS).tflops
        yield row


@cache
def _built(name: str) -> pk.Executable:
    (variant,) = (each for each in VARIANTS if each.name == name)
    return pk.compile(variant.kernel, "gfx950", order=variant.order, **variant.options)


@cache
def _predicted(name: str, rows: int) -> Any:
    return pk.predict(_built(name), (rows, SIZE), (SIZE, SIZE), (rows, SIZE))


def _modelled(variant: Variant, rows: int) -> Any:
    return _predicted(variant.name, rows)


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
