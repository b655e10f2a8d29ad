"""`staging`: a shared tile on its way in registers. Loaded from global memory early, stored to LDS when its turn comes.

This is double buffering for chips whose LDS holds one K-tile only: the next one waits in registers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from ..expression import Int, constant_part
from ..global_tensor import GlobalTile
from ..global_window import descriptor
from ..op import Op, Touches
from ..program_inputs import LANE, WAVE
from ..register_shape import LANES
from ..tiles import Registers, st
from ..trace import current
from .global_to_shared import DS_OFFSET_LIMIT, LANE_BYTES, WAVE_BYTES, global_to_shared, source_element
from .transposed_copy import BLOCK_REGISTERS, load_block, store_block, transposed_copy

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

PIECE_REGISTERS = LANE_BYTES // 4


class staging(Registers):
    """Registers for one shared tile (or another like it), spread over all waves of the workgroup.

    ``transposed``: what is loaded is the transpose of a window, turned on its way to LDS (see transposed_copy.py).
    """

    def __init__(
        self, tile: st, *, name: str | None = None, regs: Reg | tuple[Reg, ...] | None = None, transposed: bool = False
    ) -> None:  # fmt: skip
        self._placed("vgpr", regs)
        trace = current()
        self.name = name or f"staging{len(trace.registers)}"
        self.tile, self.dtype, self.rows, self.cols = tile, tile.dtype, tile.rows, tile.cols
        self.transposed, self.registers_of_piece = transposed, BLOCK_REGISTERS if transposed else PIECE_REGISTERS
        together = trace.wave_count * LANES * 4 * self.registers_of_piece
        self.pieces, left = divmod(tile.bytes, together)
        if left:
            raise BuildError(
                "staging-size", f"{tile.name} has {tile.bytes} bytes, {trace.wave_count} waves stage multiples of "
                f"{together}", where=self.where,
            )  # fmt: skip
        trace.registers.append(self)

    @property
    def register_count(self) -> int:
        """32-bit registers, per lane."""
        return self.pieces * self.registers_of_piece

    @property
    def description(self) -> str:
        """What the register map says of it."""
        return f"{self.dtype} {self.rows}x{self.cols} staged for LDS"

    def piece(self, index: int) -> Reg:
        """The registers of the ``index``-th 16 bytes, or block, of a lane."""
        return self.registers_from(index * self.registers_of_piece, self.registers_of_piece)

    def fits(self, tile: st) -> bool:
        """Whether it can be stored to this tile."""
        own = self.tile
        return (own.dtype, own.rows, own.cols, own.shape) == (tile.dtype, tile.rows, tile.cols, tile.shape)

    def places(self, waves: int) -> list[Int]:
        """Byte in the tile of each piece of 16 bytes, without 16 * lane."""
        return [WAVE * WAVE_BYTES + i * waves * WAVE_BYTES for i in range(self.pieces)]


class GlobalToStaging(Op):
    """``load(staging, gl.tile(i, j), edges="inside")``: each lane its 16-byte pieces of the tile, as LDS has them."""

    name = "load"

    def check(self, staged: staging, source: GlobalTile, edges: str) -> None:
        if edges not in ("inside", "any"):
            raise BuildError("edges", f"edges is {edges!r}", where=user_line(), fix="stage with 'inside' or 'any'")
        (transposed_copy if staged.transposed else global_to_shared).check(staged.tile, source, edges)

    def touches(self, staged: staging, source: GlobalTile, edges: str) -> Touches:
        return Touches(writes=[staged])

    def lower(self, emit: Lowering, staged: staging, source: GlobalTile, edges: str) -> None:
        tile = staged.tile
        rows, cols = (tile.cols, tile.rows) if staged.transposed else (tile.rows, tile.cols)
        column = source.col * (cols * tile.dtype.bytes)
        base = descriptor(emit, source, rows, column if edges == "any" else 0)
        scalar = emit.uniform_register(column) if edges == "inside" else 0
        if staged.transposed:
            for i in range(staged.pieces):
                load_block(emit, tile, source.tensor, base, scalar, WAVE + i * emit.waves, staged.piece(i))
            return
        for i, place in enumerate(staged.places(emit.waves)):
            row, col = source_element(tile, place + LANE * LANE_BYTES)
            offset = emit.lane(row * source.tensor.stride + col * tile.dtype.bytes)
            emit.ins("buffer_load_dwordx4", staged.piece(i), offset, base, scalar, offen=True)

    def reference(self, run: Reference, staged: staging, source: GlobalTile, edges: str) -> None:
        held = run.registers(staged)
        if staged.transposed:
            window = run.global_window(source, staged.cols, staged.rows, 0).T
        else:
            window = run.global_window(source, staged.rows, staged.cols, 0)
        held[:] = 0
        held[:, : window.shape[0], : window.shape[1]] = window


class StagingToShared(Op):
    """``store(st, staging)``: all waves write what they hold; a wait and a barrier must follow before it is read."""

    name = "store"

    def check(self, tile: st, staged: staging) -> None:
        if not staged.fits(tile):
            raise BuildError(
                "store-shape", f"{staged.name} is not staged for tiles like {tile.name}", where=user_line()
            )

    def touches(self, tile: st, staged: staging) -> Touches:
        return Touches(reads=[staged], writes=[tile])

    def lower(self, emit: Lowering, tile: st, staged: staging) -> None:
        if staged.transposed:
            for i in range(staged.pieces):
                store_block(emit, tile, WAVE + i * emit.waves, staged.piece(i))
            return
        for i, place in enumerate(staged.places(emit.waves)):
            constant = constant_part(place) + tile.offset
            # The instruction's offset has 16 bits; what lies beyond goes into the address.
            far = constant // DS_OFFSET_LIMIT * DS_OFFSET_LIMIT
            address = emit.lane(WAVE * WAVE_BYTES + LANE * LANE_BYTES + far)
            emit.ins("ds_write_b128", address, staged.piece(i), offset=constant - far, lds_writes=(tile.name,))

    def reference(self, run: Reference, tile: st, staged: staging) -> None:
        run.shared(tile)[:] = run.registers(staged)[0]


global_to_staging = GlobalToStaging()
staging_to_shared = StagingToShared()
