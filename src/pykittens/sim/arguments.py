"""Kernel arguments: Python values packed into the kernarg segment as the metadata says, hidden arguments included."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from pykittens.asm.metadata import KernelArgument, KernelMetadata
from pykittens.errors import InputError
from pykittens.isa.constants import APERTURES
from pykittens.sim.memory import Array, Buffer

_FLOATS: dict[str, np.dtype] = {
    "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}  # fmt: skip
_FLOAT_OF_SIZE = {2: _FLOATS["f16"], 4: _FLOATS["f32"], 8: _FLOATS["f64"]}
_SHARED, _PRIVATE = APERTURES[235], APERTURES[237]

Argument = object
"""An array, `Buffer`, int, float, bool, NumPy scalar, bytes or None (a null pointer)."""


@dataclass(frozen=True)
class Shape:
    """What hidden arguments tell of a launch. grid counts workgroups, block work-items; dynamic_lds in bytes."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_lds: int
    queue: int


def pack(
    metadata: KernelMetadata, args: Sequence[Argument], shape: Shape, pointer: Callable[[Array, str], int], where: str
) -> bytes:
    """The kernarg segment. ``pointer(array, name)`` gives the device address of an array.

    Raises InputError for a wrong number of arguments or one that does not fit its place.
    """
    explicit = [argument for argument in metadata.args if not argument.hidden]
    if len(args) != len(explicit):
        names = ", ".join(f"{a.name or '?'}: {_describe(a)}" for a in explicit)
        what = f"the kernel takes {len(explicit)} arguments ({names}), {len(args)} were given"
        raise InputError("argument-count", what, where=where)
    segment = bytearray(metadata.kernarg_size)
    lds_end = metadata.lds_bytes
    for number, (argument, value) in enumerate(zip(explicit, args, strict=True)):
        label = f"argument {number} ({argument.name})" if argument.name else f"argument {number}"
        if argument.kind == "dynamic_shared_pointer":
            align = argument.pointee_align or 1
            lds_end = -(-lds_end // align) * align
            packed = struct.pack("<I", lds_end)
            lds_end += _count(value, label, where)
        elif argument.kind == "global_buffer":
            packed = struct.pack("<Q", _address(value, label, pointer, where))
        elif argument.kind == "by_value":
            packed = _by_value(value, argument, label, pointer, where)
        else:
            raise InputError(
                "argument-kind", f"{label} is of kind {argument.kind}, which has no meaning here", where=where
            )
        segment[argument.offset : argument.offset + argument.size] = packed.ljust(argument.size, b"\0")
    fill_hidden(segment, metadata, shape, 0)
    return bytes(segment)


def fill_hidden(segment: bytearray, metadata: KernelMetadata, shape: Shape, start: int) -> None:
    """Write the hidden arguments from byte ``start`` on, as HIP's loader sets them; what is not there is null."""
    for argument in metadata.args:
        if argument.hidden and argument.offset >= start:
            value = _hidden(argument.kind, shape) & ((1 << 8 * argument.size) - 1)
            segment[argument.offset : argument.offset + argument.size] = value.to_bytes(argument.size, "little")


def _hidden(kind: str, shape: Shape) -> int:
    """Workgroups are always whole, so there are no remainders; HIP always launches three dimensions."""
    name, _, axis = kind.removeprefix("hidden_").rpartition("_")
    if name in ("block_count", "group_size") and axis in ("x", "y", "z"):
        return (shape.grid if name == "block_count" else shape.block)["xyz".index(axis)]
    return {
        "hidden_grid_dims": 3, "hidden_dynamic_lds_size": shape.dynamic_lds, "hidden_queue_ptr": shape.queue,
        "hidden_shared_base": _SHARED >> 32, "hidden_private_base": _PRIVATE >> 32,
    }.get(kind, 0)  # fmt: skip


def _describe(argument: KernelArgument) -> str:
    return "array" if argument.kind == "global_buffer" else f"{argument.dtype or 'value'} of {argument.size} bytes"


def _wrong(value: object, label: str, wanted: str, where: str) -> InputError:
    given = type(value).__name__
    if isinstance(value, (int, float, np.generic)):
        given += f" {value}"
    return InputError("argument-type", f"{label} is {given}, the kernel takes {wanted}", where=where)


def _count(value: object, label: str, where: str) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        raise _wrong(value, label, "a number of bytes of LDS", where)
    return int(value)


def _address(value: object, label: str, pointer: Callable[[Array, str], int], where: str) -> int:
    if value is None:
        return 0
    if isinstance(value, Buffer):
        return value.address
    if isinstance(value, np.ndarray):
        return pointer(value, label)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 0 <= value < 1 << 64:
        return int(value)
    raise _wrong(value, label, "an array, a buffer, an address or None", where)


def _by_value(
    value: object, argument: KernelArgument, label: str, pointer: Callable[[Array, str], int], where: str
) -> bytes:
    size = argument.size
    if isinstance(value, (np.ndarray, Buffer)) and size == 8:  # a pointer inside what the compiler sees as a value
        return struct.pack("<Q", _address(value, label, pointer, where))
    if isinstance(value, (bytes, bytearray, np.generic)):
        data = value.tobytes() if isinstance(value, np.generic) else bytes(value)
        if len(data) != size:
            raise _wrong(value, f"{label} has {len(data)} bytes and", f"{size} bytes", where)
        return data
    if isinstance(value, bool):
        return int(value).to_bytes(size, "little")
    if isinstance(value, int):
        if argument.dtype in _FLOATS:
            return _float(float(value), argument, label, where)
        if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
            raise _wrong(value, label, f"an integer of {size} bytes", where)
        return (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    if isinstance(value, float):
        return _float(value, argument, label, where)
    raise _wrong(value, label, f"a value of {size} bytes", where)


def _float(value: float, argument: KernelArgument, label: str, where: str) -> bytes:
    dtype = _FLOATS.get(argument.dtype or "", _FLOAT_OF_SIZE.get(argument.size))
    if dtype is None or dtype.itemsize != argument.size:
        raise _wrong(value, label, f"{argument.dtype or 'a value'} of {argument.size} bytes", where)
    with np.errstate(over="ignore"):
        return np.asarray(value, np.float64).astype(dtype).tobytes()
