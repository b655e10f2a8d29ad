"""DPP: which lane each lane reads its first source from, and which lanes have no source (ISA manual, "DPP")."""

from __future__ import annotations

from .types import u64
from .value import Value

LANES = 64
_ROW = 16


def source_lanes(control: tuple[object, ...]) -> tuple[int | None, ...]:
    """For each lane the one it reads, None outside; ``control`` as in the modifier ``dpp_ctrl``."""
    kind, *numbers = control
    n = [int(x) for x in numbers if isinstance(x, int)]
    return tuple(_source(str(kind), n, lane) for lane in range(LANES))


def _source(kind: str, n: list[int], lane: int) -> int | None:
    row, place = lane & ~(_ROW - 1), lane % _ROW
    if kind == "quad_perm":
        return (lane & ~3) + n[lane & 3]
    if kind == "row_shl":
        return lane + n[0] if place + n[0] < _ROW else None
    if kind == "row_shr":
        return lane - n[0] if place >= n[0] else None
    if kind == "row_ror":
        return row + (place - n[0]) % _ROW
    if kind == "row_mirror":
        return row + _ROW - 1 - place
    if kind == "row_half_mirror":
        return (lane & ~7) + 7 - (lane & 7)
    if kind == "row_newbcast":
        return row + n[0]
    if kind == "row_bcast":
        # The last lane of a row (15) or of a pair of rows (31) goes to the lanes of the next one.
        size = n[0] + 1
        return (lane // size) * size - 1 if lane >= size else None
    moved = lane + {"wave_shl": 1, "wave_rol": 1, "wave_shr": -1, "wave_ror": -1}[kind]
    if kind in ("wave_rol", "wave_ror"):
        return moved % LANES
    return moved if 0 <= moved < LANES else None


def enabled_lanes(row_mask: int, bank_mask: int) -> tuple[bool, ...]:
    """The lanes that the row and bank masks leave on: bank b of a row is its lanes 4b to 4b+3."""
    return tuple(bool(row_mask >> (i // _ROW) & 1 and bank_mask >> (i % _ROW // 4) & 1) for i in range(LANES))


def constant_mask(like: Value, lanes: tuple[bool, ...]) -> Value:
    """u1 lanes that do not depend on the wave."""
    return like.const(sum(1 << i for i, on in enumerate(lanes) if on), u64).mask_lanes()
