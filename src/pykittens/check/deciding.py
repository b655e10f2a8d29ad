"""Which instructions matter to where paths go and which LDS is accessed: the others need no values.

Found backwards: what branches, LDS addresses, M0 and EXEC there need, and what computes that, register by register.
"""

from __future__ import annotations

from collections.abc import Sequence

from pykittens.asm.control_flow import Block, reverse_postorder


def deciding(
    graph: Sequence[Block], reads: Sequence[int], writes: Sequence[int], needed: Sequence[int], known: Sequence[bool]
) -> list[list[int]]:
    """For each block the instructions that compute what is needed, in order.

    reads, writes, needed: bits of `effects.mask_of` for each instruction; ``known``: whether its results can be told
    from its sources. A vector write counts as a whole one here: where EXEC leaves lanes out, nothing is told.
    """
    at_start = [0] * len(graph)
    found: list[list[int]] = [[] for _ in graph]
    order = reverse_postorder(graph)[::-1]
    changed = True
    while changed:
        changed = False
        for b in order:
            live = 0
            for successor in graph[b].successors:
                live |= at_start[successor]
            here = []
            for n in range(graph[b].stop - 1, graph[b].start - 1, -1):
                if writes[n] & live:
                    here.append(n)
                    live &= ~writes[n]
                    if known[n]:
                        live |= reads[n]
                live |= needed[n]
            found[b] = here[::-1]
            if live != at_start[b]:
                at_start[b] = live
                changed = True
    return found
