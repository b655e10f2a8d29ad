"""Races between waves and between workgroups, as a checked run saw them."""

from __future__ import annotations

from collections.abc import Callable

from pykittens.asm.observed import Access, Event, Kind
from pykittens.check.codes import Severity
from pykittens.check.findings import Finding, Place

_LDS = {
    Kind.LDS_READ_AFTER_WRITE: ("reads", "wrote"),
    Kind.LDS_WRITE_AFTER_READ: ("writes", "read"),
    Kind.LDS_WRITE_AFTER_WRITE: ("writes", "wrote"),
    Kind.LDS_SAME_VALUE: ("writes", "wrote"),
}
_OWN = {
    Kind.OWN_READ_AFTER_WRITE: ("reads", "is written"),
    Kind.OWN_WRITE_AFTER_READ: ("writes", "is read"),
    Kind.OWN_WRITE_AFTER_WRITE: ("writes", "is written"),
}
_GLOBAL = {
    Kind.GLOBAL_READ_AFTER_WRITE: ("reads", "wrote"),
    Kind.GLOBAL_WRITE_AFTER_READ: ("writes", "read"),
    Kind.GLOBAL_WRITE_AFTER_WRITE: ("writes", "wrote"),
    Kind.GLOBAL_SAME_VALUE: ("writes", "wrote"),
}
_GROUPS = {
    Kind.GROUPS_READ_AFTER_WRITE: ("reads", "writes"),
    Kind.GROUPS_WRITE_AFTER_READ: ("writes", "reads"),
    Kind.GROUPS_WRITE_AFTER_WRITE: ("writes", "writes"),
    Kind.GROUPS_SAME_VALUE: ("writes", "writes"),
}
SAME_VALUE = {
    Kind.LDS_SAME_VALUE: Kind.LDS_WRITE_AFTER_WRITE,
    Kind.GLOBAL_SAME_VALUE: Kind.GLOBAL_WRITE_AFTER_WRITE,
    Kind.GROUPS_SAME_VALUE: Kind.GROUPS_WRITE_AFTER_WRITE,
}
"""Writes that race and do no harm, and what they are otherwise."""

PlaceOf = Callable[[Access], Place | None]


def race(event: Event, place_of: PlaceOf) -> Finding | None:
    """The finding for an event; None if it is no race."""
    if event.kind in _LDS:
        return _between_waves(event, place_of, "LDS", "lds-race", _LDS[event.kind])
    if event.kind in _OWN:
        return _within_wave(event, place_of)
    if event.kind in _GLOBAL:
        return _between_waves(event, place_of, "memory", "global-race", _GLOBAL[event.kind])
    return _between_groups(event, place_of) if event.kind in _GROUPS else None


def _finding(code: str, why: str, fix: str, event: Event, place_of: PlaceOf) -> Finding:
    before = place_of(event.before) if event.before else None
    level: Severity | None = "note" if event.kind in SAME_VALUE else None
    now = place_of(event.access)
    return Finding(code, why, fix, now, before, tile_of(event, now, before), times=event.times, level=level)


def tile_of(event: Event, now: Place | None, before: Place | None) -> str | None:
    """The shared tiles that both accesses name, or the buffer in memory."""
    tiles = dict.fromkeys(place.tile.rsplit(" ", 1)[0] for place in (now, before) if place and place.tile)
    return " and ".join(tiles) or event.memory


def _bytes(event: Event) -> str:
    memory = "" if event.memory is None else f" of {event.memory}"
    return (
        f"{event.bytes} bytes at {event.address:#x}{memory}" if event.bytes > 1 else f"byte {event.address:#x}{memory}"
    )


def _between_waves(event: Event, place_of: PlaceOf, what: str, code: str, verbs: tuple[str, str]) -> Finding:
    now, before = event.access, event.before
    assert before is not None
    why = f"wave {now.wave} {verbs[0]} {_bytes(event)} of {what} that wave {before.wave} {verbs[1]}"
    if event.unfinished:
        why += ", and though a barrier is between them, the earlier access was not waited for before it"
        fix = "wait for the earlier access before the barrier"
    else:
        why += " with no barrier between them"
        fix = "wait for the earlier access, then put a barrier between the two"
    if event.kind in SAME_VALUE:
        why, fix = f"{why}; both write the same value", "let one wave write it"
    return _finding(code, why, fix, event, place_of)


def _within_wave(event: Event, place_of: PlaceOf) -> Finding:
    verb, other = _OWN[event.kind]
    why = f"wave {event.access.wave} {verb} {_bytes(event)} of LDS while it {other} by its own earlier instruction"
    return _finding("lds-order", why, "wait for the earlier one, with its counter, in between", event, place_of)


def _between_groups(event: Event, place_of: PlaceOf) -> Finding:
    now, before = event.access, event.before
    assert before is not None
    verb, other = _GROUPS[event.kind]
    whom = "several workgroups" if before.workgroup is None else f"workgroup {before.workgroup}"
    other = other.removesuffix("s") if before.workgroup is None else other
    why = f"workgroup {now.workgroup} {verb} {_bytes(event)} that {whom} {other}, in any order"
    fix = "let one workgroup own each byte, or use atomics"
    if event.kind in SAME_VALUE:
        why, fix = f"{why}; both write the same value", "let one workgroup write it"
    return _finding("workgroup-race", why, fix, event, place_of)
