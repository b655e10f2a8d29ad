"""LDS phases: every lane is served once, and the tables agree with what they were derived from."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import pytest

from pykittens.arch import ARCHS, Arch, LdsAccess, gfx942, gfx950
from pykittens.arch.lds_phases import consecutive, phases
from pykittens.errors import Unsupported

ALL = [pytest.param(arch, each, id=f"{arch.name}-{each.name}") for arch in ARCHS.values() for each in arch.lds_accesses]


@pytest.mark.parametrize(("arch", "access"), ALL)
def test_every_lane_is_served_exactly_once(arch: Arch, access: LdsAccess) -> None:
    assert sorted(lane for phase in access.phases for lane in phase) == list(range(arch.wave_size))
    assert all(a < b for phase in access.phases for a, b in pairwise(phase))


@pytest.mark.parametrize(("arch", "access"), ALL)
def test_a_phase_asks_for_no_more_than_its_banks_hold(arch: Arch, access: LdsAccess) -> None:
    assert access.banks <= arch.lds_banks
    dwords = {len(phase) * access.lane_bytes // arch.lds_bank_bytes for phase in access.phases}
    assert max(dwords) <= access.banks


@pytest.mark.parametrize(("arch", "access"), ALL)
def test_measured_rows_are_gfx950_rows_and_each_has_a_note(arch: Arch, access: LdsAccess) -> None:
    for name in ("banks", "phases"):
        each = access.fact(name)
        assert each.note
        assert each.source in ({"measured", "guess"} if arch is gfx950 else {"published", "guess"})


def test_measured_phases_of_gfx950() -> None:
    assert [phase[:8] for phase in gfx950.lds_access("read", 16).phases] == [
        (0, 1, 2, 3, 12, 13, 14, 15),
        (4, 5, 6, 7, 8, 9, 10, 11),
        (32, 33, 34, 35, 44, 45, 46, 47),
        (36, 37, 38, 39, 40, 41, 42, 43),
    ]
    assert gfx950.lds_access("read", 16).phases[1][8:] == (16, 17, 18, 19, 28, 29, 30, 31)
    assert gfx950.lds_access("read", 12).phases[2] == (8, 9, 10, 11, 28, 29, 30, 31)
    assert (gfx950.lds_access("read", 12).banks, gfx950.lds_access("read", 16).banks) == (32, 64)
    assert (gfx950.lds_access("write", 8).banks, len(gfx950.lds_access("write", 8).phases)) == (32, 4)


def test_published_phases_of_gfx942() -> None:
    first, second, third, *others = gfx942.lds_access("read", 16).phases
    assert first == (0, 1, 2, 3, 20, 21, 22, 23)
    assert second == (32, 33, 34, 35, 52, 53, 54, 55)
    assert third == (4, 5, 6, 7, 16, 17, 18, 19)
    assert len(others) == 5


@pytest.mark.parametrize(
    ("arch", "lane_bytes", "field"),
    [
        (gfx942, 8, "lds_read_b64_service_clk"),
        (gfx942, 16, "lds_read_b128_service_clk"),
        (gfx950, 4, "lds_read_b32_service_clk"),
        (gfx950, 8, "lds_read_b64_service_clk"),
        (gfx950, 16, "lds_read_b128_service_clk"),
    ],
)
def test_phases_explain_the_measured_service_rate(arch: Arch, lane_bytes: int, field: str) -> None:
    """One clk a phase, and the LDS of a CU serves its SIMDs one after the other."""
    assert arch.issue.fact(field).source == "measured"
    assert len(arch.lds_access("read", lane_bytes).phases) * arch.simds_per_cu == getattr(arch.issue, field)


def test_bytes_and_halfwords_count_as_dwords(arch: Arch) -> None:
    directions: tuple[Literal["read", "write"], ...] = ("read", "write")
    for direction in directions:
        assert arch.lds_access(direction, 1) is arch.lds_access(direction, 2) is arch.lds_access(direction, 4)


def test_gfx942_has_no_transposing_reads() -> None:
    assert gfx950.lds_access("transpose", 8).lane_bytes == 8
    with pytest.raises(Unsupported, match="gfx942 has no LDS transpose of 8 bytes a lane"):
        gfx942.lds_access("transpose", 8)


def test_phase_notation() -> None:
    assert phases("0-2,8 / 3") == ((0, 1, 2, 8), (3,))
    assert consecutive(2, 6) == ((0, 1), (2, 3), (4, 5))
