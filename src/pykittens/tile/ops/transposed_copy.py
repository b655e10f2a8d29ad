"""Copies from global memory into LDS that transpose on the way: a K x N window becomes an N x K tile.

For chips and types without transposing LDS reads. A lane loads 8 bytes' worth of neighbouring rows, four columns of
each, turns the block in its registers, and writes 8 bytes of each of four rows of the tile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from ..element_loads import ELEMENT_LOADS, join
from ..expression import Int, below, constant_part, leaf
from ..global_tensor import GlobalTile, gl
from ..global_window import columns_left, descriptor, guard, past_columns
from ..op import Op, Touches
from ..program_inputs import LANE
from ..register_shape import LANES
from ..team import Team
from ..tiles import st
from .global_to_shared import DS_OFFSET_LIMIT, LANE_BYTES, WAVE_BYTES, check_copy, source_element

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

BLOCK_ROWS = 4
"""Rows of the tile, columns of the window, in a lane's block."""
RUN_BYTES = 8
"""Of a row of the tile, in a lane's block."""
BLOCK_REGISTERS = BLOCK_ROWS * RUN_BYTES // 4
WAVE_BLOCKS = (16, 4)
"""Blocks of a wave, down and along the tile: neighbouring lanes' are 4 x 4, which fit the swizzles' banks."""
LOW, HIGH = 0x05040100, 0x07060302
"""Of v_perm_b32: the low (high) halves of two registers, the second one's first."""
LOW_BYTES, HIGH_BYTES = 0x05010400, 0x07030602
"""The low (high) two bytes of each, by turns."""


class TransposedCopy(Op):
    """``load(st, gl.tile(i, j), transposed=True)`` by all waves of the workgroup, or of a team; ``edges`` as in
    `load`. The window's size is that of the tile, rows and columns exchanged.
    """

    name = "load"

    def check(self, tile: st, source: GlobalTile, edges: str = "zero", team: Team | None = None) -> None:
        check_copy(tile, source, edges)
        check_size(tile)

    def touches(self, tile: st, source: GlobalTile, edges: str = "zero", team: Team | None = None) -> Touches:
        return Touches(writes=[tile])

    def lower(
        self, emit: Lowering, tile: st, source: GlobalTile, edges: str = "zero", team: Team | None = None
    ) -> None:  # fmt: skip
        column = source.col * (tile.rows * tile.dtype.bytes)
        base = descriptor(emit, source, tile.cols, column if edges == "any" else 0)
        scalar = emit.uniform_register(column) if edges == "inside" else 0
        team = team or Team(0, emit.waves)
        pieces = tile.bytes // WAVE_BYTES if edges == "zero" else tile.bytes // (LANES * 4 * BLOCK_REGISTERS)
        whole, left = divmod(pieces, team.count)

        def copy(piece: Int) -> None:
            if edges == "zero":
                self._by_element(emit, tile, source, base, piece * WAVE_BYTES)
                return
            with emit.temporary("v", BLOCK_REGISTERS) as block:
                load_block(emit, tile, source.tensor, base, scalar, piece, block)
                store_block(emit, tile, piece, block)

        if edges == "zero":
            # One piece after the other: this path is long and taken once, at a ragged edge.
            emit.repeat(whole, lambda turn: copy(team.member + turn * team.count))
        else:
            for turn in range(whole):
                copy(team.member + turn * team.count)
        if left:
            # Fewer pieces than waves are left: the other waves skip them.
            end = emit.program.new_label("skip")
            with emit.inner():
                emit.branch_unless(below(team.member, left), end)  # type: ignore[arg-type]
                copy(team.member + whole * team.count)
                emit.program.label(end)

    def _by_element(self, emit: Lowering, tile: st, source: GlobalTile, base: Reg, place: Int) -> None:
        """16 bytes of a row of the tile, element by element: a column of the window, any alignment."""
        row, col = source_element(tile, place + LANE * LANE_BYTES)
        tensor, size = source.tensor, tile.dtype.bytes
        first = leaf("column", tensor.name, uniform=False)
        with (
            emit.temporary("v", 4) as data,
            emit.computed(source.col * tile.rows + row) as column,
            columns_left(emit, tensor, column) as left,
        ):
            emit.inputs[first] = column
            with emit.computed(col * tensor.stride + first * size) as along, emit.temporary("v") as offset:
                past_columns(emit, offset, left, 0)
                guard(emit, offset, offset, along)

                def load(index: int, reg: Reg) -> None:
                    if index:
                        emit.ins("v_add_u32", offset, emit.uniform_register(tensor.stride), offset)
                    emit.ins(ELEMENT_LOADS[size], reg, offset, base, 0, offen=True)

                join(emit, data, size, load)
            del emit.inputs[first]
            with emit.computed(place + LANE * LANE_BYTES + tile.offset) as address:
                emit.ins("ds_write_b128", address, data, lds_writes=(tile.name,))

    def reference(
        self, run: Reference, tile: st, source: GlobalTile, edges: str = "zero", team: Team | None = None
    ) -> None:  # fmt: skip
        window = run.global_window(source, tile.cols, tile.rows, 0)
        shared = run.shared(tile)
        shared[:] = 0
        shared[: window.shape[1], : window.shape[0]] = window.T


