"""The reference: runs a tile program op by op on NumPy arrays in float64, all waves of a workgroup together."""

from __future__ import annotations

from typing import Any

import numpy as np

from .expression import Expr, Int, evaluate
from .global_tensor import GlobalTile, gl
from .tiles import Registers, RegisterView, SharedView, st
from .trace import Block, Loop, Node, OpCall


class Reference:
    """State of one workgroup: shared tiles once, register tiles once per wave (leading axis), tensors as the caller's
    arrays.
    """

    def __init__(self, waves: int, inputs: dict[Expr, Any], tensors: dict[str, np.ndarray]) -> None:
        self.waves, self.inputs, self.tensors = waves, inputs, tensors
        self._registers: dict[int, np.ndarray] = {}
        self._shared: dict[int, np.ndarray] = {}

    def registers(self, tile: Registers) -> np.ndarray:
        """The tile or vector in every wave: shape (waves, rows, cols)."""
        if isinstance(tile, RegisterView):
            row, col = (
                first * step for first, step in zip(tile.first, (tile.shape.rows, tile.shape.cols), strict=True)
            )
            return self.registers(tile.tile)[:, row : row + tile.rows, col : col + tile.cols]
        return self._registers.setdefault(id(tile), np.zeros((self.waves, tile.rows, tile.cols)))

    def shared(self, tile: st) -> np.ndarray:
        """The tile's elements: shape (rows, cols)."""
        return self._shared.setdefault(id(tile), np.zeros((tile.rows, tile.cols)))

    def window(self, view: SharedView, wave: int) -> np.ndarray:
        """The part of a shared tile that a wave sees through a view."""
        row, col = self.value(view.row, wave), self.value(view.col, wave)
        return self.shared(view.tile)[row : row + view.rows, col : col + view.cols]

    def tensor(self, tensor: gl) -> np.ndarray:
        return self.tensors[tensor.name]

    def global_window(self, window: GlobalTile, rows: int, cols: int, wave: int) -> np.ndarray:
        """The part of a tensor that a wave's window of rows x cols covers, cut off where the tensor ends."""
        tensor = window.tensor
        array = np.atleast_2d(self.tensor(tensor))
        if tensor.batch_stride is not None:
            array = array[self.value(tensor.batch, wave)]
        first = self.value(tensor.first_row, wave)
        array = array[first : first + self.value(tensor.rows, wave)]
        row, col = self.value(window.row, wave) * rows, self.value(window.col, wave) * cols
        return np.asarray(array[row : row + rows, col : col + cols])

    def value(self, expression: Int, wave: int = 0) -> int:
        """A uniform run-time value in one wave."""
        wave_leaf = {e: wave for e in self.inputs if e.op == "wave"}
        return int(evaluate(expression, {**self.inputs, **wave_leaf}))

    def run(self, nodes: list[Node]) -> None:
        """Run nodes in order. Conditions must be equal in all waves."""
        for node in nodes:
            if isinstance(node, OpCall):
                node.op.reference(self, *node.args, **node.options)
            elif isinstance(node, Loop):
                for i in range(self.value(node.count)):
                    self.inputs[node.counter] = i
                    self.run(node.body)
            elif isinstance(node, Block) or self.value(node.condition):
                self.run(node.body)
