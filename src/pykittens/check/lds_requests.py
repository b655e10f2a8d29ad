"""What an executed instruction asks of the LDS: direction, width and byte addresses of each request it makes.

Instructions are known by their definitions. FLAT accesses that fall into the LDS aperture are not followed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pykittens.arch.lds_banks import Direction
from pykittens.isa.define import Access
from pykittens.isa.instruction import Instruction

LANES = 64
M0_BASE = 0xFFFF
"""Bits of M0 that DS instructions without an address register start from."""
M0_COPY_BASE = 0x3FFFF
"""Bits of M0 that copies to LDS start from."""


@dataclass(frozen=True)
class Request:
    """One address a lane: ``addresses`` int (n, 64) for n executions, and which lanes are ``active``, bool (n, 64)."""

    direction: Direction
    lane_bytes: int
    addresses: np.ndarray
    active: np.ndarray


def uses_lds(instruction: Instruction) -> bool:
    """Whether it reads or writes LDS memory; lane permutations use only its crossbar."""
    access = instruction.definition.access
    return access is not None and (
        _is_copy(instruction, access) or (access.space == "lds" and access.kind in _DIRECTIONS)
    )


def lds_requests(
    instruction: Instruction, address: np.ndarray | None, m0: np.ndarray, active: np.ndarray, copy_stride: int
) -> list[Request]:
    """The LDS requests of n executions, in the order in which they are served; none if it uses no LDS memory.

    ``address``: the address register, (n, 64), None if the instruction has none; ``m0``: (n,); ``active``: (n, 64);
    ``copy_stride``: bytes from lane to lane of copies of 12 and 16 bytes (`Arch.load_to_lds_wide_stride`). Two-address
    forms make two requests; LDS atomics count as writes, append and consume as one lane's.
    """
    access = instruction.definition.access
    if access is None or not uses_lds(instruction):
        return []
    offset = int(str(instruction.modifiers.get("offset", 0)))
    lanes = np.arange(LANES)
    start = np.asarray(m0, np.int64)[:, None]
    if _is_copy(instruction, access):
        step = copy_stride if access.bytes > 4 else 4
        return [Request("write", access.bytes, (start & M0_COPY_BASE) + offset + step * lanes, active)]
    direction: Direction = "transpose" if access.transpose else _DIRECTIONS[access.kind]
    size = access.bits // 8
    if access.m0:
        alone = access.kind == "atomic"
        place = (start & M0_BASE) + offset + (0 if alone else 4) * lanes
        return [Request(direction, size, place, _first_lane(active) if alone else active)]
    assert address is not None
    base = np.asarray(address, np.int64)
    if not access.stride:
        return [Request(direction, access.bytes, base + offset, active)]
    step = access.stride * size
    offsets = (int(str(instruction.modifiers.get(name, 0))) for name in ("offset0", "offset1"))
    return [Request(direction, size, base + step * each, active) for each in offsets]


_DIRECTIONS: dict[str, Direction] = {"load": "read", "store": "write", "atomic": "write"}


def _is_copy(instruction: Instruction, access: Access) -> bool:
    """Whether it loads from memory into LDS."""
    return bool(access.to_lds) and (bool(instruction.modifiers.get("lds")) or not instruction.definition.explicit_dsts)


def _first_lane(active: np.ndarray) -> np.ndarray:
    """The lowest active lane alone."""
    first: np.ndarray = active & (np.cumsum(active, axis=1) == 1)
    return first
