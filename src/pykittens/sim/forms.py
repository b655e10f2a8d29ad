"""Forms: what of an ALU instruction its native code depends on. Register numbers and constants are not part of it.

A kernel of thousands of instructions has a few hundred forms, and most kernels share them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pykittens.errors import Unsupported
from pykittens.isa.constants import APERTURES
from pykittens.isa.define import Definition
from pykittens.isa.instruction import Instruction, Operands
from pykittens.isa.registers import Const, Reg, Special
from pykittens.isa.sources import VECTOR
from pykittens.sim.mode import Mode

IMMEDIATES = ("simm16", "gpr_idx")
"""Modifiers whose numbers are in the operation and not in the form."""
_OWN = (251, 252, 253)
"""Special sources that are computed from the wave's registers."""


@dataclass(frozen=True)
class Form:
    """``instruction`` stands for all of the form; ``mode`` is what of MODE matters to it; ``key`` names it."""

    key: str
    instruction: Instruction
    arch: str
    mode: Mode


_known: dict[tuple[Any, ...], Form] = {}


def form_of(instruction: Instruction, arch: str, mode: Mode) -> Form:
    """The form of an ALU instruction.

    Raises `Unsupported` for sources outside the wave and for rounding modes that the instruction's arithmetic lacks.
    """
    kinds = tuple(map(operand_kind, instruction.operands))
    modifiers = tuple(item for item in instruction.modifiers.items() if item[0] not in IMMEDIATES)
    signature = (instruction.name, instruction.encoding, kinds, modifiers, arch, mode)
    form = _known.get(signature)
    if form is None:
        form = _known[signature] = _form(instruction, kinds, arch, mode)
    return form


def operand_kind(operand: Operands) -> str:
    """``s``, ``v`` (a registers too), ``c`` for a constant, or a code of the scalar operand table."""
    if isinstance(operand, Reg):
        return "s" if operand.file == "s" else "v"
    if isinstance(operand, Const) or (isinstance(operand, Special) and operand.code in APERTURES):
        return "c"
    if isinstance(operand, Special) and operand.code in _OWN:
        return str(operand.code)
    raise Unsupported("source", f"the simulator cannot read {operand}")


def _form(instruction: Instruction, kinds: tuple[str, ...], arch: str, mode: Mode) -> Form:
    d = instruction.definition
    modifiers = {name: value for name, value in instruction.modifiers.items() if name not in IMMEDIATES}
    own_mode = relevant_mode(instruction, kinds, mode)
    own_arch = arch if any(s.implicit == "arch" for s in d.srcs) else ""
    parts = [d.name, instruction.encoding, ",".join(kinds), own_arch]
    parts += [f"{name}={modifiers[name]}" for name in sorted(modifiers)]
    parts += [f"{name}={getattr(own_mode, name)}" for name in _changed(own_mode)]
    return Form(" ".join(parts), instruction, arch, own_mode)


_DEFAULT = Mode()
_FIELDS = tuple(sorted(name for base in Mode.__mro__ for name in getattr(base, "__slots__", ())))


def _changed(mode: Mode) -> list[str]:
    return [name for name in _FIELDS if getattr(mode, name) != getattr(_DEFAULT, name)]


def _float_widths(definition: Definition) -> set[int]:
    types = {o.type for o in (*definition.dsts, *definition.srcs) if o.type.is_float}
    # A mix source may be an f16.
    return {t.bits for t in types} | ({16} if definition.has("mix") else set())


def relevant_mode(instruction: Instruction, kinds: tuple[str, ...], mode: Mode) -> Mode:
    """``mode`` with everything that cannot change this instruction at its default."""
    d = instruction.definition
    if d.format not in VECTOR:
        return _DEFAULT
    widths = _float_widths(d)
    tokens = {s.implicit for s in d.srcs}
    changes: dict[str, Any] = {"vskip": False}
    if 32 not in widths:
        changes |= {"round32": 0, "f32_denorm_flush_in": False, "f32_denorm_flush_out": False}
    if not widths & {16, 64}:
        changes |= {"round64_16": 0, "f64_f16_denorm_flush_in": False, "f64_f16_denorm_flush_out": False}
    if not instruction.modifiers.get("clamp"):
        changes["dx10_clamp"] = True
    if "ieee" not in tokens and "omul" not in instruction.modifiers:
        changes["ieee"] = True
    if "fp16_ovfl" not in tokens and not any(o.type.name == "f16" for o in d.dsts):
        changes["fp16_ovfl"] = False
    if "v" not in kinds:
        changes["gpr_idx"] = 0
    return replace(mode, **changes)
