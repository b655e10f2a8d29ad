"""Derived waits on random programs: along random paths nothing is touched that could still be under way."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pykittens.asm import waits
from pykittens.asm.program import Line, Program
from pykittens.isa.define import Counter, Unit
from pykittens.isa.effects import reads, writes
from pykittens.isa.instruction import Instruction

from .random_programs import random_path, random_program


class Counters:
    """A wave whose accesses complete as late as the counters allow."""

    def __init__(self) -> None:
        self.under_way: dict[str, list[tuple[Instruction, bool]]] = {"vmcnt": [], "lgkmcnt": []}

    def step(self, instruction: Instruction) -> bool:
        """Execute; whether everything it touches has arrived."""
        touched = reads(instruction) + writes(instruction)
        early = any(
            reg.overlaps(other)
            for queue in self.under_way.values()
            for access, _ in queue
            for reg in writes(access)
            for other in touched
        )
        d = instruction.definition
        if d.has("waitcnt"):
            for name, queue in self.under_way.items():
                count = instruction.modifiers.get(name)
                if isinstance(count, int):
                    self.under_way[name] = [access for i, access in enumerate(queue) if not self._done(queue, i, count)]
        if d.counter in (Counter.VM, Counter.BOTH):
            self.under_way["vmcnt"].append((instruction, d.counter is Counter.VM))
        if d.counter in (Counter.LGKM, Counter.BOTH):
            self.under_way["lgkmcnt"].append((instruction, d.unit is Unit.LDS))
        return not early

    @staticmethod
    def _done(queue: list[tuple[Instruction, bool]], i: int, count: int) -> bool:
        """Whether access ``i`` must be complete if no more than ``count`` are under way."""
        ordered = queue[i][1]
        # If it were not, then neither would those behind it that come back in order with it.
        others = sum(later for _, later in queue[i + 1 :]) if ordered else 0
        return 1 + others > count


@pytest.mark.parametrize("seed", range(80))
def test_nothing_is_touched_too_early(seed: int) -> None:
    program = waits.insert(random_program(seed, 40))
    choose = random.Random(seed)
    for _ in range(20):
        wave = Counters()
        for place, instruction in random_path(program, choose):
            assert wave.step(instruction), (place, instruction)


def _straight(program: Program) -> Program:
    lines = [i for i in program.items if isinstance(i, Line) and not i.instruction.definition.has("branch")]
    return program.with_items([line for line in lines if not line.instruction.definition.has("waitcnt")])


@pytest.mark.parametrize("seed", range(60))
def test_no_count_can_be_looser(seed: int) -> None:
    """In straight-line code each derived count is needed: one more and something is touched too early."""
    program = waits.insert(_straight(random_program(seed, 40)))
    for place, item in enumerate(program.items):
        if not isinstance(item, Line) or not item.instruction.definition.has("waitcnt"):
            continue
        for name, count in item.instruction.modifiers.items():
            assert isinstance(count, int)
            looser = replace(item.instruction, modifiers={**item.instruction.modifiers, name: count + 1})
            items = [*program.items[:place], replace(item, instruction=looser), *program.items[place + 1 :]]
            wave = Counters()
            steps = [wave.step(i) for _, i in random_path(program.with_items(items), random.Random(0))]
            assert not all(steps), (place, name)
