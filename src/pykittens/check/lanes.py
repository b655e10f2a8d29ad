"""What waves and lanes do apart from each other: barriers that not all waves reach, values from inactive lanes."""

from __future__ import annotations

from pykittens.asm.observed import Event, Kind
from pykittens.check.findings import Finding
from pykittens.check.races import PlaceOf


def lanes(event: Event, place_of: PlaceOf) -> Finding | None:
    """The finding for an event; None if it is about something else."""
    now, before = event.access, event.before
    if event.kind is Kind.INACTIVE_LANE:
        mine = f"lane {event.lane}" if event.lane is not None else "it"
        why = f"{mine} of wave {now.wave} takes its value from lane {event.address}, which is not active"
        if event.lane is None:
            why = f"wave {now.wave} takes the value of lane {event.address}, which is not active"
        fix = "activate the lane in EXEC, or read one that is active"
        return Finding("inactive-lane", why, fix, place_of(now), times=event.times, level=None)
    if event.kind is Kind.BARRIER_MISSED:
        assert before is not None
        why = (
            f"wave {now.wave} waits at a barrier that wave {before.wave} never reaches; it opens as that wave ends, "
            "and would be a deadlock if it went on to anything else"
        )
        return Finding(
            "barrier-missed", why, "let all waves reach it", place_of(now), place_of(before), times=event.times
        )
    if event.kind is Kind.BARRIERS_DIFFER:
        assert before is not None
        why = f"from here on wave {now.wave} meets wave {before.wave} at barriers that are other instructions there"
        fix = "nothing, if the waves are meant to be a barrier apart"
        return Finding("barriers-differ", why, fix, place_of(now), place_of(before), times=event.times)
    return None
