"""Wave specialization: some waves of a workgroup copy, the others compute, and barriers keep them a stage apart.

On AMD every wave of a workgroup gets as many registers as the largest, so the producers' are lost to the accumulators
(paper, Table 2): it is here for comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.tile.expression import Int, below, maximum
from pykittens.tile.program_inputs import WAVE
from pykittens.tile.team import Team
from pykittens.tile.trace import current, phase, when


class Specialize:
    """The roles of one kernel: the first ``producers`` waves copy (``load(…, team=roles.team)``)."""

    def __init__(self, producers: int) -> None:
        waves = current().wave_count
        if not 0 < producers < waves:
            raise BuildError("producers", f"{producers} of {waves} waves are producers", where=user_line())
        self.team = Team(0, producers)
        self._producing = below(WAVE, producers)

    @property
    def consumer(self) -> Int:
        """The number of this wave among the consumers; 0 in producers, so that what follows from it is in range."""
        return maximum(WAVE - self.team.count, 0)

    @contextmanager
    def produce(self) -> Iterator[None]:
        """What only the producers do: copies, without waits and barriers, which belong to all waves."""
        with when(self._producing), phase("produce"):
            yield

    @contextmanager
    def consume(self) -> Iterator[None]:
        """What only the consumers do."""
        with when(below(self.team.count - 1, WAVE)), phase("consume"):
            yield
