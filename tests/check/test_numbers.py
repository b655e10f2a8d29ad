"""Values along paths: the arithmetic on all waves is that of each wave, and unknown numbers are followed soundly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.isa.alu_cases import ACCUM_OFFSET, Cases

from pykittens.check.numbers import SCC_KEY, Arithmetic, Knowledge, Number, computable
from pykittens.isa import DEFINITIONS, Const, Reg
from pykittens.isa.effects import VECTOR_ROWS, mask_of, reads, writes
from pykittens.isa.instruction import Instruction
from pykittens.sim.oracle import Wave

COMPUTED = [d.name for d in DEFINITIONS.values() if computable(d)]
OWNER = "here"


def _bits(mask: int) -> Iterator[int]:
    return (n for n in range(mask.bit_length()) if mask >> n & 1)


def _knowledge(arithmetic: Arithmetic, waves: list[Wave], keys: Iterator[int]) -> Knowledge:
    known = Knowledge(waves=(1 << len(waves)) - 1)
    for key in keys:
        words = np.array([_words(wave, key) for wave in waves], np.uint32)
        known.registers[key] = arithmetic.numbers.make(None, words)
    return known


def _words(wave: Wave, key: int) -> np.ndarray:
    if key < VECTOR_ROWS:
        return wave.vgpr[key]
    return np.array([wave.scc if key == SCC_KEY else wave.sgpr[key - VECTOR_ROWS]])


@pytest.mark.parametrize("name", COMPUTED)
def test_all_waves_compute_what_each_wave_does(name: str) -> None:
    """Against the oracle, with random registers, EXEC among them."""
    d = DEFINITIONS[name]
    cases = Cases(d, 3)
    told = 0
    for n, (instruction, mode) in enumerate(cases.instructions()):
        waves = [cases.wave(instruction) for _ in range(3)]
        for wave in waves if n % 2 == 0 else ():
            wave.sgpr[126:128] = 0xFFFFFFFF
        arithmetic = Arithmetic(d.archs[-1], ACCUM_OFFSET, len(waves))
        needed = mask_of(reads(instruction), ACCUM_OFFSET) | mask_of(writes(instruction), ACCUM_OFFSET)
        known = _knowledge(arithmetic, waves, _bits(needed & ((1 << SCC_KEY + 1) - 1)))
        written = tuple(_bits(mask_of(writes(instruction), ACCUM_OFFSET)))
        arithmetic.execute(known, instruction, OWNER, written, computes=True)
        for w, wave in enumerate(waves):
            wave.run(instruction, d.archs[-1], mode)
            for key in written:
                number = known.registers.get(key)
                if number is not None and number.symbol is None:
                    told += 1
                    assert (number.words[w] == _words(wave, key)).all(), instruction
    assert told or not d.dsts


def _scalar(name: str, *sources: Reg | Const) -> Instruction:
    return Instruction(DEFINITIONS[name], (Reg("s", 8), *sources))


def _computed(instruction: Instruction) -> Number:
    """What s8 holds after an instruction on s4, which is 16 more than an unknown number."""
    arithmetic = Arithmetic("gfx950", ACCUM_OFFSET, 1)
    key = VECTOR_ROWS + 4
    known = Knowledge({key: arithmetic.numbers.make(("load", key), np.full((1, 1), 16, np.uint32))}, waves=1)
    arithmetic.execute(known, instruction, OWNER, (VECTOR_ROWS + 8, SCC_KEY), computes=True)
    assert SCC_KEY not in known.registers
    return known.registers[VECTOR_ROWS + 8]


S4 = Reg("s", 4)


@pytest.mark.parametrize(
    ("instruction", "offset"),
    [
        (_scalar("s_add_u32", S4, Const(8)), 24), (_scalar("s_sub_u32", S4, Const(20)), -4),
        (_scalar("s_or_b32", S4, Const(4)), None), (_scalar("s_and_b32", S4, Const(0xFFFFFFF0)), None),
        (_scalar("s_xor_b32", S4, Const(1)), None), (_scalar("s_max_u32", S4, Const(5)), None),
        (_scalar("s_min_i32", S4, Const(0x7FFFFFFE, "literal")), None), (_scalar("s_max_u32", S4, Const(1)), None),
        (_scalar("s_lshl_b32", S4, Const(1)), None),
        (_scalar("s_lshl_b32", S4, Const(0)), 16), (_scalar("s_sub_u32", Const(0), S4), None),
        (_scalar("s_bfe_u32", S4, Const(0x200000, "literal")), 16),
    ],
)  # fmt: skip
def test_an_unknown_number_and_what_is_added(instruction: Instruction, offset: int | None) -> None:
    found = _computed(instruction)
    if offset is None:
        assert found.symbol == (OWNER, VECTOR_ROWS + 8)
    else:
        assert found.symbol == ("load", VECTOR_ROWS + 4)
        assert int(found.words[0, 0]) == offset & 0xFFFFFFFF


def test_a_newer_unknown_number_takes_the_place_of_the_older() -> None:
    arithmetic = Arithmetic("gfx950", ACCUM_OFFSET, 1)
    load = Instruction(DEFINITIONS["s_load_dword"], (Reg("s", 4), Reg("s", 0, 2), None), {"offset": 0})
    move = Instruction(DEFINITIONS["s_mov_b32"], (Reg("s", 8), Reg("s", 4)))
    known = Knowledge(waves=1)
    first, second = VECTOR_ROWS + 4, VECTOR_ROWS + 8
    arithmetic.execute(known, load, "load", (first,), computes=False)
    arithmetic.execute(known, move, "move", (second,), computes=True)
    assert known.registers[first] is known.registers[second]
    arithmetic.execute(known, load, "load", (first,), computes=False)
    assert second not in known.registers and known.registers[first].symbol == ("load", first)
