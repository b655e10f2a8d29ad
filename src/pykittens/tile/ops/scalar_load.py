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

    def check(self, value: Expr, vector: gl, index: Int) -> None:
        if vector.rank != 1 or vector.dtype not in (f32, i32):
            raise BuildError(
                "load-scalar", f"{vector.name} is {vector.dtype} of rank {vector.rank}; i32 and f32 vectors have "
                "elements to load", where=user_line(),
            )  # fmt: skip

    def touches(self, value: Expr, vector: gl, index: Int) -> Touches:
        return Touches()

    def lower(self, emit: Lowering, value: Expr, vector: gl, index: Int) -> None:
        out = emit.hold("s", 1)
        offset = emit.uniform_register(index * 4)
        emit.ins("s_load_dword", out, emit.inputs[vector.pointer], offset, offset=0)
        emit.inputs[value] = out

    def reference(self, run: Reference, value: Expr, vector: gl, index: Int) -> None:
        run.inputs[value] = run.tensor(vector)[int(evaluate(index, run.inputs))]


scalar_load = ScalarLoad()


def load_scalar(vector: gl, index: Int) -> Any:
    """``vector[index]``: an integer expression of an i32 vector, a number for maps of an f32 one."""
    trace = current()
    trace.loaded += 1
    value = leaf("loaded", trace.loaded, scope=trace.depth)
    scalar_load(value, vector, index)
    if vector.dtype is i32:
        return value
    number = scalar("f32")
    number.name, number.value = f"{vector.name}[{index}]", value
    return number
