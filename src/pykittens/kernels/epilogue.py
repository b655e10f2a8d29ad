"""What a matrix product goes through on its way to memory: scales, alpha and beta, bias, activation, residual.

A kernel takes the choices as options (``**epilogue: Epilogue``), makes `Epilogue(**epilogue)` once and calls `store`
for each accumulator. What a choice needs becomes an argument after the kernel's own, in the order of the fields below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pykittens.errors import InputError
from pykittens.tile import (
    argument,
    bf16,
    block,
    f16,
    f32,
    gl,
    load,
    load_scalar,
    read_arguments,
    require_equal,
    rt,
    rv,
    scalar,
    store,
    when,
)
from pykittens.tile.dtypes import DType
from pykittens.tile.expression import Int
from pykittens.tile.ops import maps

LOG2_E = 1 / math.log(2)
NO_SIGN = 0x7FFFFFFF
"""All bits of an f32 but its sign."""
# Abramowitz and Stegun 7.1.26: 1 - erf(z) = t (a1 + t (a2 + …)) exp(-z²) with t = 1 / (1 + p z), within 1.5e-7.
ERF_P, ERF_A = 0.3275911, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
ERF_END = 16.0
"""exp(-x²/2) is 0 in f32 from here on."""

RESULTS = (bf16, f16, f32)
"""Types of C."""
CHOICES = {
    "scales": ("none", "tensor", "row", "col", "both"),
    "scaling": ("none", "alpha", "alpha_beta"),
    "bias": ("none", "row", "col"),
    "activation": ("none", "relu", "gelu_tanh", "gelu_erf", "silu"),
    "residual": ("none", "add"),
}


@dataclass(frozen=True)
class Epilogue:
    """C = activation(alpha · scales · A B + beta · C + bias) + R, as far as chosen; computed in f32.

    scales: ``tensor`` takes one f32 for A and one for B in memory (``scale_a[1]``, ``scale_b[1]``), ``row`` one for
    each row of A (``scale_a[M]``), ``col`` for each column of B (``scale_b[N]``), ``both`` both. scaling: numbers
    ``alpha`` and ``beta`` of the launch; C is read unless beta is 0. bias: ``bias[M]`` (row) or ``bias[N]`` (col).
    residual: ``R[M, N]``, added last. bias and R have C's dtype. A batch's matrices have an R each and share the rest.
    Each group of a grouped product has columns of its own: ``scale_b[groups, N]``, ``bias[groups, N]``, and
    ``scale_b[groups]`` of ``tensor``.
    """

    scales: str = "none"
    scaling: str = "none"
    bias: str = "none"
    activation: str = "none"
    residual: str = "none"

    @property
    def plain(self) -> bool:
        """Whether the product is stored as it is."""
        return all(getattr(self, name) == "none" for name in CHOICES)

    def bind(self, C: gl, group: Group | None = None) -> BoundEpilogue:
        """Declare the arguments, for a result C or a group's rows of it; call it once, before the first loop.

        Raises InputError for choices that there are not.
        """
        for name, values in CHOICES.items():
            if getattr(self, name) not in values:
                raise _refusal(name, getattr(self, name), values)
        if C.dtype not in RESULTS:
            raise _refusal("out", C.dtype, [dtype.name for dtype in RESULTS])
        return BoundEpilogue(self, C, group)


def _refusal(name: str, value: object, known: Iterable[str]) -> InputError:
    return InputError("option-value", f"{name} is {value!r}", fix=f"use one of {', '.join(known)}")


@dataclass(frozen=True)
class Group:
    """The group of a grouped product that a workgroup works on: its ``number`` among ``count``, and its rows of C."""

    number: Int
    count: Int
    first_row: Int
    rows: Int


@dataclass(frozen=True)
class _Vector:
    """A vector of C's ``"rows"`` or ``"cols"`` and the op that applies it."""

    name: str
    axis: str
    tensor: gl
    op: maps.Map


