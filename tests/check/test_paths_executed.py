"""Whatever a wave does, the paths have it: random programs are executed, wave by wave, beside the graphs."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from tests.sim.assembled import code_object, pointers

from pykittens.asm.code_object import read
from pykittens.check.code import KernelCode, Places, follow
from pykittens.check.numbers import Number
from pykittens.isa import Label, text
from pykittens.isa.effects import VECTOR_ROWS
from pykittens.isa.instruction import Instruction
from pykittens.isa.semantics import is_alu
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave

_WAVES, _STEPS = 4, 300
_COMPARISONS = ("eq", "lg", "lt", "ge")


def _program(rng: random.Random) -> str:
    """Straight lines and branches to anywhere, on few registers and small numbers."""
    count = rng.randint(5, 9)
    lines = [f"s_mov_b32 s{n}, {rng.randint(0, 3)}" for n in range(8, 12)]
    lines += ["v_lshrrev_b32 v1, 6, v0", "s_nop 0", "v_readfirstlane_b32 s12, v1", "v_mov_b32 v2, 0"]
    for block in range(count):
        lines.append(f".L{block}:")
        lines += [_line(rng) for _ in range(rng.randint(0, 4))]
        target = f".L{rng.randrange(count)}"
        kind = rng.random()
        if kind < 0.7:
            lines.append(f"s_cmp_{rng.choice(_COMPARISONS)}_u32 {_scalar(rng)}, {_scalar(rng)}")
            lines += ["s_nop 0"] * rng.randint(0, 1)
            lines.append(f"s_cbranch_scc{rng.randint(0, 1)} {target}")
        elif kind < 0.85:
            lines.append(f"v_cmp_{rng.choice(('eq', 'lt'))}_u32 vcc, {_scalar(rng)}, v{rng.randint(0, 2)}")
            lines.append(f"s_cbranch_vcc{rng.choice(('z', 'nz'))} {target}")
        elif kind < 0.92:
            lines.append(f"s_branch {target}")
    return "\n".join(lines) + "\n"


def _scalar(rng: random.Random) -> str:
    return rng.choice(["s2", "s3", "s8", "s9", "s10", "s11", "s12", "0", "1", "2"])


def _line(rng: random.Random) -> str:
    d = f"s{rng.randint(8, 11)}"
    return rng.choice(
        [
            f"s_mov_b32 {d}, {_scalar(rng)}", f"s_add_u32 {d}, {d}, {rng.randint(0, 2)}",
            f"s_sub_u32 {d}, {_scalar(rng)}, 1", f"s_and_b32 {d}, {d}, {_scalar(rng)}",
            f"s_load_dword {d}, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)",
            f"v_add_u32 v2, {_scalar(rng)}, v{rng.randint(0, 2)}",
            f"v_readfirstlane_b32 {d}, v{rng.randint(1, 2)}", f"s_cselect_b32 {d}, {_scalar(rng)}, {d}",
        ]
    )  # fmt: skip


class _Run:
    """One wave executes the code; loads bring anything."""

    def __init__(self, code: KernelCode, number: int, rng: random.Random) -> None:
        self.code, self.number, self.rng = code, number, rng
        self.wave = Wave()
        self.wave.vgpr[0] = np.arange(64) + 64 * number
        self.wave.sgpr[126:128] = 0xFFFFFFFF
        self.wave.sgpr[2:4] = rng.randint(0, 3), rng.randint(0, 3)

    def step(self, instruction: Instruction) -> bool:
        """Execute it; whether a branch is taken."""
        d = instruction.definition
        if is_alu(d):
            self.wave.run(instruction, self.code.arch, Mode())
        elif d.access is not None:
            self.wave.sgpr[instruction.dsts[0].index] = self.rng.randint(0, 3)  # type: ignore[union-attr]
        if not d.has("branch"):
            return False
        if not d.has("conditional"):
            return True
        vcc = int(self.wave.sgpr[106]) | int(self.wave.sgpr[107]) << 32
        value = self.wave.scc if d.name.startswith("s_cbranch_scc") else vcc == 0
        return bool(value) == d.name.endswith(("1", "vccz"))


def _blocks_run(code: KernelCode, run: _Run) -> list[int]:
    """The blocks of the code's graph in the order in which the wave comes to them."""
    starts = {block.start: n for n, block in enumerate(code.graph) if block.start < block.stop}
    number = {i.pc: n for n, i in enumerate(code.instructions)}
    n, order = 0, [0]
    for _ in range(_STEPS):
        if n in starts:
            order.append(starts[n])
        instruction = code.instructions[n]
        end = instruction.pc + instruction.size
        taken = run.step(instruction)
        if instruction.definition.has("ends"):
            break
        label = next((o for o in instruction.operands if isinstance(o, Label)), None)
        n = number[end + label.offset if taken and label is not None and label.offset is not None else end]
    return order


