"""Findings of a checked run: every event that it saw in words, each pair of instructions once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pykittens.asm.code_object import CodeObject
from pykittens.asm.observed import Access, Event
from pykittens.check.bounds import bounds
from pykittens.check.code import Places
from pykittens.check.findings import Finding, Place
from pykittens.check.lanes import lanes
from pykittens.check.races import race
from pykittens.check.undefined import undefined


def findings_of(events: Iterable[Event], code_object: CodeObject, kernel: str, load_address: int) -> list[Finding]:
    """What the events of one launch mean.

    code_object: what was run, for source lines and phases. load_address: where it was in device memory.
    """
    places = Places(code_object)
    accum_offset = code_object.kernel(kernel).descriptor.accum_offset

    def place_of(access: Access) -> Place | None:
        if access.instruction is None:
            return None
        return places.of(replace(access.instruction, pc=access.instruction.pc - load_address))

    found: dict[tuple[object, ...], Finding] = {}
    for event in events:
        finding = (
            race(event, place_of)
            or undefined(event, place_of, accum_offset)
            or bounds(event, place_of)
            or lanes(event, place_of)
        )
        if finding is None:
            raise AssertionError(f"no finding is about {event.kind!r}")
        finding = replace(finding, kernel=kernel)
        key = event.kind, finding.place, finding.producer
        known = found.get(key)
        found[key] = finding if known is None else replace(known, times=known.times + finding.times)
    return list(found.values())
