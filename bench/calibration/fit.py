"""Fits the model's few constants to published times, deterministically: a pattern search from mid-range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pykittens.model.clock import FITTED, Fitted

from .launches import Launched

BOUNDS = {
    "mhz_16": (1300.0, 2300.0), "mhz_32": (1100.0, 2100.0), "load_power": (0.0, 4.0),
    "hbm_write_gbps": (1500.0, 6914.0),
}  # fmt: skip
"""Of the constants that times depend on."""
_STEPS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
"""Of each constant's range."""
ROUNDED = {"mhz_16": 0, "mhz_32": 0, "load_power": 1, "hbm_write_gbps": -1}
"""Digits after the point that are kept: no more are known."""


def error(rows: Sequence[tuple[Launched, float]], fitted: Fitted) -> float:
    """Mean absolute relative error of published figures."""
    return float(np.mean([abs(each.figure(fitted) / value - 1) for each, value in rows]))


def fit(rows: Sequence[tuple[Launched, float]]) -> Fitted:
    """The constants with the least mean error on (launch, published figure)."""
    best = replace(FITTED, **{name: sum(bounds) / 2 for name, bounds in BOUNDS.items()})
    least = error(rows, best)
    for step in _STEPS:
        improved = True
        while improved:
            improved = False
            for name, (low, high) in BOUNDS.items():
                for sign in (1, -1):
                    value = min(high, max(low, getattr(best, name) + sign * step * (high - low)))
                    tried = replace(best, **{name: value})
                    found = error(rows, tried)
                    if found < least - 1e-9:
                        best, least, improved = tried, found, True
    return replace(best, **{name: round(getattr(best, name), digits) for name, digits in ROUNDED.items()})


def fit_orders(times: Sequence[tuple[float, float, float]]) -> float:
    """order_misses by least squares.

    times: of launches of one kernel, (published seconds, its steps along K, seconds that what its order reads from
    further away would take alone, as `grid_search` counts them). A step's own time is the second unknown.
    """
    found = np.array(times)
    _, misses = np.linalg.lstsq(found[:, 1:] / found[:, :1], np.ones(len(found)), rcond=None)[0]
    return round(float(misses), 2)
