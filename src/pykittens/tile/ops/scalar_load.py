"""`load_scalar`: one element of a vector in global memory as a run-time number of the whole wave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykittens.asm.program import user_line
from pykittens.errors import BuildError

from ..dtypes import f32, i32
from ..expression import Expr, Int, evaluate, leaf
from ..global_tensor import gl, scalar
from ..op import Op, Touches
from ..trace import current

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference


class ScalarLoad(Op):
    """The element at a uniform index; the index must lie inside the vector."""

    name = "load_scalar"

    def check(self, value: Expr, vector: gl, index: Int, within: Int | None = None) -> None:
        if within is not None and vector.dtype is not i32:
            raise BuildError("load-scalar", f"{vector.name} is {vector.dtype}, within is for i32", where=user_line())
        if vector.rank != 1 or vector.dtype not in (f32, i32):
            raise BuildError(
                "load-scalar", f"{vector.name} is {vector.dtype} of rank {vector.rank}; i32 and f32 vectors have "
                "elements to load", where=user_line(),
            )  # fmt: skip

    def touches(self, value: Expr, vector: gl, index: Int, within: Int | None = None) -> Touches:
        return Touches()

    def lower(self, emit: Lowering, value: Expr, vector: gl, index: Int, within: Int | None = None) -> None:
        out = emit.hold("s", 1)
        offset = emit.uniform_register(index * 4)
        emit.ins("s_load_dword", out, emit.inputs[vector.pointer], offset, offset=0)
        if within is not None:
            emit.ins("s_max_i32", out, out, 0)
            emit.ins("s_min_i32", out, out, emit.uniform(within))
        emit.inputs[value] = out

    def reference(self, run: Reference, value: Expr, vector: gl, index: Int, within: Int | None = None) -> None:
        found = run.tensor(vector)[int(evaluate(index, run.inputs))]
        run.inputs[value] = found if within is None else min(max(found, 0), int(evaluate(within, run.inputs)))


scalar_load = ScalarLoad()


def load_scalar(vector: gl, index: Int, within: Int | None = None) -> Any:
    """``vector[index]``: an integer expression of an i32 vector, a number for maps of an f32 one.

    ``within``: an integer outside of 0 to this one becomes the nearer of the two, so that it may count rows or so.
    """
    trace = current()
    trace.loaded += 1
    value = leaf("loaded", trace.loaded, scope=trace.depth)
    scalar_load(value, vector, index, within)
    if vector.dtype is i32:
        return value
    number = scalar("f32")
    number.name, number.value = f"{vector.name}[{index}]", value
    return number
