"""Wait counts: ``s_waitcnt`` where a program needs what is still under way, derived over all its paths.

An instruction waits for the registers that it reads or overwrites, a `WaitFor` for this wave's copies into its tiles,
with the loosest counter value that is enough on every path, round loops too. An ``s_waitcnt`` that the program has
itself counts as given. What a loop needs from before it alone is waited for before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pykittens.isa import DEFINITIONS
from pykittens.isa.effects import mask_of, reads, writes
from pykittens.isa.instruction import Instruction

from .control_flow import forward, jumps
from .pending import Pending, accesses
from .program import Acquired, BarriersApart, Item, Line, Program, Remark, WaitFor
from .tile_rules import TileRules, TileState

_WAIT = DEFINITIONS["s_waitcnt"]
_NAMES_SHOWN = 3


def insert(program: Program) -> Program:
    """The program with every wait that it needs, and no `WaitFor`, `Acquired` and `BarriersApart`.

    Raises BuildError where LDS tiles are read or overwritten too early (see tile_rules.py), and what
    `Program.control_flow` raises.
    """
    work = _Waits(program)
    entries = work.settle()
    out = _Writer()
    for n, entry in enumerate(entries):
        out.new_block()
        work.through(n, entry or _State(), out)
    return program.with_items(out.items)


@dataclass(frozen=True)
class _State:
    """Where a path has come to: what is under way, and how far the LDS tiles are. Never written to."""

    pending: Pending = field(default_factory=Pending)
    tiles: TileState = field(default_factory=TileState)

    def join(self, other: _State) -> _State:
        return _State(self.pending.join(other.pending), self.tiles.join(other.tiles))


class _Waits:
    """One program being worked on. Registers are bit sets (`effects.mask_of`), accesses the numbers of their items."""

    def __init__(self, program: Program) -> None:
        self.items = program.items
        self.graph = program.control_flow()
        self.lines = {i: item for i, item in enumerate(self.items) if isinstance(item, Line)}
        self.rules = TileRules(self.lines)
        self.counters: dict[int, dict[str, bool]] = {}
        self.written: dict[int, int] = {}
        self.touched: dict[int, int] = {}
        # Items that the rules of LDS tiles are about.
        self.in_rules = {
            i for i, line in self.lines.items()
            if line.lds_reads or line.lds_writes or line.instruction.definition.has("barrier")
        }  # fmt: skip
        self.explicit = {i for i, line in self.lines.items() if line.instruction.definition.has("waitcnt")}
        known: dict[int, tuple[dict[str, bool], int, int]] = {}
        for i, line in self.lines.items():
            instruction = line.instruction
            if id(instruction) not in known:
                written = mask_of(writes(instruction))
                known[id(instruction)] = accesses(instruction), written, written | mask_of(reads(instruction))
            self.counters[i], self.written[i], self.touched[i] = known[id(instruction)]
        # Block number to the accesses that its end waits for, since only the loop after it would.
        self.early: dict[int, set[int]] = {}

    def settle(self) -> list[_State | None]:
        """Entry states of the blocks, once no loop waits for what came before it alone."""
        while True:
            entries = forward(self.graph, _State(), lambda n, state: self.through(n, state, None), _State.join)
            if not self._wait_before_loops(entries):
                return entries

    def through(self, n: int, entry: _State, out: _Writer | None) -> _State:
        """The state at the end of block ``n``; its items and waits go to ``out``, and then errors are raised."""
        pending, tiles = entry.pending.copy(), entry.tiles
        busy = self._registers(pending)
        block, early = self.graph[n], self.early.get(n, set())
        end = block.stop - 1 if early and self._ends_in_jump(n) else block.stop
        for i in range(block.start, block.stop):
            item = self.items[i]
            if i == end:
                self._wait(early, pending, item, out)
            if isinstance(item, BarriersApart):
                tiles = self.rules.apart(tiles, item.count)
                continue
            if isinstance(item, Acquired):
                tiles = self.rules.acquired(tiles, item.tiles, pending.under_way)
                continue
            if isinstance(item, WaitFor):
                loads = self._loading(mask_of(item.registers), pending)
                named = set(item.tiles)
                copies = {c for c in pending.items() if named & set(self.lines[c].lds_writes)}
                if item.reads:
                    copies |= {c for c in pending.items() if named & set(self.lines[c].lds_reads)}
                self._wait(copies | loads, pending, item, out)
                busy = self._registers(pending)
                continue
            if isinstance(item, Line):
                if self.touched[i] & busy:
                    self._wait(self._loading(self.touched[i], pending), pending, item, out)
                    busy = self._registers(pending)
                if out is not None and i in self.in_rules:
                    self.rules.check(i, tiles, pending.under_way)
                if i in self.explicit:
                    pending.waited(item.instruction.modifiers)
                if self.counters[i]:
                    pending.issue(i, self.counters[i], bool(self.written[i] or item.lds_writes or item.lds_reads))
                    busy |= self.written[i]
                if i in self.in_rules:
                    tiles = self.rules.after(i, tiles, pending.under_way)
            if out is not None:
                out.add(item)
        if end == block.stop:
            self._wait(early, pending, self.items[block.stop - 1], out)
        return _State(pending, tiles)

    def _registers(self, pending: Pending) -> int:
        """What the accesses under way write."""
        bits = 0
        for item in pending.items():
            bits |= self.written[item]
        return bits

    def _loading(self, registers: int, pending: Pending) -> set[int]:
        """The accesses under way that write one of these registers."""
        return {item for item in pending.items() if self.written[item] & registers}

    def _wait(self, awaited: set[int], pending: Pending, item: Item, out: _Writer | None) -> None:
        """Before ``item``, wait for those of ``awaited`` that are under way."""
        awaited = awaited & pending.items()
        counts = pending.needed(awaited)
        if not counts:
            return
        pending.waited(counts)
        if out is None:
            return
        if isinstance(item, WaitFor):
            names = [*item.tiles, *map(str, item.registers)]
            remark = f"{', '.join(names)} landed" + (f", {item.remark}" if item.remark else "")
            out.wait(counts, remark, item.where, item.phase)
            return
        loaded = list(dict.fromkeys(str(r) for a in sorted(awaited) for r in writes(self.lines[a].instruction)))
        more = f" and {len(loaded) - _NAMES_SHOWN} more" if len(loaded) > _NAMES_SHOWN else ""
        where, phase = (item.instruction.where, item.phase) if isinstance(item, Line) else (None, None)
        out.wait(counts, f"{', '.join(loaded[:_NAMES_SHOWN])}{more}", where, phase)

    def _ends_in_jump(self, n: int) -> bool:
        line = self.lines.get(self.graph[n].stop - 1)
        return line is not None and jumps(line.instruction)

    def _wait_before_loops(self, entries: list[_State | None]) -> bool:
        """Whether a loop waits for registers in its first round alone; from now on these waits come before it."""
        exits = [None if state is None else self.through(n, state, None) for n, state in enumerate(entries)]
        found = False
        for n, block in enumerate(self.graph):
            before = [p for p in block.predecessors if p < n and exits[p] is not None]
            around = [p for p in block.predecessors if p >= n and exits[p] is not None]
            if not before or not around:
                continue
            in_loop: set[int] = set()
            for p in around:
                in_loop |= self._under_way(exits[p])
            loaded = 0
            for item in in_loop:
                loaded |= self.written[item]
            for p in before:
                once = {
                    i for i in self._under_way(exits[p]) - in_loop if self.written[i] and not self.written[i] & loaded
                }
                if once - self.early.get(p, set()):
                    self.early.setdefault(p, set()).update(once)
                    found = True
        return found

    @staticmethod
    def _under_way(state: _State | None) -> set[int]:
        return state.pending.items() if state is not None else set()


class _Writer:
    """Collects items; waits that nothing stands between become one."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._last_wait: int | None = None

    def new_block(self) -> None:
        """A branch may come in here, so what follows is no part of a wait before."""
        self._last_wait = None

    def add(self, item: Item) -> None:
        if isinstance(item, Line) and item.instruction.definition.has("waitcnt"):
            self._merge(item)
            return
        self.items.append(item)
        if not isinstance(item, Remark):
            self._last_wait = None

    def wait(self, counts: dict[str, int], remark: str, where: str | None, phase: str | None) -> None:
        self._merge(Line(Instruction(_WAIT, (), counts, where=where), phase, remark=remark))

    def _merge(self, line: Line) -> None:
        if self._last_wait is None:
            self._last_wait = len(self.items)
            self.items.append(line)
            return
        before = self.items[self._last_wait]
        assert isinstance(before, Line)
        counts = dict(before.instruction.modifiers)
        for name, count in line.instruction.modifiers.items():
            other = counts.get(name, count)
            assert isinstance(other, int) and isinstance(count, int)
            counts[name] = min(other, count)
        remark = "; ".join(text for text in (before.remark, line.remark) if text)
        merged = replace(before.instruction, modifiers=counts, where=before.instruction.where or line.instruction.where)
        self.items[self._last_wait] = replace(before, instruction=merged, remark=remark)
