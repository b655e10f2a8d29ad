"""Accesses beside the buffers and beside the LDS, and outputs that were not written, as a checked run saw them."""

from __future__ import annotations

from pykittens.asm.observed import Event, Kind
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
        why = f"wave {now.wave}{lane} reaches {event.bytes} bytes of another buffer than the one that its base is in"
        fix = "let the descriptor's number of records end with the buffer"
        return Finding("other-buffer", why, fix, place_of(now), times=event.times)
    return None


def unwritten(name: str, missing: int, total: int, first: int) -> Finding:
    """An output of which ``missing`` of ``total`` bytes were never written, the first at offset ``first``."""
    why = f"{missing} of {total} bytes of {name} were not written, the first at offset {first}"
    return Finding("unwritten-output", why, "let every element be stored by one workgroup")
