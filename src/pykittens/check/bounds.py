"""Accesses beside the buffers and beside the LDS, and outputs that were not written, as a checked run saw them."""

from __future__ import annotations

from pykittens.asm.observed import Event, Kind, Unchecked
from pykittens.check.findings import Finding
from pykittens.check.races import PlaceOf


def bounds(event: Event, place_of: PlaceOf) -> Finding | None:
    """The finding for an event; None if it is about something else."""
    now = event.access
    lane = f" in lane {event.lane}" if event.lane is not None else ""
    if event.kind is Kind.LDS_OUTSIDE:
        why = f"wave {now.wave}{lane} accesses {event.bytes} bytes at {event.address:#x}, beyond the workgroup's LDS"
        return Finding("lds-bounds", why, "give it more LDS or mask the lane off", place_of(now), times=event.times)
    if event.kind is Kind.OUTSIDE_BUFFERS:
        why = f"wave {now.wave}{lane} reads {event.bytes} bytes beside all buffers"
        fix = "let the descriptor's number of records end with the buffer, or mask the lane off"
        return Finding("out-of-bounds", why, fix, place_of(now), times=event.times)
    if event.kind is Kind.OTHER_BUFFER:
        other = f" ({event.memory})" if event.memory else ""
        why = f"wave {now.wave}{lane} reaches {event.bytes} bytes of another buffer{other} than that of its base"
        fix = "let the descriptor's number of records end with the buffer"
        return Finding("other-buffer", why, fix, place_of(now), times=event.times)
    return None


_UNCHECKED = {
    Unchecked.FLAT_TO_LDS: "some lanes of a FLAT instruction reach LDS and others do not, which is not followed",
    Unchecked.TOO_MANY_READS: "it writes what other waves of its workgroup read, and they read more than is remembered",
    Unchecked.TOO_MANY_ATOMICS: "more atomics order workgroups than there is room for",
    Unchecked.DISCARDS: "it may throw away what was written to memory, which is not followed",
    Unchecked.TOO_MANY_EVENTS: "more was seen than there is room for, so that some of it is not told",
}
_INSTEAD = {
    Unchecked.FLAT_TO_LDS: "use DS instructions",
    Unchecked.TOO_MANY_READS: "check a smaller problem",
    Unchecked.TOO_MANY_ATOMICS: "check a smaller problem",
    Unchecked.DISCARDS: "leave it out",
    Unchecked.TOO_MANY_EVENTS: "repair what is told first",
}


def unchecked(event: Event, place_of: PlaceOf) -> Finding | None:
    """The finding for what a run left unchecked; None if the event is about something else."""
    if event.kind is not Kind.NOT_CHECKED:
        return None
    reason = Unchecked(event.address)
    return Finding("not-checked", _UNCHECKED[reason], _INSTEAD[reason], place_of(event.access), times=event.times)


def rewritten(name: str, count: int, total: int, first: int) -> Finding:
    """An output of which several workgroups wrote ``count`` of ``total`` bytes, the first at offset ``first``."""
    why = f"{count} of {total} bytes of {name} were written by more than one workgroup, the first at offset {first}"
    return Finding("rewritten-output", why, "let every element be stored by one workgroup", tile=name)


def unwritten(name: str, missing: int, total: int, first: int) -> Finding:
    """An output of which ``missing`` of ``total`` bytes were never written, the first at offset ``first``."""
    why = f"{missing} of {total} bytes of {name} were not written, the first at offset {first}"
    return Finding("unwritten-output", why, "let every element be stored by one workgroup", tile=name)
