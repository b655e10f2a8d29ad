"""Small programs for the tests of waits, and the waits that finishing gives them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from pykittens.asm import waits
from pykittens.asm.program import Program
from pykittens.isa import text
from pykittens.isa.registers import Reg, s, v

DESCRIPTOR = s[4:7]


def load(p: Program, reg: Reg) -> None:
    name = {1: "buffer_load_dword", 2: "buffer_load_dwordx2", 4: "buffer_load_dwordx4"}[reg.count]
    p.emit(name, reg, v[100], DESCRIPTOR, 0, offen=True)


def store(p: Program, reg: Reg) -> None:
    p.buffer_store_dword(reg, v[100], DESCRIPTOR, 0, offen=True)


def copy(p: Program, tile: str, **options: object) -> None:
    p.buffer_load_dword(None, v[100], DESCRIPTOR, 0, offen=True, lds=True, lds_writes=(tile,), **options)


def lds_read(p: Program, reg: Reg, tile: str, **options: object) -> None:
    p.ds_read_b32(reg, v[101], lds_reads=(tile,), **options)


def use(p: Program, *regs: Reg) -> None:
    for reg in regs:
        p.v_mov_b32(v[120], reg)


def waits_of(build: Callable[[Program], object], arch: str = "gfx950") -> list[str]:
    """The waits of a finished program, each with the instruction after it."""
    lines = finished(build, arch).lines()
    found = []
    for line, following in pairwise(lines):
        if line.instruction.definition.has("waitcnt"):
            counts = text(line.instruction).removeprefix("s_waitcnt ")
            found.append(f"{counts} | {following.instruction.name}")
    return found


def finished(build: Callable[[Program], object], arch: str = "gfx950") -> Program:
    program = Program(arch)
    build(program)
    program.s_endpgm()
    return waits.insert(program)


def loop(p: Program, body: Callable[[], object]) -> None:
    head = p.new_label("loop")
    p.s_mov_b32(s[20], 8)
    p.label(head)
    body()
    p.s_sub_u32(s[20], s[20], 1)
    p.s_cmp_lg_u32(s[20], 0)
    p.s_cbranch_scc1(head)
