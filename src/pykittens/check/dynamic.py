"""Findings of a checked run: every event that it saw in words, each pair of instructions once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pykittens.asm.code_object import CodeObject
from pykittens.asm.observed import Access, Event, Kind
from pykittens.check.bounds import bounds, unchecked
from pykittens.check.code import Places
from pykittens.check.findings import Finding, Place
from pykittens.check.lanes import lanes
from pykittens.check.races import SAME_VALUE, race
from pykittens.check.undefined import undefined

_Key = tuple[Kind, Place | None, Place | None]


def findings_of(
    events: Iterable[Event], code_object: CodeObject, kernel: str, load_address: int,
    tiles: Mapping[int, str] | None = None,
) -> list[Finding]:  # fmt: skip
    """What the events of one launch mean.

    code_object: what was run, for source lines and phases. load_address: where it was in device memory. tiles: address
    of an instruction in the code object to the tile that it accesses and how, such as ``Bs read``.
    """
    places, names = Places(code_object), tiles or {}
    accum_offset = code_object.kernel(kernel).descriptor.accum_offset

    def place_of(access: Access) -> Place | None:
        if access.instruction is None:
            return None
        place = places.of(replace(access.instruction, pc=access.instruction.pc - load_address))
        return replace(place, tile=names.get(place.pc))

    found: dict[_Key, Finding] = {}
    for event in events:
        finding = (
            race(event, place_of)
            or undefined(event, place_of, accum_offset)
            or bounds(event, place_of)
            or lanes(event, place_of)
            or unchecked(event, place_of)
        )
        if finding is None:
            raise AssertionError(f"no finding is about {event.kind!r}")
        finding = replace(finding, kernel=kernel)
        key = event.kind, finding.place, finding.producer
        known = found.get(key)
        found[key] = finding if known is None else replace(known, times=known.times + finding.times)
    return list(_without_harmless(found).values())


def _without_harmless(found: dict[_Key, Finding]) -> dict[_Key, Finding]:
    """Of two instructions that write the same value in some places only, one finding: the one that matters."""
    kept = dict(found)
    for (kind, place, producer), finding in found.items():
        worse = (SAME_VALUE[kind], place, producer) if kind in SAME_VALUE else None
        if worse in kept:
            kept[worse] = replace(kept[worse], times=kept[worse].times + finding.times)
            del kept[kind, place, producer]
    return kept
