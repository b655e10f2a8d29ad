"""Bank conflicts from lane addresses: known degrees, two ways to count them, and the word for the unmeasured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykittens.arch import ARCHS, Arch, gfx942, gfx950
from pykittens.arch.lds_banks import bank_report, natural_alignment, phase_passes, source_of
from pykittens.errors import InputError, Unsupported

LANE = np.arange(64)
ACCESSES = [(arch, access) for arch in ARCHS.values() for access in arch.lds_accesses]


@pytest.mark.parametrize(
    ("arch", "stride", "banks_used", "degree", "passes"),
    [
        # Case 21: ds_read_b32 of 64 lanes. gfx950 serves them in one phase over 64 banks, gfx942 in two over 32.
        (gfx942, 128, 1, 32, 64),
        (gfx950, 128, 2, 32, 32),
        (gfx942, 256, 1, 32, 64),
        (gfx950, 256, 1, 64, 64),
        (gfx942, 132, 32, 1, 2),
        (gfx950, 132, 64, 1, 1),
        (gfx942, 4, 32, 1, 2),
        (gfx950, 4, 64, 1, 1),
        (gfx942, 0, 1, 1, 2),
        (gfx950, 0, 1, 1, 1),
    ],
)
def test_dword_reads_at_a_stride(arch: Arch, stride: int, banks_used: int, degree: int, passes: int) -> None:
    report = bank_report(arch, "read", 4, stride * LANE)
    assert {len(phase.dwords) for phase in report.phases} == {banks_used}
    assert (report.degree, report.passes) == (degree, passes)


def test_wide_reads_are_judged_by_phases_and_not_by_all_lanes() -> None:
    """Case 22: each phase asks for all 64 banks once; 64 lanes at once would be a 4-way conflict."""
    report = bank_report(gfx950, "read", 16, 16 * LANE)
    assert [len(phase.lanes) for phase in report.phases] == [16, 16, 16, 16]
    assert report.phases[0].lanes == (0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27)
    assert (report.degree, report.passes, report.extra_passes, report.source) == (1, 4, 0, "measured")
    assert [len(phase.dwords) for phase in report.phases] == [64] * 4


def test_lanes_of_different_phases_never_conflict() -> None:
    """Lane 4 is served in another phase than lane 0: what they ask of one bank costs nothing. Lane 1 is in lane 0's."""
    for other, degree in ((1, 2), (4, 1), (12, 2), (16, 1), (20, 2), (32, 1)):
        active = np.isin(LANE, [0, other])
        report = bank_report(gfx950, "read", 16, 256 * LANE, active)
        assert (report.degree, report.extra_passes) == (degree, degree - 1)


def test_reads_wider_than_an_instruction_are_two_of_them() -> None:
    """Case 22: 32 bytes a lane are two 16-byte reads, each of which hits every second 16-byte piece: 2-way."""
    for half in (0, 16):
        assert bank_report(gfx950, "read", 16, 32 * LANE + half).degree == 2
    with pytest.raises(Unsupported, match="gfx950 has no LDS read of 32 bytes a lane"):
        bank_report(gfx950, "read", 32, 32 * LANE)


@pytest.mark.parametrize(("ways", "stride"), [(1, 16), (2, 32), (4, 64), (8, 128)], ids=lambda each: str(each))
def test_conflicts_of_wide_reads_scale_as_measured(ways: int, stride: int) -> None:
    """AMD's experiment on gfx950 with four waves: 16 clk without conflict, 32, 64 and 128 with 2, 4 and 8 ways."""
    report = bank_report(gfx950, "read", 16, stride * LANE)
    assert report.degree == ways
    assert report.passes * gfx950.simds_per_cu == 16 * ways


def test_lanes_share_a_dword() -> None:
    """Neighbouring lanes read the two halves of one dword, and all lanes may read the same one."""
    assert bank_report(gfx950, "read", 2, 2 * LANE).degree == 1
    assert bank_report(gfx950, "read", 16, np.zeros(64, int)).degree == 1


