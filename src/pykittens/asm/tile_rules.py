"""Which order of copies, waits, barriers and reads of LDS tiles is allowed, seen from one wave.

Every wave runs the same program, so what holds for this wave's copies and reads holds for those of the others. A copy
into a tile is in flight, then landed (this wave has waited), then visible (a barrier came after that): only then may
the tile be read. Before the next copy into it, this wave's reads have returned and a barrier came after that. Where
some waves run barriers behind the others (ping-pong), as many more barriers are needed. A flag in LDS that was polled
stands for a barrier, for the tiles that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from pykittens.errors import BuildError

from .program import Line


@dataclass(frozen=True, slots=True)
class TileState:
    """Lines that copy into tiles, and that read them, with the barriers that still must come after their completion.

    Pairs of item number and that count.
    """

    copies: frozenset[tuple[int, int]] = frozenset()
    reads: frozenset[tuple[int, int]] = frozenset()
    barriers: int = 1
    """How many after an access prove that every wave has done it: 2 where some waves are one barrier behind."""

    def join(self, other: TileState) -> TileState:
        barriers = max(self.barriers, other.barriers)
        return TileState(self.copies | other.copies, self.reads | other.reads, barriers)


class TileRules:
    """The rules of one program; ``in_flight(i)`` tells whether what item ``i`` started may still be under way."""

    def __init__(self, lines: Mapping[int, Line]) -> None:
        self.lines = lines

    @staticmethod
    def apart(state: TileState, count: int) -> TileState:
        """The state once some waves run ``count`` barriers behind the others."""
        most = count + 1
        copies, reads = (frozenset((i, min(n, most)) for i, n in part) for part in (state.copies, state.reads))
        return TileState(copies, reads, most)

    def acquired(self, state: TileState, tiles: Collection[str], in_flight: Callable[[int], bool]) -> TileState:
        """The state once a flag has told that the accesses of these tiles so far are done, in all waves."""
        copies = frozenset(
            (i, n) for i, n in state.copies if in_flight(i) or not set(self.lines[i].lds_writes) <= set(tiles)
        )
        reads = frozenset(
            (i, n) for i, n in state.reads if in_flight(i) or not set(self.lines[i].lds_reads) <= set(tiles)
        )
        return TileState(copies, reads, state.barriers)

    def after(self, i: int, state: TileState, in_flight: Callable[[int], bool]) -> TileState:
        """The state after item ``i``."""
        line = self.lines[i]
        if line.instruction.definition.has("barrier"):
            copies, reads = (self._past_barrier(part, in_flight) for part in (state.copies, state.reads))
            return TileState(copies, reads, state.barriers)
        if line.lds_writes or line.lds_reads:
            access = {(i, state.barriers)}
            copies = state.copies | (access if line.lds_writes else set())
            return TileState(copies, state.reads | (access if line.lds_reads else set()), state.barriers)
        return state

    @staticmethod
    def _past_barrier(
        accesses: frozenset[tuple[int, int]], in_flight: Callable[[int], bool]
    ) -> frozenset[tuple[int, int]]:
        left = ((i, count if in_flight(i) else count - 1) for i, count in accesses)
        return frozenset((i, count) for i, count in left if count)

    def check(self, i: int, state: TileState, in_flight: Callable[[int], bool]) -> None:
        """Raises BuildError if item ``i`` comes too early; both lines and what is missing are named."""
        line = self.lines[i]
        if line.unchecked:
            return
        barriers = "a barrier" if state.barriers == 1 else f"{state.barriers} barriers"
        for tile in line.lds_reads:
            copies = [c for c in sorted({i for i, _ in state.copies}) if tile in self.lines[c].lds_writes]
            self._refuse(
                line, tile, copies, in_flight, "lds-read-early", "reads",
                "whose copy {there} may still be in flight", f"put wait_for({tile}) and then {barriers} between them",
                "whose copy {there} other waves may not have finished", f"put {barriers} between them, after the wait",
            )  # fmt: skip
        for tile in line.lds_writes:
            reads = [r for r in sorted({i for i, _ in state.reads}) if tile in self.lines[r].lds_reads]
            self._refuse(
                line, tile, reads, in_flight, "lds-overwrite-early", "copies into",
                "whose read {there} may not have returned",
                f"use or wait for its result and then put {barriers} between them",
                "which other waves may still read {there}", f"put {barriers} between them",
            )  # fmt: skip

    def _refuse(
        self, line: Line, tile: str, others: list[int], in_flight: Callable[[int], bool], code: str, verb: str,
        flying: str, flying_fix: str, landed: str, landed_fix: str,
    ) -> None:  # fmt: skip
        if not others:
            return
        late = next((o for o in others if in_flight(o)), None)
        other = self.lines[others[0] if late is None else late].instruction
        there = f"({other.name} at {other.where})" if other.where else f"({other.name})"
        what = (landed if late is None else flying).format(there=there)
        raise BuildError(
            code, f"{line.instruction.name} {verb} tile {tile}, {what}", where=line.instruction.where,
            fix=landed_fix if late is None else flying_fix,
        )  # fmt: skip
