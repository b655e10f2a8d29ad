"""Bank conflicts of LDS accesses: from the byte addresses of the lanes to the passes that each phase takes.

A phase takes one pass if no bank is asked for two different dwords; every further dword of its worst bank costs one
pass more (the cost rule that fits HipKittens' counters; lanes that ask for the same dword share it). The rule is
measured for naturally aligned accesses only. That a phase without active lanes still takes its pass is a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pykittens.arch.fact import SOURCES, Source
from pykittens.arch.facts import Arch
from pykittens.arch.lds_phases import LdsAccess
from pykittens.errors import InputError

Direction = Literal["read", "write", "transpose"]

_DWORD = 4


@dataclass(frozen=True)
class PhaseBanks:
    """One phase of one access: its active ``lanes``, and in ``dwords`` for each bank the dwords it is asked for."""

    lanes: tuple[int, ...]
    dwords: dict[int, tuple[int, ...]]

    @property
    def passes(self) -> int:
        """Passes that the phase takes: the most dwords of one bank, and at least one."""
        return max((len(each) for each in self.dwords.values()), default=1)


@dataclass(frozen=True)
class BankReport:
    """What one LDS access costs. ``source`` is how well its banks and phases are known (the weaker of both)."""

    access: LdsAccess
    phases: tuple[PhaseBanks, ...]
    aligned: bool
    source: Source

    @property
    def degree(self) -> int:
        """Passes of the worst phase: 1 means no bank conflict, n an n-way conflict."""
        return max(phase.passes for phase in self.phases)

    @property
    def passes(self) -> int:
        """Passes of all phases together."""
        return sum(phase.passes for phase in self.phases)

    @property
    def extra_passes(self) -> int:
        """Passes beyond one a phase: what the conflict counter counts."""
        return self.passes - len(self.phases)

    @property
    def known(self) -> str:
        """The source word for people: a guess reads ``assumed``."""
        return known_word(self.source)


def known_word(source: Source) -> str:
    """How tables and reports name a source: ``assumed`` for a guess, else the word itself."""
    return "assumed" if source == "guess" else source


def source_of(access: LdsAccess) -> Source:
    """The weaker of the sources of an access's banks and phases."""
    return max((access.fact(name).source for name in ("banks", "phases")), key=SOURCES.index)


def natural_alignment(lane_bytes: int) -> int:
    """The alignment in bytes at which the tables hold: the access's own size, 16 for 12 bytes."""
    return 16 if lane_bytes == 12 else lane_bytes


def bank_report(
    arch: Arch,
    direction: Direction,
    lane_bytes: int,
    addresses: Sequence[int] | np.ndarray,
    active: Sequence[bool] | np.ndarray | None = None,
) -> BankReport:
    """Phases, banks and passes of one access.

    ``addresses`` are the LDS byte addresses of the 64 lanes, ``active`` says which lanes take part (default: all).
    Raises InputError for another number of lanes or a negative address, Unsupported for an access that the chip lacks.
    """
    access = arch.lds_access(direction, lane_bytes)
    where, mask = _lanes(access, addresses, active)
    phases = []
    for lanes in access.phases:
        asked: dict[int, set[int]] = {}
        served = tuple(lane for lane in lanes if mask[lane])
        for lane in served:
            first, last = int(where[lane]) // _DWORD, (int(where[lane]) + lane_bytes - 1) // _DWORD
            for dword in range(first, last + 1):
                asked.setdefault(dword % access.banks, set()).add(dword)
        phases.append(PhaseBanks(served, {bank: tuple(sorted(asked[bank])) for bank in sorted(asked)}))
    aligned = not (where[mask] % natural_alignment(lane_bytes)).any()
    return BankReport(access, tuple(phases), aligned, source_of(access) if aligned else "guess")


def phase_passes(
    access: LdsAccess, lane_bytes: int, addresses: np.ndarray, active: np.ndarray | None = None
) -> np.ndarray:
    """Passes of each phase for many executions at once: int (n, phases) from addresses (n, 64) and ``active`` (n, 64).

    The same figures as `bank_report`, without the banks' contents.
    """
    where = np.asarray(addresses, np.int64)
    mask = np.ones(where.shape, bool) if active is None else np.asarray(active, bool)
    _refuse_wild(access, where, mask)
    most = int(((where % _DWORD + lane_bytes - 1) // _DWORD).max(initial=0)) + 1
    dwords = where[:, :, None] // _DWORD + np.arange(most)
    asked = mask[:, :, None] & (dwords * _DWORD < where[:, :, None] + lane_bytes)
    keys = np.where(asked, (dwords % access.banks << 40) + dwords, -1)
    return np.stack(
        [_most_in_a_bank(keys[:, list(lanes)].reshape(len(where), len(lanes) * most)) for lanes in access.phases],
        axis=1,
    )


def _most_in_a_bank(keys: np.ndarray) -> np.ndarray:
    """The most different dwords of one bank in each row of (bank << 40) + dword; -1 is no request. At least 1."""
    keys = np.sort(keys, axis=1)
    before = np.concatenate([np.full((len(keys), 1), -1), keys[:, :-1]], axis=1)
    seen = np.cumsum(keys != before, axis=1)
    starts = np.where(keys >> 40 != before >> 40, seen - 1, 0)
    most: np.ndarray = np.maximum(1, (seen - np.maximum.accumulate(starts, axis=1)).max(axis=1))
    return most


def _lanes(
    access: LdsAccess, addresses: Sequence[int] | np.ndarray, active: Sequence[bool] | np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    lanes = sum(map(len, access.phases))
    where = np.asarray(addresses, np.int64)
    mask = np.ones(lanes, bool) if active is None else np.asarray(active, bool)
    for name, each in (("addresses", where), ("active", mask)):
        if each.shape != (lanes,):
            raise InputError("lds-lanes", f"{name} has shape {each.shape}, a wave has {lanes} lanes")
    _refuse_wild(access, where, mask)
    return where, mask


def _refuse_wild(access: LdsAccess, where: np.ndarray, mask: np.ndarray) -> None:
    if (where[mask] < 0).any():
        raise InputError("lds-address", f"{access.name}: address {int(where[mask].min())} is negative")
