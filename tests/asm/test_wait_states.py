"""Inserted wait states: enough on every path, and no more than that."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from pykittens.asm import wait_states
from pykittens.asm.finish import finish
from pykittens.asm.program import Line, Program
from pykittens.isa.hazards import Profile, Tracker
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import a, s, v

from .assembled import instructions
from .random_programs import random_path, random_program


def nops_of(build: Callable[[Program], object], arch: str = "gfx950") -> list[str]:
    """The inserted nops, each with the instruction after it."""
    program = Program(arch)
    build(program)
    program.s_endpgm()
    lines = wait_states.insert(program).lines()
    given = {id(line) for line in program.lines()}
    return [
        f"{line.instruction.modifiers['simm16']} {following.instruction.name}"
        for line, following in zip(lines, lines[1:], strict=False)  # noqa: RUF007
        if id(line) not in given
    ]


def mfma(p: Program) -> None:
    """16 passes: 20 states before its result may be read on gfx950."""
    p.v_mfma_f32_32x32x4_2b_f16(v[0:31], v[40:41], v[40:41], v[0:31])


def use(p: Program) -> None:
    p.v_mov_b32(v[60], v[0])


def fill(p: Program, count: int) -> None:
    for _ in range(count):
        p.s_mov_b32(s[0], 0)


def test_more_than_one_nop_holds_are_two() -> None:
    assert nops_of(lambda p: (mfma(p), use(p))) == ["15 s_nop", "3 v_mov_b32"]


def test_given_nops_count() -> None:
    assert nops_of(lambda p: (mfma(p), p.s_nop(9), use(p))) == ["9 v_mov_b32"]


def test_states_between_two_consumers_are_shared() -> None:
    def build(p: Program) -> None:
        mfma(p)
        fill(p, 19)
        use(p)
        use(p)

    assert nops_of(build) == ["0 v_mov_b32"]


def test_branches_count_and_the_shorter_path_decides() -> None:
    def build(p: Program) -> None:
        mfma(p)
        p.s_cbranch_scc1("x")
        fill(p, 5)
        p.label("x")
        use(p)

    assert nops_of(build) == ["15 s_nop", "2 v_mov_b32"]


def test_hazards_go_round_the_loop() -> None:
    def build(p: Program) -> None:
        p.label("head")
        use(p)
        fill(p, 3)
        mfma(p)
        p.s_cbranch_scc1("head")

    assert nops_of(build) == ["15 s_nop", "2 v_mov_b32"]


def test_a_long_loop_needs_nothing() -> None:
    def build(p: Program) -> None:
        p.label("head")
        mfma(p)
        fill(p, 20)
        use(p)
        p.s_cbranch_scc1("head")

    assert nops_of(build) == []


def test_nops_inside_a_loop_count_for_its_head() -> None:
    """What the body needs for itself also keeps its end away from the next round's beginning."""

    def build(p: Program) -> None:
        p.label("head")
        p.v_mov_b32(v[61], v[64])
        p.v_mfma_f32_16x16x16_f16(v[64:67], v[40:41], v[40:41], 0)
        mfma(p)
        use(p)
        p.s_cbranch_scc1("head")

    assert nops_of(build) == ["15 s_nop", "3 v_mov_b32"]


def test_nops_tell_where_and_why() -> None:
    program = Program("gfx942")
    program.v_mov_b32(v[0], 0)
    program.phase = "01"
    with program.at("kernel.py:9"):
        program.v_readfirstlane_b32(s[0], v[0])
    program.s_endpgm()
    nop = wait_states.insert(program).lines()[1]
    assert nop.remark == "vgpr-readlane: 1 state after v_mov_b32"
    assert (nop.phase, nop.instruction.where) == ("01", "kernel.py:9")


def test_waits_are_instructions_too() -> None:
    """The wait that is derived stands between producer and consumer, so one state less is needed."""
    program = Program("gfx950")
    program.buffer_load_dword(v[50], v[51], s[4:7], 0, offen=True)
    program.v_mfma_f32_16x16x16_f16(a[0:3], v[40:41], v[40:41], 0)
    program.v_accvgpr_read_b32(v[50], a[0])
    program.s_endpgm()
    names = [(line.instruction.name, line.instruction.modifiers.get("simm16")) for line in finish(program).lines()]
    assert names[2:4] == [("s_waitcnt", None), ("s_nop", 6)]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_what_the_assembler_made_has_no_open_hazard(arch: str) -> None:
    program = Program(arch)
    mfma(program)
    use(program)
    program.v_readfirstlane_b32(s[0], v[60])
    program.buffer_load_dword(v[50], v[51], s[4:7], s[0], offen=True)
    program.s_endpgm()
    decoded = instructions(program)[: len(finish(program).lines())]
    assert open_hazards(list(enumerate(decoded)), arch) == []
    assert sum(i.definition.has("nop") for i in decoded) > 2


# -- random programs -----------------------------------------------------------------------------------------------
def open_hazards(path: list[tuple[int, Instruction]], arch: str) -> list[tuple[int, str, int]]:
    """Hazards along one path, looked at one pair at a time: place, row, states too few."""
    profiles = dict(enumerate(Profile(instruction, arch) for _, instruction in path))
    found = []
    tracker = Tracker(profiles)
    for i in profiles:
        found += [(path[i][0], m.row.name, m.required - m.there) for m in tracker.missing(profiles[i])]
        tracker.issue(i)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_have_no_open_hazard_on_any_path(seed: int) -> None:
    program = wait_states.insert(random_program(seed))
    choose = random.Random(seed)
    for _ in range(20):
        assert open_hazards(random_path(program, choose), "gfx950") == []


def _given_less(program: Program, place: int) -> Program:
    """The program with one state less at this nop."""
    items = list(program.items)
    line = items[place]
    assert isinstance(line, Line)
    count = line.instruction.modifiers["simm16"]
    assert isinstance(count, int)
    if count:
        items[place] = replace(line, instruction=replace(line.instruction, modifiers={"simm16": count - 1}))
    else:
        del items[place]
    return program.with_items(items)


@pytest.mark.parametrize("seed", range(40))
def test_no_inserted_state_can_be_left_out(seed: int) -> None:
    """In straight-line code each one is needed: with one less some hazard is open."""
    program = random_program(seed)
    program = program.with_items(
        [i for i in program.items if isinstance(i, Line) and not i.instruction.definition.has("branch")]
    )
    result = wait_states.insert(program)
    inserted = [n for n, item in enumerate(result.items) if isinstance(item, Line) and item.remark]
    for place in inserted:
        path = random_path(_given_less(result, place), random.Random(0))
        assert open_hazards(path, "gfx950") != []
