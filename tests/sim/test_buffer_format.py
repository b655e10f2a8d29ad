"""Formatted buffer accesses: every data format with every number format, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.one_wave import BUFFER, BUFFER_BYTES, LANES, OneWave, State

from pykittens.isa import DEFINITIONS
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Const, Reg

UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 0, 1, 2, 3, 4, 5, 7
# By DATA_FORMAT: the widths from the lowest bits up.
LAYOUTS = {
    1: (8,), 2: (16,), 3: (8, 8), 4: (32,), 5: (16, 16), 6: (11, 11, 10), 7: (10, 11, 11), 8: (2, 10, 10, 10),
    9: (10, 10, 10, 2), 10: (8, 8, 8, 8), 11: (32, 32), 12: (16, 16, 16, 16), 13: (32, 32, 32), 14: (32, 32, 32, 32),
}  # fmt: skip
IDENTITY = 4 | 5 << 3 | 6 << 6 | 7 << 9
CASES = [
    (layout, number)
    for layout, widths in LAYOUTS.items()
    for number in (UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT)
    if (number == FLOAT) <= (min(widths) >= 10) and (max(widths) < 32 or number in (UINT, SINT, FLOAT))
]


def small_float(codes: np.ndarray, width: int) -> np.ndarray:
    """Numbers of 10, 11, 16 or 32 bits."""
    if width == 32:
        return codes.astype(np.uint32).view(np.float32)
    shift = 0 if width == 16 else 15 - width
    return (codes << shift).astype(np.uint16).view(np.float16).astype(np.float32)


def wanted(codes: np.ndarray, width: int, number: int) -> np.ndarray:
    """Register bits of components with these codes."""
    sign = np.where(codes >> (width - 1) & 1, codes.astype(np.int64) - (1 << width), codes.astype(np.int64))
    if number in (UINT, SINT):
        return (codes if number == UINT else sign).astype(np.int64).astype(np.uint32)
    values = {
        UNORM: codes / ((1 << width) - 1), SNORM: np.maximum(sign / max(1, (1 << (width - 1)) - 1), -1),
        USCALED: codes, SSCALED: sign,
    }.get(number)  # fmt: skip
    return (small_float(codes, width) if values is None else values.astype(np.float32)).view(np.uint32)


def instruction(name: str, **modifiers: object) -> Instruction:
    d = DEFINITIONS[name]
    dwords = (d.explicit_dsts or d.explicit_srcs)[0].dwords
    place = (Reg("v", 4), Reg("s", 8, 4), Const(0))
    return Instruction(d, (Reg("v", 60, dwords), *place), {"idxen": True, **modifiers})


def state(stride: int, word3: int, records: int = LANES) -> State:
    fresh = State()
    fresh.exec = (1 << 64) - 1
    fresh.buffer[:] = np.random.default_rng(stride).integers(0, 256, BUFFER_BYTES)
    fresh.sgpr[8:12] = BUFFER & 0xFFFFFFFF, BUFFER >> 32 | stride << 16, records, word3
    fresh.vgpr[4] = np.arange(LANES)
    return fresh


def codes(before: State, widths: tuple[int, ...]) -> list[np.ndarray]:
    """The components of each lane's element."""
    step = sum(widths) // 8
    elements = [int.from_bytes(bytes(before.buffer[i * step : (i + 1) * step]), "little") for i in range(LANES)]
    starts = np.cumsum((0, *widths))
    return [
        np.array([e >> int(s) & (1 << w) - 1 for e in elements], np.int64) for s, w in zip(starts, widths, strict=False)
    ]


