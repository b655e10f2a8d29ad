"""Bank conflicts of executed instructions: requests from definitions, and sums by place and by name."""

from __future__ import annotations

import numpy as np
import pytest

from pykittens.arch import gfx942, gfx950
from pykittens.arch.lds_banks import bank_report
from pykittens.asm.execution import MEMORY_RECORD, WaveTrace, WorkgroupTrace
from pykittens.check.banks import BankTable
from pykittens.errors import InputError
from pykittens.isa import DEFINITIONS, Instruction, lookup
from pykittens.isa.lds_requests import lds_requests, uses_lds
from pykittens.isa.registers import s, v

LANE = np.arange(64)
ALL = np.ones((1, 64), bool)
NO_M0 = np.zeros(1, np.int64)


def ds(name: str, pc: int = 0, where: str | None = None, **modifiers: object) -> Instruction:
    """An LDS instruction with registers of the right sizes; modifiers as in `Instruction`."""
    definition = lookup(name)
    specs = definition.explicit_dsts + definition.explicit_srcs
    operands = tuple(v[4 : 3 + spec.dwords] if spec.dwords > 1 else v[1] for spec in specs)
    return Instruction(definition, operands, modifiers, pc=pc, where=where)


def buffer_copy(name: str, **modifiers: object) -> Instruction:
    return Instruction(lookup(name), (None, v[0], s[0:3], s[4]), {"offen": True, "lds": True, **modifiers})


def requests(instruction: Instruction, address: np.ndarray, m0: int = 0, active: np.ndarray = ALL) -> list[tuple]:
    found = lds_requests(instruction, address[None], np.array([m0]), active, 16)
    return [(each.direction, each.lane_bytes, each.addresses[0].tolist(), each.active[0].sum()) for each in found]


@pytest.mark.parametrize(
    ("name", "direction", "width"),
    [
        ("ds_read_b128", "read", 16),
        ("ds_read_u16_d16_hi", "read", 2),
        ("ds_write_b64", "write", 8),
        ("ds_write_b8", "write", 1),
        ("ds_read_b64_tr_b16", "transpose", 8),
        ("ds_read_b96_tr_b6", "transpose", 12),
        ("ds_add_u32", "write", 4),
        ("ds_cmpst_rtn_b64", "write", 8),
        ("ds_pk_add_bf16", "write", 4),
    ],
)
def test_one_address_a_lane(name: str, direction: str, width: int) -> None:
    assert requests(ds(name, offset=256), 16 * LANE) == [(direction, width, (16 * LANE + 256).tolist(), 64)]


def test_two_addresses_are_two_requests() -> None:
    both = requests(ds("ds_read2_b64", offset0=1, offset1=4), 64 * LANE)
    assert both == [("read", 8, (64 * LANE + 8 * k).tolist(), 64) for k in (1, 4)]
    both = requests(ds("ds_write2st64_b32", offset1=2), 4 * LANE)
    assert both == [("write", 4, (4 * LANE + 256 * k).tolist(), 64) for k in (0, 2)]


def test_addresses_from_m0() -> None:
    """Add-tid forms ignore bits 31:16 of M0; append counts once for the wave."""
    assert requests(ds("ds_read_addtid_b32", offset=8), LANE, 0x30010) == [("read", 4, (24 + 4 * LANE).tolist(), 64)]
    some = ALL & (LANE > 4)
    ((direction, width, addresses, count),) = requests(ds("ds_append", offset=8), LANE, 16, some)
    assert (direction, width, addresses[5], count) == ("write", 4, 24, 1)


@pytest.mark.parametrize(
    ("name", "width", "step"), [("dword", 4, 4), ("ubyte", 1, 4), ("dwordx3", 12, 16), ("dwordx4", 16, 16)]
)
def test_copies_fill_lds_in_lane_order(name: str, width: int, step: int) -> None:
    copy = buffer_copy(f"buffer_load_{name}", offset=64)
    assert requests(copy, LANE, 0x40400) == [("write", width, (0x400 + 64 + step * LANE).tolist(), 64)]
    to_registers = Instruction(lookup("buffer_load_dword"), (v[0], v[0], s[0:3], s[4]), {"offen": True})
    assert not uses_lds(to_registers)
    assert requests(to_registers, LANE) == []


def test_global_copies_have_no_other_destination() -> None:
    copy = Instruction(lookup("global_load_lds_dwordx4"), (v[0:1], None), {})
    assert requests(copy, LANE, 1024) == [("write", 16, (1024 + 16 * LANE).tolist(), 64)]


@pytest.mark.parametrize(
    "name", ["ds_swizzle_b32", "ds_bpermute_b32", "ds_nop", "v_mov_b32", "s_load_dword", "ds_gws_init"]
)
def test_what_uses_no_lds_memory(name: str) -> None:
    assert not uses_lds(Instruction(lookup(name)))


