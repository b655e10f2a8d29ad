"""A case: one launch of somebody else's kernel, and what has to come out of it."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pykittens.errors import Error
from pykittens.sim import Device, Kernel
from pykittens.sim.memory import STRAY, Buffer

Array = np.ndarray[Any, Any]

_GUARD_BYTES = 4096
_OVERREAD = 1 << 20
"""Bytes beyond the guards that loads may reach: attention kernels fetch one tile too many."""


@dataclass(frozen=True)
class Expected:
    """What a buffer holds afterwards.

    value: float64 or integers, of the shape of the result. atol, rtol: bounds of each element's error, atol for all or
    one by one; mean_rtol bounds the mean error by the mean magnitude, which alone catches truncation. view: from the
    buffer to an array of value's shape.
    """

    buffer: str
    value: Array
    atol: float | Array = 0.0
    rtol: float = 0.0
    mean_rtol: float = np.inf
    view: Callable[[Array], Array] = lambda got: got


@dataclass(frozen=True)
class Case:
    """One launch.

    group: where the code comes from. code: the code object, or what gives it. kernel: its name, or None for the only
    one. grid counts workgroups, block work-items. args: values in the order of the metadata, where strings name
    buffers; or else kernarg: offset to value, of which strings are addresses of buffers, ints 32-bit and floats f32
    numbers, None is a null pointer. size: of the kernarg in bytes; 0: as the code object says.
    """

    group: str
    name: str
    shape: str
    arch: str
    code: Callable[[], bytes]
    grid: Sequence[int]
    block: Sequence[int]
    buffers: dict[str, Array]
    expected: Callable[[], list[Expected]]
    args: Sequence[object] | None = None
    kernarg: Mapping[int, str | int | float | bytes | None] = field(default_factory=dict)
    kernel: str | None = None
    lds: int = 0
    size: int = 0


@dataclass(frozen=True)
class Result:
    """What came of a case. kernel: its name. error: the largest of all. problem: why it did not pass, or empty."""

    case: Case
    kernel: str
    error: float
    instructions: int
    seconds: float
    problem: str

    @property
    def passed(self) -> bool:
        return not self.problem

    def row(self) -> dict[str, Any]:
        """The figures of the table."""
        case = self.case
        return {
            "group": case.group, "file": case.name, "kernel": self.kernel, "arch": case.arch, "shape": case.shape,
            "error": self.error, "instructions": self.instructions, "seconds": self.seconds, "passed": self.passed,
            "problem": self.problem,
        }  # fmt: skip


def pointers(names: str, stride: int = 16, start: int = 0) -> dict[int, str]:
    """Kernarg offsets of pointers that follow each other, as names of buffers."""
    return {start + stride * i: name for i, name in enumerate(names.split())}


@dataclass(frozen=True)
class Prepared:
    """A case in device memory: ``kernel.launch(**arguments)``. guarded: its buffers with the bytes around them."""

    kernel: Kernel
    arguments: dict[str, Any]
    buffers: dict[str, Array]
    guarded: dict[str, tuple[Buffer, Array]]


def prepare(case: Case, code: bytes | None = None) -> Prepared:
    """Load the case's code object, or this changed copy of it, and the buffers."""
    device = Device(case.arch, _OVERREAD)
    guarded, inside = {}, {}
    for name, array in case.buffers.items():
        data = np.full(array.nbytes + 2 * _GUARD_BYTES, STRAY, np.uint8)
        inside[name] = data[_GUARD_BYTES : _GUARD_BYTES + array.nbytes].view(array.dtype).reshape(array.shape)
        inside[name][...] = array
        guarded[name] = device.buffer(data, name), data
    addresses = {name: buffer.address + _GUARD_BYTES for name, (buffer, _) in guarded.items()}
    kernel = device.load(case.code() if code is None else code).kernel(case.kernel)
    form: dict[str, Any] = (
        {"kernarg": _kernarg(case, case.size or kernel.info.kernarg_size, addresses)}
        if case.args is None
        else {"args": [addresses[value] if isinstance(value, str) else value for value in case.args]}
    )
    return Prepared(kernel, {"grid": case.grid, "block": case.block, "lds": case.lds, **form}, inside, guarded)


def run(case: Case, **options: Any) -> Result:
    """Launch and compare. options: those of `Kernel.launch`. Errors of the launch are the result's problem."""
    start = time.perf_counter()
    try:
        prepared = prepare(case)
        done = prepared.kernel.launch(**prepared.arguments, **options)
    except Error as problem:
        return Result(case, case.kernel or "", np.nan, 0, time.perf_counter() - start, str(problem))
    seconds = time.perf_counter() - start
    error, problems = _compare(case.expected(), prepared.buffers)
    for name, (_, data) in prepared.guarded.items():
        if (data[:_GUARD_BYTES] != STRAY).any() or (data[-_GUARD_BYTES:] != STRAY).any():
            problems.append(f"bytes beside {name} were overwritten")
    return Result(case, prepared.kernel.name, error, done.instructions, seconds, "; ".join(problems))


def _kernarg(case: Case, size: int, addresses: dict[str, int]) -> bytes:
    segment = bytearray(size)
    for offset, value in case.kernarg.items():
        if isinstance(value, bytes):
            data = value
        elif isinstance(value, str) or value is None:
            data = struct.pack("<Q", addresses[value] if isinstance(value, str) else 0)
        else:
            data = struct.pack("<f", value) if isinstance(value, float) else struct.pack("<I", value & 0xFFFFFFFF)
        segment[offset : offset + len(data)] = data
    return bytes(segment)


def _compare(expected: list[Expected], buffers: dict[str, Array]) -> tuple[float, list[str]]:
    """The largest error, and what is outside its bounds."""
    worst, problems = 0.0, []
    for wanted in expected:
        got, value = wanted.view(buffers[wanted.buffer]).astype(np.float64), wanted.value.astype(np.float64)
        if got.shape != value.shape:
            problems.append(f"{wanted.buffer} has shape {got.shape}, expected {value.shape}")
            continue
        with np.errstate(invalid="ignore"):
            same = (got == value) | (np.isnan(got) & np.isnan(value))
            error = np.where(same, 0.0, np.abs(got - value))
        error = np.where(np.isnan(error), np.inf, error)
        finite = np.where(np.isfinite(value), np.abs(value), 0.0)
        wrong = int(np.count_nonzero(error > wanted.atol + wanted.rtol * finite))
        mean = float(error.mean()) if error.size else 0.0
        bound = wanted.mean_rtol * float(finite.mean()) if np.isfinite(wanted.mean_rtol) and error.size else np.inf
        worst = max(worst, float(error.max(initial=0.0)))
        if wrong:
            problems.append(f"{wrong} of {error.size} elements of {wanted.buffer} are off by up to {error.max():.3g}")
        elif mean > bound:
            problems.append(f"the mean error of {wanted.buffer} is {mean:.3g}, above {bound:.3g}")
    return worst, problems
