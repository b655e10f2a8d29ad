"""The lane patterns of ``ds_swizzle_b32``: which lane each lane reads, by the instruction's 16-bit offset."""

from __future__ import annotations

FFT, ROTATE, QUAD = 0xE000, 0xC000, 0x8000
"""The lowest offset of each mode; below ``QUAD`` the offset is an and-, an or- and an xor-mask of five bits each."""


def swizzle_lanes(offset: int) -> tuple[int, ...]:
    """The source lane of each of the 64 lanes (ISA manual, DS_SWIZZLE_B32).

    Lanes never cross from one half of the wave to the other.
    """
    return tuple((lane & 0x20) | _source(offset, lane & 0x1F) for lane in range(64))


def _source(offset: int, lane: int) -> int:
    low, middle, high = ((offset >> at) & 0x1F for at in (0, 5, 10))
    if offset >= FFT:
        reversed_lane = int(f"{lane:05b}"[::-1], 2)
        return (reversed_lane >> low.bit_count()) | (lane & low)
    if offset >= ROTATE:
        distance = -middle if offset & 0x400 else middle
        return ((lane & low) | ((lane + distance) & ~low)) & 0x1F
    if offset >= QUAD:
        return (lane & 0x1C) | ((offset >> 2 * (lane & 3)) & 3)
    return ((lane & low) | middle) ^ high
