"""What each pair of register and shared shape costs: the instructions that move a base tile and their conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pykittens.arch import Arch
from pykittens.arch.lds_banks import BankReport, bank_report

from .register_shape import RegisterShape
from .shared_pieces import Piece, SharedLayout, read_pieces, write_pieces
from .shared_shape import SharedShape


@dataclass(frozen=True)
class Move:
    """One LDS instruction of a base tile: LDS byte address of each lane (64,), and what it costs."""

    mnemonic: str
    lane_bytes: int
    addresses: np.ndarray
    report: BankReport


@dataclass(frozen=True)
class PairCost:
    """The instructions between a register base shape and a shared tile that both divide, base tile by base tile."""

    direction: Literal["read", "write"]
    register: RegisterShape
    layout: str
    shared: SharedShape
    size: int
    tile: tuple[int, int]
    moves: tuple[Move, ...]

    @property
    def degree(self) -> int:
        """Passes of the worst phase: 1 is free of bank conflicts."""
        return max(move.report.degree for move in self.moves)

    @property
    def mnemonics(self) -> tuple[str, ...]:
        """The instructions that occur, each once."""
        return tuple(dict.fromkeys(move.mnemonic for move in self.moves))

    @property
    def passes_per_base(self) -> float:
        """Passes to move one base tile, conflicts included: the mean over the base tiles."""
        bases = self.tile[0] // self.register.rows * (self.tile[1] // self.register.cols)
        return sum(move.report.passes for move in self.moves) / bases

    @property
    def known(self) -> str:
        """The weakest word for how the banks and phases are known: measured, published, assumed."""
        order = ("measured", "manual", "llvm", "published", "assumed")
        return max((move.report.known for move in self.moves), key=order.index)


def pair_cost(
    arch: Arch,
    direction: Literal["read", "write"],
    register: RegisterShape,
    layout: str,
    shared: SharedShape,
    size: int = 2,
) -> PairCost:
    """Read or write all base tiles of the smallest tile that both shapes divide; elements of ``size`` bytes.

    Raises BuildError for a register shape without this layout and for elements that no access can move.
    """
    rows, cols = max(register.rows, shared.rows), max(register.cols, shared.cols)
    where = SharedLayout(shared, cols, size)
    moves = []
    for row in range(0, rows, register.rows):
        for col in range(0, cols, register.cols):
            if direction == "read":
                pieces = read_pieces(register, layout, where, row, col, arch.transposing_lds_reads)
            else:
                pieces = write_pieces(register, layout, where, row, col)
            moves += [_move(arch, piece) for piece in pieces]
    return PairCost(direction, register, layout, shared, size, (rows, cols), tuple(moves))


def _move(arch: Arch, piece: Piece) -> Move:
    access, addresses = piece.access, piece.lanes()
    report = bank_report(arch, access.direction, access.lane_bytes, addresses)
    return Move(access.mnemonic, access.lane_bytes, addresses, report)
