"""Machine programs: lines, labels, control flow, phases, and their assembly text."""

from __future__ import annotations

import pytest

from pykittens.asm.control_flow import Block, forward, reverse_postorder
from pykittens.asm.phases import Phases
from pykittens.asm.program import Program, WaitFor
from pykittens.asm.source_lines import SourceLines
from pykittens.errors import BuildError, Unsupported
from pykittens.isa import decode
from pykittens.isa.registers import s, v

from .assembled import code_object


def _loop(arch: str = "gfx950") -> Program:
    program = Program(arch)
    program.s_mov_b32(s[0], 4)
    program.phase = "QK: first"
    program.label("head")
    program.v_mov_b32(v[0], s[0])
    program.phase = "PV"
    program.s_sub_u32(s[0], s[0], 1)
    program.s_cmp_lg_u32(s[0], 0)
    program.s_cbranch_scc1("head")
    program.phase = None
    program.s_endpgm()
    return program


def test_lines_know_where_they_come_from() -> None:
    program = Program("gfx950")
    program.v_mov_b32(v[0], 0)
    with program.at("kernel.py:7"):
        program.v_mov_b32(v[1], 0)
    first, second = program.lines()
    assert first.instruction.where is not None
    assert first.instruction.where.startswith(__file__ + ":")
    assert second.instruction.where == "kernel.py:7"


def test_wait_for_keeps_its_place_and_phase() -> None:
    program = Program("gfx950")
    program.phase = "00"
    with program.at("kernel.py:7"):
        program.wait_for("As", "Bs", remark="next K-tile")
    assert program.items == [WaitFor(("As", "Bs"), "next K-tile", "kernel.py:7", "00")]


def test_a_wait_for_tiles_has_no_text() -> None:
    program = Program("gfx950")
    program.wait_for("As")
    with pytest.raises(AssertionError, match=r"waits\.insert"):
        program.assembly()


def test_labels_are_new_each_time() -> None:
    program = Program("gfx950")
    assert program.new_label("loop") != program.new_label("loop")


def test_control_flow_of_a_loop() -> None:
    assert _loop().control_flow() == [
        Block(0, 1, (1,), ()),
        Block(1, 6, (1, 2), (0, 1)),
        Block(6, 7, (), (1,)),
    ]


def test_labels_at_one_place_and_unreachable_code() -> None:
    program = Program("gfx950")
    program.s_branch("b")
    program.s_nop(0)
    program.label("a")
    program.label("b")
    program.s_endpgm()
    graph = program.control_flow()
    assert reverse_postorder(graph) == [0, 2]
    assert graph[2].predecessors == (0, 1)


@pytest.mark.parametrize(
    ("code", "words", "build"),
    [
        ("unknown-label", "s_branch goes to nowhere, which stands nowhere", lambda p: p.s_branch("nowhere")),
        ("no-end", "end it with s_endpgm", lambda p: p.s_nop(0)),
        ("no-end", "end it with s_endpgm", lambda p: (p.s_cbranch_scc0("x"), p.s_endpgm(), p.label("x"))),
        ("label-twice", "the label x stands at two places", lambda p: (p.label("x"), p.s_endpgm(), p.label("x"))),
        ("indirect-branch", "s_setpc_b64 goes where no label tells", lambda p: p.s_setpc_b64(s[0:1])),
        ("indirect-branch", "s_call_b64 goes where", lambda p: (p.label("x"), p.s_call_b64(s[0:1], "x"))),
    ],
)
def test_control_flow_that_cannot_be_followed(code: str, words: str, build) -> None:  # type: ignore[no-untyped-def]
    program = Program("gfx950")
    build(program)
    with pytest.raises((BuildError, Unsupported), match=words) as caught:
        program.control_flow()
    assert caught.value.code == code


def test_unreachable_code_may_run_past_the_end() -> None:
    program = Program("gfx950")
    program.s_endpgm()
    program.s_nop(0)
    assert len(program.control_flow()) == 2


def test_forward_reaches_the_fixpoint_and_leaves_unreachable_blocks_out() -> None:
    program = _loop()
    program.s_nop(0)
    graph = program.control_flow()
    entries = forward(graph, frozenset({-1}), lambda n, state: state | {n}, frozenset.union)
    assert entries == [{-1}, {-1, 0, 1}, {-1, 0, 1}, None]


def test_forward_ends_where_the_transfer_is_not_monotone() -> None:
    graph = _loop().control_flow()
    # Each round undoes what the one before did.
    entries = forward(graph, frozenset({0}), lambda n, state: state ^ {1}, frozenset.union)
    assert entries[1] == {0, 1}


def test_an_empty_program_does_not_end() -> None:
    with pytest.raises(BuildError, match="no-end"):
        Program("gfx950").control_flow()


def test_phases_and_lines_survive_the_assembler() -> None:
    program = _loop()
    found = code_object(program)
    kernel = found.kernel()
    decoded = decode(found.code(kernel), program.arch, kernel.entry)[: len(program.lines())]
    phases, lines = Phases(found), SourceLines(found)
    assert [phases.at(i.pc) for i in decoded] == [line.phase for line in program.lines()]
    wheres = [line.instruction.where.rpartition("/")[2] for line in program.lines() if line.instruction.where]
    assert [str(lines.at(i.pc)) for i in decoded] == wheres
    assert phases.at(kernel.entry - 4) is None


@pytest.mark.parametrize("name", ["a$b", 'a"b', "a\nb", "a\\b"])
def test_phase_names_that_no_symbol_can_have(name: str) -> None:
    program = Program("gfx950")
    program.phase = name
    program.s_endpgm()
    with pytest.raises(BuildError, match="phase-name"):
        program.assembly()


def test_file_names_do_not_depend_on_folders_unless_two_are_alike() -> None:
    program = Program("gfx950")
    for path in ("x/kernels/gemm.py:1", "x/mine/gemm.py:2", "x/mine/norm.py:3", "x/kernels/gemm.py:4"):
        with program.at(path):
            program.s_nop(0)
    lines, files = program.assembly()
    assert files == ["kernels/gemm.py", "mine/gemm.py", "norm.py"]
    assert [line.strip() for line in lines if ".loc" in line] == [".loc 1 1", ".loc 2 2", ".loc 3 3", ".loc 1 4"]


def test_text_is_the_same_every_time() -> None:
    assert _loop().assembly() == _loop().assembly()
