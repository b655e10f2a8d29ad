"""The wave that runs the program: ``wave.row``, ``wave.col`` in the workgroup's wave grid, ``wave.index``, and
``lane``.
"""

from __future__ import annotations

from .expression import Expr, Int
from .program_inputs import LANE, WAVE
from .trace import current


class _Wave:
    """Positions of the current wave; all are uniform run-time values."""

    @property
    def index(self) -> Int:
        """0 to waves - 1."""
        return WAVE

    @property
    def row(self) -> Int:
        """Row in the wave grid ``waves=(rows, columns)``."""
        return WAVE // current().waves[1]

    @property
    def col(self) -> Int:
        """Column in the wave grid."""
        return WAVE % current().waves[1]


wave = _Wave()
lane: Expr = LANE
