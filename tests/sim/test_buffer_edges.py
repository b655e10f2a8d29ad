"""Buffers at the edges of what is owned, and descriptors that swizzle."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.one_wave import BUFFER, BUFFER_BYTES, FAULT, LANES, OneWave, State

from pykittens.isa import DEFINITIONS
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Const, Reg


def load(name: str, **modifiers: object) -> Instruction:
    definition = DEFINITIONS[name]
    count = sum(modifiers.get(key) is True for key in ("idxen", "offen"))
    address = Reg("v", 4, count) if count else None
    result = Reg("v", 60, definition.explicit_dsts[0].dwords)
    return Instruction(definition, (result, address, Reg("s", 8, 4), Const(0)), modifiers)


def state(base: int, records: int, word1: int = 0, word3: int = 0x20000) -> State:
    fresh = State()
    fresh.exec = (1 << 64) - 1
    fresh.buffer[:] = np.arange(BUFFER_BYTES) // 4 % 251
    fresh.sgpr[8:12] = base & 0xFFFFFFFF, base >> 32 | word1, records, word3
    return fresh


def test_bytes_behind_owned_memory_are_poison_inside_a_dword_that_begins_in_it() -> None:
    """Odd numbers of 16-bit elements: the last dword is half owned, and what is not there is a NaN of every type."""
    start = BUFFER + BUFFER_BYTES - 64
    before = state(start, 62)
    before.vgpr[4] = np.minimum(np.arange(LANES) * 4, 56)
    event, after = OneWave("gfx950", BUFFER_BYTES - 2).run(load("buffer_load_dwordx4", offen=True), before)
    assert event == 0
    last = int(before.buffer[-4:].view(np.uint32)[0])
    assert (after.vgpr[60, 14], after.vgpr[61, 14]) == (
        before.buffer[-8:-4].view(np.uint32)[0],
        0xFFFF0000 | last & 0xFFFF,
    )
    assert (after.vgpr[62:64, 14] == 0).all(), "out of the descriptor's range"


def test_a_dword_that_begins_behind_owned_memory_is_a_fault() -> None:
    wave = OneWave("gfx950")
    before = state(BUFFER + BUFFER_BYTES - 64, 1 << 20)
    before.vgpr[4] = np.arange(LANES) * 4
    event, _ = wave.run(load("buffer_load_dword", offen=True), before)
    assert event == FAULT
    assert (wave.group.fault.lane, wave.group.fault.address) == (16, BUFFER + BUFFER_BYTES)


def test_offsets_that_wrap_are_out_of_range() -> None:
    before = state(BUFFER, BUFFER_BYTES)
    before.vgpr[4] = 0xFFFFFFFC
    event, after = OneWave("gfx950").run(load("buffer_load_dword", offen=True, offset=8), before)
    assert event == 0 and (after.vgpr[60] == 0).all()


@pytest.mark.parametrize("index_stride", [8, 16, 32, 64])
def test_swizzled_buffers_interleave_records(index_stride: int) -> None:
    """Dwords of ``index_stride`` records lie side by side (ISA manual, swizzled buffer addressing)."""
    stride, code = 16, {8: 0, 16: 1, 32: 2, 64: 3}[index_stride]
    before = state(BUFFER, 64, word1=stride << 16 | 1 << 31, word3=0x20000 | code << 21)
    before.buffer[:] = np.arange(BUFFER_BYTES // 4, dtype=np.uint32).view(np.uint8)
    index, offset = np.arange(LANES), 8
    before.vgpr[4] = index
    event, after = OneWave("gfx950").run(load("buffer_load_dword", idxen=True, offset=offset), before)
    assert event == 0
    row = (index // index_stride * stride + offset) * index_stride
    assert (after.vgpr[60] == (row + index % index_stride * 4) // 4).all()


def test_add_lane_descriptors() -> None:
    before = state(BUFFER, BUFFER_BYTES, word1=4 << 16, word3=1 << 23)
    before.buffer[:] = np.arange(BUFFER_BYTES // 4, dtype=np.uint32).view(np.uint8)
    event, after = OneWave("gfx950").run(load("buffer_load_dword", offset=12), before)
    assert event == 0
    assert (after.vgpr[60] == np.arange(LANES) + 3).all()


def test_transposing_reads_need_all_lanes() -> None:
    before = State()
    before.exec = (1 << 64) - 2
    definition = DEFINITIONS["ds_read_b64_tr_b16"]
    event, _ = OneWave("gfx950").run(Instruction(definition, (Reg("v", 60, 2), Reg("v", 4))), before)
    assert event == FAULT


def test_negative_scalar_offsets_are_out_of_range() -> None:
    """Loops that walk back prefetch what lies before the first tile; other scalar offsets are not part of the check."""
    before = state(BUFFER, 64)
    before.vgpr[4] = np.arange(LANES) * 4
    instruction = load("buffer_load_dword", offen=True)
    for offset, expected in ((-256, np.zeros(LANES)), (64, np.where(np.arange(LANES) < 16, 16 + np.arange(LANES), 0))):
        before.buffer[:] = np.arange(BUFFER_BYTES // 4, dtype=np.uint32).view(np.uint8)
        before.sgpr[20] = offset & 0xFFFFFFFF
        moved = Instruction(
            instruction.definition, (*instruction.operands[:3], Reg("s", 20)), {"offen": True, "offset": 0}
        )
        event, after = OneWave("gfx950").run(moved, before)
        assert event == 0 and (after.vgpr[60] == expected).all()
