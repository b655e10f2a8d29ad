"""Windows of global tensors: buffer descriptors whose range ends exactly with the data, and addresses inside them.

A descriptor's range check sees the per-lane offset only, not the scalar offset, so what must be checked goes into the
former. 64-bit arithmetic places the window's first row, so tensors may be larger than 4 GiB; a window may not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pykittens.isa.registers import Reg

from .expression import Expr, Int, below, maximum, minimum, select
from .expression_code import Parts, uniform_code
from .global_tensor import GlobalTile, gl

if TYPE_CHECKING:
    from .lowering import Lowering

# Raw buffer, 32-bit data format: bounds are checked in bytes (hazards.md section 5 of the facts; manual).
DESCRIPTOR_WORD3 = 0x00020000
OUT_OF_RANGE = -(1 << 31)
"""The sign: a per-lane offset that has it is one that no window reaches; loads give 0, stores are dropped."""


def descriptor(emit: Lowering, tile: GlobalTile, rows: int, column_bytes: Int) -> Reg:
    """Four SGPRs for ``rows`` rows from row ``tile.row * rows``, starting ``column_bytes`` into the row.

    The range ends after the last column of the last row that exists.
    """
    tensor = tile.tensor
    first = tile.row * rows
    height = minimum(tensor.rows - first, rows)
    size = select(below(first, tensor.rows), (height - 1) * tensor.stride + row_bytes(tensor), 0)
    size = maximum(size - column_bytes, 0)
    start_row = tensor.first_row + first
    depth = max(map(scope_of, (start_row, column_bytes, size, tensor.batch)))
    key = ("descriptor", tensor.name, tensor.batch, start_row, tensor.stride, column_bytes, size)

    def build(reg: Reg) -> None:
        pointer, stride = emit.inputs[tensor.pointer], emit.uniform_register(tensor.stride)
        # What only this descriptor needs is not kept: loops that make several have few SGPRs left.
        extra = emit.uniform(column_bytes)
        with emit.temporary("s") as low, emit.temporary("s") as high, Parts(emit, start_row) as parts:
            start = parts.uniform_register(start_row)
            emit.ins("s_mul_i32", low, start, stride)
            emit.ins("s_mul_hi_u32", high, start, stride)
            if extra != 0:
                emit.ins("s_add_u32", low, low, extra)
                emit.ins("s_addc_u32", high, high, 0)
            emit.ins("s_add_u32", reg[0], pointer[0], low)
            emit.ins("s_addc_u32", reg[1], pointer[1], high)
            if tensor.batch_stride is not None:
                batch, step = emit.uniform_register(tensor.batch), emit.inputs[tensor.batch_stride]
                emit.ins("s_mul_i32", low, batch, step[0])
                emit.ins("s_add_u32", reg[0], reg[0], low)
                emit.ins("s_mul_hi_u32", high, batch, step[0])
                emit.ins("s_addc_u32", reg[1], reg[1], high)
                emit.ins("s_mul_i32", high, batch, step[1])
                emit.ins("s_add_u32", reg[1], reg[1], high)
            emit.ins("s_and_b32", reg[1], reg[1], 0xFFFF)
            if isinstance(size, Expr):
                uniform_code(emit, size, reg[2])
            else:
                emit.ins("s_mov_b32", reg[2], size)
            emit.ins("s_mov_b32", reg[3], DESCRIPTOR_WORD3)

    return emit.keep(key, depth, "s", 4, build, align=4)


def row_bytes(tensor: gl) -> Int:
    """Bytes of a row's elements, without the gap that the stride may leave."""
    return tensor.cols * tensor.dtype.bytes


def scope_of(value: Int) -> int:
    """The loop depth at which a value is known."""
    return value.scope if isinstance(value, Expr) else 0


@contextmanager
def columns_left(emit: Lowering, tensor: gl, column: Reg) -> Iterator[Reg]:
    """A lane's columns from ``column`` on: none or fewer where that does not exist itself."""
    with emit.temporary("v") as left:
        emit.ins("v_sub_u32", left, emit.uniform_register(tensor.cols), column)
        yield left


def past_columns(emit: Lowering, out: Reg, left: Reg, further: int) -> None:
    """The sign of ``out`` is set where the column ``further`` on does not exist; see `guard`."""
    emit.ins("v_subrev_u32", out, further + 1, left)


def guard(emit: Lowering, out: Reg, past: Reg, offset: Reg) -> None:
    """``out`` = ``offset``, out of range in the lanes where ``past`` (`past_columns`) is negative."""
    emit.ins("v_and_or_b32", out, past, emit.uniform_register(OUT_OF_RANGE), offset)