def test_every_lds_access_has_requests() -> None:
    """Whatever is defined: memory accesses of the LDS count, of a width that the chip's table knows."""
    seen = 0
    for definition in DEFINITIONS.values():
        access = definition.access
        if access is not None and access.space == "lds" and access.kind != "permute":
            (first, *_) = lds_requests(Instruction(definition), 16 * LANE[None], NO_M0, ALL, 16)
            assert bank_report(gfx950, first.direction, first.lane_bytes, first.addresses[0]).degree >= 1
            seen += 1
    assert seen > 100


def test_a_table_by_place_and_by_name() -> None:
    table = BankTable("gfx950", {0x10: "Bs read", 0x18: "Bs read"})
    free, worse = ds("ds_read_b128", 0x10, "gemm.py:7"), ds("ds_read_b128", 0x18)
    other = ds("ds_write_b32", 0x8)
    for _ in range(2):
        table.add(free, np.stack([16 * LANE, 16 * LANE + 512]), np.zeros(2, int), np.ones((2, 64), bool))
    table.add(worse, 32 * LANE[None], NO_M0, ALL)
    table.add(other, 128 * LANE[None], NO_M0, ALL)
    table.add(ds("ds_nop", 0), None, NO_M0, ALL)
    assert [(row.pcs, row.executions, row.degree) for row in table.places()] == [
        ((0x8,), 1, 32), ((0x10,), 4, 1), ((0x18,), 1, 2),
    ]  # fmt: skip
    reads = table["Bs read"]
    assert (reads.pcs, reads.executions, reads.degree) == ((0x10, 0x18), 5, 2)
    assert (reads.phases, reads.passes, reads.extra_passes) == (20, 24, 4)
    assert (reads.known, reads.where, reads.instruction) == ("measured", "gemm.py:7", "ds_read_b128 v[4:7], v1")
    assert [(row.name, row.known) for row in table] == [("0x8", "assumed"), ("Bs read", "measured")]
    with pytest.raises(InputError, match="no LDS access named 'As read' was executed; executed: 0x8, Bs read"):
        table["As read"]
    assert table["Bs read"].executions == 5


def test_a_table_of_traced_waves() -> None:
    """Steps lead to instructions, EXEC to lanes, and the load address is taken off."""
    read, copy = ds("ds_read_b128", 0x1010), buffer_copy("buffer_load_dwordx4")
    copy = Instruction(copy.definition, copy.operands, copy.modifiers, pc=0x1018)
    program = (ds("ds_nop", 0x1000), read, copy, None)
    memory = np.zeros(3, MEMORY_RECORD)
    memory["step"] = [1, 2, 4]
    memory["active"] = [2**64 - 1, 2**64 - 1, 1]
    memory["m0"] = [0, 0x400, 0]
    memory["rows"][:, 0] = [64 * LANE, LANE, 64 * LANE]
    wave = WaveTrace(np.array([0, 1, 2, 0, 1], np.uint32), memory, True)
    table = BankTable("gfx950", {0x10: "As read", 0x18: "As write"})
    table.add_trace(WorkgroupTrace(0, program, (wave, wave), 0x1000, ()))
    assert [(row.name, row.executions, row.degree, row.passes) for row in table] == [
        ("As read", 4, 4, 2 * (16 + 4)), ("As write", 2, 1, 16),
    ]  # fmt: skip


def test_inactive_lanes_and_misaligned_ones() -> None:
    table = BankTable("gfx950")
    half = ALL & (LANE < 32)
    table.add(ds("ds_read_b64", 4), np.where(LANE < 32, 8 * LANE, 12345)[None], NO_M0, half)
    table.add(ds("ds_read_b64", 8), 8 * LANE[None] + 4, NO_M0, ALL)
    table.add(ds("ds_read_b64", 12), 8 * LANE[None], NO_M0, ~ALL)
    assert [(row.degree, row.passes, row.known) for row in table.places()] == [
        (1, 2, "measured"), (1, 2, "assumed"), (1, 2, "measured"),
    ]  # fmt: skip


def test_many_executions_are_the_sum_of_single_ones() -> None:
    rng = np.random.default_rng(3)
    address = rng.choice([16, 64, 80, 4096], (40, 1)) * LANE + 16 * rng.integers(0, 64, (40, 1))
    active = rng.random((40, 64)) < 0.7
    together, apart = BankTable("gfx942"), BankTable("gfx942")
    load = ds("ds_read_b128")
    together.add(load, address, np.zeros(40, int), active)
    for i in range(40):
        apart.add(load, address[i : i + 1], NO_M0, active[i : i + 1])
    passes = sum(bank_report_passes(address[i], active[i]) for i in range(40))
    assert (together.places(), together.places()[0].passes) == (apart.places(), passes)


def bank_report_passes(address: np.ndarray, active: np.ndarray) -> int:
    return bank_report(gfx942, "read", 16, address, active).passes
