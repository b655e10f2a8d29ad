"""What a checked run saw, as plain events: how whoever runs code objects tells whoever words what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from pykittens.isa.instruction import Instruction


class Kind(IntEnum):
    """What happened; the numbers are those of native/checked.h."""

    NONE = 0
    LDS_READ_AFTER_WRITE = 1
    LDS_WRITE_AFTER_READ = 2
    LDS_WRITE_AFTER_WRITE = 3
    LDS_SAME_VALUE = 4
    OWN_READ_AFTER_WRITE = 5
    OWN_WRITE_AFTER_READ = 6
    OWN_WRITE_AFTER_WRITE = 7
    REGISTER_NOT_WAITED = 8
    REGISTER_OVERWRITTEN = 9
    BARRIERS_DIFFER = 10
    BARRIER_MISSED = 11
    LDS_OUTSIDE = 12
    GLOBAL_READ_AFTER_WRITE = 13
    GLOBAL_WRITE_AFTER_READ = 14
    GLOBAL_WRITE_AFTER_WRITE = 15
    GLOBAL_SAME_VALUE = 16
    GROUPS_READ_AFTER_WRITE = 17
    GROUPS_WRITE_AFTER_READ = 18
    GROUPS_WRITE_AFTER_WRITE = 19
    GROUPS_SAME_VALUE = 20
    UNDEFINED_STORE = 21
    UNDEFINED_BRANCH = 22
    UNDEFINED_ADDRESS = 23
    UNDEFINED_EXEC = 24
    OUTSIDE_BUFFERS = 25
    OTHER_BUFFER = 26
    INACTIVE_LANE = 27
    NOT_CHECKED = 28


class Unchecked(IntEnum):
    """Why something was not checked: the ``address`` of such an event."""

    FLAT_TO_LDS = 1
    TOO_MANY_READS = 2
    TOO_MANY_EVENTS = 3
    TOO_MANY_ATOMICS = 4
    DISCARDS = 5


@dataclass(frozen=True)
class Access:
    """One side of an event: the instruction (None where it is not known), the wave, the workgroup (None: several)."""

    instruction: Instruction | None
    wave: int | None
    workgroup: int | None


@dataclass(frozen=True)
class Event:
    """Something that a checked launch saw, told once for each pair of instructions.

    access, before: the later and the earlier instruction as they ran here. lane: of the later one, where there is one.
    address: LDS byte, device address, or first register (`isa.effects.mask_of`); bytes: how many. unfinished: the
    earlier access had begun before the barrier between the two, and had not been waited for; of undefined data: it was
    undefined already when it was written to memory. times: how often. memory: the buffer that a device address is in,
    by name.
    """

    kind: Kind
    access: Access
    before: Access | None
    lane: int | None
    address: int
    bytes: int
    unfinished: bool
    times: int
    memory: str | None = None
