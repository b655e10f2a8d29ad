"""The AMDGPU metadata note: what a kernel takes and uses, read from msgpack and written as assembler text.

Source: LLVM, "User Guide for AMDGPU Backend", code object metadata V3 to V6. The note is a msgpack map; the
assembler makes it from the YAML text between ``.amdgpu_metadata`` and ``.end_amdgpu_metadata``.
"""

from __future__ import annotations

import re
import reprlib
from dataclasses import MISSING, dataclass, fields
from typing import Any

import msgpack

from pykittens.errors import BuildError, CodeObjectError

_XYZ = ("x", "y", "z")

#: Kinds of argument that the runtime fills in by itself.
HIDDEN_KINDS = frozenset(
    f"hidden_{name}"
    for name in (
        *(f"{what}_{axis}" for what in ("global_offset", "block_count", "group_size", "remainder") for axis in _XYZ),
        *("grid_dims", "none", "printf_buffer", "hostcall_buffer", "default_queue", "completion_action"),
        *("multigrid_sync_arg", "heap_v1", "dynamic_lds_size", "private_base", "shared_base", "queue_ptr"),
    )
)
#: Kinds of argument that the caller gives.
EXPLICIT_KINDS = frozenset(("by_value", "global_buffer", "dynamic_shared_pointer", "sampler", "image", "pipe", "queue"))
ADDRESS_SPACES = frozenset(("private", "global", "constant", "local", "generic", "region"))
ACCESSES = frozenset(("read_only", "write_only", "read_write"))


@dataclass(frozen=True)
class KernelArgument:
    """One argument in the kernarg segment; `offset` and `size` are in bytes.

    kind: LLVM's ``.value_kind``, one of `EXPLICIT_KINDS` or `HIDDEN_KINDS`.
    dtype: ``.value_type`` (``"f32"``, ``"i8"``, ``"struct"``, …), which only older or hand-written files carry.
    access, actual_access: what the author declared, and what the compiler found.
    pointee_align: alignment in bytes of a dynamic LDS pointer's target.
    """

    offset: int
    size: int
    kind: str
    name: str | None = None
    type_name: str | None = None
    dtype: str | None = None
    address_space: str | None = None
    access: str | None = None
    actual_access: str | None = None
    pointee_align: int | None = None
    is_const: bool = False
    is_restrict: bool = False
    is_volatile: bool = False

    @property
    def hidden(self) -> bool:
        """Whether the runtime fills it in, and not the caller."""
        return self.kind in HIDDEN_KINDS


@dataclass(frozen=True)
class KernelMetadata:
    """What the note says of one kernel. Sizes are bytes; registers are counted per lane (VGPR) or per wave (SGPR).

    symbol: name of the descriptor's symbol, ``name + ".kd"``.
    lds_bytes, scratch_bytes: fixed LDS of a workgroup, fixed scratch of a work-item.
    vgprs: accumulation VGPRs included, as LLVM counts; `agprs` of them are accumulation VGPRs.
    uses_dynamic_stack, sgpr_spills, vgpr_spills, agprs: None where the file, being old, does not say.
    """

    name: str
    symbol: str
    args: tuple[KernelArgument, ...]
    kernarg_size: int
    kernarg_align: int
    lds_bytes: int
    scratch_bytes: int
    wavefront_size: int
    max_workgroup_size: int
    sgprs: int
    vgprs: int
    agprs: int | None = None
    sgpr_spills: int | None = None
    vgpr_spills: int | None = None
    uses_dynamic_stack: bool | None = None
    uniform_workgroup_size: bool | None = None
    reqd_workgroup_size: tuple[int, ...] | None = None
    workgroup_size_hint: tuple[int, ...] | None = None
    vec_type_hint: str | None = None
    language: str | None = None
    language_version: tuple[int, ...] | None = None
    kernel_kind: str | None = None
    device_enqueue_symbol: str | None = None


@dataclass(frozen=True)
class Metadata:
    """The whole note. `target` is a triple such as ``"amdgcn-amd-amdhsa--gfx950"``; V3 files have none."""

    kernels: tuple[KernelMetadata, ...]
    version: tuple[int, ...] = (1, 2)
    target: str | None = None
    printf: tuple[str, ...] = ()


