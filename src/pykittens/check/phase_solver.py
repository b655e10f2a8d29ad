"""Banks and phases of an LDS instruction from bank conflicts alone, on any device that counts them (the paper's D.2).

Two lanes are served in one phase if and only if they conflict when they ask one bank for different dwords. With all
pairs known the phases are the classes of that relation; how many banks there are is the distance in dwords at which two
lanes of one phase first conflict. The order of the phases cannot be told from conflicts.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from pykittens.arch import Arch
from pykittens.arch.lds_banks import Direction, bank_report, natural_alignment
from pykittens.arch.lds_phases import LdsAccess, Phases
from pykittens.errors import InputError

LANES = 64
MOST_BANKS = 128
"""Distances in dwords that are probed go up to twice this; lanes of the pair probe lie so many dwords apart."""
COLUMNS = ("instruction", "probe", "first", "second", "conflicts")


class ConflictDevice(Protocol):
    """A device that runs one LDS instruction with a few lanes active and counts its bank conflicts."""

    def conflicts(self, direction: Direction, lane_bytes: int, addresses: Mapping[int, int]) -> int:
        """Passes beyond one a phase (``SQ_LDS_BANK_CONFLICT``), lane to LDS byte address, all other lanes inactive."""


@dataclass(frozen=True)
class VirtualDevice:
    """The chip as our tables have it."""

    arch: Arch

    def conflicts(self, direction: Direction, lane_bytes: int, addresses: Mapping[int, int]) -> int:
        where, active = np.zeros(LANES, np.int64), np.zeros(LANES, bool)
        for lane, address in addresses.items():
            where[lane], active[lane] = address, True
        return bank_report(self.arch, direction, lane_bytes, where, active).extra_passes


@dataclass(frozen=True)
class Counter:
    """The conflicts of two lanes, all others inactive.

    Of the probe ``lanes``, lanes ``first`` and ``second`` ask one bank for different dwords. Of the probe ``dwords``,
    two lanes of one phase ask for dwords ``first`` and ``second`` and those after them.
    """

    probe: Literal["lanes", "dwords"]
    first: int
    second: int
    conflicts: int


@dataclass(frozen=True)
class Derived:
    """What conflicts say of an instruction: ``phases`` by their lowest lane, and ``banks`` of 4 bytes."""

    lane_bytes: int
    banks: int
    phases: Phases

    def agrees(self, access: LdsAccess) -> bool:
        """Whether a table says the same; the order of the phases is not compared."""
        return self.banks == access.banks and set(self.phases) == set(access.phases)


def derive_phases(conflicts: Callable[[int, int], bool], lanes: int = LANES) -> Phases:
    """Phases from the answers to "do these two lanes conflict?", asked once of every pair.

    Raises InputError if the answers are no equivalence (three lanes of which two pairs conflict and one does not).
    """
    together = {pair for pair in combinations(range(lanes), 2) if conflicts(*pair)}
    phases: list[list[int]] = []
    for lane in range(lanes):
        home = next((phase for phase in phases if (phase[0], lane) in together), None)
        if home is None:
            phases.append([lane])
        else:
            home.append(lane)
    for a, b in combinations(range(lanes), 2):
        same = any(a in phase and b in phase for phase in phases)
        if same != ((a, b) in together):
            heads = [next(phase[0] for phase in phases if lane in phase) for lane in (a, b)]
            raise InputError(
                "phase-conflicts", f"lanes {a} and {b} {'do not conflict' if same else 'conflict'}, "
                f"which does not fit their conflicts with lane {min(heads)}", fix="measure them again",
            )  # fmt: skip
    return tuple(map(tuple, phases))


def derive_banks(conflicts: Callable[[int], bool], lane_bytes: int) -> int:
    """Banks from the answers to "do two lanes of a phase conflict at this distance in dwords?", naturally aligned.

    Raises InputError if there is no conflict up to 256 dwords, or if the conflicts are not at multiples of the first.
    """
    step = max(natural_alignment(lane_bytes), 4) // 4
    distances = range(step, 2 * MOST_BANKS + 1, step)
    found = [distance for distance in distances if conflicts(distance)]
    if not found:
        raise InputError(
            "bank-conflicts", f"no conflict up to a distance of {distances[-1]} dwords", fix="measure again"
        )
    if found != list(range(found[0], 2 * MOST_BANKS + 1, found[0])):
        shown = ", ".join(map(str, found))
        raise InputError(
            "bank-conflicts", f"conflicts at distances of {shown} dwords, not at all multiples of {found[0]} up to "
            f"{2 * MOST_BANKS}", fix="measure again",
        )  # fmt: skip
    return found[0]


def measure(device: ConflictDevice, direction: Direction, lane_bytes: int) -> list[Counter]:
    """All probes that `derive` needs, run on a device: every pair of lanes, then distances for one pair of a phase."""
    counters = []
    for a, b in combinations(range(LANES), 2):
        addresses = {lane: 4 * MOST_BANKS * lane for lane in (a, b)}
        counters.append(Counter("lanes", a, b, device.conflicts(direction, lane_bytes, addresses)))
    a, b = next(((each.first, each.second) for each in counters if each.conflicts), (0, 1))
    step = max(natural_alignment(lane_bytes), 4)
    for byte in range(step, 8 * MOST_BANKS + 1, step):
        counters.append(Counter("dwords", 0, byte // 4, device.conflicts(direction, lane_bytes, {a: 0, b: byte})))
    return counters


def derive(counters: Iterable[Counter], lane_bytes: int) -> Derived:
    """Banks and phases from probes. Raises InputError for missing ones and conflicts that fit no phases or banks."""
    known = {(each.probe, each.first, each.second): each.conflicts > 0 for each in counters}

    def asked(probe: Literal["lanes", "dwords"], first: int, second: int) -> bool:
        if (probe, first, second) not in known:
            raise InputError(
                "missing-counter", f"no counter of {probe} {first} and {second}", fix="probe all pairs and distances"
            )
        return known[probe, first, second]

    phases = derive_phases(lambda a, b: asked("lanes", a, b))
    banks = derive_banks(lambda distance: asked("dwords", 0, distance), lane_bytes)
    return Derived(lane_bytes, banks, phases)


def read_counters(path: str | Path) -> dict[str, list[Counter]]:
    """Counters by instruction from a CSV file with the columns of `COLUMNS`; InputError says what is wrong with it."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
            columns = tuple(rows[0]) if rows else ()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError("counters-file", f"cannot read counters from {path}: {error}") from None
    if columns[: len(COLUMNS)] != COLUMNS:
        raise InputError(
            "counters-file",
            f"{path} has columns {', '.join(map(str, columns)) or 'none'}",
            fix=f"use {','.join(COLUMNS)}",
        )
    counters: dict[str, list[Counter]] = {}
    for line, row in enumerate(rows, 2):
        try:
            first, second, conflicts = (int(row[name]) for name in COLUMNS[2:])
        except (TypeError, ValueError):
            raise InputError("counters-file", f"{path}:{line}: lanes, dwords and counts are whole numbers") from None
        probe = row["probe"]
        if probe not in ("lanes", "dwords"):
            raise InputError("counters-file", f"{path}:{line}: probe is {probe!r}", fix="use lanes or dwords")
        low, high = sorted((first, second))
        counter = Counter("lanes" if probe == "lanes" else "dwords", low, high, conflicts)
        counters.setdefault(row["instruction"], []).append(counter)
    return counters


def write_counters(path: str | Path, counters: Mapping[str, Iterable[Counter]]) -> None:
    """Write counters by instruction as `read_counters` reads them."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for instruction, each in counters.items():
            writer.writerows((instruction, c.probe, c.first, c.second, c.conflicts) for c in each)
