"""The swizzle patterns equal the examples that the ISA manual prints for its 32 lanes numbered 1 to 0x20."""

from __future__ import annotations

import pytest

from pykittens.isa.swizzle_pattern import swizzle_lanes


def manual(lanes: str) -> list[int]:
    """The manual's hexadecimal list, whose lanes count from 1."""
    return [int(lane, 16) - 1 for lane in lanes.split(",")]


EXAMPLES = {
    "FFT": (0xE000, "1,11,9,19,5,15,d,1d,3,13,b,1b,7,17,f,1f,2,12,a,1a,6,16,e,1e,4,14,c,1c,8,18,10,20"),
    "FFT of halves": (0xE010, "1,9,5,d,3,b,7,f,2,a,6,e,4,c,8,10,11,19,15,1d,13,1b,17,1f,12,1a,16,1e,14,1c,18,20"),
    "FFT, none": (0xE01F, ",".join(f"{i:x}" for i in range(1, 33))),
    "rotate left": (0xC020, ",".join([*(f"{i:x}" for i in range(2, 33)), "1"])),
    "rotate right": (0xC420, ",".join(["20", *(f"{i:x}" for i in range(1, 32))])),
    "rotate left, odd": (0xC021, "1,4,3,6,5,8,7,a,9,c,b,e,d,10,f,12,11,14,13,16,15,18,17,1a,19,1c,1b,1e,1d,20,1f,2"),
    "rotate right, odd": (0xC421, "1f,2,1,4,3,6,5,8,7,a,9,c,b,e,d,10,f,12,11,14,13,16,15,18,17,1a,19,1c,1b,1e,1d,20"),
    "SWAPX1": (0x041F, ",".join(f"{(i ^ 1) + 1:x}" for i in range(32))),
    "SWAPX16": (0x401F, ",".join(f"{(i ^ 16) + 1:x}" for i in range(32))),
    "REVERSEX32": (0x7C1F, ",".join(f"{32 - i:x}" for i in range(32))),
    "REVERSEX4": (0x0C1F, ",".join(f"{(i & 28) + 4 - (i & 3):x}" for i in range(32))),
    "BCASTX32 of lane 5": (0x00A0, ",".join(["6"] * 32)),
    "BCASTX8 of lane 3": (0x0078, ",".join(f"{(i & 24) + 4:x}" for i in range(32))),
    "quads reversed": (0x801B, ",".join(f"{(i & 28) + 4 - (i & 3):x}" for i in range(32))),
    "quads from lane 2": (0x80AA, ",".join(f"{(i & 28) + 3:x}" for i in range(32))),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples(example: str) -> None:
    offset, lanes = EXAMPLES[example]
    assert list(swizzle_lanes(offset)[:32]) == manual(lanes)


def test_halves_of_the_wave_are_alike_for_every_offset() -> None:
    for offset in range(0, 0x10000, 7):
        lanes = swizzle_lanes(offset)
        assert len(lanes) == 64
        assert [lane + 32 for lane in lanes[:32]] == list(lanes[32:])
        assert all(0 <= lane < 32 for lane in lanes[:32])