def wave_size(tile: st) -> tuple[int, int]:
    """Rows and columns of the tile that a wave transposes at a time."""
    return WAVE_BLOCKS[0] * BLOCK_ROWS, WAVE_BLOCKS[1] * RUN_BYTES // tile.dtype.bytes


def check_size(tile: st) -> None:
    """Raise `BuildError` for tiles that waves cannot transpose."""
    if tile.dtype.bits > 16:
        raise BuildError(
            "load-dtype", f"{tile.name} holds {tile.dtype}; 8- and 16-bit tiles are transposed", where=user_line()
        )
    if tile.shape.run_bytes(tile.dtype.bytes) < LANE_BYTES:
        raise BuildError(
            "load-swizzle", f"{tile.name} keeps {tile.shape.run_bytes(tile.dtype.bytes)} bytes of a row together "
            f"({tile.shape.name}), a lane copies {LANE_BYTES}", where=user_line(), fix="use another shared shape",
        )  # fmt: skip
    rows, cols = wave_size(tile)
    if tile.rows % rows or tile.cols % cols:
        raise BuildError(
            "load-size", f"{tile.name} is {tile.rows}x{tile.cols}, a wave transposes {rows}x{cols} at a time",
            where=user_line(), fix=f"use multiples of {rows} rows and {cols} columns",
        )  # fmt: skip


def load_block(emit: Lowering, tile: st, tensor: gl, base: Reg, scalar: Reg | int, piece: Int, regs: Reg) -> None:
    """Load the lanes' blocks of the ``piece``-th part of a tile that is one `wave_size` large."""
    row, col = _corner(tile, piece)
    size = tile.dtype.bytes
    words = BLOCK_ROWS * size // 4
    name = "buffer_load_dwordx2" if words == 2 else "buffer_load_dword"
    first = emit.lane(col * tensor.stride + row * size)
    emit.ins(name, regs[0 : words - 1], first, base, scalar, offen=True)
    with emit.temporary("v") as offset:
        for k in range(1, RUN_BYTES // size):
            emit.ins("v_add_u32", offset, emit.uniform_register(tensor.stride * k), first)
            emit.ins(name, regs[k * words : (k + 1) * words - 1], offset, base, scalar, offen=True)


def store_block(emit: Lowering, tile: st, piece: Int, regs: Reg) -> None:
    """Turn the blocks that `load_block` has loaded, and write them to the tile."""
    row, col = _corner(tile, piece)
    size = tile.dtype.bytes
    for i in range(BLOCK_ROWS):
        place = tile.shape.address(row + i, col, tile.cols, size) + tile.offset
        # What the instruction's 16 bits of offset hold is left out of the address, which other tiles then share.
        near = constant_part(place) % DS_OFFSET_LIMIT
        with emit.temporary("v", 2) as out:
            _gather(emit, out, regs, i, size)
            emit.ins("ds_write_b64", emit.lane(place - near), out, offset=near, lds_writes=(tile.name,))


def _corner(tile: st, piece: Int) -> tuple[Int, Int]:
    """(row, column) in the tile of a lane's block. Lanes 0 to 15 have 4 x 4 blocks, each next sixteen those below."""
    rows, cols = wave_size(tile)
    across = tile.cols // cols
    down = LANE % 4 + LANE // 16 * 4
    return (
        piece // across * rows + down * BLOCK_ROWS,
        piece % across * cols + LANE // 4 % 4 * (RUN_BYTES // tile.dtype.bytes),
    )


def _gather(emit: Lowering, out: Reg, regs: Reg, i: int, size: int) -> None:
    """``out``: element ``i`` of each of the block's runs."""

    def permute(target: Reg, high: Reg, low: Reg, selector: int) -> None:
        emit.ins("v_perm_b32", target, high, low, emit.uniform_register(selector))

    if size == 2:
        for n in range(2):
            low, high = regs[4 * n + i // 2], regs[4 * n + 2 + i // 2]
            permute(out[n], high, low, HIGH if i % 2 else LOW)
        return
    pick = HIGH_BYTES if i // 2 else LOW_BYTES
    with emit.temporary("v") as first:
        for n in range(2):
            a, b, c, d = (regs[4 * n + k] for k in range(4))
            permute(first, b, a, pick)
            permute(out[n], d, c, pick)
            permute(out[n], out[n], first, HIGH if i % 2 else LOW)


transposed_copy = TransposedCopy()
