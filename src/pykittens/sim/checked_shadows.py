"""What checked launches remember about device memory: of each byte who wrote and read it, and whether it is defined."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pykittens.errors import InputError
from pykittens.sim.checked_types import Shadow, Shared
from pykittens.sim.memory import Array, Region, RegionTable

_BLOCK = 16
_REWRITTEN = 1 << 31
"""BLOCK and REWRITTEN of the native code."""
_NOBODY_WROTE = 1
_LARGE = 1 << 26
_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0
"""MAP_NORESERVE: other systems reserve nothing anyway."""


@dataclass
class _Cells:
    """The cells of memory that kernels can write: a dword of ``groups`` and a byte of ``undefined`` for each byte."""

    host: int
    groups: Array
    undefined: Array

    def of(self, cells: Array, array: Array) -> Array | None:
        """The cells of an array's elements, with one more dimension for their bytes; None if it lies elsewhere."""
        first, last = byte_bounds(array)
        if not (self.host <= first and last <= self.host + len(cells)):
            return None
        shape, strides = (*array.shape, array.itemsize), (*array.strides, 1)
        start = array.ctypes.data - self.host
        return np.lib.stride_tricks.as_strided(cells[start:], shape, [cells.itemsize * step for step in strides])


class Shadows:
    """What the checker remembers about the memory of a launch.

    undefined: arrays among the arguments whose elements count as never written. Raises InputError where there is not
    enough host memory, and for arrays that the launch does not have as writable memory.
    """

    def __init__(self, table: RegionTable, undefined: Sequence[Array] = ()) -> None:
        self._table = table
        entries = sorted(_merged(table), key=lambda entry: entry[0])
        self.table = (Shadow * max(1, len(entries)))()
        self.count = len(entries)
        self._shared_memory = np.zeros(ctypes.sizeof(Shared), np.uint8)  # memory that is mapped when touched
        self.shared = Shared.from_address(self._shared_memory.ctypes.data)
        self._kept: list[Array] = []
        self._cells: list[_Cells] = []
        for shadow, (host, size, base, writable, beside) in zip(self.table, entries, strict=False):
            shadow.host, shadow.size, shadow.base, shadow.beside = host, size, base, beside
            if writable:
                self._remember(shadow)
        for region, flags in self._tracked():
            flags |= region.unwritten()
            self.shared.tainted |= int(flags.any())
        for array in undefined:
            self._find("undefined", array)[...] = _NOBODY_WROTE
            self.shared.tainted |= int(array.size > 0)

    def _remember(self, shadow: Shadow) -> None:
        size = shadow.size
        try:
            writer, reader, group = (_zeros(size, dtype) for dtype in (np.uint64, np.uint64, np.uint32))
            blocks, unknown = _zeros(size // _BLOCK + 1, np.uint64), _zeros(size, np.uint8)
        except (MemoryError, OSError, OverflowError):
            what = f"a checked launch remembers 21 bytes for each of {size} bytes that kernels can write, too much here"
            raise InputError("checked-memory", what, fix="pass arrays that are only read as read-only") from None
        self._kept += [writer, reader, blocks]
        self._cells.append(_Cells(shadow.host, group, unknown))
        shadow.writer, shadow.reader, shadow.writer_group = (a.ctypes.data for a in (writer, reader, group))
        shadow.block_reader, shadow.undefined = blocks.ctypes.data, unknown.ctypes.data

    def _tracked(self) -> Iterator[tuple[Region, Array]]:
        """Regions that know which of their bytes nobody has written, and the launch's flags for them."""
        for region in self._table.regions:
            for cells in self._cells if region.undefined is not None else ():
                start = region.host - cells.host
                if 0 <= start < len(cells.undefined):
                    yield region, cells.undefined[start : start + region.size]

    def keep_undefined(self) -> None:
        """Let the regions know what is undefined after the launch."""
        for region, flags in self._tracked():
            np.not_equal(flags, 0, out=region.undefined)

    def _find(self, which: str, array: Array) -> Array:
        if not isinstance(array, np.ndarray):
            raise InputError("not-launched", f"{type(array).__name__} is no array that a launch could write")
        if not array.size:
            return np.zeros((*array.shape, array.itemsize), np.uint32)
        for cells in self._cells:
            found = cells.of(getattr(cells, which), array)
            if found is not None:
                return found
        raise InputError("not-launched", "the array is none that this launch could write")

    def written(self, array: Array) -> Array:
        """Which bytes of an array a kernel wrote: bool, one for each byte of its elements in their order."""
        return np.not_equal(self._groups(array), 0)

    def rewritten(self, array: Array) -> Array:
        """Which bytes several workgroups wrote, other than by atomics alone."""
        return np.greater_equal(self._groups(array), _REWRITTEN)

    def _groups(self, array: Array) -> Array:
        return self._find("groups", array).reshape(-1)


def _zeros(count: int, dtype: type[np.generic]) -> Array:
    """Zeros that take host memory only where they are touched, however many there are."""
    size = count * np.dtype(dtype).itemsize
    if size < _LARGE:
        return np.zeros(count, dtype)
    reserve = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE} if _NO_RESERVE else {}
    return np.frombuffer(mmap.mmap(-1, size, **reserve), dtype)


def _merged(table: RegionTable) -> Iterator[tuple[int, int, int, bool, bool]]:
    """Host address, bytes, device address of memory, whether it can be written, whether it is beside the buffers.

    Regions over the same host memory, as of a tensor that is passed twice, are one.
    """
    spans: list[tuple[int, int, int, bool]] = []
    for region in sorted(table.regions, key=lambda r: r.host):
        span = (region.host, region.size, region.base, not region.read_only)
        if spans and spans[-1][0] + spans[-1][1] > region.host:
            host, size, base, writable = spans[-1]
            span = (host, max(size, region.host + region.size - host), base, writable or not region.read_only)
            spans.pop()
        spans.append(span)
    yield from ((*span, False) for span in spans)
    yield from ((r.host, r.size, r.base, False, True) for r in table.margins[:1])