# Python name -> (key in the note, type). A key is required when the dataclass gives it no default.
_ARGUMENT_KEYS: dict[str, tuple[str, type]] = {
    "access": (".access", str),
    "actual_access": (".actual_access", str),
    "address_space": (".address_space", str),
    "is_const": (".is_const", bool),
    "is_restrict": (".is_restrict", bool),
    "is_volatile": (".is_volatile", bool),
    "name": (".name", str),
    "offset": (".offset", int),
    "pointee_align": (".pointee_align", int),
    "size": (".size", int),
    "type_name": (".type_name", str),
    "kind": (".value_kind", str),
    "dtype": (".value_type", str),
}
_KERNEL_KEYS: dict[str, tuple[str, type]] = {
    "agprs": (".agpr_count", int),
    "args": (".args", list),
    "device_enqueue_symbol": (".device_enqueue_symbol", str),
    "lds_bytes": (".group_segment_fixed_size", int),
    "kernarg_align": (".kernarg_segment_align", int),
    "kernarg_size": (".kernarg_segment_size", int),
    "kernel_kind": (".kind", str),
    "language": (".language", str),
    "language_version": (".language_version", tuple),
    "max_workgroup_size": (".max_flat_workgroup_size", int),
    "name": (".name", str),
    "scratch_bytes": (".private_segment_fixed_size", int),
    "reqd_workgroup_size": (".reqd_workgroup_size", tuple),
    "sgprs": (".sgpr_count", int),
    "sgpr_spills": (".sgpr_spill_count", int),
    "symbol": (".symbol", str),
    "uniform_workgroup_size": (".uniform_work_group_size", bool),
    "uses_dynamic_stack": (".uses_dynamic_stack", bool),
    "vec_type_hint": (".vec_type_hint", str),
    "vgprs": (".vgpr_count", int),
    "vgpr_spills": (".vgpr_spill_count", int),
    "wavefront_size": (".wavefront_size", int),
    "workgroup_size_hint": (".workgroup_size_hint", tuple),
}

# No size, count or offset of a kernel needs more than 32 bits; a larger number is damage.
_LARGEST = (1 << 32) - 1


