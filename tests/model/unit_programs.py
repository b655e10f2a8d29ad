"""Streams for the modelled compute unit, written as lists of instruction names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pykittens.arch import get
from pykittens.isa import lookup
from pykittens.isa.instruction import Instruction
from pykittens.model.caches import CacheRates
from pykittens.model.chip import machine
from pykittens.model.costs import COST
from pykittens.model.cu import Engine, Stream, UnitRun, run_unit
from pykittens.model.timing_table import MEMORY_KINDS, TIMING_OP, kind_of, timing_op
from pykittens.sim.native_build import symbol

ALL_HIT = CacheRates(1.0, 1.0, 0.0, 0.0, 0.0, 1)
Step = tuple[str, dict[str, object], tuple[int, int, int, int]]


def step(name: str, cost: tuple[int, int, int, int] = (1, 0, 1, 0), **modifiers: object) -> Step:
    """An instruction; the cost (passes, lines, L1 clk, latency) counts for memory instructions only."""
    return name, modifiers, cost


def run(
    waves: Sequence[Sequence[Step]], arch: str = "gfx950", rates: CacheRates = ALL_HIT, groups: int = 1, slots: int = 1,
    active_cus: int = 1,
) -> UnitRun:  # fmt: skip
    """The waves of a workgroup on one unit, each ended by s_endpgm."""
    chip = get(arch)
    rows: list[tuple[int, ...]] = []
    known: dict[Any, int] = {}
    streams = []
    for wave in waves:
        ops, costs = [], []
        for name, modifiers, cost in [*wave, step("s_endpgm")]:
            key = name, tuple(sorted(modifiers.items()))
            instruction = Instruction(lookup(name), modifiers=modifiers)
            if key not in known:
                known[key] = len(rows)
                rows.append(timing_op(instruction, chip))
            ops.append(known[key])
            if kind_of(instruction) in MEMORY_KINDS:
                costs.append(cost)
        streams.append(Stream(np.array(ops, np.uint32), np.array(costs, COST)))
    constants = machine(chip, chip.device(), 1600.0, active_cus, rates)
    return run_unit(Engine.find(symbol), np.array(rows, TIMING_OP), [streams], constants, slots, groups)


def issued(result: UnitRun, wave: int = 0) -> list[int]:
    """When each instruction of a wave issued."""
    return [int(clk) for clk in result.issued[wave]]
