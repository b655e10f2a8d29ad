"""What an executed instruction asks of the LDS: direction, width and byte addresses of each request it makes.

Instructions are known by their definitions. FLAT accesses that fall into the LDS aperture are not followed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pykittens.arch.lds_banks import Direction
from pykittens.isa.define import Definition
from pykittens.isa.effects import loads_to_lds
from pykittens.isa.instruction import Instruction

LANES = 64
M0_BASE = 0xFFFF
"""Bits of M0 that DS instructions without an address register start from."""
M0_COPY_BASE = 0x3FFFF
"""Bits of M0 that copies to LDS start from."""
_DIRECTIONS: dict[str, Direction] = {"load": "read", "store": "write", "atomic": "write"}


@dataclass(frozen=True)
class Request:
    """One address a lane: ``addresses`` int (n, 64) for n executions, and which lanes are ``active``, bool (n, 64)."""

    direction: Direction
    lane_bytes: int
    addresses: np.ndarray
    active: np.ndarray


def request_kind(definition: Definition) -> tuple[Direction, int] | None:
    """(direction, bytes a lane) of a DS instruction's request; None if it makes none. Two-address forms make two."""
    access = definition.access
    if access is None or access.space != "lds" or access.kind not in _DIRECTIONS:
        return None
    size = access.bits // 8 if access.stride else access.bytes
    return ("transpose" if access.transpose else _DIRECTIONS[access.kind]), size


def uses_lds(instruction: Instruction) -> bool:
    """Whether it reads or writes LDS memory; lane permutations use only its crossbar."""
    return request_kind(instruction.definition) is not None or loads_to_lds(instruction)


def lds_requests(
    instruction: Instruction, address: np.ndarray | None, m0: np.ndarray, active: np.ndarray, copy_stride: int
) -> list[Request]:
    """The LDS requests of n executions, in the order in which they are served; none if it uses no LDS memory.

    ``address``: the address register, (n, 64), None if the instruction has none; ``m0``: (n,); ``active``: (n, 64);
    ``copy_stride``: bytes from lane to lane of copies of 12 and 16 bytes (`Arch.load_to_lds_wide_stride`). Two-address
    forms make two requests; LDS atomics count as writes, append and consume as one lane's.
    """
    access, kind = instruction.definition.access, request_kind(instruction.definition)
    offset = _modifier(instruction, "offset")
    lanes = np.arange(LANES)
    start = np.asarray(m0, np.int64)[:, None]
    if access is not None and loads_to_lds(instruction):
        step = copy_stride if access.bytes > 4 else 4
        return [Request("write", access.bytes, (start & M0_COPY_BASE) + offset + step * lanes, active)]
    if access is None or kind is None:
        return []
    direction, size = kind
    if access.m0:
        alone = access.kind == "atomic"
        place = (start & M0_BASE) + offset + (0 if alone else 4) * lanes
        return [Request(direction, size, place, _first_lane(active) if alone else active)]
    if address is None:
        raise AssertionError(f"{instruction.name} has an address register")
    base = np.asarray(address, np.int64)
    if not access.stride:
        return [Request(direction, size, base + offset, active)]
    step = access.stride * size
    return [
        Request(direction, size, base + step * _modifier(instruction, name), active) for name in ("offset0", "offset1")
    ]


def _modifier(instruction: Instruction, name: str) -> int:
    value = instruction.modifiers.get(name, 0)
    assert isinstance(value, int)
    return value


def _first_lane(active: np.ndarray) -> np.ndarray:
    """The lowest active lane alone."""
    first: np.ndarray = active & (np.cumsum(active, axis=1) == 1)
    return first
