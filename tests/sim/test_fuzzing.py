"""Damaged code objects, random instructions, kernargs and grids end in our own errors. A longer run: ``make fuzz``."""

from __future__ import annotations

import pytest
from tests.sim.fuzzing import trial


@pytest.mark.parametrize("start", range(0, 400, 50))
def test_every_trial_runs_or_ends_in_an_error_of_ours(start: int) -> None:
    outcomes = {trial(number) for number in range(start, start + 50)}
    assert len(outcomes) > 3, "the trials are not all the same"
