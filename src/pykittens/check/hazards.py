"""Wait states: whether enough instructions stand between two that the hardware does not keep apart, on every path."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from pykittens.asm.control_flow import forward
from pykittens.check.code import KernelCode
from pykittens.check.findings import Finding
from pykittens.check.hazard_doubts import disputed
from pykittens.isa.hazards import LONGEST, Ages, Missing, Profile, Tracker, join, wait_states
from pykittens.isa.instruction import Instruction


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
    tails = [_tail(code.instructions, block.start, block.stop) for block in code.graph]

    def through(block: int, ages: Ages) -> Ages:
        start = tails[block]
        # Of a long block only its last instructions matter to what follows.
        tracker = Tracker(profiles, ages if start == code.graph[block].start else {})
        for n in range(start, code.graph[block].stop):
            tracker.issue(n)
        return tracker.ages()

    nothing: Ages = {}
    found: list[Finding] = []
    entries = forward(code.graph, nothing, through, join)
    for block, ages in zip(code.graph, entries, strict=True):
        if ages is None:
            continue
        tracker = Tracker(profiles, ages)
        for n in range(block.start, block.stop):
            profile = profiles[n]
            if profile.exposed:
                found += [_finding(code, profiles, n, missing) for missing in tracker.missing(profile)]
            tracker.issue(n)
    return found


def _tail(instructions: list[Instruction], start: int, stop: int) -> int:
    """The last instruction of a block after which all states of every hazard pass, or the block's first."""
    states = 0
    for n in range(stop - 1, start - 1, -1):
        states += wait_states(instructions[n])
        if states > LONGEST:
            return n
    return start


def _finding(code: KernelCode, profiles: Mapping[Hashable, Profile], n: int, missing: Missing) -> Finding:
    row = missing.row
    doubt = disputed(code, profiles, n, missing) if missing.there < missing.agreed else ""
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
