"""The chip around a unit: its share of what all share, latencies, and writes that must reach the HBM."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pykittens.arch import get
from pykittens.errors import InputError
from pykittens.model.caches import CacheRates
from pykittens.model.chip import dispatch, machine, occupancy
from pykittens.model.clock import FITTED

from .unit_programs import run, step

GFX950 = get("gfx950")
MI355X = GFX950.device("MI355X")
MISSES = CacheRates(0.5, 0.5, 1.0, 1.0, 1.0, 1)
STORE = step("buffer_store_dwordx4", (8, 16, 16, 0))
WHOLE_LINES = 8


def latency(l2_hit: float, llc_hit: float) -> float:
    """Clk at 2 GHz of loads with these hit rates."""
    return machine(GFX950, MI355X, 2000.0, 256, replace(MISSES, l2_hit=l2_hit, llc_hit=llc_hit)).load_latency


def test_ends_of_a_loads_latency() -> None:
    known = GFX950.latency
    assert latency(1.0, 1.0) == pytest.approx(known.l2_hit_ns * MI355X.peak_clock_mhz / 1000, abs=1)
    assert latency(0.0, 1.0) == pytest.approx(known.mall_hit_ns * 2, abs=1)
    assert latency(0.0, 0.0) == pytest.approx(known.hbm_ns * 2, abs=1)


def test_loads_wait_for_misses_of_those_they_share_lines_with() -> None:
    """More than their own part of misses, and the more the more XCDs can be the one that goes to the HBM."""
    own = latency(1.0, 1.0) + 0.25 * (latency(0.0, 1.0) - latency(1.0, 1.0))
    assert own < latency(0.75, 1.0) < latency(0.0, 1.0)
    further = latency(0.75, 0.9) - latency(0.75, 1.0)
    assert further == pytest.approx((1 - 0.975**8) * (latency(0.0, 0.0) - latency(0.0, 1.0)), abs=1)


def test_ns_of_the_fabric_are_more_clk_at_a_higher_clock() -> None:
    slow, fast = (machine(GFX950, MI355X, mhz, 256, MISSES) for mhz in (1200.0, 2400.0))
    assert fast.l2_latency == slow.l2_latency
    assert fast.load_latency > slow.load_latency
    assert fast.hbm_line == pytest.approx(2 * slow.hbm_line, abs=2)
    assert fast.l2_line == slow.l2_line


@pytest.mark.parametrize("count", [100, 4000])
def test_a_launch_ends_when_all_is_written(count: int) -> None:
    """At 1.6 GHz, as `run` has it: whether the L2 holds the lines meanwhile or holds the stores back."""
    result = run([[STORE] * count] * 4, active_cus=256)
    seconds = result.clk / 1.6e9
    written = 4 * count * WHOLE_LINES * 128 * 256
    assert written / seconds / 1e9 == pytest.approx(FITTED.hbm_write_gbps, rel=0.05)


def test_stores_wait_once_the_l2_is_full_of_their_lines() -> None:
    """What is left at the end is what the L2 holds, and stores that wait in the unit's queue."""
    result = run([[STORE] * 4000] * 4, active_cus=256)
    constants = machine(GFX950, MI355X, 1600.0, 256, MISSES)
    queued = constants.vmem_queue * WHOLE_LINES * constants.hbm_write_line // 256
    left = result.clk - int(result.ended[0])
    assert constants.dirty_clk <= left <= constants.dirty_clk + 1.2 * queued


def test_workgroups_of_a_unit() -> None:
    fits = occupancy(GFX950, 8, 256, 64 << 10)
    assert (fits.workgroups, fits.limited_by, fits.waves_per_simd) == (1, "registers", 2)
    assert occupancy(GFX950, 4, 128, 80 << 10).limited_by == "LDS"
    with pytest.raises(InputError, match="does not fit"):
        occupancy(GFX950, 8, 512, 0)


def test_rounds_and_the_tail() -> None:
    spread = dispatch(MI355X, 300, 1)
    assert (spread.active_cus, spread.on_busiest, spread.rounds) == (256, 2, 2)
    assert spread.tail == pytest.approx(44 / 256)
    assert spread.fill == pytest.approx(300 / 512)
    assert dispatch(MI355X, 16, 2).active_cus == 16
