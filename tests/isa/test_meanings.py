"""Every ALU definition: its native handlers and its meaning in NumPy leave the same wave behind, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from pykittens.isa import DEFINITIONS, Definition
from pykittens.isa.semantics import is_alu
from pykittens.sim import alu_handlers
from pykittens.sim.oracle import Wave

from .alu_cases import ACCUM_OFFSET, Cases
from .native_wave import compile_all, context, run

ALU = sorted(name for name, d in DEFINITIONS.items() if is_alu(d))
WAVES = 3


def _difference(got: Wave, want: Wave) -> str:
    """Which registers differ, and how; empty if none do."""
    found = [
        f"{name} {getattr(got, name):#x} != {getattr(want, name):#x}"
        for name in ("scc", "mode")
        if getattr(got, name) != getattr(want, name)
    ]
    for name, a, b in (("s", got.sgpr, want.sgpr), ("v", got.vgpr, want.vgpr)):
        for where in np.argwhere(a != b)[:4]:
            place = tuple(int(i) for i in where)
            found.append(f"{name}{list(place)} {a[place]:#010x} != {b[place]:#010x}")
    return "; ".join(found)


def _check(definition: Definition, arch: str, seed: int) -> None:
    cases = Cases(definition, seed)
    chosen = list(cases.instructions())
    compile_all(chosen, arch)
    for instruction, mode in chosen:
        bound = alu_handlers.bind(instruction, context(arch, mode, ACCUM_OFFSET))
        for _ in range(WAVES):
            before = cases.wave(instruction)
            want = before.copy()
            want.run(instruction, arch, mode)
            difference = _difference(run(bound, before), want)
            assert not difference, (
                f"{instruction.operands} {dict(instruction.modifiers)} {instruction.encoding} {mode}: {difference}"
            )


@pytest.mark.parametrize("name", ALU)
def test_native_equals_numpy(name: str) -> None:
    definition = DEFINITIONS[name]
    by_chip = any(s.implicit == "arch" for s in definition.srcs)
    for seed, arch in enumerate(definition.archs if by_chip else definition.archs[:1]):
        _check(definition, arch, seed)