def parse_metadata(note: bytes, where: str | None = None) -> Metadata:
    """Decode the msgpack of an NT_AMDGPU_METADATA note.

    Raises CodeObjectError for bytes that are not msgpack, for a missing or mistyped entry, for an unknown kind of
    argument, and for an argument outside the kernarg segment.
    """
    try:
        root = msgpack.unpackb(note, raw=False, strict_map_key=False)
    except (msgpack.exceptions.UnpackException, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise _malformed(f"is no valid msgpack ({type(error).__name__})", where) from None
    if not isinstance(root, dict):
        raise _malformed("is no map", where)
    kernels, printf, target = root.get("amdhsa.kernels", []), root.get("amdhsa.printf", []), root.get("amdhsa.target")
    if not isinstance(kernels, list):
        raise _malformed("has an amdhsa.kernels that is no list", where)
    if not (isinstance(printf, list) and all(isinstance(text, str) for text in printf)):
        raise _malformed("has an amdhsa.printf that is no list of strings", where)
    if not (target is None or isinstance(target, str)):
        raise _malformed("has an amdhsa.target that is no string", where)
    version = _checked(root.get("amdhsa.version"), tuple, "amdhsa.version", where)
    return Metadata(tuple(_kernel(k, i, where) for i, k in enumerate(kernels)), version, target, tuple(printf))


def render_metadata(metadata: Metadata) -> str:
    """The text from ``.amdgpu_metadata`` to ``.end_amdgpu_metadata``, entries sorted by key as LLVM writes them."""
    lines = [".amdgpu_metadata", "---", "amdhsa.kernels:" if metadata.kernels else "amdhsa.kernels: []"]
    for kernel in metadata.kernels:
        lines += _list_item(_rendered(kernel, _KERNEL_KEYS), "  ")
    if metadata.printf:
        lines += ["amdhsa.printf:", *(f"  - {_scalar(text)}" for text in metadata.printf)]
    if metadata.target is not None:
        lines.append(f"amdhsa.target: {_scalar(metadata.target)}")
    lines += ["amdhsa.version:", *(f"  - {number}" for number in metadata.version)]
    return "\n".join([*lines, "...", ".end_amdgpu_metadata"]) + "\n"


def _malformed(what: str, where: str | None) -> CodeObjectError:
    return CodeObjectError("bad-metadata", f"the AMDGPU metadata note {what}", where=where)


def _kernel(entry: Any, index: int, where: str | None) -> KernelMetadata:
    place = f"amdhsa.kernels[{index}]"
    values = _values(entry, KernelMetadata, _KERNEL_KEYS, place, where)
    arguments = []
    for i, argument_entry in enumerate(values.get("args", [])):
        argument_place = f"{place}.args[{i}]"
        argument = KernelArgument(**_values(argument_entry, KernelArgument, _ARGUMENT_KEYS, argument_place, where))
        _check_argument(argument, values["kernarg_size"], argument_place, where)
        arguments.append(argument)
    return KernelMetadata(**{**values, "args": tuple(arguments)})


def _check_argument(argument: KernelArgument, kernarg_size: int, place: str, where: str | None) -> None:
    if argument.kind not in EXPLICIT_KINDS | HIDDEN_KINDS:
        raise _malformed(f"has the unknown value_kind {argument.kind!r} in {place}", where)
    if argument.address_space not in ADDRESS_SPACES | {None}:
        raise _malformed(f"has the unknown address_space {argument.address_space!r} in {place}", where)
    for access in (argument.access, argument.actual_access):
        if access not in ACCESSES | {None}:
            raise _malformed(f"has the unknown access {access!r} in {place}", where)
    if argument.offset + argument.size > kernarg_size:
        end = argument.offset + argument.size
        raise _malformed(f"has {place} end at byte {end} of a kernarg segment of {kernarg_size}", where)


def _values(entry: Any, cls: type, keys: dict[str, tuple[str, type]], place: str, where: str | None) -> dict[str, Any]:
    """Python name -> checked value of every known key in `entry`; other keys are left alone, as LLVM's own reader
    does."""
    if not isinstance(entry, dict):
        raise _malformed(f"has a {place} that is no map", where)
    values = {
        name: _checked(entry[key], kind, place + key, where) for name, (key, kind) in keys.items() if key in entry
    }
    for known in fields(cls):
        if known.default is MISSING and known.name not in values and known.name != "args":
            raise _malformed(f"lacks {place}{keys[known.name][0]}", where)
    return values


def _checked(value: Any, kind: type, place: str, where: str | None) -> Any:
    if kind is bool and value in (0, 1):
        return bool(value)
    if kind is int and type(value) is int and 0 <= value <= _LARGEST:
        return value
    if kind is tuple and isinstance(value, list):
        return tuple(_checked(item, int, f"{place}[{i}]", where) for i, item in enumerate(value))
    if kind in (str, list) and isinstance(value, kind):
        return value
    expected = {bool: "true or false", int: "a number of 32 bits", tuple: "a list of numbers", str: "a string"}
    raise _malformed(f"has {reprlib.repr(value)} for {place}, expected {expected.get(kind, 'a list')}", where)


def _rendered(item: Any, keys: dict[str, tuple[str, type]]) -> dict[str, list[str]]:
    """Key -> its text: one line to go after the colon, or an empty line and then the lines of a block."""
    entries: dict[str, list[str]] = {}
    for name, (key, kind) in keys.items():
        value = getattr(item, name)
        if value is None or (kind is bool and value is False and name.startswith("is_")):
            continue
        if name == "args":
            lines = [line for arg in value for line in _list_item(_rendered(arg, _ARGUMENT_KEYS), "  ")]
            entries[key] = ["", *lines] if lines else ["[]"]
        elif kind is tuple:
            entries[key] = ["", *(f"  - {number}" for number in value)]
        elif name == "uniform_workgroup_size":
            entries[key] = [str(int(value))]
        else:
            entries[key] = [str(value).lower() if kind is bool else _scalar(value)]
    return dict(sorted(entries.items()))


def _list_item(entries: dict[str, list[str]], indent: str) -> list[str]:
    lines = []
    for key, (first, *block) in entries.items():
        lines.append(f"{key}: {first}".rstrip())
        lines += block
    return [indent + ("  " if i else "- ") + line for i, line in enumerate(lines)]


def _scalar(value: str | int) -> str:
    """A YAML scalar: plain where no reader could take it for anything but this text, else quoted and tagged.

    The tag counts: LLVM takes even a quoted 'nan' or '123' for a number.
    """
    text = str(value)
    if isinstance(value, int) or _PLAIN.fullmatch(text):
        return text
    if not text.isprintable():
        raise BuildError("bad-name", f"the metadata cannot hold the unprintable text {text!r}")
    return "!str '" + text.replace("'", "''") + "'"


# A letter first and no YAML sign after it; words that YAML or LLVM read as numbers, booleans or null are out.
_WORD = r"[A-Za-z_][A-Za-z0-9_.\-]*"
_NO_TEXT = "true|false|yes|no|on|off|null|y|n|nan|inf|infinity"
_PLAIN = re.compile(rf"(?!(?:{_NO_TEXT})$){_WORD}(?: {_WORD})*", re.IGNORECASE)
