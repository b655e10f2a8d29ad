"""Reads of LDS into register tiles: the widest access that every lane's elements allow, transposing ones on gfx950.

Which access is right follows from the two layouts themselves: the addresses of a lane's neighbouring elements are compared for
all lanes at build time, so a pair of shapes is read correctly or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pykittens.arch import get as arch_of
from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from ..expression import Int, evaluate, leaves
from ..op import Op, Touches
from ..program_inputs import LANE
from ..tiles import SharedView, rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

DS_OFFSET_LIMIT = 65536
_READS = {16: "ds_read_b128", 8: "ds_read_b64", 4: "ds_read_b32"}


class SharedToRegister(Op):
    """Every wave reads the view it names (``subtile(..., wave.row, ...)``) into its registers."""

    name = "load"

    def check(self, tile: rt, view: SharedView) -> None:  # type: ignore[override]
        where = user_line()
        if (tile.rows, tile.cols) != (view.rows, view.cols):
            raise BuildError(
                "load-shape", f"{tile.name} is {tile.rows}x{tile.cols}, the shared tile is {view.rows}x{view.cols}", where=where
            )
        if tile.dtype is not view.tile.dtype:
            raise BuildError(
                "load-dtype", f"{tile.name} holds {tile.dtype}, {view.tile.name} holds {view.tile.dtype}", where=where
            )

    def touches(self, tile: rt, view: SharedView) -> Touches:  # type: ignore[override]
        return Touches(reads=[view.tile], writes=[tile])

    def lower(self, emit: Lowering, tile: rt, view: SharedView) -> None:  # type: ignore[override]
        for i in range(tile.grid[0]):
            for j in range(tile.grid[1]):
                row, col = view.row + i * tile.shape.rows, view.col + j * tile.shape.cols
                _read_base(emit, tile, view, row, col, tile.base(i, j))

    def reference(self, run: Reference, tile: rt, view: SharedView) -> None:  # type: ignore[override]
        registers = run.registers(tile)
        for wave in range(run.waves):
            registers[wave] = run.window(view, wave)


def _read_base(emit: Lowering, tile: rt, view: SharedView, row: Int, col: Int, regs: Reg) -> None:
    """One base tile at (row, col) of the shared tile."""
    size, count = tile.dtype.bytes, tile.shape.elements
    addresses = [view.tile.address(*_element(tile, row, col, e)) for e in range(count)]
    width = next((w for w in (16, 8, 4) if w <= count * size and _contiguous(addresses, size, w)), 0)
    if width:
        for first in range(0, count, width // size):
            dword = first * size // 4
            _read(emit, view, _READS[width], regs[dword : dword + width // 4 - 1] if width > 4 else regs[dword], addresses[first])
    elif size == 2 and arch_of(emit.arch).transposing_lds_reads and _transposing(emit, tile, view, row, col, regs):
        return
    elif size == 2:
        for e, address in enumerate(addresses):
            _read(emit, view, "ds_read_u16_d16_hi" if e % 2 else "ds_read_u16", regs[e // 2], address)
    else:
        raise BuildError(
            "load-layout", f"{tile.name} ({tile.dtype}, {tile.layout}, {tile.shape.name}) cannot be read from {view.tile.name}"
        )


def _element(tile: rt, row: Int, col: Int, index: int) -> tuple[Int, Int]:
    """(row, column) in the shared tile of a lane's element, for all lanes at once."""
    shape = tile.shape
    step, rest = divmod(index, shape.stride)
    across = shape.rows if tile.layout == "row" else shape.cols
    along = LANE // across * shape.stride + (step * (64 // across) * shape.stride + rest)
    return (row + LANE % across, col + along) if tile.layout == "row" else (row + along, col + LANE % across)


def _lanes(address: Int) -> np.ndarray:
    """An address in every lane, with the uniform parts (whole subtiles) at zero."""
    inputs = {leaf: np.int64(0) for leaf in leaves(address)} | {LANE: np.arange(64)}
    return np.broadcast_to(np.asarray(evaluate(address, inputs)), 64)


def _contiguous(addresses: list[Int], size: int, width: int) -> bool:
    """Whether each ``width`` bytes of elements lie together and aligned in LDS, in every lane."""
    per = width // size
    values = np.stack([_lanes(a) for a in addresses]).reshape(-1, per, 64)
    expected = values[:, :1] + np.arange(per)[None, :, None] * size
    return bool((values == expected).all() and (values[:, 0] % width == 0).all())


def _transposing(emit: Lowering, tile: rt, view: SharedView, row: Int, col: Int, regs: Reg) -> bool:
    """Column layout by ds_read_b64_tr_b16: 16 lanes exchange 4 x 4 elements, so each lane reads along a row (gfx950).

    Lane 16g + q reads the four columns from 16g + 4*(q%4) in the row of the destination's element q//4 of the piece
    (hazards.md section 6 of the facts; measured).
    """
    shape = tile.shape
    if tile.layout != "col" or shape.cols < 16 or shape.stride % 4:
        return False
    pieces: list[tuple[int, Int]] = []
    for first in range(0, shape.elements, 4):
        step, rest = divmod(first, shape.stride)
        along = LANE // shape.cols * shape.stride + (step * (64 // shape.cols) * shape.stride + rest)
        source_row = row + along + LANE % 16 // 4
        source_col = col + (LANE // 16 * 16 + LANE % 4 * 4) % shape.cols
        parts = [view.tile.address(source_row, source_col + j) for j in range(4)]
        if not _contiguous(parts, 2, 8):
            return False
        pieces.append((first, parts[0]))
    for first, address in pieces:
        _read(emit, view, "ds_read_b64_tr_b16", regs[first // 2 : first // 2 + 1], address)
    return True


def _read(emit: Lowering, view: SharedView, name: str, regs: Reg, address: Int) -> None:
    """One DS read; the build-time part of the address goes into the instruction."""
    constant = address if isinstance(address, int) else address.args[1] if address.op == "affine" else 0
    if not 0 <= constant < DS_OFFSET_LIMIT:  # type: ignore[operator]
        constant = 0
    rest = address - constant  # type: ignore[operator]
    emit.ins(name, regs, emit.lane(rest), offset=constant, lds_reads=(view.tile.name,))


shared_to_register = SharedToRegister()
