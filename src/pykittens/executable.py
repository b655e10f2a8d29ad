"""A compiled kernel that can be called: packs NumPy arrays (or torch tensors on the CPU), checks them, launches,
reports.

exe = pk.compile(pk.kernels.gemm, arch="gfx950")
run = exe(A, B, C)
"""

from __future__ import annotations

import sys
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from pykittens import isa, sim
from pykittens.asm import code_object
from pykittens.errors import InputError
from pykittens.grid_choice import best_order
from pykittens.schedule.grid import Modelled, Order, Placement
from pykittens.schedule.grid_code import NAMES
from pykittens.tile import Build, Kernel, build
from pykittens.tile.arguments import Argument, ScalarArgument, TensorArgument
from pykittens.tile.expression import Expr, evaluate, leaf
from pykittens.tile.global_tensor import GlobalTile

# A window of 256 rows must stay below 2^31 bytes, so that every offset in it is a positive 32-bit number.
MAX_ROW_STRIDE = (1 << 31) // 256 - 1
MAX_SIZE = (1 << 31) - 1


def compile(kernel: Kernel, arch: str = "gfx950", **options: Any) -> Executable:
    """Build a kernel for ``gfx942`` or ``gfx950``; ``options`` are the kernel's keyword parameters (dtype, layout, …).

    Raises `InputError` for what does not exist and `BuildError`, with the Python line, for what cannot be built.
    """
    return Executable(build(kernel, arch, **options))


