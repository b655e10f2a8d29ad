"""Kernel arguments: how tensors and numbers of a kernel's signature are laid out in the kernarg segment, read by the
kernel, packed by the host.

A tensor takes its address (8 bytes), rows, columns, row stride in bytes and batches (4 each), batch stride in bytes (8)
as far as its rank has them; a number takes 4. A launch brings two kinds itself: workspaces, of which the address is
enough, and integers that the host computes from sizes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pykittens.asm.metadata import KernelArgument
from pykittens.asm.program import user_line
from pykittens.errors import BuildError, InputError
from pykittens.isa.registers import Reg, s

from . import dtypes
from .dtypes import DType
from .expression import Expr, Int, as_integer, leaf, leaves
from .global_tensor import gl, scalar
from .trace import Trace, current

if TYPE_CHECKING:
    from .lowering import Lowering

_PARTS = {1: ("cols",), 2: ("rows", "cols", "stride"), 3: ("rows", "cols", "stride", "batches", "batch_stride")}
_WIDE = ("batch_stride",)
_KERNARG_POINTER = s[0:1]


@dataclass(frozen=True)
class TensorArgument:
    """One tensor parameter: the `gl` that the kernel function sees, at ``offset`` bytes of the kernarg segment.

    ``late``: the kernel reads it with `read_arguments`. ``shape``: of a workspace, which no caller passes.
    """

    name: str
    tensor: gl
    offset: int
    late: bool = False
    shape: tuple[Int, ...] | None = None

    def fields(self) -> list[tuple[str, Expr, int, int]]:
        """(part, run-time value, offset, bytes) of the sizes that follow the address."""
        found, offset = [], self.offset + 8
        for part in _PARTS[self.tensor.rank] if self.shape is None else ():
            size = 8 if part in _WIDE else 4
            found.append((part, leaf("arg", self.name, part), offset, size))
            offset += size
        return found

    @property
    def end(self) -> int:
        """The next argument's offset."""
        ends = [self.offset + 8, *(offset + size for _, _, offset, size in self.fields())]
        return -(-ends[-1] // 8) * 8


@dataclass(frozen=True)
class ScalarArgument:
    """One f32 number, or an integer that the host has ``computed`` from sizes; ``late`` as of tensors."""

    name: str
    scalar: scalar
    offset: int
    late: bool = False
    computed: Expr | None = None

    @property
    def end(self) -> int:
        """The next argument's offset."""
        return self.offset + 8


Argument = TensorArgument | ScalarArgument


def bind(name: str, declared: object, options: dict[str, Any], arch: str, before: list[Argument]) -> Argument:
    """The argument that follows those ``before``."""
    offset = before[-1].end if before else 0
    if isinstance(declared, scalar):
        return ScalarArgument(name, declared.bind(name), offset)
    if not isinstance(declared, gl):
        raise BuildError(
            "kernel-signature", f"parameter {name} is annotated {declared!r}",
            fix='annotate tensors as pk.gl("bf16") or pk.gl("option name"), numbers as pk.scalar("f32")',
        )  # fmt: skip
    chosen = options.get(declared.dtype_name, declared.dtype_name)  # type: ignore[arg-type]
    rank = options.get(str(declared.rank), declared.rank)
    if rank not in _PARTS:
        raise InputError("rank", f"{name} has rank {rank!r}", fix="use 1, 2 or 3")
    return TensorArgument(name, declared.bind(name, dtypes.get(chosen, arch), rank), offset)


def bind_signature(function: Callable[..., None], options: dict[str, Any], arch: str) -> list[Argument]:
    """The arguments of a kernel function's signature, with the dtypes that the options choose."""
    arguments: list[Argument] = []
    annotations = inspect.get_annotations(function, eval_str=True)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise BuildError(
                "kernel-signature", f"*{name} is no parameter that a kernel can have", fix="name each tensor"
            )
        if parameter.kind not in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            arguments.append(bind(name, annotations.get(name), options, arch, arguments))
    return arguments


def argument(name: str, declared: gl | scalar, *, late: bool = False) -> Any:
    """One more argument of the kernel being traced, after those it has: for parts that several kernels share.

    ``late``: it takes registers where `read_arguments` names it, not from the start.
    """
    trace = current()
    _refuse_twice(trace, name)
    bound = replace(bind(name, declared, {}, trace.arch, trace.arguments), late=late)
    trace.arguments.append(bound)
    return bound.tensor if isinstance(bound, TensorArgument) else bound.scalar


def workspace(name: str, dtype: str | DType, shape: tuple[Int, ...]) -> gl:
    """Memory that each launch of the kernel brings with it: a vector ``(n,)``, or a matrix ``(rows, cols)`` of rows
    without gaps.

    Sizes may be run-time values of the other arguments. f32 elements hold anything at the start. i32 ones hold 0, and
    the kernel has to leave 0 in them, so that the next launch can use them as they are.
    """
    trace, kind = current(), dtypes.get(dtype)
    _refuse_twice(trace, name)
    if kind not in (dtypes.f32, dtypes.i32):
        raise BuildError("workspace", f"workspace {name} is {kind}", where=user_line(), fix="use f32 or i32")
    if len(shape) not in (1, 2):
        raise BuildError("workspace", f"workspace {name} has {len(shape)} sizes, 1 or 2 are needed", where=user_line())
    tensor = gl(kind, len(shape))
    tensor.name, tensor.dtype, tensor.pointer = name, kind, leaf("arg", name, "pointer")
    tensor.cols = shape[-1]
    if len(shape) == 2:
        tensor.rows, tensor.stride = shape[0], shape[1] * kind.bytes
    offset = trace.arguments[-1].end if trace.arguments else 0
    trace.arguments.append(TensorArgument(name, tensor, offset, shape=shape))
    return tensor


def at_launch(name: str, value: Int) -> Int:
    """An integer made of sizes, computed by the host for each launch; a division takes the GPU some 25 instructions."""
    trace = current()
    _refuse_twice(trace, name)
    if not isinstance(value, Expr):
        return as_integer(value)
    if any(x.op != "arg" for x in leaves(value)):
        raise BuildError("at-launch", f"{name} is {value}, which the host does not know", where=user_line())
    number = scalar("i32").bind(name)
    offset = trace.arguments[-1].end if trace.arguments else 0
    trace.arguments.append(ScalarArgument(name, number, offset, computed=value))
    return number.value


def _refuse_twice(trace: Trace, name: str) -> None:
    if any(a.name == name for a in trace.arguments):
        raise BuildError("argument-twice", f"the kernel has an argument {name} already", where=user_line())


def kernarg_layout(arguments: list[Argument], numbers: Sequence[str]) -> tuple[list[KernelArgument], int]:
    """The metadata's argument list and the segment's size in bytes. ``numbers``: 32-bit ones that come last."""
    layout = []
    for a in arguments:
        if isinstance(a, ScalarArgument):
            kind = "float" if a.computed is None else "int"
            layout.append(KernelArgument(a.offset, 4, "by_value", name=a.name, type_name=kind))
            continue
        layout.append(
            KernelArgument(a.offset, 8, "global_buffer", name=a.name, address_space="global", type_name="void*")
        )
        for part, _, place, size in a.fields():
            kind = "uint" if size == 4 else "ulong"
            layout.append(KernelArgument(place, size, "by_value", name=f"{a.name}.{part}", type_name=kind))
    end = arguments[-1].end if arguments else 0
    layout += [
        KernelArgument(end + 4 * i, 4, "by_value", name=name, type_name="uint") for i, name in enumerate(numbers)
    ]
    return layout, end + 8 * -(-len(numbers) // 2)


def load_arguments(emit: Lowering, arguments: list[Argument], take: Callable[[int], Reg]) -> None:
    """Read these arguments into SGPRs from ``take``."""
    for a in arguments:
        if isinstance(a, ScalarArgument):
            reg = take(1)
            emit.ins("s_load_dword", reg, _KERNARG_POINTER, None, offset=a.offset)
            emit.inputs[a.scalar.value] = reg
            continue
        pointer = take(2)
        emit.ins("s_load_dwordx2", pointer, _KERNARG_POINTER, None, offset=a.offset)
        _known(emit, a.tensor.pointer, pointer)
        fields = a.fields()
        while fields:
            # Two neighbouring numbers come at once.
            together = 2 if len(fields) > 1 and fields[0][3] == fields[1][3] == 4 and fields[0][2] % 8 == 0 else 1
            dwords = sum(size // 4 for *_, size in fields[:together])
            reg = take(dwords)
            name = "s_load_dword" if dwords == 1 else "s_load_dwordx2"
            emit.ins(name, reg, _KERNARG_POINTER, None, offset=fields[0][2])
            for i, (_, value, _, size) in enumerate(fields[:together]):
                _known(emit, value, reg if size == 8 or together == 1 else reg[i])
            fields = fields[together:]


def _known(emit: Lowering, value: Expr, reg: Any) -> None:
    """A value and, of a 64-bit one, its low half are in registers."""
    emit.inputs[value] = reg
    if reg.count == 2:
        emit.inputs[leaf("low", value)] = reg[0]
