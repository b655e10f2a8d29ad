"""Where in LDS instructions access it: the bytes, wave by wave, as far as the code alone tells.

The addresses are `isa.lds_requests`'s, from what the paths know of address registers, M0 and EXEC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pykittens.arch import get
from pykittens.check.numbers import EXEC_KEY, M0_KEY, Symbol, Words, key_of
from pykittens.check.paths import Found
from pykittens.isa.effects import loads_to_lds, mask_of
from pykittens.isa.hazard_classes import EXEC, M0
from pykittens.isa.instruction import Instruction
from pykittens.isa.lds_requests import LANES, M0_COPY_BASE, Request, lds_requests, uses_lds
from pykittens.isa.registers import Reg

_DWORD = 4


def places_needed(instruction: Instruction, accum_offset: int) -> int:
    """The registers that tell where in LDS it goes, as bits; 0 for what does not access LDS."""
    if not uses_lds(instruction):
        return 0
    address = _address(instruction)
    return EXEC | (M0 if address is None else mask_of([address], accum_offset))


def _address(instruction: Instruction) -> Reg | None:
    access = instruction.definition.access
    if access is None or loads_to_lds(instruction) or access.m0:
        return None
    address = instruction.srcs[0]
    return address if isinstance(address, Reg) else None


@dataclass(frozen=True)
class Place:
    """The bytes that each wave accesses, as bits, beside an unknown number that is added to the addresses, if any.

    granule: bytes that a bit stands for. last: the highest byte, whatever LDS there is; -1 if no lane accesses any.
    """

    symbol: Symbol | None
    waves: tuple[int, ...]
    granule: int
    last: int

    def meets(self, other: Place) -> tuple[bool, bool]:
        """Whether one wave accesses a byte in both, and whether two different waves access one, one in each."""
        if self.symbol != other.symbol or self.granule != other.granule:
            return False, False
        if not self.all_waves & other.all_waves:
            return False, False
        own = any(a & b for a, b in zip(self.waves, other.waves, strict=True))
        # An unknown number may be another one in another wave.
        cross = self.symbol is None and any(
            a & b for w, a in enumerate(self.waves) if a & other.all_waves for v, b in enumerate(other.waves) if w != v
        )
        return own, cross

    @cached_property
    def all_waves(self) -> int:
        bits = 0
        for wave in self.waves:
            bits |= wave
        return bits


class Places:
    """The places of all LDS accesses of a kernel, by (block of `Paths.apart`, number of the instruction).

    None where they are not told.
    """

    def __init__(self, instructions: Sequence[Instruction], arch: str, accum_offset: int) -> None:
        self._instructions, self._accum_offset = instructions, accum_offset
        self._stride = get(arch).load_to_lds_wide_stride
        self._alike: dict[tuple[int, int], tuple[object, ...]] = {}
        self._told: dict[tuple[object, ...], tuple[Symbol | None, list[Request]] | None] = {}

    def add(self, block: int, found: Found) -> None:
        """One more access."""
        # Numbers are made once each (numbers.py), so that the same ones are the same objects.
        alike = self._alike[block, found.n] = (found.n, found.waves, *found.values.items())
        if alike not in self._told:
            self._told[alike] = self._requests(found)

    def _requests(self, found: Found) -> tuple[Symbol | None, list[Request]] | None:
        instruction, values = self._instructions[found.n], found.values
        active = [values.get(EXEC_KEY + dword) for dword in (0, 1)]
        if any(half is None or half.symbol is not None for half in active):
            return None
        register = _address(instruction)
        start = values.get(M0_KEY if register is None else key_of(register, self._accum_offset))
        if start is None:
            return None
        lanes = np.concatenate([_lanes(half.words) for half in active if half is not None], axis=1)
        here = np.array([[found.waves >> w & 1] for w in range(len(lanes))], np.bool_)
        address = None if register is None else np.broadcast_to(start.words, (len(lanes), LANES))
        m0 = start.words[:, 0] if register is None else np.zeros(len(lanes), np.int64)
        return start.symbol, lds_requests(instruction, address, m0, lanes & here, self._stride)

    def settled(self) -> dict[tuple[int, int], Place | None]:
        """All that were added."""
        everything = [r for told in self._told.values() if told is not None for r in told[1]]
        aligned = all(r.lane_bytes % _DWORD == 0 and not (r.addresses % _DWORD).any() for r in everything)
        granule = _DWORD if aligned else 1
        places = {alike: None if told is None else _place(*told, granule) for alike, told in self._told.items()}
        return {key: places[alike] for key, alike in self._alike.items()}


def _place(symbol: Symbol | None, requests: Sequence[Request], granule: int) -> Place:
    ends = [r.addresses[r.active] + r.lane_bytes - 1 for r in requests]
    last = max((int(end.max()) for end in ends if end.size), default=-1)
    return Place(symbol, tuple(_bytes(requests, granule, symbol is not None)), granule, last)


def _lanes(words: Words) -> Words:
    """The lanes of one half of EXEC, (waves, 1) u32 to (waves, 32) bool."""
    octets = np.ascontiguousarray(words.astype("<u4")).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little").astype(np.bool_)


def _bytes(requests: Sequence[Request], granule: int, wraps: bool) -> list[int]:
    """What each wave accesses, as bits. Beside an unknown number, addresses below it wrap around."""
    found: list[int] = []
    for w in range(len(requests[0].addresses)) if requests else ():
        bits = 0
        for r in requests:
            first = r.addresses[w][r.active[w]]
            each = (first[:, None] + np.arange(0, r.lane_bytes, granule)).ravel()
            each = (each & M0_COPY_BASE if wraps else each[each <= M0_COPY_BASE]) // granule
            if each.size:
                touched = np.zeros((int(each.max()) // 8 + 1) * 8, np.uint8)
                touched[each] = 1
                bits |= int.from_bytes(np.packbits(touched, bitorder="little").tobytes(), "little")
        found.append(bits)
    return found