def test_phases_hold_what_their_lanes_ask_for() -> None:
    report = bank_report(gfx950, "write", 8, 128 * LANE, LANE < 17)
    assert [phase.lanes for phase in report.phases] == [tuple(range(16)), (16,), (), ()]
    assert report.phases[0].dwords == {0: tuple(range(0, 512, 32)), 1: tuple(range(1, 512, 32))}
    assert [phase.passes for phase in report.phases] == [16, 1, 1, 1]
    assert (report.passes, report.extra_passes) == (19, 15)


def test_unmeasured_accesses_say_assumed() -> None:
    known = {
        each.name: bank_report(gfx950, each.direction, each.lane_bytes, 16 * LANE).known for each in gfx950.lds_accesses
    }
    measured = {"read_b64", "read_b96", "read_b128", "write_b64"}
    assert known == {name: "measured" if name in measured else "assumed" for name in known}
    assert bank_report(gfx942, "read", 16, 16 * LANE).known == "published"


def test_misaligned_accesses_are_assumed_whatever_the_table_says() -> None:
    shifted = bank_report(gfx950, "read", 16, 16 * LANE + 4)
    assert (shifted.aligned, shifted.known) == (False, "assumed")
    assert bank_report(gfx950, "read", 16, 16 * LANE + 4, LANE < 0).aligned
    assert not bank_report(gfx950, "read", 12, 12 * LANE).aligned
    # A misaligned lane touches one dword more.
    assert len(bank_report(gfx950, "read", 4, 4 * LANE + 2, LANE == 0).phases[0].dwords) == 2


def test_any_whole_dword_base_turns_banks_alike(arch: Arch) -> None:
    """A tile may lie anywhere: a base of whole pieces moves every lane by as many banks."""
    for access in arch.lds_accesses:
        for stride in (16, 32, 64, 144):
            here = [
                bank_report(arch, access.direction, access.lane_bytes, stride * LANE + base).passes
                for base in (0, 48, 4096)
            ]
            assert len(set(here)) == 1


@st.composite
def lane_addresses(draw: Any) -> tuple[Arch, Any, int, np.ndarray, np.ndarray]:
    arch, access = draw(st.sampled_from(ACCESSES))
    width = draw(st.sampled_from([access.lane_bytes] if access.lane_bytes > 4 else [1, 2, 4]))
    step = draw(st.sampled_from([1, 4, natural_alignment(width), 64, 256]))
    addresses = draw(st.lists(st.integers(0, 64), min_size=64, max_size=64))
    active = draw(st.lists(st.booleans(), min_size=64, max_size=64))
    return arch, access, width, step * np.array(addresses), np.array(active)


@given(lane_addresses())
def test_counting_many_at_once_gives_the_same(case: tuple[Arch, Any, int, np.ndarray, np.ndarray]) -> None:
    arch, access, width, addresses, active = case
    passes = phase_passes(access, width, np.stack([addresses, addresses]), np.stack([active, ~active]))
    for row, mask in zip(passes, (active, ~active), strict=True):
        report = bank_report(arch, access.direction, width, addresses, mask)
        assert row.tolist() == [phase.passes for phase in report.phases]


def test_counting_without_a_mask_takes_all_lanes() -> None:
    access = gfx950.lds_access("read", 16)
    assert phase_passes(access, 16, 64 * LANE[None]).tolist() == [[4, 4, 4, 4]]
    assert phase_passes(access, 16, np.zeros((0, 64), int)).shape == (0, 4)


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(InputError, match=r"addresses has shape \(32,\), a wave has 64 lanes"):
        bank_report(gfx950, "read", 4, range(32))
    with pytest.raises(InputError, match=r"active has shape \(3,\), a wave has 64 lanes"):
        bank_report(gfx950, "read", 4, LANE, [True] * 3)
    with pytest.raises(InputError, match="read_b32: address -1 is negative"):
        bank_report(gfx950, "read", 4, LANE - 1)
    with pytest.raises(Unsupported, match="gfx942 has no LDS transpose"):
        bank_report(gfx942, "transpose", 8, 8 * LANE)


def test_source_is_the_weaker_one() -> None:
    assert source_of(gfx950.lds_access("read", 8)) == "measured"
    assert source_of(gfx950.lds_access("transpose", 8)) == "guess"
