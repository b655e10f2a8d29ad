"""Access patterns of a shared tile: what each lane asks for, before any swizzle, and what that demands of one.

A swizzle is judged by linear algebra over GF(2). All shapes are powers of two, so the row-major offset of a lane is a
linear function of the lane's bits (and a constant), and the lanes of a phase are a coset of a linear space. The dwords
of a phase then are a coset of a space W of offset bits, and a linear swizzle S sends them to different banks if and
only if the bank bits of S are injective on W. In general a phase takes 2^(dim W - rank) passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pykittens.arch import Arch
from pykittens.arch.lds_banks import known_word, natural_alignment, source_of
from pykittens.arch.lds_phases import LdsAccess
from pykittens.errors import InputError, Unsupported

from . import register_shape
from .register_shape import LANES
from .shared_pieces import Access, Piece, SharedLayout, read_pieces, write_pieces
from .shared_shape import SharedShape
from .swizzle_family import Masks

DWORD_BITS = 2
"""Offset bits inside a dword."""


@dataclass(frozen=True)
class Demand:
    """What conflict freedom asks of one phase: the space ``basis`` (offset bits as masks) must fit ``bank_bits`` banks.

    Bank bits are offset bits 2 to ``bank_bits`` + 1. Basis vectors are independent.
    """

    basis: tuple[int, ...]
    bank_bits: int

    @property
    def banks(self) -> range:
        """The bank bits."""
        return range(DWORD_BITS, DWORD_BITS + self.bank_bits)

    def has(self, bit: int) -> bool:
        """Whether this is one of its bank bits."""
        return bit in self.banks

    def row(self, mask: int) -> int:
        """The parity of the offset bits in ``mask`` as a functional: bit i is its value on basis vector i."""
        return sum((bin(mask & vector).count("1") & 1) << i for i, vector in enumerate(self.basis))

    def beyond(self, span: list[int], left: Sequence[int]) -> bool:
        """Whether functionals that span this much cannot become injective with those of the bank bits in ``left``."""
        return len(span) + sum(map(self.has, left)) < len(self.basis)

    def passes(self, masks: Masks) -> int:
        """Passes of a phase under a swizzle."""
        rank = len(independent(self.row(1 << bit | masks.get(bit, 0)) for bit in self.banks))
        return 1 << (len(self.basis) - rank)


@dataclass(frozen=True)
class Pattern:
    """One kind of access to a shared tile.

    ``what`` names it. ``offsets`` are the lanes' byte offsets without a swizzle, one row of 64 for each instruction;
    none if LDS is written in lane order, which no swizzle of the source changes. ``lane_bytes`` must lie together.
    """

    what: str
    access: LdsAccess
    lane_bytes: int
    offsets: tuple[tuple[int, ...], ...]

    @property
    def known(self) -> str:
        """``measured``, ``published`` or ``assumed``: how well its banks and phases are known."""
        return known_word(source_of(self.access))

    def demands(self) -> tuple[Demand, ...]:
        """What its instructions ask for, each thing once. Raises Unsupported for offsets not linear in the lane."""
        phase = _phase_space(self.access)
        return tuple(dict.fromkeys(self._demand(offsets, phase) for offsets in self.offsets))

    def passes(self, masks: Masks) -> int:
        """Passes of its worst phase under a swizzle."""
        return max((demand.passes(masks) for demand in self.demands()), default=1)

    def _demand(self, offsets: Sequence[int], phase: list[int]) -> Demand:
        units = [offsets[1 << bit] ^ offsets[0] for bit in range(LANES.bit_length() - 1)]
        if any(offsets[lane] != offsets[0] ^ _apply(units, lane) for lane in range(LANES)):
            raise Unsupported("swizzle-pattern", f"{self.what}: offsets are not linear in the lane's bits")
        if any(offset % natural_alignment(self.lane_bytes) for offset in offsets):
            raise Unsupported("swizzle-pattern", f"{self.what}: offsets are not aligned to {self.lane_bytes} bytes")
        inside = [1 << bit for bit in range(DWORD_BITS, natural_alignment(self.lane_bytes).bit_length() - 1)]
        vectors = [_apply(units, lane) >> DWORD_BITS << DWORD_BITS for lane in phase]
        return Demand(tuple(independent([*inside, *vectors])), self.access.banks.bit_length() - 1)


def independent(vectors: Iterable[int]) -> list[int]:
    """The vectors (bit masks) that are no sum of those before them."""
    kept: list[int] = []
    reduced: list[int] = []
    for vector in vectors:
        rest = vector
        for other in reduced:
            rest = min(rest, rest ^ other)
        if rest:
            kept.append(vector)
            reduced.append(rest)
    return kept


def _apply(units: list[int], lane: int) -> int:
    """The linear function of a lane whose values at the lane's single bits are ``units``."""
    value = 0
    for bit, unit in enumerate(units):
        if lane >> bit & 1:
            value ^= unit
    return value


