"""The cache model: figures of its closed form for the paper's six orders, and cases that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pykittens.model.caches import Panels, cache_rates
from pykittens.schedule.grid import Chiplet, RowMajor

L2, LLC = 4 << 20, 256 << 20


def _gemm(size: int, tiles: np.ndarray) -> tuple[float, float]:
    panels = [
        Panels(tiles[:, 0], 192.0 * size * 2, 192.0 * size * 2),
        Panels(tiles[:, 1], 256.0 * size * 2, 256.0 * size * 2),
    ]
    rates = cache_rates(panels, len(tiles), 32, 8, L2, LLC)
    return round(100 * rates.l2_hit, 1), round(100 * rates.llc_hit, 1)


@pytest.mark.parametrize(
    ("size", "order", "l2", "llc"),
    [
        (9216, RowMajor(), 72.7, 91.3),
        (9216, Chiplet(7, 216), 79.8, 18.5),
        (14592, RowMajor(), 35.9, 78.7),
        (14592, Chiplet(8, 542), 80.1, 5.9),
    ],
)
def test_orders_of_table_4(size: int, order: RowMajor | Chiplet, l2: float, llc: float) -> None:
    """The closed form of the facts, which is 4 points (L2) and 3 points (LLC) from what was measured."""
    assert _gemm(size, order.tiles(size // 192, size // 256)) == (l2, llc)


def test_one_panel_for_all_misses_once_an_xcd() -> None:
    rates = cache_rates([Panels(np.zeros(256, np.int64), 1e6, 1e6)], 256, 32, 8, L2, LLC)
    assert rates.requested_bytes == 256e6
    assert rates.l2_miss_bytes == 8e6


def test_panels_of_their_own_never_hit() -> None:
    rates = cache_rates([Panels(np.arange(1024), 1e6, 1e6)], 1024, 32, 8, L2, LLC)
    assert (rates.l2_hit, rates.llc_hit, rates.hbm_bytes) == (0.0, 0.0, 1024e6)


def test_what_fits_is_left_there_by_the_launch_before() -> None:
    panels = [Panels(np.arange(128), 1e6, 1e6)]
    assert cache_rates(panels, 128, 32, 8, L2, LLC).hbm_bytes == 128e6
    assert cache_rates(panels, 128, 32, 8, L2, LLC, warm=True).hbm_bytes == 0.0
    assert cache_rates(panels, 128, 32, 8, L2, 120 << 20, warm=True).hbm_bytes == 128e6


def test_one_of_a_round_fetches_for_all() -> None:
    """Of 32 readers on each of 8 XCDs one fetches from the memory-side cache, and one of those 8 from the HBM."""
    rates = cache_rates([Panels(np.zeros(256, np.int64), 1e6, 1e6)], 256, 32, 8, L2, LLC)
    assert (rates.l2_hit, rates.llc_hit) == (31 / 32, 7 / 8)


def test_rounds_reuse_what_fits_between_them() -> None:
    """Two rounds over the same small panels: the second finds them in the L2, large ones it does not."""
    again = np.arange(512) % 256
    small = cache_rates([Panels(again, 1e4, 1e4)], 512, 32, 8, L2, LLC)
    large = cache_rates([Panels(again, 1e6, 1e6)], 512, 32, 8, L2, LLC)
    assert small.l2_hit == 0.5
    assert large.l2_hit == 0.0


def test_reading_a_panel_twice_hits() -> None:
    rates = cache_rates([Panels(np.arange(8), 1e6, 2e6)], 8, 32, 8, L2, LLC)
    assert rates.l2_hit == 0.5


def test_no_loads() -> None:
    rates = cache_rates([], 8, 32, 8, L2, LLC)
    assert (rates.l2_hit, rates.llc_hit, rates.requested_bytes) == (1.0, 1.0, 0.0)


def test_fractions_of_bytes_leave_rates_in_bounds() -> None:
    """Panels of their own, whose sizes are means: no rounding makes a hit rate negative."""
    for sevenths in range(1, 200):
        panels = [Panels(np.arange(37), sevenths / 7, sevenths / 7), Panels(np.arange(37), sevenths / 3, sevenths / 3)]
        rates = cache_rates(panels, 37, 32, 8, L2, LLC)
        assert 0 <= rates.l2_hit <= 1
        assert 0 <= rates.llc_hit <= 1