class Executable:
    """A kernel's code object with what the host needs to launch it."""

    def __init__(self, built: Build) -> None:
        self.built = built
        self.name, self.arch = built.name, built.arch
        self.code_object, self.assembly = built.code_object, built.assembly
        self.registers, self.lds_bytes = built.registers, built.lds_bytes

    @cached_property
    def arguments(self) -> list[Argument]:
        """What a call takes, in order: the kernel's arguments but for what the launch itself brings."""
        return [a for a in self.built.arguments if not (_is_workspace(a) or _is_computed(a))]

    @cached_property
    def metadata(self) -> Any:
        """The kernel's metadata as read back from the code object."""
        return code_object.read(self.code_object).kernel(self.name).metadata

    @cached_property
    def sim_kernel(self) -> sim.Kernel:
        """The kernel, loaded on a virtual GPU of its chip."""
        return sim.Device(self.arch).load(self.code_object).kernel(self.name)

    def lds_names(self) -> dict[int, str]:
        """Address of each instruction that touches a shared tile to ``"Bs read"`` or ``"Bs write"``."""
        read = code_object.read(self.code_object)
        kernel = read.kernel(self.name)
        code = isa.decode(bytes(read.code(kernel)), self.arch, kernel.entry)
        return {i.pc: name for i, name in zip(code, self.built.lds_names, strict=False) if name is not None}

    def checked(self, *tensors: Any) -> Any:
        """The report of the static checks and of a checked run on these tensors, LDS bank conflicts by name included.

        ``pk.check(exe, *tensors)`` is the same.
        """
        from pykittens import check, checking

        return checking.merged(check.static.check(self), checking.check_call(self, *tensors))

    def __call__(self, *tensors: Any, device: str = "sim", **launch_options: Any) -> Any:
        """Launch on tensors and numbers in the order of the kernel's signature; returns the run (instructions,
        seconds), None if the grid is empty.

        Raises `InputError` for wrong dtypes, ranks, layouts and sizes before anything is written.
        """
        if device != "sim":
            raise InputError("device", f"device {device!r} is not available", fix="use device='sim'")
        launch = self.launch_arguments(*tensors)
        return None if launch is None else self.sim_kernel.launch(**launch, **launch_options)

    def launch_arguments(self, *tensors: Any) -> dict[str, Any] | None:
        """``grid``, ``block`` and ``args`` of a launch on these tensors and numbers; None if the grid is empty.

        Raises as a launch does.
        """
        values = self._check(tensors)
        inputs = self._inputs(values)
        trace = self.built.trace
        if trace.placement is not None:
            order = self._order(inputs)
            if order is None:
                return None
            inputs |= trace.placement.launch_values(order, inputs)
        grid = tuple(int(evaluate(n, inputs)) for n in trace.grid)
        if 0 in grid:
            return None
        args: list[Any] = []
        given = iter(values)
        for argument in self.built.arguments:
            if _is_workspace(argument):
                args.append(_workspace(argument, inputs))
                continue
            if _is_computed(argument):
                args.append(inputs[argument.scalar.value])
                continue
            value = next(given)
            if isinstance(argument, ScalarArgument):
                args.append(value)
            else:
                args += [_extent(value), *_sizes(value)]
        if trace.numbers:
            args += [inputs[leaf("order", name)] for name in NAMES]
        block = (64 * self.built.trace.wave_count, 1, 1)
        return {"grid": grid, "block": block, "args": args}

    def order_for(self, *tensors: Any) -> Order | None:
        """The grid order of a launch on these tensors (or shapes of tensors): the one that the kernel was compiled
        with, or the one that the model chose; None of a kernel that calls none, and where there is nothing to do.

        Raises as a launch does for a wrong number of tensors and for sizes that do not fit each other.
        """
        self._check_count(tensors)
        values = list(tensors)
        for i, argument in enumerate(self.arguments):
            if isinstance(argument, TensorArgument):
                # Sizes are enough: an array of one element that is repeated takes no memory.
                shape = (
                    tensors[i] if isinstance(tensors[i], (tuple, list)) else _as_array(argument.name, tensors[i]).shape
                )
                values[i] = np.broadcast_to(np.uint8(0), shape)
                _check_rank(argument, values[i])
        inputs = self._inputs(values)
        self._check_requirements(inputs)
        return self._order(inputs)

    def _order(self, inputs: dict[Expr, Any]) -> Order | None:
        placement: Placement | None = self.built.trace.placement
        if placement is None:
            return None
        sizes = (placement.rows, placement.cols, self.built.trace.batches)
        rows, cols, batch = (int(evaluate(size, inputs)) for size in sizes)
        if 0 in (rows, cols, batch):
            return None
        if not isinstance(placement.order, Modelled):
            return placement.order
        work = placement.work
        assert work is not None
        return best_order(
            rows * work.rows, cols * work.cols, int(evaluate(work.depth, inputs)), (work.rows, work.cols), self.arch,
            element_bytes=max(1, work.bits // 8), batch=batch,
        )  # fmt: skip

    # -- checks ----------------------------------------------------------------------------------------------
    def _check(self, values: tuple[Any, ...]) -> list[Any]:
        """The values as arrays and f32 numbers."""
        arguments = self.arguments
        self._check_count(values)
        written = self.written
        checked: list[Any] = []
        for argument, value in zip(arguments, values, strict=True):
            if isinstance(argument, ScalarArgument):
                checked.append(_number(argument.name, value))
                continue
            array = _as_array(argument.name, value)
            _check_array(argument, array, argument.name in written)
            checked.append(array)
        inputs = self._inputs(checked)
        self._check_requirements(inputs)
        for argument, array in zip(arguments, checked, strict=True):
            for other, second in zip(arguments, checked, strict=True):
                both = isinstance(argument, TensorArgument) and isinstance(other, TensorArgument)
                if both and argument.name in written and other is not argument and np.shares_memory(array, second):
                    raise InputError("overlap", f"{argument.name} is written and shares memory with {other.name}")
        return checked

    def _check_count(self, values: tuple[Any, ...]) -> None:
        arguments = self.arguments
        if len(values) != len(arguments):
            names = ", ".join(a.name for a in arguments)
            raise InputError(
                "argument-count", f"{self.name} takes {len(arguments)} arguments ({names}), got {len(values)}"
            )

    def _check_requirements(self, inputs: dict[Expr, Any]) -> None:
        for requirement in self.built.trace.requirements:
            a, b = (int(evaluate(side, inputs)) for side in (requirement.a, requirement.b))
            if a != b:
                raise InputError("shape-mismatch", f"{self.name}: {requirement.words}, got {a} and {b}")

    @cached_property
    def written(self) -> frozenset[str]:
        """Names of the tensors that the kernel stores to."""
        return self._accessed(stores=True)

    @cached_property
    def loaded(self) -> frozenset[str]:
        """Names of the tensors that the kernel loads from."""
        return self._accessed(stores=False)

    def _accessed(self, stores: bool) -> frozenset[str]:
        names: set[str] = set()

        def walk(nodes: list[Any]) -> None:
            for node in nodes:
                if hasattr(node, "body"):
                    walk(node.body)
                elif (node.op.name == "store") is stores:
                    names.update(arg.tensor.name for arg in node.args if isinstance(arg, GlobalTile))

        walk(self.built.trace.nodes)
        return frozenset(names)

    def _inputs(self, values: list[Any]) -> dict[Expr, Any]:
        """The kernel's run-time sizes for these arrays."""
        inputs: dict[Expr, Any] = {}
        for argument, value in zip(self.arguments, values, strict=True):
            if isinstance(argument, TensorArgument):
                inputs |= zip((leaf for _, leaf, _, _ in argument.fields()), _sizes(value), strict=True)
        for argument in self.built.arguments:
            if isinstance(argument, ScalarArgument) and argument.computed is not None:
                inputs[argument.scalar.value] = int(evaluate(argument.computed, inputs))
        return inputs


def _is_workspace(argument: Argument) -> TypeGuard[TensorArgument]:
    return isinstance(argument, TensorArgument) and argument.shape is not None


def _is_computed(argument: Argument) -> TypeGuard[ScalarArgument]:
    return isinstance(argument, ScalarArgument) and argument.computed is not None


def _workspace(argument: TensorArgument, inputs: dict[Expr, Any]) -> np.ndarray:
    """A workspace as a launch finds it: counters are 0, and numbers NaN, so that reading what nobody wrote shows."""
    shape = tuple(int(evaluate(size, inputs)) for size in argument.shape or ())
    dtype = argument.tensor.dtype.numpy
    if max(shape) > MAX_SIZE:
        raise InputError("workspace", f"{argument.name} is {'x'.join(map(str, shape))}, sizes reach {MAX_SIZE}")
    return np.full(shape, np.nan if dtype.kind == "f" else 0, dtype)


def _number(name: str, value: Any) -> np.float32:
    """A real number as f32."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError("number", f"{name} is a {type(value).__name__}, the kernel takes a number")
    with np.errstate(over="ignore"):
        return np.float32(value)


def _as_array(name: str, tensor: Any) -> np.ndarray:
    """A NumPy view of an array or of a torch tensor on the CPU."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        if tensor.device.type != "cpu":
            raise InputError("tensor-device", f"{name} is on {tensor.device}, the virtual GPU takes CPU tensors")
        tensor = tensor.detach()
        if tensor.dtype is torch.bfloat16:
            import ml_dtypes

            return np.asarray(tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16))
        return np.asarray(tensor.numpy())
    if not isinstance(tensor, np.ndarray):
        raise InputError(
            "tensor-kind", f"{name} is a {type(tensor).__name__}", fix="pass a NumPy array or a torch tensor"
        )
    return tensor