def _phase_space(access: LdsAccess) -> list[int]:
    """A basis of the lanes that are served with lane 0. Raises Unsupported if the phases are not its cosets."""
    first = next(set(phase) for phase in access.phases if 0 in phase)
    if any({lane ^ phase[0] for lane in phase} != first for phase in access.phases) or any(
        a ^ b not in first for a in first for b in first
    ):
        raise Unsupported("swizzle-phases", f"the phases of {access.name} are no cosets of a linear space of lanes")
    return independent(sorted(first))


def register_read(
    arch: Arch, register: str, layout: str, shared: tuple[int, int], size: int = 2, lane_bytes: int | None = None
) -> Pattern:
    """Reads of a register base shape from subtiles of ``shared`` rows and columns, elements of ``size`` bytes.

    The widest access that the unswizzled tile allows, or ``lane_bytes`` of it.
    """
    tile, pieces = _pieces(register, shared, size)
    shape = register_shape.get(register)
    found = [
        piece for row, col in tile for piece in read_pieces(shape, layout, pieces, row, col, arch.transposing_lds_reads)
    ]
    return _pattern(arch, f"rt_{register} {layout}", found, lane_bytes)


def register_write(
    arch: Arch, register: str, layout: str, shared: tuple[int, int], size: int = 2, lane_bytes: int | None = None
) -> Pattern:
    """Writes of a register base shape to subtiles of ``shared`` rows and columns; otherwise as `register_read`."""
    tile, pieces = _pieces(register, shared, size)
    shape = register_shape.get(register)
    return _pattern(
        arch,
        f"rt_{register} {layout}",
        [p for row, col in tile for p in write_pieces(shape, layout, pieces, row, col)],
        lane_bytes,
    )


def lane_order_copy(arch: Arch, lane_bytes: int = 16) -> Pattern:
    """Copies from global memory that fill LDS in lane order, directly or by DS writes of registers."""
    if lane_bytes not in (4, 8, 16):
        raise InputError("swizzle-copy", f"a copy of {lane_bytes} bytes a lane", fix="use 4, 8 or 16")
    return Pattern(f"copy of {lane_bytes} bytes a lane", arch.lds_access("write", lane_bytes), lane_bytes, ())


def custom(
    arch: Arch, what: str, direction: str, lane_bytes: int, offsets: Sequence[Sequence[int]] | np.ndarray
) -> Pattern:
    """A pattern from the lanes' offsets themselves: (instructions, 64) bytes, row-major and without a swizzle."""
    table = np.asarray(offsets)
    if table.ndim != 2 or table.shape[1] != LANES:
        raise InputError(
            "swizzle-pattern", f"offsets of {what} have shape {table.shape}, (instructions, {LANES}) is needed"
        )
    access = arch.lds_access(direction, lane_bytes)  # type: ignore[arg-type]
    return Pattern(what, access, lane_bytes, tuple(tuple(map(int, row)) for row in table))


def _pieces(register: str, shared: tuple[int, int], size: int) -> tuple[list[tuple[int, int]], SharedLayout]:
    """Corners of the base tiles in the smallest tile that both shapes divide, and its layout without a swizzle."""
    shape = register_shape.get(register)
    rows, cols = max(shape.rows, shared[0]), max(shape.cols, shared[1])
    corners = [(row, col) for row in range(0, rows, shape.rows) for col in range(0, cols, shape.cols)]
    return corners, SharedLayout(SharedShape(f"{shared[0]}x{shared[1]}", *shared), cols, size)


def _pattern(arch: Arch, what: str, pieces: list[Piece], lane_bytes: int | None) -> Pattern:
    access = pieces[0].access
    wide, width = access.lane_bytes, lane_bytes or access.lane_bytes
    if width > wide or wide % width or (width != wide and access.direction == "transpose"):
        raise InputError("swizzle-width", f"{what}: {width} bytes a lane, the elements allow {wide}")
    narrow = Access(access.direction, width, 0, access.count * width // wide)
    offsets = {tuple(int(a) + part for a in piece.lanes()) for piece in pieces for part in range(0, wide, width)}
    return Pattern(
        f"{narrow.mnemonic} of {what}", arch.lds_access(access.direction, width), width, tuple(sorted(offsets))
    )