class BoundEpilogue:
    """An epilogue in a kernel being traced, with its arguments."""

    def __init__(self, chosen: Epilogue, C: gl, group: Group | None = None) -> None:
        self.chosen, self.group, self.all = chosen, group, C
        self.C = self._rows_of(C)
        self.names: list[str] = []
        self.vectors: list[_Vector] = []
        self.elements: list[tuple[gl, Int]] = []
        """Numbers that are in memory."""
        self.numbers: list[scalar] = []
        scales = chosen.scales
        if scales == "tensor":
            self._element("scale_a", 0, 1)
            self._element("scale_b", *((group.number, group.count) if group else (0, 1)))
        if scales in ("row", "both"):
            self._vector("scale_a", "rows", f32, maps.mul)
        if scales in ("col", "both"):
            self._vector("scale_b", "cols", f32, maps.mul)
        if chosen.scaling != "none":
            self.numbers.append(self._argument("alpha", scalar()))
        self.beta = self._argument("beta", scalar()) if chosen.scaling == "alpha_beta" else None
        if chosen.bias != "none":
            self._vector("bias", {"row": "rows", "col": "cols"}[chosen.bias], C.dtype, maps.add)
        self.residual = (
            self._argument("R", gl(C.dtype, rank=2 if C.batch_stride is None else 3))
            if chosen.residual == "add"
            else None
        )
        if self.residual is not None:
            if C.batch_stride is not None:
                require_equal(self.residual.batches, C.batches, "R and C must have the same batches")
                self.residual = self.residual[C.batch]
            require_equal(self.residual.rows, C.rows, "R and C must have the same M (rows)")
            require_equal(self.residual.cols, C.cols, "R and C must have the same N (columns)")
            self.residual = self._rows_of(self.residual)

    def _rows_of(self, tensor: gl) -> gl:
        """The group's rows of a tensor that has all groups'."""
        return tensor.rows_from(self.group.first_row, self.group.rows) if self.group else tensor

    def _argument(self, name: str, declared: gl | scalar) -> Any:
        """One that takes no registers before `store`: loops have few left."""
        self.names.append(name)
        return argument(name, declared, late=True)

    def _element(self, name: str, index: Int, count: Int) -> None:
        vector = self._argument(name, gl(f32, rank=1))
        what = "one element" if isinstance(count, int) else "one element for each group"
        require_equal(vector.cols, count, f"{name} must have {what}")
        self.elements.append((vector, index))

    def _vector(self, name: str, axis: str, dtype: DType, op: maps.Map) -> None:
        C, group = self.all, self.group
        vector = self._argument(name, gl(dtype, rank=2 if group and axis == "cols" else 1))
        require_equal(
            vector.cols, C.rows if axis == "rows" else C.cols, f"{name} and C must have the same length ({axis})"
        )  # fmt: skip
        if group and axis == "cols":
            require_equal(vector.rows, group.count, f"{name} must have a row for each group")
            vector = vector.row(group.number)
        elif group:
            vector = vector.elements_from(group.first_row, group.rows)
        self.vectors.append(_Vector(name, axis, vector, op))

    def store(self, row: Int, col: Int, c: rt) -> None:
        """The accumulator ``c`` becomes the tile (row, col) of C, counted in tiles of its shape."""
        with block():
            if self.chosen.plain:
                store(self.C.tile(row, col), c)
                return
            read_arguments(*self.names)
            numbers = [*self.numbers, *(load_scalar(vector, index) for vector, index in self.elements)]
            # A row of base tiles at a time, so that few registers are needed besides the accumulators.
            step = c.shape.rows
            # Values of columns serve all of them, or are loaded again for the second, where registers count.
            many = c.rows // step > 2
            of_columns = {v.name: self._values(c, v, col) for v in self.vectors if many and v.axis == "cols"}
            for i in range(c.rows // step):
                with block():
                    self._store_rows(
                        row * (c.rows // step) + i, col, c.subtile(step, c.cols, i, 0), of_columns, numbers
                    )

    def _store_rows(self, row: Int, col: Int, c: rt, of_columns: dict[str, rv], numbers: list[scalar]) -> None:
        x, target = _like(c, "x"), self.C.tile(row, col)
        maps.copy(x, c)
        for number in numbers:
            maps.mul(x, x, number)

        def apply(op: maps.Map) -> None:
            for vector in self.vectors:
                if vector.op is op:
                    place = row if vector.axis == "rows" else col
                    op(x, x, of_columns.get(vector.name) or self._values(x, vector, place))

        apply(maps.mul)
        if self.beta is not None:
            with when(self.beta.value & NO_SIGN):  # with a beta of 0, C may hold anything
                old = _like(x, "old")
                load(old, target)
                maps.fma(x, old, self.beta, x)
        apply(maps.add)
        _ACTIVATIONS[self.chosen.activation](x)
        if self.residual is not None:
            more = _like(x, "more")
            load(more, self.residual.tile(row, col))
            maps.add(x, x, more)
        store(target, x)

    @staticmethod
    def _values(tile: rt, vector: _Vector, index: Int) -> rv:
        values = rv(tile, vector.axis, name=f"{vector.name}_values")
        load(values, vector.tensor.part(index))
        return values


def _like(x: rt, name: str) -> rt:
    """Another tile of the same kind."""
    return rt(f32, x.rows, x.cols, x.layout, shape=x.shape.name, name=name)


def relu(x: rt) -> None:
    """x = max(x, 0)"""
    maps.relu(x, x)


def _times_sigmoid(x: rt, y: rt, factor: float) -> None:
    """x = x / (1 + exp(-factor y)); y is lost."""
    maps.mul(y, y, -factor * LOG2_E)
    maps.exp2(y, y)
    maps.add(y, y, 1.0)
    maps.rcp(y, y)
    maps.mul(x, x, y)


def silu(x: rt) -> None:
    """x = x / (1 + exp(-x))"""
    y = _like(x, "y")
    maps.copy(y, x)
    _times_sigmoid(x, y, 1.0)


def gelu_tanh(x: rt) -> None:
    """x = x/2 (1 + tanh(sqrt(2/π) (x + 0.044715 x³))), as x times a sigmoid"""
    y = _like(x, "y")
    maps.mul(y, x, x)
    maps.mul(y, y, 0.044715)
    maps.add(y, y, 1.0)
    maps.mul(y, y, x)
    _times_sigmoid(x, y, 2 * math.sqrt(2 / math.pi))


def gelu_erf(x: rt) -> None:
    """x = x/2 (1 + erf(x / sqrt 2)) = max(x, 0) - |x|/2 (1 - erf(|x| / sqrt 2)), which cancels nothing

    What stands after the minus is 0 from `ERF_END` on; a larger |x| would make it 0 times infinity at infinity.
    """
    size, t, p = _like(x, "size"), _like(x, "t"), _like(x, "p")
    maps.mul(t, x, -1.0)
    maps.min(size, x, ERF_END)
    maps.max(size, size, t)
    maps.mul(t, size, ERF_P / math.sqrt(2))
    maps.add(t, t, 1.0)
    maps.rcp(t, t)
    maps.mul(p, t, ERF_A[0])
    maps.add(p, p, ERF_A[1])
    for a in ERF_A[2:]:
        maps.fma(p, p, t, a)
    maps.mul(p, p, t)
    maps.mul(t, x, x)
    maps.mul(t, t, -0.5 * LOG2_E)
    maps.exp2(t, t)
    maps.mul(p, p, t)
    maps.mul(p, p, size)
    maps.mul(p, p, 0.5)
    maps.max(x, x, 0.0)
    maps.sub(x, x, p)


_ACTIVATIONS = {
    "none": lambda x: None, "relu": relu, "gelu_tanh": gelu_tanh, "gelu_erf": gelu_erf, "silu": silu,
}  # fmt: skip
