"""The hazard table against LLVM's hazard recognizer, row by row, and the tracker over paths."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from pykittens.asm import wait_states
from pykittens.asm.program import Program
from pykittens.isa.hazards import LONGEST, ROWS, Missing, Profile, Tracker, join, required
from pykittens.isa.hazards import wait_states as wait_states_of
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import a, s, v

from .hazard_pairs import PROBES, PRODUCERS, ROW_PAIRS, Emit, matrix_consumer, matrix_producer

ARCHS = ("gfx942", "gfx950")

# LLVM 22's number and ours, where the sources differ.
EXCEPTIONS = {
    # The manual asks for 19.
    ("dgemm16x16", "VALU overwrites vDst (WAW)", "gfx950"): 19,
    # Newer LLVM asks for 1, as measured on gfx950.
    ("buffer_store_dwordx4 (SGPR soffset)", "VALU overwrites store data", "gfx942"): 1,
    ("buffer_store_dwordx4 (SGPR soffset)", "VALU overwrites store data", "gfx950"): 1,
    # LLVM takes op_sel_hi's bit for a destination half.
    ("v_dot2_f32_f16", "same opcode SrcC", "gfx942"): 0,
    ("v_dot2_f32_f16", "same opcode SrcC", "gfx950"): 0,
}


def _probes() -> list[tuple[str, str, str, int]]:
    found = []
    with (Path(__file__).parent / "hazards_llvm22.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for arch in ARCHS:
                if row[f"nops_{arch}"] != "n/a":
                    found.append((row["producer"], row["consumer"], arch, int(row[f"nops_{arch}"])))
    return found


def _pair(producer: str, consumer: str) -> tuple[Emit, Emit]:
    if producer in PRODUCERS:
        name, modifiers = PRODUCERS[producer]
        return matrix_producer(name, **modifiers), matrix_consumer(consumer, name, modifiers)
    return PROBES[producer, consumer]


def _exists(emit: Emit, arch: str) -> bool:
    """Whether the chip has the instruction."""
    program = Program("gfx950")
    emit(program)
    return arch in program.lines()[0].instruction.definition.archs


def _instructions(arch: str, *emits: Emit) -> list[Instruction]:
    program = Program(arch)
    for emit in emits:
        emit(program)
    return [line.instruction for line in program.lines()]


def _states(producer: Emit, consumer: Emit, arch: str) -> int:
    first, second = _instructions(arch, producer, consumer)
    return max((states for _, states in required(first, second, arch)), default=0)


def _fill(program: Program, count: int) -> None:
    for _ in range(count):
        program.s_mov_b32(s[90], 0)


def _inserted(producer: Emit, consumer: Emit, arch: str, between: int) -> int:
    """States that the assembler adds to ``between`` instructions."""
    program = Program(arch)
    producer(program)
    _fill(program, between)
    consumer(program)
    program.s_endpgm()
    result = wait_states.insert(program)
    nops = [line.instruction for line in result.lines() if line.instruction.definition.has("nop")]
    assert all(line.instruction.name != "s_nop" for line in result.lines()[: between + 1])
    return sum(int(str(nop.modifiers["simm16"])) + 1 for nop in nops)


@pytest.mark.parametrize(("producer", "consumer", "arch", "llvm"), _probes())
def test_required_states_are_those_of_llvm(producer: str, consumer: str, arch: str, llvm: int) -> None:
    first, second = _pair(producer, consumer)
    if not (_exists(first, arch) and _exists(second, arch)):
        assert llvm == 0
        return
    wanted = EXCEPTIONS.get((producer, consumer, arch), llvm)
    assert _states(first, second, arch) == wanted
    assert _inserted(first, second, arch, 0) == wanted


def test_all_exceptions_are_probes() -> None:
    assert set(EXCEPTIONS) <= {probe[:3] for probe in _probes()}


def _row_pairs() -> list[tuple[str, Emit, Emit, str]]:
    """Pairs for every row: (row name, producer, consumer, arch) where the row is what decides."""
    pairs = list(ROW_PAIRS.values())
    pairs += [_pair(producer, consumer) for producer, consumer, arch, _ in _probes() if arch == "gfx950"]
    found = {}
    for first, second in pairs:
        for arch in ARCHS:
            if not (_exists(first, arch) and _exists(second, arch)):
                continue
            for row, states in required(*_instructions(arch, first, second), arch):
                if states == _states(first, second, arch):
                    found.setdefault((row.name, arch), (row.name, first, second, arch))
    return list(found.values())


def test_names_of_rows_are_unique() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)


def test_rows_are_told_in_words() -> None:
    words = {row.name: row.words() for row in ROWS}
    assert words["xdl-ab"] == (
        "an XDL instruction writes registers, then a matrix instruction reads them as A, B, index or scale"
    )


def test_every_row_decides_for_some_pair() -> None:
    assert {name for name, _, _, _ in _row_pairs()} == {row.name for row in ROWS}


@pytest.mark.parametrize(("name", "first", "second", "arch"), _row_pairs())
def test_one_state_too_few_is_one_nop_and_enough_is_none(name: str, first: Emit, second: Emit, arch: str) -> None:
    states = _states(first, second, arch)
    assert 1 <= states <= LONGEST
    assert _inserted(first, second, arch, states - 1) == 1
    assert _inserted(first, second, arch, states) == 0
    assert _inserted(first, second, arch, 0) == states


def test_longest_is_the_longest() -> None:
    numbers = [_states(*_pair(producer, consumer), arch) for producer, consumer, arch, llvm in _probes() if llvm > 15]
    assert max(numbers) == LONGEST


def test_what_all_agree_on_is_less_than_required_where_sources_differ() -> None:
    differ = set()
    for name, first, second, arch in _row_pairs():
        for missing in _missing(*_instructions(arch, first, second), arch):
            assert missing.agreed <= missing.required, name
            assert missing.row.agreed is not None or missing.agreed == missing.required, name
            if missing.agreed < missing.required:
                differ.add(missing.row.name)
    assert differ == {row.name for row in ROWS if row.agreed is not None}


def _missing(producer: Instruction, consumer: Instruction, arch: str) -> list[Missing]:
    profiles = {0: Profile(producer, arch), 1: Profile(consumer, arch)}
    tracker = Tracker(profiles)
    tracker.issue(0)
    return tracker.missing(profiles[1])


def test_exact_accumulator_needs_the_same_instruction() -> None:
    def chain(p: Program) -> None:
        p.v_mfma_f32_16x16x32_f16(v[0:3], v[8:11], v[8:11], v[0:3])

    def other(p: Program) -> None:
        p.v_mfma_f32_16x16x16_f16(v[0:3], v[8:9], v[8:9], v[0:3])

    assert _states(chain, chain, "gfx950") == 0
    assert _states(chain, other, "gfx950") == 6


def test_v_and_a_registers_share_a_file() -> None:
    first, second = _instructions(
        "gfx950",
        lambda p: p.v_mfma_f32_16x16x16_f16(a[0:3], v[8:9], v[8:9], 0),
        lambda p: p.v_mov_b32(v[0], v[128]),
    )
    assert required(first, second, "gfx950") == []
    assert [states for _, states in required(first, second, "gfx950", accum_offset=128)] == [8]


def test_sparse_index_and_accumulator() -> None:
    name = "v_smfmac_f32_16x16x32_f16"
    write, overwrite_index = _instructions(
        "gfx950", lambda p: p.v_mov_b32(v[20], 0), lambda p: p.emit(name, v[0:3], v[4:5], v[8:11], v[20])
    )
    assert [row.name for row, _ in required(write, overwrite_index, "gfx950")] == ["valu-mfma"]
    first, second = _instructions(
        "gfx950",
        lambda p: p.v_mfma_f32_16x16x16_f16(v[20:23], v[4:5], v[4:5], 0),
        lambda p: p.emit(name, v[0:3], v[4:5], v[8:11], v[20]),
    )
    assert [(row.name, n) for row, n in required(first, second, "gfx950")] == [("xdl-ab", 8)]
    assert _states(
        lambda p: p.emit(name, v[0:3], v[4:5], v[8:11], v[20]),
        lambda p: p.emit(name, v[0:3], v[4:5], v[8:11], v[20]),
        "gfx950",
    ) == 0  # fmt: skip


def test_setreg_of_other_registers_is_no_hazard() -> None:
    assert _states(lambda p: p.s_setreg_b32(0xF801, s[0]), lambda p: p.s_getreg_b32(s[1], 0xF802), "gfx950") == 0


def test_setreg_of_mode_sets_vskip_only_with_its_bit() -> None:
    valu: Emit = lambda p: p.v_mov_b32(v[0], 0)  # noqa: E731
    assert _states(lambda p: p.s_setreg_b32(1 | 28 << 6, s[0]), valu, "gfx950") == 2
    assert _states(lambda p: p.s_setreg_b32(1 | 4 << 6 | 3 << 11, s[0]), valu, "gfx950") == 0
    assert _states(lambda p: p.s_setvskip(s[0], 1), valu, "gfx950") == 0


def test_nops_of_the_vector_alu_count_once() -> None:
    instructions = _instructions("gfx950", lambda p: p.v_mov_b32(v[0], 0), lambda p: p.v_nop())
    profiles = {n: Profile(instruction, "gfx950") for n, instruction in enumerate(instructions)}
    tracker = Tracker(profiles)
    tracker.issue(0)
    tracker.issue(1)
    assert tracker.ages()[0] == (1, -1)
    assert wait_states_of(instructions[1]) == 1


def test_a_later_matrix_result_takes_the_place_of_an_earlier_one() -> None:
    """The second instruction rewrites v[0:3], so that only v[4:15] still wait for the first, which takes 12 states."""
    instructions = _instructions(
        "gfx950",
        lambda p: p.v_mfma_f32_32x32x8_f16(v[0:15], v[40:41], v[40:41], 0),
        lambda p: p.v_mfma_f32_4x4x4_16b_f16(v[0:3], v[40:41], v[40:41], 0),
        lambda p: p.v_mov_b32(v[60], v[0]),
        lambda p: p.v_mov_b32(v[60], v[4]),
    )
    profiles = {n: Profile(instruction, "gfx950") for n, instruction in enumerate(instructions)}
    tracker = Tracker(profiles)
    tracker.issue(0)
    tracker.issue(1)
    assert [(m.producer, m.required, m.there) for m in tracker.missing(profiles[2])] == [(1, 5, 0)]
    assert [(m.producer, m.required, m.there) for m in tracker.missing(profiles[3])] == [(0, 12, 1)]


def test_paths_join_with_the_smaller_age_and_all_registers() -> None:
    assert join({"p": (3, 0b01), "q": (1, 1)}, {"p": (2, 0b10)}) == {"p": (2, 0b11), "q": (1, 1)}
