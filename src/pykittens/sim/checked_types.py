"""Structures that the checked mode's native code and Python share, as native/checked.h lays them out."""

from __future__ import annotations

import ctypes
from ctypes import c_uint8, c_uint32, c_uint64
from enum import IntEnum
from functools import cache

import numpy as np

from pykittens.sim.bind import FIELDS, VECTOR_ROWS
from pykittens.sim.native_build import symbol
from pykittens.sim.native_types import LANES, MAX_WAVES

MASK_WORDS = 11
"""64-bit words of a set of registers (`isa.effects.mask_of`)."""
EVENTS = 1024
"""Places in the table of events."""
READS = 1024
"""Reads of memory that a wave keeps."""
_HISTORY, _OUTSTANDING, _COUNTED, _RELEASES, _ACQUIRES = 4, 160, 3, 65536, 16
_FLAGS = 64


class Role(IntEnum):
    """What an operation is to the checker: `enum Role`."""

    PLAIN = 0
    ARITHMETIC = 1
    WAITS = 2
    ARRIVES = 3
    ENDS = 4
    BRANCHES = 5
    LDS_LOADS = 6
    LDS_STORES = 7
    LDS_ATOMIC = 8
    LOADS_TO_LDS = 9
    LOADS = 10
    STORES = 11
    ATOMIC_MEMORY = 12
    SCALAR_LOADS = 13
    SCALAR_STORES = 14
    PERMUTES = 15
    READS_LANE = 16
    SCALAR_ATOMIC = 17
    GIVES_UP = 18


class Space(IntEnum):
    """Where an access to memory goes: `enum Space`."""

    NONE = 0
    LDS = 1
    BUFFER = 2
    GLOBAL = 3
    FLAT = 4
    SCRATCH = 5
    SCALAR = 6
    SCALAR_BUFFER = 7


DS, VM, SCALAR_MEMORY, FLAT_MEMORY = range(4)
"""`enum Class`."""

WATCH = np.dtype(
    [
        ("inner", "<u8"), ("access_handler", "<u8"), ("access", "<u4", FIELDS),
        ("reads", "<u8", MASK_WORDS), ("writes", "<u8", MASK_WORDS), ("address", "<u8", MASK_WORDS),
        ("index", "<u4"), ("role", "<u4"), ("space", "<u4"), ("class", "<u4"),
        ("bytes", "<u4"), ("pieces", "<u4"), ("offset", "<u4", 2), ("row", "<u4"), ("m0", "<u4"),
        ("pitch", "<u4"), ("single", "<u4"),
        ("data", "<u4", 2), ("halves", "<u4"),
        ("first_result", "<u4"), ("results", "<u4"),
        ("vmcnt", "<u4"), ("lgkmcnt", "<u4"), ("exact", "<u4"), ("extent", "<u4"), ("transpose", "<u4"),
        ("format", "<u4"), ("swaps", "<u4"),
        ("lanes", "u1", LANES),
    ],
    align=True,
)  # fmt: skip
"""`Watch`: one operation of a checked program."""

EVENT = np.dtype(
    [
        ("address", "<u8"), ("group", "<u8"), ("other_group", "<u8"), ("times", "<u8"), ("kind", "<u4"), ("op", "<u4"),
        ("wave", "<u4"), ("lane", "<u4"), ("bytes", "<u4"), ("before_op", "<u4"), ("before_wave", "<u4"),
        ("unfinished", "<u4"),
    ],
    align=True,
)  # fmt: skip
"""`CheckEvent`."""


class Due(ctypes.Structure):
    _fields_ = (
        ("number", c_uint64), ("class", c_uint32), ("op", c_uint32), ("first", c_uint32), ("count", c_uint32),
        ("vm_seen", c_uint32), ("ds_seen", c_uint32),
    )  # fmt: skip


class Read(ctypes.Structure):
    """`Read`: what the lanes of a wave read once."""

    _fields_ = (
        ("number", c_uint64), ("class", c_uint32), ("op", c_uint32), ("bytes", c_uint32), ("host", c_uint64 * LANES),
    )  # fmt: skip


class Release(ctypes.Structure):
    """`Release`: an atomic by which a workgroup lets others go on."""

    _fields_ = (("host", c_uint64), ("group", c_uint32), ("unused", c_uint32), ("limit", c_uint64 * MAX_WAVES))


class Acquire(ctypes.Structure):
    """`Acquire`: an atomic whose result a wave waits for."""

    _fields_ = (("host", c_uint64), ("upto", c_uint64), ("number", c_uint64))


