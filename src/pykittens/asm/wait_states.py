"""Wait states: the least ``s_nop`` that keep instructions as far apart as the hazard table asks, on every path."""

from __future__ import annotations

from collections.abc import Hashable

from pykittens.isa import DEFINITIONS
from pykittens.isa.hazards import Ages, Missing, Profile, Tracker, join
from pykittens.isa.instruction import Instruction

from .control_flow import forward
from .program import Item, Line, Program

_NOP = DEFINITIONS["s_nop"]
_MOST = 16
"""``s_nop 15`` waits for 16 states; its other bits do nothing."""


def insert(program: Program) -> Program:
    """The program with ``s_nop`` before each instruction that would come too early.

    Raises what `Program.control_flow` raises.
    """
    items, graph = program.items, program.control_flow()
    lines = {i: item for i, item in enumerate(items) if isinstance(item, Line)}
    distinct = {id(line.instruction): line.instruction for line in lines.values()}
    known = {key: Profile(instruction, program.arch) for key, instruction in distinct.items()}
    profiles: dict[Hashable, Profile] = {i: known[id(line.instruction)] for i, line in lines.items()}

    def through(n: int, ages: Ages, out: list[Item] | None = None) -> Ages:
        tracker = Tracker(profiles, ages)
        for i in range(graph[n].start, graph[n].stop):
            if i in lines:
                missing = tracker.missing(profiles[i])
                if missing:
                    tracker.wait(max(m.required - m.there for m in missing))
                    if out is not None:
                        out += _nops(missing, lines[i], lines)
                tracker.issue(i)
            if out is not None:
                out.append(items[i])
        return tracker.ages()

    start: Ages = {}
    result: list[Item] = []
    entries = forward(graph, start, through, join)
    for n, ages in enumerate(entries):
        through(n, ages or {}, result)
    return program.with_items(result)


def _nops(missing: list[Missing], line: Line, lines: dict[int, Line]) -> list[Item]:
    worst = max(missing, key=lambda m: m.required - m.there)
    states = worst.required - worst.there
    assert isinstance(worst.producer, int)
    wanted = f"{worst.required} state{'s' if worst.required > 1 else ''}"
    remark = f"{worst.row.name}: {wanted} after {lines[worst.producer].instruction.name}"
    nops: list[Item] = []
    while states > 0:
        count = min(states, _MOST)
        instruction = Instruction(_NOP, (), {"simm16": count - 1}, where=line.instruction.where)
        nops.append(Line(instruction, line.phase, remark=remark))
        states -= count
    return nops
