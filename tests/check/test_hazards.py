"""Wait states on bytes: for every row of the table and both chips, one state too few is found and enough is not."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.isa.hazard_pairs import PROBES, PRODUCERS, ROW_PAIRS, Emit, matrix_consumer, matrix_producer

from pykittens.asm.code_object import read
from pykittens.asm.kernel_text import render_kernel
from pykittens.asm.program import Program
from pykittens.asm.toolchain import assemble
from pykittens.check.findings import Finding
from pykittens.check.static import check
from pykittens.isa import decode
from pykittens.isa.hazards import ROWS, required
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import s

from .assembled import ARCHS, codes, report

_PROBES = Path(__file__).parents[1] / "isa" / "hazards_llvm22.csv"
_NAMES = ("wait-states", "wait-states-disputed")


def _candidates() -> Iterator[tuple[Emit, Emit]]:
    yield from ROW_PAIRS.values()
    yield from PROBES.values()
    with _PROBES.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["producer"] in PRODUCERS:
                name, modifiers = PRODUCERS[row["producer"]]
                yield matrix_producer(name, **modifiers), matrix_consumer(row["consumer"], name, modifiers)


def _instruction(emit: Emit) -> Instruction:
    program = Program("gfx950")
    emit(program)
    return program.lines()[0].instruction


@cache
def _deciding(arch: str) -> dict[tuple[str, int], tuple[Emit, Emit]]:
    """For each row and number that it asks for, a pair of instructions of which no other row asks more."""
    found: dict[tuple[str, int], tuple[Emit, Emit]] = {}
    for first, second in _candidates():
        pair = _instruction(first), _instruction(second)
        if all(arch in i.definition.archs for i in pair):
            rows = required(*pair, arch)
            most = max((states for _, states in rows), default=0)
            for row, states in rows:
                if states == most:
                    found.setdefault((row.name, states), (first, second))
    return found


def _in_line(program: Program, first: Emit, second: Emit, states: int) -> int:
    """The pair with so many states between; the number of the second instruction's line."""
    first(program)
    return _fill(program, states, second)


def _into_a_block(program: Program, first: Emit, second: Emit, states: int) -> int:
    """The second one starts a block that another path leads to as well."""
    label = program.new_label("joint")
    program.s_cbranch_scc1(label)
    first(program)
    return _fill(program, states, second, label)


def _round_a_loop(program: Program, first: Emit, second: Emit, states: int) -> int:
    """The second one starts a loop that the first one ends, with the branch between them as one state."""
    label = program.new_label("loop")
    place = _fill(program, 0, second, label)
    for _ in range(2):
        program.s_nop(15)
    first(program)
    _fill(program, states - 1, lambda p: p.s_cbranch_scc1(label))
    return place


def _fill(program: Program, states: int, second: Emit, label: str | None = None) -> int:
    for _ in range(states):
        program.s_mov_b32(s[90], 0)
    if label is not None:
        program.label(label)
    place = len(program.lines())
    second(program)
    return place


_LAYOUTS = {"line": _in_line, "block": _into_a_block, "loop": _round_a_loop}


@cache
def _findings(arch: str, layout: str) -> dict[tuple[str, int, int], list[Finding]]:
    """For each row, number of states asked for, and states missing: what is said of wait states at the consumer."""
    program = Program(arch)
    places: dict[tuple[str, int, int], int] = {}
    for (name, states), (first, second) in _deciding(arch).items():
        for missing in (0, 1, 2):
            if states - missing >= (layout == "loop"):
                places[name, states, missing] = _LAYOUTS[layout](program, first, second, states - missing)
                for _ in range(2):
                    program.s_nop(15)
    program.s_endpgm()
    lines, files = program.assembly()
    text = render_kernel(
        "k", arch, lines, files=files, args=(), kernarg_size=0, vgprs=256, agprs=256, sgprs=100, lds_bytes=65536,
        max_workgroup_size=256,
    )  # fmt: skip
    code_object = read(assemble(text, arch))
    kernel = code_object.kernel()
    pcs = [i.pc for i in decode(code_object.code(kernel), arch, kernel.entry)]
    at: dict[int | None, list[Finding]] = {}
    for f in check(code_object).findings:
        if f.code in _NAMES:
            at.setdefault(f.pc, []).append(f)
    return {key: at.get(pcs[n], []) for key, n in places.items()}


def test_every_row_is_tried() -> None:
    assert {name for arch in ARCHS for name, _ in _deciding(arch)} == {row.name for row in ROWS}


