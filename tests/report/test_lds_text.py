"""LDS rows and maps as text."""

from __future__ import annotations

import numpy as np
import pytest

from pykittens.arch import Arch, gfx942, gfx950
from pykittens.arch.lds_banks import bank_report
from pykittens.report.lds_text import conflict_rows, lanes_text, lds_map, phase_rows, phases_text, plain_name

LANE = np.arange(64)


def test_table_5(arch: Arch) -> None:
    rows = phase_rows(arch)
    assert [row.access for row in rows] == list(arch.lds_accesses)
    names = [plain_name(row) for row in rows]
    assert names[:4] == ["ds_read_b32", "ds_read_b64", "ds_read_b96", "ds_read_b128"]
    assert names[4:8] == ["ds_write_b32", "ds_write_b64", "ds_write_b96", "ds_write_b128"]
    assert names[8:] == (["ds_read_b64_tr_b16", "ds_read_b96_tr_b6"] if arch is gfx950 else [])
    assert "ds_read_u16_d16_hi" in rows[0].instructions
    assert "ds_add_u32" in rows[4].instructions


def test_measured_rows_are_the_papers() -> None:
    measured = {
        plain_name(row): (row.access.banks, len(row.access.phases))
        for row in phase_rows(gfx950)
        if row.known == "measured"
    }
    assert measured == {
        "ds_read_b64": (64, 2),
        "ds_read_b96": (32, 8),
        "ds_read_b128": (64, 4),
        "ds_write_b64": (32, 4),
    }
    row = phase_rows(gfx950)[3]
    assert "HipKittens" in row.note
    assert row.to_json()["phases"] == [list(phase) for phase in gfx950.lds_access("read", 16).phases]


@pytest.mark.parametrize(("lanes", "text"), [((0, 1, 2, 5, 7, 8), "0-2,5,7-8"), ((), ""), ((3,), "3")])
def test_lanes_as_ranges(lanes: tuple[int, ...], text: str) -> None:
    assert lanes_text(lanes) == text


def test_phases_as_ranges() -> None:
    assert phases_text(gfx950.lds_access("read", 16)).startswith("0-3,12-15,20-27 / 4-11,16-19,28-31 / ")
    assert phases_text(gfx942.lds_access("read", 4)) == "0-31 / 32-63"


def test_a_map_shows_who_conflicts() -> None:
    """Lanes 0 and 1 ask one bank in phase a; lane 4 asks it too, in phase b; lanes 8 and 9 share a dword."""
    addresses = np.zeros(64, int)
    addresses[[0, 1, 4, 8, 9]] = [0, 256, 512, 16, 16]
    report = bank_report(gfx950, "read", 16, addresses, np.isin(LANE, [0, 1, 4, 8, 9]))
    rows = lds_map(addresses, 16, report)
    assert [row.split() for row in rows] == [
        ["0", "0a*", "8b+1", *["."] * 14],
        ["256", "1a*", *["."] * 15],
        ["512", "4b", *["."] * 15],
    ]
    assert conflict_rows(report) == [(0, "0-1", 8, 4, 2), (1, "4,8-9", 8, 8, 1), (2, "", 0, 0, 1), (3, "", 0, 0, 1)]


def test_a_map_of_halfwords_and_of_nothing() -> None:
    report = bank_report(gfx942, "read", 2, 2 * LANE)
    rows = lds_map(2 * LANE, 2, report)
    assert rows[0].split() == [
        "0",
        *(f"{lane}a+1" for lane in range(0, 32, 2)),
        *(f"{lane}b+1" for lane in range(32, 64, 2)),
    ]
    assert lds_map(LANE, 4, bank_report(gfx942, "read", 4, LANE, LANE < 0)) == []
