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

    ``encoding`` is ``e32 e64 sdwa dpp`` for vector ALU formats that have a choice, else ``""``. ``pc`` and ``size``
    are in bytes (a program being written has pc -1), ``where`` is the Python line it came from. ``modifiers`` holds
    what is not default, keyed by LLVM's names, and is never written to (decoded instructions share it):

    - ``neg abs sext`` (VOP3, SDWA, DPP; ``neg`` of f64 MFMA): a tuple of 0/1, one per explicit source.
    - ``op_sel``: VOP3: always four 0/1, of sources 0 to 2 and the destination; VOP3P and scaled MFMA: one per source,
    with
      ``op_sel_hi`` (default all 1; scaled MFMA all 0), ``neg_lo`` and ``neg_hi``.
    - ``clamp``: True. ``omul``: 2.0, 4.0 or 0.5. ``bitop3``, ``byte_sel``, ``cbsz``, ``abid``, ``blgp``: the field's
    number. - SDWA: ``dst_sel src0_sel src1_sel``: ``BYTE_0``..``BYTE_3 WORD_0 WORD_1 DWORD`` (default);
    ``dst_unused``: ``UNUSED_PAD`` (default)
      ``UNUSED_SEXT UNUSED_PRESERVE``.
    - DPP: ``dpp_ctrl``: name and numbers, ``("quad_perm", 0, 1, 2, 3) ("row_shl", 8) ("row_mirror",) ("row_bcast", 15)
      ("row_newbcast", 3) ("wave_shl", 1)``; ``row_mask``, ``bank_mask``: 4 bits (default 15); ``bound_ctrl``: True.
    - ``fi`` and ``bound_ctrl`` of lane swaps (e64): True.
    - memory: ``offset`` in bytes (signed for FLAT, GLOBAL, SCRATCH, SMEM), ``offset0 offset1`` in units of the
    access; True
      for each of ``offen idxen glc sc0 sc1 nt lds gds`` that is set; ``format``: MTBUF's 7 bits.
    - ``simm16`` (SOPK, SOPP): unsigned 16 bits; ``s_waitcnt`` has ``vmcnt expcnt lgkmcnt`` instead, absent = no wait;
      ``gpr_idx``: the 4 mode bits of ``s_set_gpr_idx_on`` and ``s_set_gpr_idx_mode``.

    Branches have a `Label` operand and no ``simm16``.
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
