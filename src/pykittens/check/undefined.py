"""Undefined data that reached a store, a branch, an address or EXEC, and results used before they were waited for."""

from __future__ import annotations

from pykittens.asm.observed import Access, Event, Kind
from pykittens.check.findings import Finding
from pykittens.check.races import PlaceOf
from pykittens.check.register_names import names_of
from pykittens.isa.effects import SCALAR_BITS

_UNDEFINED = {
    Kind.UNDEFINED_STORE: ("undefined-store", "stores data"),
    Kind.UNDEFINED_BRANCH: ("undefined-branch", "is decided by data"),
    Kind.UNDEFINED_ADDRESS: ("undefined-address", "goes to an address"),
    Kind.UNDEFINED_EXEC: ("undefined-branch", "sets EXEC by data"),
}


def undefined(event: Event, place_of: PlaceOf, accum_offset: int) -> Finding | None:
    """The finding for an event; None if it is about something else."""
    if event.kind in _UNDEFINED:
        return _undefined(event, place_of, accum_offset)
    if event.kind in (Kind.REGISTER_NOT_WAITED, Kind.REGISTER_OVERWRITTEN):
        return _not_waited(event, place_of, accum_offset)
    return None


def _undefined(event: Event, place_of: PlaceOf, accum_offset: int) -> Finding:
    code, what = _UNDEFINED[event.kind]
    lane = f", lane {event.lane}" if event.lane is not None else ""
    if event.before is not None:
        memory = _memory(event.before)
        source, fix = f"{memory} that nobody wrote", f"write these bytes of {memory} before they are read"
        if event.unfinished:
            source, fix = f"{memory} that undefined data was written to", f"write defined data to {memory}"
    else:
        name = names_of(1 << event.address, accum_offset)
        source, fix = f"{name}, which nobody wrote", f"write {name} before it is used"
    why = f"it {what} that comes from {source} (wave {event.access.wave}{lane})"
    before = place_of(event.before) if event.before else None
    return Finding(code, why, fix, place_of(event.access), before, times=event.times)


def _memory(load: Access) -> str:
    """The kind of memory that an instruction loads from."""
    access = load.instruction.definition.access if load.instruction else None
    return {"lds": "LDS", "scratch": "scratch"}.get(access.space if access else "", "memory")


def _not_waited(event: Event, place_of: PlaceOf, accum_offset: int) -> Finding:
    read = event.kind is Kind.REGISTER_NOT_WAITED
    mask = ((1 << event.bytes) - 1) << event.address
    name = names_of(mask, accum_offset)
    scalar = bool(mask & SCALAR_BITS)
    why = f"it {'uses' if read else 'writes'} {name} while a load into that is under way"
    fix = "wait with s_waitcnt lgkmcnt(0)" if scalar else "wait for the load with s_waitcnt"
    before = place_of(event.before) if event.before else None
    return Finding("wait-raw" if read else "wait-waw", why, fix, place_of(event.access), before, times=event.times)
