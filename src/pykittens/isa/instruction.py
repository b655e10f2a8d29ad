"""One instruction of a program: a definition with its operands, encoding and modifiers.

The assembler's programs and the decoder's output are made of the same objects, so waits, wait states, checks and the
simulator read both alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .define import Definition
from .registers import Const, Label, Reg, Special

Operands = Reg | Const | Special | Label | None
"""``None`` is ``off`` (no address register) or an absent optional operand."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """``operands`` holds explicit destinations then sources, in the order of the definition's signature.

    ``encoding`` is ``e32 e64 sdwa dpp`` for vector ALU formats that have a choice, else ``""``. ``modifiers`` holds what is
    not default, keyed by LLVM's names: ``offset offset0 offset1 offen idxen glc slc sc0 sc1 nt lds gds clamp omul op_sel
    op_sel_hi neg neg_lo neg_hi abs cbsz abid blgp dst_sel dst_unused src0_sel src1_sel sext dpp_ctrl row_mask bank_mask
    bound_ctrl simm16 vmcnt lgkmcnt …``; per-source ones are tuples. ``pc`` and ``size`` are in bytes (a program
    being written has pc -1), ``where`` is the Python line it came from.
    """

    definition: Definition
    operands: tuple[Operands, ...] = ()
    modifiers: Mapping[str, object] = field(default_factory=dict)
    encoding: str = ""
    pc: int = -1
    size: int = 4
    where: str | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def dsts(self) -> tuple[Operands, ...]:
        """Explicit destinations."""
        return self.operands[: len(self.definition.explicit_dsts)]

    @property
    def srcs(self) -> tuple[Operands, ...]:
        """Explicit sources."""
        return self.operands[len(self.definition.explicit_dsts) :]
