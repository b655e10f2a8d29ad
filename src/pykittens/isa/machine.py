"""What executing an instruction needs of a wave: the interface between `semantics` and whatever holds registers.

A machine is a wave with NumPy registers, or a function being written that will work on a wave. Operands are named by
``slot``, their place in ``Instruction.operands``: a function being written does not know their numbers.
"""

from __future__ import annotations

from typing import Protocol

from .float_mode import FloatMode
from .value import Evaluator, Value


class Machine(Protocol):
    """One wave of 64 lanes, as one instruction sees it.

    Values are u32 or u64: lanes of v and a registers, scalars else. Writes take effect after all reads.
    """

    @property
    def ev(self) -> Evaluator: ...

    @property
    def mode(self) -> FloatMode: ...

    @property
    def arch(self) -> str: ...

    def register(self, slot: int, dword: int) -> Value:
        """u32: one register of an operand that is a register, source or destination."""

    def pair(self, slot: int) -> Value:
        """u64: the two registers of an operand."""

    def constant(self, slot: int, bits: int) -> Value:
        """An operand that is a constant or an aperture as its 32 or 64 ``bits`` (see constants.py), u32 or u64."""

    def immediate(self, name: str) -> Value:
        """u32: the number in the modifier ``simm16`` (sign-extended) or ``gpr_idx``."""

    def state(self, name: str) -> Value:
        """``scc`` (u1), ``vcc`` and ``exec`` (u64), ``m0`` and ``mode`` (u32)."""

    def write(self, slot: int, dword: int, value: Value, lanes: Value | None) -> None:
        """u32 to one register of an operand: to the lanes of a u1, or to all of them."""

    def write_pair(self, slot: int, value: Value) -> None:
        """u64 to a pair of scalar registers."""

    def set_state(self, name: str, value: Value) -> None: ...