class Shared(ctypes.Structure):
    """`Shared`: what all workgroups of a launch share."""

    _fields_ = (("tainted", c_uint64), ("releases", c_uint64), ("release", Release * _RELEASES))


class Watched(ctypes.Structure):
    """`Watched`: what is known of a wave."""

    _fields_ = (
        ("issued", c_uint64 * _COUNTED), ("done", c_uint64 * _COUNTED), ("start", c_uint64 * _COUNTED),
        ("arrived_done", c_uint64 * _COUNTED * _HISTORY), ("arrived_issued", c_uint64 * _COUNTED * _HISTORY),
        ("limit", c_uint64 * (2 * MAX_WAVES)), ("last_read", c_uint64), ("pending", c_uint64 * MASK_WORDS),
        ("undefined", c_uint64 * MASK_WORDS), ("placed", c_uint64 * MASK_WORDS), ("epoch", c_uint32),
        ("ended", c_uint32), ("limits_of", c_uint32), ("barrier_op", c_uint32 * _HISTORY), ("due_count", c_uint32),
        ("due", Due * _OUTSTANDING),
        ("scalar_undefined", c_uint32 * 129), ("origin", c_uint32 * (VECTOR_ROWS + 129)),
        ("vector_undefined", c_uint64), ("reads", c_uint64), ("read", c_uint64),
        ("acquires", c_uint64), ("acquire", Acquire * _ACQUIRES),
        ("ordered_group", c_uint32), ("ordered_wave", c_uint32), ("ordered_below", c_uint64),
    )  # fmt: skip


class Shadow(ctypes.Structure):
    """`Shadow`: device memory by host address."""

    _fields_ = (
        ("host", c_uint64), ("size", c_uint64), ("base", c_uint64), ("writer", c_uint64), ("writer_group", c_uint64),
        ("reader", c_uint64), ("block_reader", c_uint64), ("undefined", c_uint64), ("written", c_uint32),
        ("beside", c_uint32),
    )  # fmt: skip


class Flags(ctypes.Structure):
    """`Flags`: what LDS atomics put in order."""

    _fields_ = (
        ("count", c_uint64), ("at", c_uint64 * _FLAGS), ("known", c_uint64 * (2 * MAX_WAVES) * _FLAGS),
        ("number", c_uint64 * MAX_WAVES), ("coming", c_uint64 * (2 * MAX_WAVES) * MAX_WAVES),
        ("acquired", c_uint64 * (2 * MAX_WAVES) * MAX_WAVES),
    )  # fmt: skip


class Checker(ctypes.Structure):
    """`Checker`: what is known of a workgroup."""

    _fields_ = (
        ("writer", c_uint64), ("reader", c_uint64), ("byte_writer", c_uint64), ("byte_reader", c_uint64),
        ("atomic", c_uint64), ("split", c_uint64), ("lds_undefined", c_uint64),
        ("scratch_undefined", c_uint64), ("read", c_uint64), ("vector_undefined", c_uint64),
        ("shadow", c_uint64), ("undefined_scalar", c_uint64), ("event", c_uint64), ("shadows", c_uint64),
        ("group", c_uint64), ("atomics", c_uint64), ("event_count", c_uint64), ("lds_dwords", c_uint64),
        ("apart", c_uint64), ("shared", c_uint64), ("source", c_uint64 * LANES), ("carried", c_uint8 * 16 * LANES),
        ("carries", c_uint64), ("flags", Flags),
        ("wave", Watched * MAX_WAVES),
    )  # fmt: skip


VECTOR_UNDEFINED_BYTES = 512 * LANES * 4
"""Of one wave."""


def layout_as_declared() -> dict[str, int]:
    """Sizes in bytes of the structures as Python lays them out."""
    return {
        "watch": WATCH.itemsize, "watched": ctypes.sizeof(Watched), "event": EVENT.itemsize,
        "shadow": ctypes.sizeof(Shadow), "checker": ctypes.sizeof(Checker),
        "read": ctypes.sizeof(Read), "shared": ctypes.sizeof(Shared),
    }  # fmt: skip


@cache
def layout_as_compiled() -> dict[str, int]:
    """The same as the native code has them."""
    names = ("watch", "watched", "event", "shadow", "checker", "read", "shared")
    sizes = (c_uint64 * len(names))()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(symbol("checked_layout"))(ctypes.addressof(sizes))
    return dict(zip(names, sizes, strict=True))
