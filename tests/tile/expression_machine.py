"""Runs the code that expressions become: lowers one, executes it instruction by instruction on the NumPy wave."""

from __future__ import annotations

from typing import Any

import numpy as np

from pykittens.asm.program import Line
from pykittens.isa.registers import Reg
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave
from pykittens.tile.expression import Expr, Int
from pykittens.tile.lowering import Lowering
from pykittens.tile.register_pool import RegisterPool

# Leaves get registers from here on, far from what the pools hand out.
_FIRST_LEAF = {"s": 80, "v": 200}
_MODE = Mode()


class ExpressionMachine:
    """A lowering whose leaves hold the given values: numbers (uniform leaves, in SGPRs) or arrays of 64 (in VGPRs)."""

    def __init__(self, values: dict[Expr, Any], arch: str = "gfx950") -> None:
        self.emit = Lowering(
            arch, 4, RegisterPool("s", list(range(8, 80)), "SGPRs"), RegisterPool("v", list(range(1, 200)), "VGPRs")
        )
        self.wave = Wave()
        # All lanes are on; registers hold what nobody should rely on.
        self.wave.sgpr[:] = 0xDEADBEEF
        self.wave.vgpr[:] = 0xDEADBEEF
        self.wave.sgpr[126:128] = 0xFFFFFFFF
        next_leaf = dict(_FIRST_LEAF)
        for leaf, value in values.items():
            reg = Reg("s" if leaf.uniform else "v", next_leaf["s" if leaf.uniform else "v"])
            next_leaf[reg.file] += 1
            self.emit.inputs[leaf] = reg
            file = self.wave.sgpr if leaf.uniform else self.wave.vgpr
            file[reg.index] = np.asarray(value, np.int64) & 0xFFFFFFFF

    def uniform(self, value: Int) -> int:
        """What the scalar code for a value computes, as 32 bits."""
        found = self.emit.uniform(value)
        if isinstance(found, int):
            return found & 0xFFFFFFFF
        self.run()
        return int(self.wave.sgpr[found.index])

    def lanes(self, value: Int) -> Any:
        """What the vector code for a value computes: uint32 of shape (64,)."""
        found = self.emit.lane(value)
        self.run()
        return self.wave.vgpr[found.index].copy()

    def condition(self, value: Int) -> bool:
        """Whether the scalar code for a condition lets the wave in (it jumps away where SCC is 0)."""
        assert isinstance(value, Expr)
        self.emit.branch_unless(value, "away")
        branch = self.emit.program.lines()[-1].instruction
        assert branch.definition.has("branch")
        self.emit.program.items.pop()
        self.run()
        return bool(self.wave.scc)

    def run(self) -> None:
        """Execute all that was written, in order."""
        for item in self.emit.program.items:
            assert isinstance(item, Line)
            self.wave.run(item.instruction, self.emit.arch, _MODE)
