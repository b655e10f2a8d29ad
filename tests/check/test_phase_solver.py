"""Phases and banks from conflicts alone: our tables come back, and conflicts that make no sense are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykittens.arch import ARCHS, Arch, LdsAccess, gfx942, gfx950
from pykittens.check.phase_solver import (
    Counter,
    Derived,
    VirtualDevice,
    derive,
    derive_banks,
    derive_phases,
    measure,
    read_counters,
    write_counters,
)
from pykittens.errors import InputError

ALL = [pytest.param(arch, each, id=f"{arch.name}-{each.name}") for arch in ARCHS.values() for each in arch.lds_accesses]


@pytest.mark.parametrize(("arch", "access"), ALL)
def test_the_virtual_device_gives_back_its_tables(arch: Arch, access: LdsAccess) -> None:
    counters = measure(VirtualDevice(arch), access.direction, access.lane_bytes)
    derived = derive(counters, access.lane_bytes)
    assert derived.agrees(access)
    assert [phase[0] for phase in derived.phases] == sorted(phase[0] for phase in derived.phases)
    assert sum(counter.probe == "lanes" for counter in counters) == 2016


def test_tables_differ_from_each_other() -> None:
    derived = derive(measure(VirtualDevice(gfx950), "read", 16), 16)
    assert not derived.agrees(gfx942.lds_access("read", 16))
    assert not derived.agrees(gfx950.lds_access("read", 12))
    assert not Derived(8, 32, gfx950.lds_access("read", 8).phases).agrees(gfx950.lds_access("read", 8))


def test_phases_of_any_relation() -> None:
    assert derive_phases(lambda a, b: a % 3 == b % 3, 7) == ((0, 3, 6), (1, 4), (2, 5))
    assert derive_phases(lambda a, b: False, 3) == ((0,), (1,), (2,))


@pytest.mark.parametrize(
    ("conflicting", "message"),
    [
        ({(0, 1), (1, 2)}, "lanes 1 and 2 conflict, which does not fit their conflicts with lane 0"),
        ({(0, 1), (0, 2)}, "lanes 1 and 2 do not conflict, which does not fit their conflicts with lane 0"),
    ],
)
def test_answers_must_be_an_equivalence(conflicting: set[tuple[int, int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        derive_phases(lambda a, b: (a, b) in conflicting, 4)


def test_banks() -> None:
    assert derive_banks(lambda dword: dword % 48 == 0, 4) == 48
    with pytest.raises(InputError, match="no conflict up to a distance of 256 dwords"):
        derive_banks(lambda dword: False, 16)
    with pytest.raises(
        InputError, match="conflicts at distances of 32, 96 dwords, not at all multiples of 32 up to 256"
    ):
        derive_banks(lambda dword: dword in (32, 96), 16)


def test_partial_overlaps_are_not_asked_for() -> None:
    """HipKittens' counters show no conflict for misaligned pairs, so only naturally aligned distances count."""
    asked = []
    derive_banks(lambda dword: asked.append(dword) or dword % 64 == 0, 16)  # type: ignore[func-returns-value]
    assert asked == list(range(4, 257, 4))


def test_counters_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "counters.csv"
    counters = {name: measure(VirtualDevice(gfx950), "read", size) for name, size in (("a", 16), ("b", 8))}
    write_counters(path, counters)
    assert path.read_text().splitlines()[:2] == ["instruction,probe,first,second,conflicts", "a,lanes,0,1,1"]
    assert read_counters(path) == counters
    assert derive(read_counters(path)["b"], 8).agrees(gfx950.lds_access("read", 8))
    path.write_text("instruction,probe,first,second,conflicts,note\na,lanes,5,2,3,by hand\n")
    assert read_counters(path) == {"a": [Counter("lanes", 2, 5, 3)]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot read counters from .*missing.csv: .*No such file"),
        ("", "has columns none; use instruction,probe,first,second,conflicts"),
        ("lane,count\n1,2\n", "has columns lane, count; use"),
        ("instruction,probe,first,second,conflicts\na,lanes,0,x,1\n", ":2: lanes, dwords and counts are whole numbers"),
        ("instruction,probe,first,second,conflicts\na,lanes,0,1\n", ":2: lanes, dwords and counts are whole numbers"),
        ("instruction,probe,first,second,conflicts\na,banks,0,1,1\n", ":2: probe is 'banks'; use lanes or dwords"),
    ],
)
def test_bad_files_are_refused(text: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "missing.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_counters(path)


def test_missing_counters_are_named() -> None:
    counters = measure(VirtualDevice(gfx950), "read", 16)
    without = [each for each in counters if (each.probe, each.first, each.second) != ("lanes", 3, 17)]
    with pytest.raises(InputError, match="no counter of lanes 3 and 17"):
        derive(without, 16)
    with pytest.raises(InputError, match="no counter of dwords 0 and 4"):
        derive([each for each in counters if each.probe == "lanes"], 16)