def _check_array(argument: TensorArgument, array: np.ndarray, written: bool) -> None:
    name, dtype, rank = argument.name, argument.tensor.dtype, argument.tensor.rank
    if array.dtype != dtype.numpy:
        raise InputError(
            "dtype", f"{name} is {array.dtype}, the kernel takes {dtype.numpy}", fix="convert it or compile for it"
        )
    _check_rank(argument, array)
    if max(array.shape) > MAX_SIZE:
        raise InputError("size", f"{name} is {'x'.join(map(str, array.shape))}, sizes reach {MAX_SIZE}")
    if array.size and array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
        raise InputError(
            "contiguity",
            f"the elements of a row of {name} are {array.strides[-1]} bytes apart, the kernel takes {array.itemsize}",
            fix="pass a copy (np.ascontiguousarray)",
        )  # fmt: skip
    if rank > 1:
        _check_strides(name, array)
    if array.size and array.__array_interface__["data"][0] % array.itemsize:
        raise InputError("alignment", f"{name} is not aligned to its {array.itemsize}-byte elements", fix="pass a copy")
    if written and not array.flags.writeable:
        raise InputError("read-only", f"{name} is written by the kernel and is read-only", fix="pass a writable array")


def _check_rank(argument: TensorArgument, array: np.ndarray) -> None:
    rank = argument.tensor.rank
    if array.ndim != rank:
        raise InputError("rank", f"{argument.name} has {array.ndim} dimensions, the kernel takes {rank}")


def _check_strides(name: str, array: np.ndarray) -> None:
    stride, row = _sizes(array)[2], array.shape[-1] * array.itemsize
    if stride < row:
        raise InputError("row-stride", f"the rows of {name} are {stride} bytes apart and {row} long", fix="pass a copy")
    if stride > MAX_ROW_STRIDE:
        raise InputError("row-stride", f"the rows of {name} are {stride} bytes apart, the limit is {MAX_ROW_STRIDE}")
    if stride % array.itemsize:
        raise InputError("row-stride", f"the rows of {name} are {stride} bytes apart, elements have {array.itemsize}")
    if array.ndim == 3:
        batch, matrix = _sizes(array)[4], (array.shape[1] - 1) * stride + row
        if batch < matrix and array.shape[1]:
            raise InputError(
                "batch-stride", f"the matrices of {name} are {batch} bytes apart and {matrix} long", fix="pass a copy"
            )
        if batch % array.itemsize:
            raise InputError(
                "batch-stride", f"the matrices of {name} are {batch} bytes apart, elements have {array.itemsize}"
            )


def _sizes(array: np.ndarray) -> tuple[int, ...]:
    """What follows a tensor's address among the arguments: the length of a vector; rows, columns and row stride in
    bytes of a matrix; these, the batches and the batch stride of rank 3.

    The stride of a single row or matrix, and of no elements, is its length.
    """
    if array.ndim == 1:
        return (len(array),)
    rows, cols = array.shape[-2:]
    stride = array.strides[-2] if rows > 1 and array.size else cols * array.itemsize
    if array.ndim == 2:
        return rows, cols, stride
    batches = len(array)
    return rows, cols, stride, batches, array.strides[0] if batches > 1 and array.size else rows * stride


def _extent(array: np.ndarray) -> np.ndarray:
    """The memory from the first to the last element as bytes, without a copy."""
    if array.size == 0:
        return np.zeros(0, np.uint8)
    length = sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True) if n > 1) + array.itemsize
    raw = array[(slice(0, 1),) * array.ndim].reshape(-1)
    return np.lib.stride_tricks.as_strided(
        raw.view(np.uint8), shape=(length,), strides=(1,), writeable=bool(array.flags.writeable)
    )
