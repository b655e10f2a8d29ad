"""Wait states: whether enough instructions stand between two that the hardware does not keep apart, on every path."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from pykittens.asm.control_flow import Block, forward
from pykittens.check.code import KernelCode
from pykittens.check.findings import Finding
from pykittens.check.hazard_doubts import disputed
from pykittens.isa.hazards import LONGEST, Ages, Missing, Profile, Tracker, join, wait_states
from pykittens.isa.instruction import Instruction

_TAKEN_BRANCH = 2
"""Issue slots of a branch that is taken: 1 by the rule, published as 6 (`branch_quads`); LLVM's code relies on some."""


class _Profiles(dict[Hashable, Profile]):
    """Profiles by instruction number; instructions of one encoding share theirs."""

    def __init__(self, code: KernelCode) -> None:
        super().__init__()
        shared: dict[tuple[int, int, int, str], Profile] = {}
        for n, i in enumerate(code.instructions):
            key = id(i.definition), id(i.operands), id(i.modifiers), i.encoding
            profile = shared.get(key)
            if profile is None:
                profile = shared[key] = Profile(i, code.arch, code.accum_offset)
            self[n] = profile


def check_hazards(code: KernelCode) -> list[Finding]:
    """Every pair that is too close, each consumer with each producer once for each row of the table."""
    profiles = _Profiles(code)
    found = _missing(code, profiles, code.paths.apart, {})
    slow: set[tuple[int, Hashable, str]] | None = None
    findings = []
    for n, missing in found:
        doubt = ""
        if missing.there < missing.agreed:
            doubt = disputed(code, profiles, n, missing)
            if not doubt:
                slow = _with_slow_jumps(code, profiles) if slow is None else slow
                if (n, missing.producer, missing.row.name) not in slow:
                    doubt = f"the branch that is taken between them lasts at least {_TAKEN_BRANCH}"
        findings.append(_finding(code, n, missing, doubt))
    return findings


def _missing(
    code: KernelCode, profiles: Mapping[Hashable, Profile], graph: Sequence[Block], states: Mapping[int, int]
) -> list[tuple[int, Missing]]:
    """Consumers and what they miss. ``states``: those that empty blocks take, by number."""
    tails = [_tail(code.instructions, block.start, block.stop) for block in graph]

    def through(block: int, ages: Ages) -> Ages:
        start = tails[block]
        # Of a long block only its last instructions matter to what follows.
        tracker = Tracker(profiles, ages if start == graph[block].start else {})
        tracker.wait(states.get(block, 0))
        for n in range(start, graph[block].stop):
            tracker.issue(n)
        return tracker.ages()

    nothing: Ages = {}
    found: dict[tuple[int, Hashable, str], Missing] = {}
    entries = forward(graph, nothing, through, join)
    for block, ages in zip(graph, entries, strict=True):
        if ages is None:
            continue
        tracker = Tracker(profiles, ages)
        for n in range(block.start, block.stop):
            profile = profiles[n]
            for missing in tracker.missing(profile) if profile.exposed else ():
                key = n, missing.producer, missing.row.name
                if key not in found or missing.there < found[key].there:
                    found[key] = missing
            tracker.issue(n)
    return [(n, missing) for (n, _, _), missing in found.items()]


def _with_slow_jumps(code: KernelCode, profiles: Mapping[Hashable, Profile]) -> set[tuple[int, Hashable, str]]:
    """Consumer, producer and row of what is missing even if a taken branch lasts longer than one instruction.

    Each edge that is no fall-through gets an empty block of so many states.
    """
    graph = list(code.paths.apart)
    states: dict[int, int] = {}
    for n, block in enumerate(code.paths.apart):
        for f in block.successors:
            if block.start < block.stop and _is_jump(code, block.stop - 1, graph[f].start):
                new = len(graph)
                states[new] = _TAKEN_BRANCH - 1
                graph.append(Block(block.stop, block.stop, (f,), (n,)))
                graph[n] = replace(graph[n], successors=tuple(new if s == f else s for s in graph[n].successors))
                graph[f] = replace(graph[f], predecessors=tuple(new if p == n else p for p in graph[f].predecessors))
    found = _missing(code, profiles, graph, states)
    return {(n, m.producer, m.row.name) for n, m in found if m.there < m.agreed}


def _is_jump(code: KernelCode, n: int, following: int) -> bool:
    last, first = code.instructions[n], code.instructions[following]
    return last.pc + last.size != first.pc


def _tail(instructions: list[Instruction], start: int, stop: int) -> int:
    """The last instruction of a block after which all states of every hazard pass, or the block's first."""
    states = 0
    for n in range(stop - 1, start - 1, -1):
        states += wait_states(instructions[n])
        if states > LONGEST:
            return n
    return start


def _finding(code: KernelCode, n: int, missing: Missing, doubt: str) -> Finding:
    row = missing.row
    short = missing.there < missing.agreed and not doubt
    needed = missing.agreed if short else missing.required
    why = (
        f"{row.words()}: {needed} wait states are required between them on {code.arch}, {missing.there} stand there "
        f"{f'and {doubt} ' if doubt else ''}({row.name}, {row.source})"
    )
    add = needed - missing.there
    fix = f"put {add} more instruction{'s' * (add > 1)} between them, or s_nop {add - 1}"
    assert isinstance(missing.producer, int)
    name = "wait-states" if short else "wait-states-disputed"
    return Finding(name, why, fix, code.place(n), code.place(missing.producer), kernel=code.kernel.name)