@pytest.mark.parametrize("arch", ARCHS)
def test_every_number_of_passes_is_tried(arch: str) -> None:
    """The rows on XDL results, by 2, 4, 8 and 16 passes."""
    numbers = {states for name, states in _deciding(arch) if name == "xdl-valu"}
    assert numbers == ({5, 7, 11, 19} if arch == "gfx942" else {5, 8, 12, 20})


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("arch", ARCHS)
def test_one_state_too_few_is_found_and_enough_is_silent(arch: str, layout: str) -> None:
    rows = {row.name: row for row in ROWS}
    for (name, states, missing), found in _findings(arch, layout).items():
        if not missing:
            assert found == [], (name, states)
            continue
        said = [f for f in found if f"({name}, {rows[name].source})" in f.why]
        assert len(said) == 1, (name, states, missing, [f.why for f in found])
        words = f"{states} wait states are required between them on {arch}, {states - missing} stand there"
        assert words in said[0].why or rows[name].agreed is not None, said[0].why
        assert (said[0].severity == "note") == (said[0].code == "wait-states-disputed"), name
        # A branch that is taken lasts longer than the one state that it counts as.
        doubtful = rows[name].agreed is not None or name == "m0" or (layout == "loop" and missing == 1)
        assert said[0].severity == "error" or doubtful, (name, states, missing)


def test_across_blocks_and_round_a_loop() -> None:
    code = """
  v_mov_b32 v1, 1.0
  v_mov_b32 v2, 1.0
  s_mov_b32 s8, 0
.Lloop:
  {first}
  s_add_u32 s8, s8, 1
  s_cmp_lt_u32 s8, 8
  {last}
  s_cbranch_scc1 .Lloop
  {after}
"""
    read, write = "v_readlane_b32 s9, v3, s10", "v_readfirstlane_b32 s10, v2"
    found = report("  v_mov_b32 v3, 0\n  s_mov_b32 s10, 0\n" + code.format(first=read, last=write, after=""))
    assert [(f.code, f.instruction) for f in found.findings if f.severity == "error"] == [("wait-states", read)]
    assert "4 wait states are required between them on gfx950, 1 stand there" in found.findings[0].why
    assert (
        codes("  v_mov_b32 v3, 0\n  s_mov_b32 s10, 0\n" + code.format(first="s_nop 3\n" + read, last=write, after=""))
        == []
    )
    assert codes("  v_mov_b32 v3, 0\n" + code.format(first="", last=write, after=read)) == ["wait-states"]


START = "".join(
    [*(f"  v_mov_b32 v{n}, 0\n" for n in range(16)), *(f"  s_mov_b32 s{n}, 0\n" for n in range(4, 12)), "  s_nop 1\n"]
)
MFMA_32 = "v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], "
MFMA_16 = "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[8:9], "
PART = "v_add_f16_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:WORD_0"


MFMA, AB = "v_mfma_f32_16x16x16_f16", "v[4:5], v[4:5], 0"


@pytest.mark.parametrize(
    ("lines", "doubt"),
    [
        # By the rule each instruction counts once, but the second matrix instruction waits for the first.
        ((f"{MFMA} v[0:3], {AB}", f"{MFMA} v[8:11], {AB}", *["s_nop 0"] * 4, "v_mov_b32 v12, v0"), "8 pass"),
        ((f"{MFMA} v[0:3], {AB}", *["s_nop 0"] * 5, "v_mov_b32 v12, v0"), None),
        (("v_readfirstlane_b32 s9, v1", "s_and_b32 s9, s9, 0xff", "v_mov_b32 v3, s9"), "the SALU has read it"),
        (("v_readfirstlane_b32 s9, v1", "s_and_b32 s8, s8, 0xff", "v_mov_b32 v3, s9"), None),
        (("v_mov_b32 v1, v2", "v_mul_f32_dpp v3, v4, v1 row_newbcast:0"), "the source that crosses lanes is another"),
        (("v_mov_b32 v1, v2", "v_mul_f32_dpp v3, v1, v4 row_newbcast:0"), None),
        (("s_mov_b32 m0, 0", "buffer_load_dword v0, s[4:7], 0 offen lds"), "shipped kernels copy to LDS at once"),
        (("s_mov_b32 m0, 0", "s_sendmsg 1"), None),
    ],
)  # fmt: skip
def test_what_the_hardware_is_known_to_stand_is_a_note(lines: tuple[str, ...], doubt: str | None) -> None:
    found = report(START + "".join(f"  {line}\n" for line in lines))
    (said,) = [f for f in found.findings if f.code in _NAMES]
    assert (said.code == "wait-states-disputed") == (doubt is not None)
    assert doubt is None or f"and {doubt}" in said.why


@pytest.mark.parametrize("between", [0, 1, 2, 3])
def test_a_taken_branch_lasts_longer_than_one_instruction(between: int) -> None:
    nops = "  s_nop 0\n" * between
    branch = "  s_branch .Lover\n  s_endpgm\n.Lover:\n"
    found = report(f"{START}  v_readfirstlane_b32 s9, v1\n{nops}{branch}  v_readlane_b32 s8, v1, s9\n")
    said = [f for f in found.findings if f.code in _NAMES]
    assert [f.severity for f in said] == (["error"], ["error"], ["note"], [])[between]
    assert between != 2 or "and the branch that is taken between them lasts at least 2" in said[0].why
