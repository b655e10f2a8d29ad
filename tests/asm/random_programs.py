"""Random programs with loops and branches over few registers, so that much depends on much."""

from __future__ import annotations

import random

from pykittens.asm.program import LabelMark, Line, Program
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Label, a, m0, s, v, vcc

_REGISTERS = 6


def random_program(seed: int, length: int = 24) -> Program:
    """A program of about so many instructions; branches go to random labels, forward and back."""
    choose = random.Random(seed)
    program = Program("gfx950")
    labels = [f"l{i}" for i in range(choose.randrange(4))]
    places = sorted(choose.randrange(length) for _ in labels)
    for i in range(length):
        for label, place in zip(labels, places, strict=True):
            if place == i:
                program.label(label)
        if labels and choose.random() < 0.12:
            program.s_cbranch_scc1(choose.choice(labels))
        else:
            _instruction(program, choose)
    program.s_endpgm()
    return program


def _instruction(p: Program, choose: random.Random) -> None:
    def one() -> int:
        return choose.randrange(_REGISTERS)

    def pair() -> int:
        return 2 * choose.randrange(_REGISTERS // 2)

    x, y, even = one(), one(), pair()
    accumulator = choose.choice((v, a))[0:3]
    choose.choice((
        lambda: p.v_add_f32(v[x], v[y], v[one()]),
        lambda: p.v_rcp_f32(v[x], v[y]),
        lambda: p.v_mov_b32(v[x], v[y], dpp_ctrl=("row_shl", 1)),
        lambda: p.v_cmp_lt_f32(vcc, v[x], v[y]),
        lambda: p.v_cndmask_b32(v[x], v[y], v[one()], vcc),
        lambda: p.v_readfirstlane_b32(s[x], v[y]),
        lambda: p.v_mfma_f32_4x4x4_16b_f16(accumulator, v[even : even + 1], v[4:5], accumulator),
        lambda: p.v_mfma_f32_16x16x16_f16(accumulator, v[even : even + 1], v[4:5], accumulator),
        lambda: p.s_mov_b32(m0, s[x]),
        lambda: p.s_add_u32(s[x], s[y], 1),
        lambda: p.s_nop(choose.randrange(3)),
        lambda: p.s_waitcnt(**{choose.choice(("vmcnt", "lgkmcnt")): choose.randrange(4)}),
        lambda: p.s_load_dword(s[x], s[even : even + 1]),
        lambda: p.ds_read_b32(v[x], v[y]),
        lambda: p.ds_write_b32(v[x], v[y]),
        lambda: p.buffer_load_dword(v[x], v[y], s[0:3], s[one()], offen=True),
        lambda: p.buffer_load_dword(None, v[y], s[0:3], 0, offen=True, lds=True),
        lambda: p.buffer_store_dwordx4(v[0:3], v[y], s[0:3], 0, offen=True),
        lambda: p.flat_load_dword(v[x], v[even : even + 1]),
        lambda: p.flat_store_dword(v[even : even + 1], v[x]),
    ))()  # fmt: skip


def random_path(program: Program, choose: random.Random, most: int = 200) -> list[tuple[int, Instruction]]:
    """One execution, its branches taken at random: item numbers and instructions."""
    places = {item.name: i for i, item in enumerate(program.items) if isinstance(item, LabelMark)}
    path: list[tuple[int, Instruction]] = []
    i = 0
    while len(path) < most:
        item = program.items[i]
        i += 1
        if not isinstance(item, Line):
            continue
        path.append((i - 1, item.instruction))
        if item.instruction.definition.has("ends"):
            break
        if item.instruction.definition.has("branch") and choose.random() < 0.5:
            target = item.instruction.operands[0]
            assert isinstance(target, Label)
            i = places[target.name]
    return path
