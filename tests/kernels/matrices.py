"""Matrices that lie inside larger memory full of NaN, so that whatever is read or written next to them shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Poisoned:
    """``matrix`` is a window of ``memory``; everything around it is NaN and must stay so."""

    memory: Array
    matrix: Array
    top: int
    left: int

    def untouched(self) -> bool:
        """Whether the memory around the matrix is as it was."""
        copy = self.memory.copy()
        copy[self.top : self.top + self.matrix.shape[0], self.left : self.left + self.matrix.shape[1]] = np.nan
        return bool(np.isnan(copy).all())


def poisoned(values: Array, dtype: Any, left: int = 3, right: int = 2, above: int = 1, below: int = 300) -> Poisoned:
    """The values as ``dtype`` with NaN on every side: so many columns and rows of it.

    By default the rows start at odd elements and a tile of 256 rows ends inside the NaN below.
    """
    rows, cols = values.shape
    memory = np.full((above + rows + below, left + cols + right), np.nan, dtype)
    matrix = memory[above : above + rows, left : left + cols]
    matrix[:] = values.astype(dtype)
    return Poisoned(memory, matrix, above, left)
