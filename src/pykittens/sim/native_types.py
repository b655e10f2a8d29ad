"""Structures and numbers that Python and the native core share, as native/wave.h and native/group.h lay them out."""

from __future__ import annotations

import ctypes
from ctypes import c_uint32, c_uint64
from enum import IntEnum
from functools import cache

from pykittens.sim.native_build import symbol

LANES = 64
MAX_WAVES = 16
VARIANTS = 16


class Code(IntEnum):
    """Why a launch stopped: `enum Code`."""

    WILD = 1
    READ_ONLY_MEMORY = 2
    MISALIGNED = 3
    PRIVATE_RANGE = 4
    ILLEGAL = 5
    TRAP = 6
    END_OF_CODE = 7
    BUDGET = 8
    BAD_JUMP = 9
    HALT = 10
    PARTIAL_EXEC = 11
    SHARED_RANGE = 12
    NOT_SIMULATED = 13


class Outcome(IntEnum):
    """Why `run` came back: `enum Outcome`."""

    DONE = 0
    SLICE = 1
    ASKED = 2
    FAILED = 3
    STOPPED = 4


class Request(IntEnum):
    """What a wave needs from Python: `enum Request`."""

    NOTHING = 0
    VARIANT = 1
    CODE = 2


class Counter(IntEnum):
    """What is counted and not a fault: `enum Counters`."""

    LDS_OUT_OF_RANGE = 0
    LDS_MISALIGNED = 1
    BUFFER_OUT_OF_RANGE = 2
    DIVERGENT_BARRIERS = 3
    ENDED_AT_BARRIER = 4


class Region(ctypes.Structure):
    """Owned device memory; flags bit 0: read only."""

    _fields_ = (
        ("base", c_uint64), ("size", c_uint64), ("host", c_uint64), ("flags", c_uint32), ("unused", c_uint32),
    )  # fmt: skip


class FaultRecord(ctypes.Structure):
    _fields_ = (
        ("code", c_uint32), ("wave", c_uint32), ("op", c_uint32), ("lane", c_uint32), ("address", c_uint64),
        ("bytes", c_uint32), ("purpose", c_uint32),
    )  # fmt: skip


class Variant(ctypes.Structure):
    _fields_ = (("key", c_uint32), ("op_count", c_uint32), ("ops", c_uint64))


class Launch(ctypes.Structure):
    """What the threads of a launch share."""

    _fields_ = (
        ("regions", c_uint64), ("region_count", c_uint64), ("groups", c_uint64), ("next", c_uint64),
        ("limit", c_uint64), ("max_count", c_uint64), ("seed", c_uint64), ("code_base", c_uint64),
        ("code_bytes", c_uint64), ("index_of", c_uint64), ("turns", c_uint64), ("scratch_base", c_uint64),
        ("stop", c_uint32), ("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("waves", c_uint32), ("turn", c_uint32),
        ("random", c_uint32), ("slice", c_uint32), ("late", c_uint32), ("turn_count", c_uint32),
        ("lds_bytes", c_uint32),
        ("private_bytes", c_uint32), ("entry", c_uint32), ("rows", c_uint32), ("fill", c_uint32), ("mode", c_uint32),
        ("variant", c_uint32), ("id_dimensions", c_uint32), ("group_id_sgpr", c_uint32 * 4),
        ("sgpr", c_uint32 * 128),
    )  # fmt: skip


class Group(ctypes.Structure):
    """One workgroup at a time, on one thread."""

    _fields_ = (
        ("launch", c_uint64), ("wave", c_uint64), ("lds", c_uint64), ("scratch", c_uint64), ("seen", c_uint64),
        ("hit", c_uint64), ("variant", Variant * VARIANTS), ("id", c_uint64), ("executed", c_uint64),
        ("random", c_uint64), ("counter", c_uint64 * len(Counter)), ("fault", FaultRecord),
        ("request_value", c_uint64), ("request", c_uint32), ("running", c_uint32), ("coordinate", c_uint32 * 3),
        ("cursor", c_uint32), ("left", c_uint32), ("waiting", c_uint32), ("ended", c_uint32), ("rounds", c_uint32),
        ("asking", c_uint32), ("position", c_uint32), ("pending", c_uint64), ("checker", c_uint64),
    )  # fmt: skip


class WaveHeader(ctypes.Structure):
    """A wave up to its vector registers, which start at byte 1024."""

    _fields_ = (
        ("sgpr", c_uint32 * 128), ("scc", c_uint32), ("mode", c_uint32), ("pc", c_uint32), ("status", c_uint32),
        ("count", c_uint64), ("group", c_uint64), ("id", c_uint32), ("lanes", c_uint32), ("scratch", c_uint64),
        ("ops", c_uint64), ("op_count", c_uint32), ("barrier", c_uint32), ("private_memory", c_uint64),
        ("private_bytes", c_uint64), ("pending", c_uint64), ("variant", c_uint32),
    )  # fmt: skip


VECTOR_REGISTERS_AT = 1024
WAVE_BYTES = VECTOR_REGISTERS_AT + 512 * LANES * 4
OP_BYTES = 64


@cache
def native_layout() -> dict[str, int]:
    """Sizes in bytes of the structures as the native core was compiled."""
    names = ("wave", "op", "region", "launch", "group", "variant", "fault", "pending")
    sizes = (c_uint64 * len(names))()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(symbol("layout"))(ctypes.addressof(sizes))
    return dict(zip(names, sizes, strict=True))
