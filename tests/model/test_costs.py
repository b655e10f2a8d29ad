"""Costs of executed memory instructions, from small kernels that the virtual GPU runs."""

from __future__ import annotations

import numpy as np
import pytest

from pykittens.arch import get
from pykittens.asm.execution import MEMORY_RECORD, WaveTrace, WorkgroupTrace
from pykittens.isa import lookup
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Reg
from pykittens.model.costs import Costs, costs_of

LANE = np.arange(64)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def trace(*executed: tuple[Instruction, np.ndarray, int]) -> WorkgroupTrace:
    """One wave; each entry is an instruction, its lanes' addresses (low dwords) and EXEC."""
    records = np.zeros(len(executed), MEMORY_RECORD)
    for i, (_, rows, active) in enumerate(executed):
        records["step"][i], records["active"][i], records["rows"][i, 0] = i, active, rows
        records["base"][i] = (0, 1, 0x7FFFFFFF, 0)
    wave = WaveTrace(np.arange(len(executed), dtype=np.uint32), records, True)
    return WorkgroupTrace(0, tuple(each for each, _, _ in executed), (wave,), 0, ())


def load(nbytes: int, lds: bool = False) -> Instruction:
    name = {4: "buffer_load_dword", 8: "buffer_load_dwordx2", 16: "buffer_load_dwordx4"}[nbytes]
    data = None if lds else Reg("v", 4, nbytes // 4)
    modifiers: dict[str, object] = {"offen": True, **({"lds": True} if lds else {})}
    return Instruction(lookup(name), (data, Reg("v", 0), Reg("s", 0, 4), Reg("s", 8)), modifiers)


def global_load() -> Instruction:
    return Instruction(lookup("global_load_dwordx4"), (Reg("v", 4, 4), Reg("v", 0), Reg("s", 0, 2)))


def store() -> Instruction:
    operands = Reg("v", 0), Reg("v", 4, 4), Reg("s", 0, 2)
    return Instruction(lookup("global_store_dwordx4"), operands)


def costs(*executed: tuple[Instruction, np.ndarray, int], arch: str = "gfx950") -> Costs:
    return costs_of(trace(*executed), get(arch))


@pytest.mark.parametrize(
    ("nbytes", "stride", "lines", "clk"),
    [(4, 4, 2, 4), (8, 8, 4, 16), (16, 16, 8, 16), (4, 128, 64, 128), (16, 64, 32, 64)],
)
def test_lines_and_time_of_loads(nbytes: int, stride: int, lines: int, clk: int) -> None:
    (found,) = costs((load(nbytes), LANE * stride, int(ALL))).waves
    assert (int(found["lines"][0]), int(found["l1_clk"][0])) == (lines, clk)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(("row_bytes", "clk"), [(64, 32), (128, 16), (256, 16)])
def test_a_piece_of_a_line_costs_as_much_as_the_line(arch: str, row_bytes: int, clk: int) -> None:
    """Rows far apart, of which a load takes so many bytes each."""
    lanes = row_bytes // 16
    (found,) = costs((load(16), LANE // lanes * 4096 + LANE % lanes * 16, int(ALL)), arch=arch).waves
    assert int(found["l1_clk"][0]) == clk


@pytest.mark.parametrize(
    ("nbytes", "offsets", "clk"),
    [
        (16, LANE % 32 * 4096 + LANE // 32 * 16, 64),  # neighbours in different rows
        (16, LANE // 8 * 4096 + (LANE % 8 ^ LANE // 8) * 16, 16),  # rows of 128 bytes, swizzled
        (8, LANE % 16 * 4096 + LANE // 16 * 8, 64), (8, LANE // 16 * 4096 + LANE % 16 * 8, 16),
        (4, LANE // 32 * 4096 + LANE % 32 * 4, 4), (4, LANE % 2 * 4096 + LANE // 2 * 4, 8),
    ],
)  # fmt: skip
def test_neighbouring_lanes_share_a_clk_only_in_one_piece(nbytes: int, offsets: np.ndarray, clk: int) -> None:
    (found,) = costs((load(nbytes), offsets, int(ALL))).waves
    assert int(found["l1_clk"][0]) == clk


def test_lines_already_in_the_l1_are_not_asked_for_again() -> None:
    (found,) = costs((load(16), LANE * 16, int(ALL)), (load(16), LANE * 16, int(ALL))).waves
    assert found["lines"].tolist() == [8, 0]


def test_inactive_lanes_ask_for_nothing() -> None:
    (found,) = costs((load(16), LANE * 16, 0xFF)).waves
    assert (int(found["lines"][0]), int(found["l1_clk"][0])) == (1, 2)
    (none,) = costs((load(16), LANE * 16, 0)).waves
    assert int(none["lines"][0]) == 0


def test_lanes_out_of_a_buffer_ask_for_nothing() -> None:
    beyond = np.where(LANE < 8, LANE * 16, 0x7FFFFFFF)
    (found,) = costs((load(16), beyond, int(ALL))).waves
    assert int(found["lines"][0]) == 1


def test_copies_take_the_lds_at_its_full_width() -> None:
    (found,) = costs((load(16, lds=True), LANE * 16, int(ALL))).waves
    assert int(found["passes"][0]) == 64 * 16 // 256
    (found,) = costs((load(16), LANE * 16, int(ALL))).waves
    assert int(found["passes"][0]) == 1


def test_stores_count_parts_and_fresh_lines() -> None:
    found = costs((store(), LANE * 16, int(ALL)), (store(), LANE * 16, int(ALL)))
    assert found.waves[0]["lines"].tolist() == [16, 16]
    assert found.waves[0]["passes"].tolist() == [8, 0]
    assert sum(int(each.fresh.sum()) for each in found.accesses) == 8


@pytest.mark.parametrize(("stride", "passes"), [(16, 4), (256, 64), (32, 8)])
def test_lds_passes(stride: int, passes: int) -> None:
    """Neighbours are free of conflicts; one bank for all is the worst there is."""
    read = Instruction(lookup("ds_read_b128"), (Reg("v", 4, 4), Reg("v", 0)))
    found = costs((read, LANE * stride, int(ALL)))
    assert int(found.waves[0]["passes"][0]) == passes
    assert found.lds_phases == 4
