"""A team: the waves of a workgroup that do something together, such as one copy."""

from __future__ import annotations

from dataclasses import dataclass

from .expression import Int
from .program_inputs import WAVE


@dataclass(frozen=True)
class Team:
    """``count`` waves from wave ``first`` on. Ops with a team may run on its waves only."""

    first: int
    count: int

    @property
    def member(self) -> Int:
        """The number of this wave in the team."""
        return WAVE - self.first
