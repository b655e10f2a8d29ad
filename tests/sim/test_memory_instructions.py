"""Every load, store, atomic and permute of the native core against the reference, on random registers and memory."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.sim.memory_cases import case
from tests.sim.memory_reference import execute
from tests.sim.one_wave import OneWave

from pykittens.isa import DEFINITIONS
from pykittens.isa.define import Definition

CASES = 24
TESTED = [
    d
    for d in DEFINITIONS.values()
    if d.access is not None
    and d.access.kind in ("load", "store", "atomic", "permute")
    and not d.access.formatted
    and not d.has("unsupported_in_sim")
]


@cache
def wave(arch: str) -> OneWave:
    return OneWave(arch)


@pytest.mark.parametrize("definition", TESTED, ids=lambda d: d.name)
def test_changes_what_the_reference_changes(definition: Definition) -> None:
    for seed in range(CASES):
        instruction, before = case(definition, seed)
        event, after = wave(definition.archs[-1]).run(instruction, before)
        assert event == 0, (seed, instruction)
        wanted = execute(instruction, before)
        for name in ("sgpr", "vgpr", "lds", "buffer", "scratch"):
            got, expected = getattr(after, name), getattr(wanted, name)
            differ = np.argwhere(got != expected)
            if len(differ):
                place = tuple(differ[0])
                raise AssertionError(
                    f"seed {seed} {instruction}: {name}{list(place)} is {got[place]:#x}, not {expected[place]:#x}"
                )
