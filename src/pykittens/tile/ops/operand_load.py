"""Loads of MFMA operands straight from global memory into registers, VGPRs or AGPRs, in the tensor's own dtype."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from ..element_loads import load_row
from ..expression import Int
from ..global_tensor import GlobalTile
from ..global_window import descriptor
from ..op import Op, Touches
from ..program_inputs import LANE
from ..tiles import rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

_LOADS = {4: "buffer_load_dword", 8: "buffer_load_dwordx2", 16: "buffer_load_dwordx4"}


class OperandLoad(Op):
    """``load(tile, gl.tile(i, j), edges=…)``: each wave its own window, rows along K (row layout).

    ``"inside"``: all columns exist and rows are 4-byte aligned; a lane's neighbours come at once. ``"zero"``: element
    by element, any alignment, columns beyond the tensor are 0.
    """

    name = "load"

    def check(self, tile: rt, source: GlobalTile, edges: str = "zero") -> None:
        where = user_line()
        if edges not in ("inside", "zero"):
            raise BuildError("edges", f"edges is {edges!r}", where=where, fix="use 'inside' or 'zero'")
        if tile.dtype is not source.tensor.dtype:
            raise BuildError(
                "load-dtype", f"{tile.name} holds {tile.dtype}, {source.tensor.name} holds {source.tensor.dtype}",
                where=where,
            )  # fmt: skip
        if tile.layout != "row" or tile.shape.stride * tile.dtype.bytes not in _LOADS:
            raise BuildError(
                "load-layout", f"{tile.name} is {tile.layout} {tile.shape.name}, whose lanes hold no whole "
                "registers of a row", where=where, fix="go through LDS",
            )  # fmt: skip
        if edges == "zero" and tile.file != "vgpr":
            raise BuildError("load-file", f"{tile.name} is in AGPRs, elements are joined in VGPRs", where=where)

    def touches(self, tile: rt, source: GlobalTile, edges: str = "zero") -> Touches:
        return Touches(writes=[tile])

    def lower(self, emit: Lowering, tile: rt, source: GlobalTile, edges: str = "zero") -> None:
        tensor, size = source.tensor, tile.dtype.bytes
        base = descriptor(emit, source, tile.rows, 0)
        if edges == "inside":
            scalar = emit.uniform_register(source.col * (tile.cols * size))
            for row, column, reg in _runs(tile):
                offset = emit.lane(row * tensor.stride + column * size)
                emit.ins(_LOADS[4 * reg.count], reg, offset, base, scalar, offen=True)
            return
        for row, column, reg in _runs(tile):
            load_row(emit, tensor, base, row * tensor.stride, source.col * tile.cols + column, reg)

    def reference(self, run: Reference, tile: rt, source: GlobalTile, edges: str = "zero") -> None:
        registers = run.registers(tile)
        for wave in range(run.waves):
            window = run.global_window(source, tile.rows, tile.cols, wave)
            registers[wave] = 0
            registers[wave, : window.shape[0], : window.shape[1]] = window


def _runs(tile: rt) -> Iterator[tuple[Int, Int, Reg]]:
    """(row, column) in the tile of each run of neighbours that a lane holds, and its registers."""
    shape = tile.shape
    registers = shape.stride * tile.dtype.bytes // 4
    for i in range(tile.grid[0]):
        for j in range(tile.grid[1]):
            for run in range(shape.elements // shape.stride):
                row, col = shape.element("row", LANE, run * shape.stride)
                first = run * registers
                yield row + i * shape.rows, col + j * shape.cols, tile.base(i, j)[first : first + registers - 1]


operand_load = OperandLoad()