@pytest.mark.parametrize("seed", range(16))
def test_every_wave_goes_along_edges_of_both_graphs(seed: int) -> None:
    rng = random.Random(seed)
    options = (("max_workgroup_size", 64 * _WAVES),)
    found = read(code_object(f"{_program(rng)}s_endpgm\n", "gfx950", pointers(1), options))
    code = follow(found, found.kernel(), Places(found))
    plain, apart = code.paths.plain, code.paths.apart
    same = {
        (b.start, b.stop): {n for n, a in enumerate(apart) if (a.start, a.stop) == (b.start, b.stop)} for b in plain
    }
    for trial in range(12):
        order = _blocks_run(code, _Run(code, trial % _WAVES, rng))
        here = {0}
        for before, after in pairwise(order):
            assert after in plain[before].successors, (seed, trial, order)
            block = plain[after]
            here = {s for n in here for s in apart[n].successors} & same[block.start, block.stop]
            assert here, (seed, trial, order)


def _holds(number: Number, wave: int, lane_or_one: np.ndarray) -> bool:
    return number.symbol is not None or bool((number.words[wave] == lane_or_one).all())


@pytest.mark.parametrize("seed", range(16, 28))
def test_every_known_value_is_what_the_wave_has(seed: int) -> None:
    """Before each branch, whichever node of the graph the wave may be in: one of them has its values."""
    rng = random.Random(seed)
    options = (("max_workgroup_size", 64 * _WAVES),)
    found = read(code_object(f"{_program(rng)}s_endpgm\n", "gfx950", pointers(1), options))
    code = follow(found, found.kernel(), Places(found))
    walk = code.paths._plain
    for trial in range(8):
        run = _Run(code, trial % _WAVES, rng)
        starts = {block.start: n for n, block in enumerate(code.graph) if block.start < block.stop}
        number = {i.pc: n for n, i in enumerate(code.instructions)}
        n = 0
        for _ in range(_STEPS):
            if n in starts:
                (known,) = (k for node, k in walk.entries.items() if node[0] == starts[n])
                assert known.waves >> run.number & 1
                for key, value in known.registers.items():
                    live = any(code.reads[i] >> key & 1 for i in code.paths.deciding[starts[n]])
                    if live and key not in _written_before_read(code, starts[n]):
                        words = run.wave.vgpr[key] if key < VECTOR_ROWS else _scalar_words(run.wave, key)
                        assert _holds(value, run.number, words), (seed, trial, key, text(code.instructions[n]))
            instruction = code.instructions[n]
            taken = run.step(instruction)
            if instruction.definition.has("ends"):
                break
            end = instruction.pc + instruction.size
            label = next((o for o in instruction.operands if isinstance(o, Label)), None)
            n = number[end + label.offset if taken and label is not None and label.offset is not None else end]


def _scalar_words(wave: Wave, key: int) -> np.ndarray:
    scalar = key - VECTOR_ROWS
    return np.array([wave.sgpr[scalar] if scalar < 128 else wave.scc])


def _written_before_read(code: KernelCode, block: int) -> set[int]:
    """Registers whose value at the block's start does not matter: what is known of them may be old."""
    written, found = 0, set()
    for n in code.paths.deciding[block]:
        found |= {key for key in range(VECTOR_ROWS + 129) if (written & code.reads[n]) >> key & 1}
        written |= code.writes[n]
    return found
