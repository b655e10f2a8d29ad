"""The small float formats against ml_dtypes, code by code."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pykittens.isa.small_floats import FORMATS, scale_values


@pytest.mark.parametrize("name", FORMATS)
def test_every_code(name: str) -> None:
    small = FORMATS[name]
    theirs = np.arange(1 << small.bits, dtype=np.uint8).view(getattr(ml_dtypes, f"float{small.bits}_{name}"))
    expected = theirs.astype(np.float32)
    assert small.values.dtype == np.float32
    number = ~np.isnan(expected)
    assert (small.values.view(np.uint32)[number] == expected.view(np.uint32)[number]).all()
    assert (small.values.view(np.uint32)[~number] == 0x7FC00000).all()


@pytest.mark.parametrize(
    ("name", "largest", "least"),
    [
        ("e4m3fn", 448, 2**-9), ("e5m2", 57344, 2**-16), ("e4m3fnuz", 240, 2**-10), ("e5m2fnuz", 57344, 2**-17),
        ("e2m3fn", 7.5, 0.125), ("e3m2fn", 28, 0.0625), ("e2m1fn", 6, 0.5),
    ],
)  # fmt: skip
def test_ranges_of_the_manuals(name: str, largest: float, least: float) -> None:
    values = FORMATS[name].values
    finite = values[np.isfinite(values)]
    assert finite.max() == largest
    assert finite[finite > 0].min() == least


def test_scales() -> None:
    values = scale_values(np.arange(256, dtype=np.uint8))
    assert (values[:255] == np.exp2(np.arange(-127, 128))).all()
    assert np.isnan(values[255])
