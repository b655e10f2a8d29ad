"""Refuses kernels that read a tile before anything can have been written to it."""

from __future__ import annotations

from typing import Any

from pykittens.errors import BuildError

from .tiles import Registers
from .trace import Loop, Node, OpCall, When


def refuse_unwritten(nodes: list[Node]) -> None:
    """Raise BuildError, with the line, for the first op that reads a tile that no earlier op writes.

    What is read under a condition in a loop may have been written by an earlier pass.
    """
    _walk(nodes, set(), [], False)


def _walk(nodes: list[Node], written: set[int], loop: list[Node], conditional: bool) -> None:
    for node in nodes:
        if isinstance(node, OpCall):
            touches = node.op.touches(*node.args, **node.options)
            for tile in map(_owner, touches.reads):
                earlier_pass = conditional and any(tile is each for each in _written(loop))
                if id(tile) not in written and not earlier_pass:
                    raise BuildError(
                        "unwritten-tile", f"{node.op.name} reads {tile.name}, which nothing has written yet",
                        where=node.where, fix="load, store or zero it first",
                    )  # fmt: skip
            written.update(id(_owner(tile)) for tile in touches.writes)
        elif isinstance(node, Loop):
            _walk(node.body, written, loop or node.body, False)
        else:
            _walk(node.body, written, loop, conditional or (isinstance(node, When) and bool(loop)))


def _written(nodes: list[Node]) -> list[Any]:
    """The tiles that ops in these nodes write."""
    found: list[Any] = []
    for node in nodes:
        found += map(_owner, node.written) if isinstance(node, OpCall) else _written(node.body)
    return found


def _owner(tile: Any) -> Any:
    return tile.storage if isinstance(tile, Registers) else tile
