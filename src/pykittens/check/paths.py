"""The ways through a kernel's code: its graph without the edges that no wave takes, and with first turns apart.

Values are followed from the entry (numbers.py) for all waves of the workgroup. Where a branch is decided, only the
waves that take an edge go on along it. A block is there several times where that decides more: for the first turn of a
loop and the later ones, and after a comparison that is made again, once for each outcome.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pykittens.asm.code_object import Kernel
from pykittens.asm.control_flow import Block, jumps, reverse_postorder
from pykittens.check.deciding import deciding
from pykittens.check.entry_values import entry_knowledge, waves_of
from pykittens.check.join_values import join
from pykittens.check.numbers import Arithmetic, Knowledge, Number, Predicate, computable
from pykittens.isa.instruction import Instruction

_MOST_GROWTH = 3
"""Blocks are only told apart while that makes the code so many times as long at most."""
_MOST_CONTEXTS = 8


@dataclass(frozen=True)
class Code:
    """Instructions and blocks, what each instruction reads and writes as bits, and those whose results stay unknown.

    needed: the registers of each instruction whose values are asked for, as bits.
    """

    arch: str
    kernel: Kernel
    instructions: Sequence[Instruction]
    graph: Sequence[Block]
    reads: Sequence[int]
    writes: Sequence[int]
    blind: frozenset[int]
    needed: Sequence[int]


@dataclass(frozen=True)
class Context:
    """What is told apart: loops, by their first blocks, that have been gone round, and comparisons made on the way.

    rest: the others, once there are too many.
    """

    turned: frozenset[int] = frozenset()
    facts: frozenset[tuple[Predicate, bool]] = frozenset()
    rest: bool = False


_Node = tuple[int, Context]


@dataclass(frozen=True)
class Found:
    """What instruction ``n`` finds in the registers that it needs, by key, as far as known, and the waves there."""

    n: int
    values: Mapping[int, Number]
    waves: int

    def numbers(self, key: int) -> frozenset[int] | None:
        """What a scalar register may hold, over the waves there; None where that is not known."""
        number = self.values.get(key)
        if number is None or number.symbol is not None:
            return None
        return frozenset(int(word) for w, word in enumerate(number.words[:, 0]) if self.waves >> w & 1)


class Paths:
    """Two graphs without the edges that no wave takes; in both, block 0 is the empty one that leads to the entry.

    ``plain`` has the blocks of the code's graph, each once; those that are not reached have no edges. In ``apart``
    blocks may be several times.
    """

    def __init__(self, code: Code) -> None:
        self.code = code
        self.arithmetic = Arithmetic(code.arch, code.kernel.descriptor.accum_offset, waves_of(code.kernel))
        self._computes = [computable(i.definition) and n not in code.blind for n, i in enumerate(code.instructions)]
        wanted = [
            needed | (r if jumps(i) else 0)
            for needed, r, i in zip(code.needed, code.reads, code.instructions, strict=True)
        ]
        self.deciding = deciding(code.graph, code.reads, code.writes, wanted, self._computes)
        self._written = {n: tuple(_bits(code.writes[n])) for block in self.deciding for n in block}
        self._plain = _Walk(self, {}, frozenset())
        self._apart = self._told_apart()

    def execute(self, known: Knowledge, n: int) -> None:
        """Instruction ``n`` is executed."""
        instruction = self.code.instructions[n]
        self.arithmetic.execute(known, instruction, n, self._written[n], self._computes[n])

    def _told_apart(self) -> _Walk:
        loops, again = _loops(self.code.graph), self._plain.compared_again()
        if not loops and not again:
            return self._plain
        most = _MOST_GROWTH * sum(block.stop - block.start for block in self.code.graph)
        walk = _Walk(self, loops, again, most)
        return walk if walk.finished and walk.decides_more(self._plain) else self._plain

    @cached_property
    def plain(self) -> list[Block]:
        taken = {(node[0], f[0]) for node, following in self._plain.following.items() for f in following}
        return [
            replace(
                block,
                successors=tuple(s for s in block.successors if (n, s) in taken),
                predecessors=tuple(p for p in block.predecessors if (p, n) in taken),
            )
            for n, block in enumerate(self.code.graph)
        ]

    @cached_property
    def apart(self) -> list[Block]:
        return self.plain if self._apart is self._plain else self._apart.graph()

    def node(self, block: int) -> Hashable:
        """The owner of what is unknown at the start of a block of ``apart`` (`numbers.Symbol`)."""
        return (block, Context()) if self._apart is self._plain else self._apart.nodes[block]

    @cached_property
    def found(self) -> list[tuple[int, list[Found]]]:
        """What is needed and found, by the number of the block in ``apart``."""
        plain = self._apart is self._plain
        return [(node[0] if plain else n, list(self._apart.found(node))) for n, node in enumerate(self._apart.nodes)]


class _Walk:
    """Values over all paths to the fixpoint, one entry state for each node: a block in a context."""

    def __init__(
        self, paths: Paths, loops: Mapping[int, frozenset[int]], again: frozenset[int], most: int | None = None
    ) -> None:
        """``again``: branches whose comparisons are told apart. ``most``: how many instructions nodes may have."""
        self.paths, self.code, self._loops, self._again = paths, paths.code, loops, again
        self.entries: dict[_Node, Knowledge] = {}
        self.following: dict[_Node, tuple[_Node, ...]] = {}
        self._compared: dict[Predicate, set[int]] = {}
        self._contexts: dict[int, set[Context]] = {}
        self._order = {b: n for n, b in enumerate(reverse_postorder(self.code.graph))}
        self.finished = self._settle(most)

    def _settle(self, most: int | None) -> bool:
        first = 0, Context()
        self.entries[first] = entry_knowledge(self.code.kernel, self.paths.arithmetic)
        number = {first: 0}
        todo, waiting, length = [(0, 0, first)], {first}, 0
        while todo:
            node = heapq.heappop(todo)[2]
            waiting.discard(node)
            edges = self._edges(node)
            self.following[node] = tuple(dict.fromkeys(target for target, _ in edges))
            for target, known in edges:
                if target not in self.entries:
                    self.entries[target] = known.copy()
                    number[target] = len(number)
                    length += self.code.graph[target[0]].stop - self.code.graph[target[0]].start
                    if most is not None and length > most:
                        return False
                elif not join(self.entries[target], known, target, self.paths.arithmetic):
                    continue
                if target not in waiting:
                    waiting.add(target)
                    heapq.heappush(todo, (self._order[target[0]], number[target], target))
        return True

    def _edges(self, node: _Node) -> list[tuple[_Node, Knowledge]]:
        """Where to go from a node, and with what; its entry state stays as it is."""
        block = self.code.graph[node[0]]
        known = self.entries[node].copy()
        for n in self.paths.deciding[node[0]]:
            self.paths.execute(known, n)
        last = self.code.instructions[block.stop - 1] if block.start < block.stop else None
        if last is None or not last.definition.has("conditional") or len(set(block.successors)) < 2:
            return [(self._target(node, s, known), known) for s in block.successors]
        edges = []
        for s in block.successors:
            goes = self._along(known, block.stop - 1, taken=self._starts(s) != last.pc + last.size)
            if goes is not None:
                edges.append((self._target(node, s, goes), goes))
        return edges

    def _starts(self, block: int) -> int:
        return self.code.instructions[self.code.graph[block].start].pc

    def _along(self, known: Knowledge, n: int, taken: bool) -> Knowledge | None:
        """What is known where the conditional branch ``n`` is taken, or is not; None if no wave does so."""
        branch, arithmetic = self.code.instructions[n], self.paths.arithmetic
        waves = arithmetic.taken(known, branch)
        along = known.copy()
        if known.condition is not None:
            self._compared.setdefault(known.condition, set()).add(n)
        if waves is not None:
            along.waves = waves if taken else known.waves & ~waves
            return along if along.waves else None
        if known.condition is not None and any(o.implicit == "scc" for o in branch.definition.srcs):
            along.facts[known.condition] = arithmetic.taken_with(branch, scc=True) == taken
        return along

    def _target(self, node: _Node, successor: int, known: Knowledge) -> _Node:
        if not self._loops and not self._again:
            return successor, node[1]
        turned = {head for head in node[1].turned if successor in self._loops[head]}
        if successor in self._loops:
            turned.discard(successor)
            if node[0] in self._loops[successor]:
                turned.add(successor)
        facts = {(p, truth) for p, truth in known.facts.items() if self._compared.get(p, set()) & self._again}
        context = Context(frozenset(turned), frozenset(facts))
        contexts = self._contexts.setdefault(successor, set())
        if context not in contexts and len(contexts) >= _MOST_CONTEXTS:
            context = Context(rest=True)
        contexts.add(context)
        return successor, context

    def compared_again(self) -> frozenset[int]:
        """Branches on a comparison that decides another branch too."""
        return frozenset(n for branches in self._compared.values() if len(branches) > 1 for n in branches)

    def decides_more(self, plain: _Walk) -> bool:
        """Whether some node has fewer ways on than its block has where nothing is told apart."""
        ways = {node[0]: len(following) for node, following in plain.following.items()}
        return any(len({t[0] for t in following}) < ways[node[0]] for node, following in self.following.items())

    @cached_property
    def nodes(self) -> list[_Node]:
        """In the order of the code."""
        place = {node: n for n, node in enumerate(self.entries)}
        return sorted(self.entries, key=lambda node: (node[0], place[node]))

    def graph(self) -> list[Block]:
        """The nodes as blocks."""
        number = {node: n for n, node in enumerate(self.nodes)}
        before: list[list[int]] = [[] for _ in number]
        for node, following in self.following.items():
            for f in following:
                before[number[f]].append(number[node])
        return [
            Block(
                self.code.graph[node[0]].start,
                self.code.graph[node[0]].stop,
                tuple(number[f] for f in self.following[node]),
                tuple(sorted(before[n])),
            )
            for n, node in enumerate(self.nodes)
        ]

    def found(self, node: _Node) -> Iterator[Found]:
        """What the instructions of a node find of what they need."""
        block = self.code.graph[node[0]]
        known = self.entries[node].copy()
        computed = set(self.paths.deciding[node[0]])
        for i in range(block.start, block.stop):
            if self.code.needed[i]:
                values = {key: known.registers[key] for key in _bits(self.code.needed[i]) if key in known.registers}
                yield Found(i, values, known.waves)
            if i in computed:
                self.paths.execute(known, i)


def _bits(bits: int) -> Iterator[int]:
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


def _loops(graph: Sequence[Block]) -> dict[int, frozenset[int]]:
    """Loops by their first blocks: those from which a path leads back to the first without passing it."""
    order = {b: n for n, b in enumerate(reverse_postorder(graph))}
    found: dict[int, set[int]] = {}
    for b in order:
        for head in graph[b].successors:
            if order[head] <= order[b]:
                body = found.setdefault(head, {head})
                todo = [b]
                while todo:
                    inside = todo.pop()
                    if inside not in body:
                        body.add(inside)
                        todo += [p for p in graph[inside].predecessors if p in order]
    return {head: frozenset(body) for head, body in found.items()}
