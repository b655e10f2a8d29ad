"""4-wave interleave: one wave on each SIMD issues its own memory instructions between its MFMAs (paper, section 3.3).

A cluster's ops become streams: the MFMAs, the LDS reads, the copies. They are merged instruction by instruction: while
the matrix cores are busy with an MFMA, as many instructions of the other streams follow as their cycles allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pykittens import arch as chips
from pykittens.asm.program import Item, Line, user_line
from pykittens.errors import BuildError
from pykittens.isa.effects import mask_of, reads, writes
from pykittens.isa.instruction import Instruction
from pykittens.tile.op import Op, Touches
from pykittens.tile.ops import barrier, wait_for
from pykittens.tile.tiles import Registers, st
from pykittens.tile.trace import OpCall, current
from pykittens.tile.trace import phase as named

if TYPE_CHECKING:
    from pykittens.tile.lowering import Lowering
    from pykittens.tile.reference import Reference

PASS_CLK = 4


class Interleave:
    """The schedule of one kernel. ``budget``: clocks of other instructions for each clock of MFMA, from the start of a
    cluster on; what does not fit follows the last MFMA.
    """

    def __init__(self, budget: float = 1.0) -> None:
        if budget <= 0:
            raise BuildError("budget", f"the cycle budget is {budget}, it must be above 0", where=user_line())
        self.budget = budget

    def cluster(
        self, name: str, *ops: OpCall, ready: Sequence[Registers] = (), landed: Sequence[st] | None = None
    ) -> None:  # fmt: skip
        """One cluster of the ops written as its arguments, which may not depend on each other.

        Before it, the loads of the register tiles ``ready`` are waited for, all at once. With ``landed``, what this
        wave has copied into those tiles is waited for behind the first MFMA, under which a barrier hides; from there on
        every wave may read them and overwrite what was read before.
        """
        trace = current()
        trace.take_back(list(ops))
        with named(name):
            if ready:
                wait_for(*ready)
            interleaved(self.budget, landed, *ops)


class Interleaved(Op):
    """``interleaved(budget, landed, call, …)``: recorded ops as one, their instructions merged; see `Interleave`."""

    name = "interleave"

    def check(self, budget: float, landed: Sequence[st] | None, *calls: OpCall) -> None:
        """The ops have been checked when they were recorded; whether they are independent is seen in their code."""
        wait_for.check(*(landed or ()))

    def touches(self, budget: float, landed: Sequence[st] | None, *calls: OpCall) -> Touches:
        each = [call.op.touches(*call.args, **call.options) for call in calls]
        return Touches([tile for t in each for tile in t.reads], [tile for t in each for tile in t.writes])

    def lower(self, emit: Lowering, budget: float, landed: Sequence[st] | None, *calls: OpCall) -> None:
        streams: dict[Any, list[Item]] = {}
        program, start = emit.program, len(emit.program.items)
        for call in sorted(calls, key=lambda call: not call.op.computes):
            with program.at(call.where), emit.collected() as items:
                call.op.lower(emit, *call.args, **call.options)
            streams.setdefault("computes" if call.op.computes else call.op, []).extend(items)
        first = program.items[start:]  # what the ops' places are computed from
        with emit.collected() as gate:
            if landed is not None:
                wait_for.lower(emit, *landed)
                barrier.lower(emit)
        parts = [[item for item in items if isinstance(item, Line)] for items in streams.values()]
        if sum(map(len, parts)) < sum(map(len, streams.values())):
            if any(call.op.computes for call in calls):
                raise BuildError(
                    "interleave-jump", f"an op of this cluster has branches of its own: {_names(calls)}",
                    where=calls[0].where, fix="use tiles that divide evenly among the waves, and no edges='zero'",
                )  # fmt: skip
            # Which waves take part in a copy is decided by jumps: such parts follow each other.
            program.items += gate + [item for items in streams.values() for item in items]
            return
        _refuse_dependence(parts)
        ahead: list[Item] = []
        for hidden in (first, gate):
            if hidden and parts[0] and "computes" in streams:  # each under an MFMA, which may take 16 clk only
                ahead.append(parts[0].pop(0))
            ahead += hidden
        program.items[start:] = [*ahead, *merge(parts, emit.arch, budget)]

    def reference(self, run: Reference, budget: float, landed: Sequence[st] | None, *calls: OpCall) -> None:
        for call in calls:
            call.op.reference(run, *call.args, **call.options)


interleaved = Interleaved()


def merge(streams: list[list[Line]], arch: str, budget: float) -> list[Line]:
    """The first stream with the instructions of the others between its own, each stream in its order.

    The others share the clocks that the first has earned so far, the one that has had least first. After an instruction
    that only prepares (M0 for a copy) another stream's comes, so that no wait states are needed.
    """
    backbone, others = streams[0], [list(stream) for stream in streams[1:]]
    spent = [0.0] * len(others)
    earned, out = 0.0, []
    for line in backbone:
        out.append(line)
        earned += budget * clocks(line.instruction, arch)
        prepared = -1
        while any(others) and sum(spent) < earned:
            turns = [i for i, stream in enumerate(others) if stream and i != prepared]
            if not turns:
                break
            turn = min(turns, key=lambda i: spent[i])
            line = others[turn].pop(0)
            spent[turn] += clocks(line.instruction, arch)
            prepared = turn if line.instruction.definition.access is None else -1
            out.append(line)
    return out + [line for stream in others for line in stream]


def clocks(instruction: Instruction, arch: str) -> int:
    """How long an instruction keeps its unit from the next one of the wave."""
    chip, definition = chips.get(arch), instruction.definition
    if definition.mfma is not None:
        return definition.mfma.passes[arch] * PASS_CLK
    if definition.access is None:
        return chip.issue.valu_clk
    if definition.access.space == "lds":
        wide = definition.access.bytes > 8
        return chip.issue.lds_read_b128_service_clk if wide else chip.issue.lds_read_b64_service_clk
    return chip.issue.vmem_x4_clk


def _names(calls: Sequence[OpCall]) -> str:
    return ", ".join(dict.fromkeys(call.op.name for call in calls))


def _refuse_dependence(streams: list[list[Line]]) -> None:
    """Streams may be merged in any way if none writes a register that another reads or writes."""
    for stream in streams:
        written = mask_of(reg for line in stream for reg in writes(line.instruction))
        for other in streams:
            if other is stream:
                continue
            for line in other:
                used = [*reads(line.instruction), *writes(line.instruction)]
                shared = [reg for reg in used if mask_of([reg]) & written]
                if shared:
                    raise BuildError(
                        "interleave-dependence",
                        f"{line.instruction.name} uses {shared[0]}, which {stream[0].instruction.name} at "
                        f"{stream[0].instruction.where} writes in the same cluster", where=line.instruction.where,
                        fix="move one of them to another cluster, or use another tile",
                    )  # fmt: skip
