"""Launch descriptions: a ``meta.json`` beside binary files that says how to launch a code object and what comes out.

The file has ``arch``, ``symbol``, ``grid_workgroups``, ``block``, ``kernarg_size``, ``kernarg_pointers`` (``offset`` in
the kernarg, ``buffer``; null is address 0), ``buffers`` (``name file dtype shape``) and, if need be, ``lds`` and
``expected``: ``buffer file dtype shape kind`` and one of ``exact``, ``ulp`` or ``atol`` and ``rtol``; ``mean_atol``
bounds the mean error. ``kernarg.bin`` holds the kernarg. ``kind`` is what the buffer holds: a dtype, or one with
``bits`` behind it (``bf16bits``) where units in the last place count.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from pykittens.errors import InputError
from pykittens.sim.device import Device, Kernel
from pykittens.sim.launch import Run
from pykittens.sim.memory import STRAY, Array, Buffer

_GUARD_BYTES = 4096
_GUARD = np.full(_GUARD_BYTES, STRAY, np.uint8)
_OVERREAD = 1 << 20
"""Bytes beyond the guards that loads may reach: attention kernels fetch one tile too many."""
_MAX_BYTES = 1 << 34

_KINDS: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2,
    "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8,
    "u64": np.uint64, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8,
}  # fmt: skip
_NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"} | {
    f"{sign}int{bits}": f"{'u' if sign else 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_LIMITS = frozenset(("exact", "ulp", "atol", "rtol", "mean_atol"))


@dataclass(frozen=True)
class Comparison:
    """One buffer against what is expected.

    ``limits`` are the tolerances as the description states them; ``wrong`` counts elements outside them.
    """

    buffer: str
    passed: bool
    max_error: float
    mean_error: float
    wrong: int
    elements: int
    limits: dict[str, float]


@dataclass(frozen=True)
class Outcome:
    """What came of a described launch.

    ``overwritten`` names buffers whose guard bytes were changed; ``buffers`` has all contents afterwards, by name.
    """

    run: Run
    comparisons: tuple[Comparison, ...]
    overwritten: tuple[str, ...]
    buffers: dict[str, Array]

    @property
    def passed(self) -> bool:
        """Whether everything expected came out and nothing was written around the buffers."""
        return not self.overwritten and all(comparison.passed for comparison in self.comparisons)


@dataclass(frozen=True)
class Prepared:
    """A described launch, ready: ``kernel.launch(**arguments)``.

    buffers keep the device memory alive; guarded is that memory by name, guard bytes included.
    """

    kernel: Kernel
    arguments: dict[str, Any]
    buffers: dict[str, Buffer]
    guarded: dict[str, Array]


class LaunchDescription:
    """A launch description that was read.

    arch: the chip. symbol: the kernel's name, or None if it is the only one. code_object: the path that the description
    gives, or None.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises InputError for a file that cannot be read or does not follow the format."""
        self.path = Path(path)
        if self.path.is_dir():
            self.path /= "meta.json"
        self.directory = self.path.parent
        self._meta = self._read()
        self.arch = self._text("arch")
        self.symbol = self._optional_text("symbol")
        self.code_object = self._optional_text("co")
        self.grid = self._numbers("grid_workgroups")
        self.block = self._numbers("block")
        self.lds = self._optional_number("lds")

    def launch(self, source: bytes | str | os.PathLike[str], kernel: str | None = None, **options: Any) -> Outcome:
        """Load the code object, launch as described and compare.

        kernel: another one than the description names. options: those of `Kernel.launch` (order, threads, timeout, …).
        """
        prepared = self.prepare(source, kernel)
        run = prepared.kernel.launch(**prepared.arguments, **options)
        overwritten = [name for name, guarded in prepared.guarded.items() if not _guards_hold(guarded)]
        expected = self._list("expected") if "expected" in self._meta else []
        contents = {name: each[_GUARD_BYTES:-_GUARD_BYTES] for name, each in prepared.guarded.items()}
        comparisons = [self._compare(entry, contents) for entry in expected]
        return Outcome(run, tuple(comparisons), tuple(overwritten), contents)

    def prepare(self, source: bytes | str | os.PathLike[str], kernel: str | None = None) -> Prepared:
        """Load the code object and the buffers, ready to be launched."""
        device = Device(self.arch, _OVERREAD)
        target = device.load(source).kernel(kernel or self.symbol)
        buffers: dict[str, Buffer] = {}
        guarded: dict[str, Array] = {}
        for entry in self._list("buffers"):
            name = _entry(entry, "name", str, self.path)
            data = self._bytes(_entry(entry, "file", str, self.path))
            guarded[name] = np.concatenate((_GUARD, np.frombuffer(data, np.uint8), _GUARD))
            buffers[name] = device.buffer(guarded[name], name)
        kernarg = bytearray(self._bytes("kernarg.bin"))
        for entry in self._list("kernarg_pointers"):
            self._point(kernarg, entry, {name: buffer.address + _GUARD_BYTES for name, buffer in buffers.items()})
        arguments = {"grid": self.grid, "block": self.block, "kernarg": bytes(kernarg), "lds": self.lds}
        return Prepared(target, arguments, buffers, guarded)

    def results(self, prepared: Prepared) -> dict[str, Array]:
        """The memory of the results that are expected, by name."""
        found = {}
        for entry in self._list("expected") if "expected" in self._meta else ():
            name, dtype = _entry(entry, "buffer", str, self.path), self._kind(_entry(entry, "dtype", str, self.path))
            if name not in prepared.guarded:
                raise self._bad(f"a result is expected in buffer {name!r}, which there is not")
            kind = self._kind(_entry(entry, "kind", str, self.path).removesuffix("bits"))
            count = len(self._bytes(_entry(entry, "file", str, self.path))) // np.dtype(dtype).itemsize
            found[name] = prepared.guarded[name][_GUARD_BYTES:-_GUARD_BYTES][: count * np.dtype(kind).itemsize]
        return found

    # -- reading -----------------------------------------------------------------------------------------------
    def _bad(self, what: str) -> InputError:
        return InputError("launch-description", what, where=str(self.path))

    def _read(self) -> dict[str, Any]:
        try:
            meta = json.loads(self.path.read_text(encoding="utf-8"))
        except OSError as error:
            raise self._bad(f"cannot read the launch description: {error.strerror}") from None
        except ValueError as error:
            raise self._bad(f"the launch description is no JSON: {error}") from None
        if not isinstance(meta, dict):
            raise self._bad("the launch description is no JSON object")
        return meta

    def _text(self, key: str) -> str:
        return str(_entry(self._meta, key, str, self.path))

    def _optional_text(self, key: str) -> str | None:
        return self._text(key) if key in self._meta else None

    def _optional_number(self, key: str) -> int:
        return int(_entry(self._meta, key, int, self.path)) if key in self._meta else 0

    def _numbers(self, key: str) -> tuple[int, ...]:
        return tuple(_entry(self._meta, key, list, self.path))

    def _list(self, key: str) -> list[Any]:
        return list(_entry(self._meta, key, list, self.path))

    def _bytes(self, name: str) -> bytes:
        path = self.directory / name
        try:
            if path.stat().st_size > _MAX_BYTES:
                raise self._bad(f"{name} has {path.stat().st_size} bytes, at most {_MAX_BYTES} are taken")
            return path.read_bytes()
        except (OSError, ValueError) as error:
            raise self._bad(f"cannot read {name}: {getattr(error, 'strerror', error)}") from None

    def _point(self, kernarg: bytearray, entry: Any, addresses: dict[str, int]) -> None:
        offset = _entry(entry, "offset", int, self.path)
        if not 0 <= offset <= len(kernarg) - 8:
            raise self._bad(f"a pointer at offset {offset} does not fit the kernarg of {len(kernarg)} bytes")
        name = entry.get("buffer")
        if name is not None and name not in addresses:
            raise self._bad(f"the kernarg points to buffer {name!r}, and there is {', '.join(addresses) or 'none'}")
        kernarg[offset : offset + 8] = (addresses[name] if name is not None else 0).to_bytes(8, "little")

    # -- comparing ---------------------------------------------------------------------------------------------
    def _compare(self, entry: Any, contents: dict[str, Array]) -> Comparison:
        name = _entry(entry, "buffer", str, self.path)
        if name not in contents:
            raise self._bad(f"a result is expected in buffer {name!r}, which there is not")
        kind = _entry(entry, "kind", str, self.path)
        in_bits = kind.endswith("bits")
        dtype = np.dtype(self._kind(kind.removesuffix("bits")))
        wanted = np.frombuffer(
            self._bytes(_entry(entry, "file", str, self.path)), self._kind(_entry(entry, "dtype", str, self.path))
        )
        got = contents[name][: wanted.size * dtype.itemsize].view(dtype)
        if got.size != wanted.size:
            raise self._bad(f"buffer {name} has {got.size} elements of {kind}, {wanted.size} are expected")
        limits = {key: entry[key] for key in _LIMITS if key in entry}
        if not limits.keys() & {"exact", "ulp", "atol", "rtol"}:
            raise self._bad(f"no tolerance is stated for buffer {name}: exact, ulp, or atol and rtol")
        if in_bits or "ulp" in limits:
            error = np.abs(
                _ordered(got) - _ordered(wanted.view(dtype) if wanted.dtype.kind == "u" else wanted.astype(dtype))
            )
            allowed: Any = limits.get("ulp", 0)
        else:
            reference = wanted.astype(np.float64)
            with np.errstate(invalid="ignore"):
                error = np.abs(got.astype(np.float64) - reference)
            same = (got.astype(np.float64) == reference) | (np.isnan(got.astype(np.float64)) & np.isnan(reference))
            error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
            allowed = limits.get("atol", 0) + limits.get("rtol", 0) * np.abs(
                np.where(np.isfinite(reference), reference, 0)
            )
        wrong = int(np.count_nonzero(error > allowed))
        mean = float(np.mean(error)) if error.size else 0.0
        passed = wrong == 0 and mean <= limits.get("mean_atol", np.inf)
        return Comparison(name, passed, float(np.max(error, initial=0)), mean, wrong, got.size, limits)

    def _kind(self, name: str) -> Any:
        name = _NAMES.get(name, name)
        if name not in _KINDS:
            raise self._bad(f"{name!r} is no kind of number known here: {', '.join(_KINDS)}")
        return _KINDS[name]


def _entry(entry: Any, key: str, kind: type, path: Path) -> Any:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        what = (
            f"the launch description lacks {key!r}"
            if value is None
            else f"{key!r} is {value!r}, expected {kind.__name__}"
        )
        raise InputError("launch-description", what, where=str(path))
    return value


def _guards_hold(guarded: Array) -> bool:
    return bool((guarded[:_GUARD_BYTES] == _GUARD).all() and (guarded[-_GUARD_BYTES:] == _GUARD).all())


def _ordered(array: Array) -> Array:
    """The numbers' bits as integers whose difference counts the numbers in between."""
    bits = array.view(np.dtype(f"u{array.dtype.itemsize}")).astype(np.int64)
    if array.dtype.kind in "iu":
        return bits
    sign = 1 << (8 * array.dtype.itemsize - 1)
    return np.where(bits >= sign, sign - bits, bits)
