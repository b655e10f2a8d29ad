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
    """The places of all LDS accesses of a kernel, by the number of the instruction; None where they are not told."""

    def __init__(self, instructions: Sequence[Instruction], arch: str, accum_offset: int) -> None:
        self._instructions, self._accum_offset = instructions, accum_offset
        self._stride = get(arch).load_to_lds_wide_stride
        self._seen: dict[int, list[tuple[Symbol | None, list[Request], int]] | None] = {}
        self._same: set[tuple[object, ...]] = set()

    def add(self, found: Found) -> None:
        """One more path that leads to an LDS access."""
        # Numbers are made once each (numbers.py), so that the same ones are the same objects.
        same = (found.n, found.waves, *found.values.items())
        if same in self._same:
            return
        self._same.add(same)
        before = self._seen.setdefault(found.n, [])
        requests = self._requests(found)
        if requests is None or before is None:
            self._seen[found.n] = None
        else:
            before.append((*requests, found.waves))

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

    def settled(self) -> dict[int, Place | None]:
        """One place for each access: told where all paths agree, or come with different waves."""
        everything = [r for seen in self._seen.values() if seen for _, requests, _ in seen for r in requests]
        aligned = all(r.lane_bytes % _DWORD == 0 and not (r.addresses % _DWORD).any() for r in everything)
        granule = _DWORD if aligned else 1
        return {n: self._joined(seen, granule) for n, seen in self._seen.items()}

    def _joined(self, seen: list[tuple[Symbol | None, list[Request], int]] | None, granule: int) -> Place | None:
        joined: dict[int, tuple[Symbol | None, int]] = {}
        count = 0
        for symbol, requests, waves in seen or ():
            bytes_of = _bytes(requests, granule, symbol is not None)
            count = len(bytes_of)
            for w, accessed in enumerate(bytes_of):
                if waves >> w & 1 and joined.setdefault(w, (symbol, accessed)) != (symbol, accessed):
                    return None
        symbols = {symbol for symbol, _ in joined.values()}
        if len(symbols) != 1:
            return None
        ends = [r.addresses[r.active] + r.lane_bytes - 1 for _, requests, _ in seen or () for r in requests]
        last = max((int(end.max()) for end in ends if end.size), default=-1)
        return Place(symbols.pop(), tuple(joined.get(w, (None, 0))[1] for w in range(count)), granule, last)


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
