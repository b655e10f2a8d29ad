"""Kernel arguments: how tensors of a kernel's signature are laid out in the kernarg segment, read by the kernel,
packed by the host.

A tensor takes 24 bytes: address (8), rows (4), columns (4), row stride in bytes (4), padding (4).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pykittens.asm.metadata import KernelArgument
from pykittens.errors import BuildError
from pykittens.isa.registers import s

from . import dtypes
from .expression import Expr, leaf
from .tiles import gl

if TYPE_CHECKING:
    from .lowering import Lowering

TENSOR_BYTES = 24
_KERNARG_POINTER = s[0:1]


@dataclass(frozen=True)
class TensorArgument:
    """One tensor parameter: the `gl` that the kernel function sees, at ``offset`` bytes of the kernarg segment."""

    name: str
    tensor: gl
    offset: int

    def size_leaves(self) -> tuple[Expr, Expr, Expr]:
        """The run-time rows, columns and stride."""
        tensor = self.tensor
        return tensor.rows, tensor.cols, tensor.stride  # type: ignore[return-value]


def bind_arguments(function: Callable[..., None], options: dict[str, Any], arch: str) -> list[TensorArgument]:
    """The tensors of a kernel function's signature, with the dtypes that the options choose."""
    arguments: list[TensorArgument] = []
    annotations = inspect.get_annotations(function, eval_str=True)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            continue
        declared = annotations.get(name)
        if not isinstance(declared, gl):
            raise BuildError(
                "kernel-signature", f"parameter {name} of {function.__name__} is annotated {declared!r}",
                fix='annotate tensors as pk.gl("bf16") or pk.gl("option name")',
            )  # fmt: skip
        chosen = options.get(declared.dtype_name, declared.dtype_name)  # type: ignore[arg-type]
        sizes = (leaf("arg", name, part) for part in ("pointer", "rows", "cols", "stride"))
        tensor = declared.bind(name, dtypes.get(chosen, arch), *sizes)
        arguments.append(TensorArgument(name, tensor, TENSOR_BYTES * len(arguments)))
    return arguments


def kernarg_layout(arguments: list[TensorArgument]) -> tuple[list[KernelArgument], int]:
    """The metadata's argument list and the segment's size in bytes."""
    layout = []
    for a in arguments:
        layout.append(
            KernelArgument(a.offset, 8, "global_buffer", name=a.name, address_space="global", type_name="void*")
        )
        for part, place in (("rows", 8), ("cols", 12), ("stride", 16)):
            layout.append(KernelArgument(a.offset + place, 4, "by_value", name=f"{a.name}.{part}", type_name="uint"))
    return layout, TENSOR_BYTES * len(arguments)


def load_arguments(emit: Lowering, arguments: list[TensorArgument]) -> None:
    """Read all arguments into SGPRs that stay."""
    for a in arguments:
        tensor = a.tensor
        pointer, sizes, stride = emit.scalars.take(2), emit.scalars.take(2), emit.scalars.take()
        emit.ins("s_load_dwordx2", pointer, _KERNARG_POINTER, None, offset=a.offset)
        emit.ins("s_load_dwordx2", sizes, _KERNARG_POINTER, None, offset=a.offset + 8)
        emit.ins("s_load_dword", stride, _KERNARG_POINTER, None, offset=a.offset + 16)
        emit.inputs[tensor.pointer] = pointer
        emit.inputs[leaf("low", tensor.pointer)] = pointer[0]
        for value, reg in zip(a.size_leaves(), (sizes[0], sizes[1], stride), strict=True):
            emit.inputs[value] = reg