@pytest.mark.parametrize(("layout", "number"), CASES)
def test_loads_convert_and_stores_convert_back(layout: int, number: int) -> None:
    widths = LAYOUTS[layout]
    step = sum(widths) // 8
    before = state(step, layout << 15 | number << 12 | IDENTITY)
    wave = OneWave("gfx942")
    event, after = wave.run(instruction("buffer_load_format_xyzw"), before)
    assert event == 0
    for i in range(4):
        one = np.float32(1).view(np.uint32) if number not in (UINT, SINT) else 1
        absent = np.full(LANES, one if i == 3 else 0, np.uint32)
        expected = wanted(codes(before, widths)[i], widths[i], number) if i < len(widths) else absent
        got = after.vgpr[60 + i]
        nan = (expected & 0x7FFFFFFF > 0x7F800000) & (number == FLOAT)
        assert ((got == expected) | nan & (got & 0x7FFFFFFF > 0x7F800000)).all(), i
    event, typed = wave.run(instruction("tbuffer_load_format_xyzw", format=layout | number << 4), before)
    assert event == 0 and (typed.vgpr[60:64] == after.vgpr[60:64]).all(), "the format in the instruction"
    stored = state(step, layout << 15 | number << 12)
    stored.buffer[:] = 0
    stored.vgpr[60:64] = after.vgpr[60:64]
    event, done = OneWave("gfx942").run(instruction("buffer_store_format_xyzw"), stored)
    assert event == 0
    back, start = codes(done, widths), codes(before, widths)
    for width, got, first in zip(widths, back, start, strict=True):
        if number == FLOAT:
            assert (np.nan_to_num(small_float(got, width)) == np.nan_to_num(small_float(first, width))).all()
        else:  # the two most negative codes mean -1
            same = (got == first) | ((number == SNORM) & (first == 1 << (width - 1)) & (got == first + 1))
            assert same.all()


def test_d16_loads_pack_halves() -> None:
    before = state(8, 12 << 15 | FLOAT << 12 | IDENTITY)
    before.buffer[: 8 * LANES] = np.random.default_rng(0).normal(0, 1, 4 * LANES).astype(np.float16).view(np.uint8)
    event, after = OneWave("gfx950").run(instruction("buffer_load_format_d16_xyz"), before)
    assert event == 0
    halves = before.buffer[: 8 * LANES].view(np.uint16).reshape(LANES, 4).astype(np.uint32)
    assert (after.vgpr[60] == (halves[:, 0] | halves[:, 1] << 16)).all()
    assert (after.vgpr[61] == halves[:, 2]).all()
    before.vgpr[60] = 0x1234
    event, after = OneWave("gfx950").run(instruction("buffer_load_format_d16_hi_x"), before)
    assert event == 0 and (after.vgpr[60] == (halves[:, 0] << 16 | 0x1234)).all()


def test_selections_of_the_descriptor_and_its_range() -> None:
    """Components swap places or are constants; records out of range are 0."""
    before = state(4, 10 << 15 | UINT << 12 | (7 | 1 << 3 | 0 << 6 | 4 << 9), records=40)
    event, after = OneWave("gfx950").run(instruction("buffer_load_format_xyzw"), before)
    assert event == 0
    elements = before.buffer[: 4 * LANES].reshape(LANES, 4).astype(np.uint32)
    inside = np.arange(LANES) < 40
    assert (after.vgpr[60] == np.where(inside, elements[:, 3], 0)).all()
    assert (after.vgpr[61] == inside).all()
    assert (after.vgpr[62] == 0).all()
    assert (after.vgpr[63] == np.where(inside, elements[:, 0], 0)).all()


def test_stores_clamp() -> None:
    before = state(4, 10 << 15 | UNORM << 12)
    values = np.linspace(-1, 2, LANES).astype(np.float32)
    before.vgpr[60:64] = values.view(np.uint32)
    event, after = OneWave("gfx950").run(instruction("buffer_store_format_xyzw"), before)
    assert event == 0
    expected = np.rint(values.clip(0, 1).astype(np.float64) * 255).astype(np.uint8)
    assert (after.buffer[: 4 * LANES].reshape(LANES, 4) == expected[:, None]).all()
