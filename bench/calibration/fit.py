"""Fits the model's few constants to published times, deterministically: a pattern search from mid-range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from pykittens.model.clock import Fitted

from .launches import Launched

BOUNDS = {
    "launch_us": (2.0, 10.0), "mhz_16": (1400.0, 1900.0), "mhz_32": (1100.0, 2000.0), "slope_mhz": (0.0, 900.0),
    "hbm_power": (0.0, 1.5), "llc_power": (0.0, 1.0),
}  # fmt: skip
_STEPS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
"""Of each constant's range."""


def error(rows: Sequence[tuple[Launched, float]], fitted: Fitted) -> float:
    """Mean absolute relative error of published figures."""
    return float(np.mean([abs(each.figure(fitted) / value - 1) for each, value in rows]))


def fit(rows: Sequence[tuple[Launched, float]]) -> Fitted:
    """The constants with the least mean error on (launch, published figure)."""
    names = [field.name for field in fields(Fitted)]
    best = [sum(BOUNDS[name]) / 2 for name in names]
    least = error(rows, Fitted(*best))
    for step in _STEPS:
        improved = True
        while improved:
            improved = False
            for i, name in enumerate(names):
                low, high = BOUNDS[name]
                for sign in (1, -1):
                    tried = list(best)
                    tried[i] = min(high, max(low, tried[i] + sign * step * (high - low)))
                    found = error(rows, Fitted(*tried))
                    if found < least - 1e-9:
                        best, least, improved = tried, found, True
    return Fitted(*best)
