"""Device memory: buffers at device addresses that are the same in every run, on top of ordinary NumPy memory.

Nothing is copied: a kernel reads and writes the array itself. Regions have guard gaps between them, so that an access
past an end hits nothing that is owned and becomes a fault.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pykittens.errors import InputError
from pykittens.sim import native_types

CODE, BUFFERS, TEMPORARIES, SYSTEM, SCRATCH = (n << 44 for n in range(1, 6))
"""Where code, buffers, arrays that live for one launch, kernel arguments and scratch begin; all below 2^47."""

GRANULE = 1 << 16
"""Regions start at multiples of this and are at least this far apart."""
_PAGE = 4096
POISON = 0xFF
"""Every byte that a program has not written, in registers and LDS: NaN in all float types, -1, a wild address."""
STRAY = 0x3F
"""Every byte beside buffers, where that may be loaded: 0.75 as bf16 and f32, an ordinary number in other types too.
What a kernel fetches there and multiplies by zero must not be NaN."""
_READ_ONLY = 1

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Region:
    """Owned device memory: ``size`` bytes from ``base`` on are host memory from ``host`` on, which ``owner`` keeps."""

    name: str
    base: int
    size: int
    host: int
    read_only: bool
    owner: object = field(repr=False, default=None)
    undefined: Array | None = field(repr=False, default=None, compare=False)
    """Of memory that was allocated without contents: bool for each byte, whether no kernel has written it."""

    def unwritten(self) -> Array:
        """For each byte whether nobody has written it: bool. The host's writes are known by what they change."""
        if self.undefined is None:
            return np.zeros(self.size, np.bool_)
        memory = np.ctypeslib.as_array((ctypes.c_uint8 * self.size).from_address(self.host))
        unwritten: Array = self.undefined & (memory == POISON)
        return unwritten


class Arena:
    """Gives out device addresses upwards from a start; the same requests get the same addresses.

    ``gap``: bytes that stay free before and behind everything.
    """

    def __init__(self, start: int, gap: int = GRANULE) -> None:
        self._next = start
        self._gap = gap
        self._lock = threading.Lock()

    def place(self, size: int, phase: int = 0) -> int:
        """A free address that is ``phase`` bytes past a multiple of `GRANULE`."""
        with self._lock:
            address = -(-(self._next + self._gap) // GRANULE) * GRANULE + phase
            self._next = address + size + self._gap
        return address


class Buffer:
    """Device memory over a NumPy array, for as long as the buffer lives. ``address`` is what kernels take as pointer.

    Made by `Device.buffer`. ``array`` is the memory itself: kernels change it in place.
    """

    def __init__(self, array: Array, arena: Arena, name: str, undefined: bool = False) -> None:
        self.array = array
        region, self.address = map_array(array, arena, name)
        self.region = replace(region, undefined=np.ones(region.size, np.bool_)) if undefined else region

    @property
    def undefined(self) -> Array:
        """For each byte whether it counts as never written: bool. Ordinary launches do not follow it: all is defined
        after them."""
        return self.region.unwritten()

    def upload(self, values: Array) -> None:
        """Fill the buffer from the host; all of it is defined from then on. values: as `array` takes them."""
        self.array[...] = values
        self.define()

    def define(self) -> None:
        """Let all of the buffer count as written."""
        if self.region.undefined is not None:
            self.region.undefined[:] = False

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    def __repr__(self) -> str:
        return f"Buffer({self.region.name}, {self.nbytes} bytes at {self.address:#x})"


def map_array(array: Array, arena: Arena, name: str) -> tuple[Region, int]:
    """A region over all memory that the array spans, strides included, and the device address of its first element.

    The address is as aligned as the array is inside the memory it is a view of. Raises InputError for dtypes that
    are no plain memory.
    """
    if array.dtype.hasobject or not array.dtype.isnative:
        raise InputError("array-dtype", f"{name} has dtype {array.dtype}, which is no memory that a GPU understands")
    low, high = byte_bounds(array) if array.size else (array.ctypes.data,) * 2
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    phase = (low - owner.ctypes.data) % _PAGE
    base = arena.place(high - low, phase)
    region = Region(name, base, high - low, low, not array.flags.writeable, array)
    return region, base + (array.ctypes.data - low)


def map_bytes(data: bytes, arena: Arena, name: str, read_only: bool = True) -> Region:
    """A region with a copy of these bytes."""
    array = np.frombuffer(bytearray(data), np.uint8)
    return Region(name, arena.place(len(data)), len(data), array.ctypes.data if len(data) else 0, read_only, array)


class RegionTable:
    """The regions of a launch as the native core reads them: sorted by address.

    ``around``: bytes before and behind every region that can be loaded, as `STRAY`, though nothing is there.
    """

    def __init__(self, regions: Iterable[Region], around: int = 0) -> None:
        self.regions = [r for r in regions if r.size]
        stray = np.full(around, STRAY, np.uint8)
        self.margins = [
            Region(f"the space around {r.name}", base, around, stray.ctypes.data, True, stray)
            for r in self.regions
            for base in (r.base - around, r.base + r.size)
            if around
        ]
        self._all = sorted((*self.regions, *self.margins), key=lambda r: r.base)
        self.count = len(self._all)
        self._table = (native_types.Region * max(1, self.count))()
        for entry, region in zip(self._table, self._all, strict=False):
            entry.base, entry.size, entry.host = region.base, region.size, region.host
            entry.flags = _READ_ONLY if region.read_only else 0

    @property
    def address(self) -> int:
        """Host address of the native table."""
        return ctypes.addressof(self._table)

    def nearest(self, address: int) -> Region | None:
        """The region that holds the address or lies closest to it."""
        return min(self.regions, key=lambda r: distance(r, address), default=None)


def distance(region: Region, address: int) -> int:
    """Bytes between an address and the nearest byte of a region; 0 inside."""
    return max(region.base - address, address - (region.base + region.size - 1), 0)


class LiveBuffers:
    """The buffers of a device that somebody still holds."""

    def __init__(self) -> None:
        self._buffers: weakref.WeakValueDictionary[int, Buffer] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def add(self, buffer: Buffer) -> None:
        with self._lock:
            self._buffers[buffer.region.base] = buffer

    def regions(self) -> list[Region]:
        with self._lock:
            return [buffer.region for buffer in self._buffers.values()]

    def define(self) -> None:
        """After a launch that did not follow what it wrote: all of it may be written."""
        with self._lock:
            for buffer in self._buffers.values():
                buffer.define()
