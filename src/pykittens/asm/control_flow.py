"""The control flow graph of machine code, and forward dataflow over it to a fixpoint.

Programs being written and decoded code objects go through the same functions: nodes are instructions, or None for what
is no instruction (labels, remarks); how a branch finds its target is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from pykittens.errors import BuildError, Unsupported
from pykittens.isa.instruction import Instruction

State = TypeVar("State")

_ROUNDS_BEFORE_WIDENING = 24


@dataclass(frozen=True, slots=True)
class Block:
    """Nodes ``start`` to ``stop - 1``, entered only at the first; the others are block numbers."""

    start: int
    stop: int
    successors: tuple[int, ...]
    predecessors: tuple[int, ...]


def jumps(instruction: Instruction) -> bool:
    return instruction.definition.has("branch")


def falls_through(instruction: Instruction) -> bool:
    """Whether the next instruction may follow this one."""
    d = instruction.definition
    return not d.has("ends") and (not d.has("branch") or d.has("conditional"))


def blocks(nodes: Sequence[Instruction | None], target: Callable[[int], int]) -> list[Block]:
    """The basic blocks in the order of the code. ``target(i)`` is the node that the branch at node ``i`` leads to.

    Raises Unsupported for calls and branches to a register, BuildError where execution runs past the last instruction.
    """
    targets: dict[int, int] = {}
    leaders = {0}
    for i, node in enumerate(nodes):
        if node is None:
            continue
        if jumps(node):
            if node.definition.has("indirect") or node.definition.has("call"):
                raise Unsupported(
                    "indirect-branch", f"{node.name} goes where no label tells", where=node.where,
                    fix="branch to a label",
                )  # fmt: skip
            targets[i] = target(i)
            leaders.add(targets[i])
        if jumps(node) or not falls_through(node):
            leaders.add(i + 1)
    # The end of the code is a block of its own while the graph is built, to see whether it is reached.
    starts = sorted(leaders | {len(nodes)})
    number = {start: n for n, start in enumerate(starts)}
    successors: list[tuple[int, ...]] = []
    predecessors: list[list[int]] = [[] for _ in starts]
    for n, (start, stop) in enumerate(pairwise(starts)):
        last = next((i for i in range(stop - 1, start - 1, -1) if nodes[i] is not None), None)
        node = nodes[last] if last is not None else None
        following = [targets[last]] if last is not None and last in targets else []
        if node is None or falls_through(node):
            following.append(stop)
        successors.append(tuple(dict.fromkeys(number[f] for f in following)))
        for f in successors[n]:
            predecessors[f].append(n)
    end = len(starts) - 1
    graph = [
        Block(start, stop, after, tuple(before))
        for (start, stop), after, before in zip(
            pairwise([*starts, len(nodes)]), [*successors, ()], predecessors, strict=True
        )
    ]
    if end in reverse_postorder(graph):
        where = next((node.where for node in reversed(nodes) if node is not None), None)
        fix = "end it with s_endpgm"
        raise BuildError("no-end", "the program runs past its last instruction", where=where, fix=fix)
    return [replace(block, successors=tuple(f for f in block.successors if f != end)) for block in graph[:end]]


def reverse_postorder(graph: Sequence[Block]) -> list[int]:
    """Blocks reached from the first one, each before its successors except along back edges."""
    if not graph:
        return []
    seen, order = {0}, []
    stack = [(0, iter(graph[0].successors))]
    while stack:
        block, following = stack[-1]
        for f in following:
            if f not in seen:
                seen.add(f)
                stack.append((f, iter(graph[f].successors)))
                break
        else:
            stack.pop()
            order.append(block)
    return order[::-1]


def forward(
    graph: Sequence[Block],
    start: State,
    transfer: Callable[[int, State], State],
    join: Callable[[State, State], State],
) -> list[State | None]:
    """The state on entry of each block at the fixpoint of ``transfer`` (block number, entry state) and ``join``.

    Blocks that nothing reaches have None. Where ``transfer`` is not monotone (an inserted wait can help later code) and
    the rounds do not settle, entry states are only added to from then on, which ends and stays on the safe side.
    """
    order = reverse_postorder(graph)
    entries: list[State | None] = [None] * len(graph)
    exits: list[State | None] = [None] * len(graph)
    changed = True
    rounds = 0
    while changed:
        changed = False
        rounds += 1
        for n in order:
            states = [start] if n == 0 else []
            states += [state for p in graph[n].predecessors if (state := exits[p]) is not None]
            before = entries[n]
            if rounds > _ROUNDS_BEFORE_WIDENING and before is not None:
                states.append(before)
            entry = states[0]
            for state in states[1:]:
                entry = join(entry, state)
            if before is not None and entry == before:
                continue
            entries[n] = entry
            exits[n] = transfer(n, entry)
            changed = True
    return entries
