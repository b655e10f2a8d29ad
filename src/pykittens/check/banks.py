"""Bank conflicts of executed LDS instructions: for each its degree and passes, by place in the code and by name.

    table = BankTable("gfx950", names={0x140: "Bs read"})
    table.add_trace(trace)                       # of a workgroup, from the virtual GPU
    table["Bs read"].degree == 1

Conflicts follow from the addresses that the lanes had, so they are those of the executions that were traced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pykittens.arch import SOURCES, get
from pykittens.arch.fact import Source
from pykittens.arch.lds_banks import known_word, natural_alignment, phase_passes, source_of
from pykittens.errors import InputError
from pykittens.isa import Instruction, text
from pykittens.isa.lds_requests import LANES, Request, lds_requests, uses_lds

if TYPE_CHECKING:
    from pykittens.asm.execution import WorkgroupTrace


@dataclass
class LdsCost:
    """What one LDS instruction, or all of one name, cost over its executions.

    pcs: byte addresses of the instructions. instruction: the text of the first. degree: passes of the worst phase ever;
    1 is free of conflicts. phases: passes without conflicts; passes: with them. source: the weakest of what is known.
    """

    name: str
    pcs: tuple[int, ...]
    instruction: str
    where: str | None
    executions: int = 0
    degree: int = 1
    phases: int = 0
    passes: int = 0
    source: Source = "measured"

    @property
    def extra_passes(self) -> int:
        """Passes that conflicts cost."""
        return self.passes - self.phases

    @property
    def known(self) -> str:
        """``measured``, ``published`` or ``assumed``: how well the phases of the instruction are known."""
        return known_word(self.source)

    def include(self, other: LdsCost) -> None:
        """Add the executions of another place."""
        self.pcs = tuple(sorted({*self.pcs, *other.pcs}))
        self.executions += other.executions
        self.degree = max(self.degree, other.degree)
        self.phases += other.phases
        self.passes += other.passes
        self.source = max(self.source, other.source, key=SOURCES.index)


class BankTable:
    """Costs of the LDS instructions of one program on one chip.

    arch: ``gfx942`` or ``gfx950``. names: byte address of an instruction to the name under which it is summed up;
    instructions without one go by their place.
    """

    def __init__(self, arch: str, names: Mapping[int, str] | None = None) -> None:
        self._arch = get(arch)
        self._names = dict(names or {})
        self._places: dict[int, LdsCost] = {}

    def add_trace(self, trace: WorkgroupTrace) -> None:
        """Count what the waves of a workgroup executed; places are addresses in the code object."""
        records = np.concatenate([wave.memory for wave in trace.waves])
        ops = np.concatenate([wave.ops[wave.memory["step"].astype(np.int64)] for wave in trace.waves])
        for op in map(int, np.unique(ops)):
            instruction = trace.instructions[op]
            if instruction is None or not uses_lds(instruction):
                continue
            mine = records[ops == op]
            active = (mine["active"][:, None] >> np.arange(LANES, dtype=np.uint64) & np.uint64(1)).astype(bool)
            placed = replace(instruction, pc=instruction.pc - trace.load_address)
            self.add(placed, mine["rows"][:, 0], mine["m0"], active)

    def add(self, instruction: Instruction, address: np.ndarray | None, m0: np.ndarray, active: np.ndarray) -> None:
        """Count n executions of an instruction; others than LDS accesses count as nothing.

        address: the address register of every lane, (n, 64), or None if it has none. m0: (n,). active: EXEC, (n, 64).
        """
        stride = self._arch.load_to_lds_wide_stride
        requests = lds_requests(instruction, address, m0, active, stride)
        if not requests:
            return
        pc = instruction.pc
        cost = self._places.get(pc)
        if cost is None:
            name = self._names.get(pc, f"{pc:#x}")
            cost = self._places[pc] = LdsCost(name, (pc,), text(instruction), instruction.where)
        cost.executions += len(active)
        for request in requests:
            self._count(cost, request)

    def _count(self, cost: LdsCost, request: Request) -> None:
        access = self._arch.lds_access(request.direction, request.lane_bytes)
        patterns, times = _distinct(request)
        where, active = patterns[:, :LANES], patterns[:, LANES:].astype(bool)
        passes = phase_passes(access, request.lane_bytes, where, active)
        cost.degree = max(cost.degree, int(passes.max(initial=1)))
        cost.phases += len(access.phases) * int(times.sum())
        cost.passes += int((passes.sum(axis=1) * times).sum())
        misaligned = (where % natural_alignment(request.lane_bytes))[active].any()
        source: Source = "guess" if misaligned else source_of(access)
        cost.source = max(cost.source, source, key=SOURCES.index)

    # -- reading -------------------------------------------------------------------------------------------------
    def places(self) -> list[LdsCost]:
        """One row for each LDS instruction executed, in the order of the code."""
        return [self._places[pc] for pc in sorted(self._places)]

    def names(self) -> list[str]:
        """The names that were executed, in the order of their first place."""
        return list(dict.fromkeys(cost.name for cost in self.places()))

    def __getitem__(self, name: str) -> LdsCost:
        """All instructions of one name together. InputError lists the names there are."""
        rows = [cost for cost in self.places() if cost.name == name]
        if not rows:
            known = ", ".join(self.names()) or "none"
            raise InputError("lds-name", f"no LDS access named {name!r} was executed", fix=f"executed: {known}")
        total = LdsCost(name, rows[0].pcs, rows[0].instruction, rows[0].where)
        for row in rows:
            total.include(row)
        return total

    def __iter__(self) -> Iterator[LdsCost]:
        """The rows by name."""
        return (self[name] for name in self.names())


def _distinct(request: Request) -> tuple[np.ndarray, np.ndarray]:
    """Different (addresses, active) rows and how often each occurs: bank conflicts of a loop repeat, so few remain.

    Addresses are taken from the execution's lowest 256-byte line on: that moves no lane to another bank.
    """
    masked = np.where(request.active, request.addresses, np.iinfo(np.int64).max)
    lowest = np.where(request.active.any(axis=1), masked.min(axis=1), 0)
    moved = np.where(request.active, request.addresses - (lowest // 256 * 256)[:, None], 0)
    whole = np.ascontiguousarray(np.concatenate([moved, request.active], axis=1))
    # Rows as single values: sorting them column by column is far slower.
    _, first, times = np.unique(
        whole.view(np.dtype((np.void, whole.strides[0])))[:, 0], return_index=True, return_counts=True
    )
    return whole[first], times
