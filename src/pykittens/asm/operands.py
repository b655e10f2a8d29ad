"""Operands of programs being written: Python numbers become constants, all are checked in assembly notation."""

from __future__ import annotations

from collections.abc import Mapping

from pykittens.errors import BuildError
from pykittens.isa.define import Definition, Operand
from pykittens.isa.instruction import Operands
from pykittens.isa.mfma import operand_registers
from pykittens.isa.registers import Const, Label, Reg, Special, vcc
from pykittens.isa.types import label

from .constants import constant

_LAST_REGISTER = {"v": 255, "a": 255, "s": 127}
_FILE_NAMES = {"v": "VGPR", "a": "AGPR", "s": "SGPR"}
_SHORT = {"VOP1", "VOP2", "VOPC"}
_VALU = {"VOP1", "VOP2", "VOPC", "VOP3", "VOP3P"}
_WITH_LITERAL = {"SOP1", "SOP2", "SOPC", "VOP1", "VOP2", "VOPC"}

_VECTOR_MODIFIERS = {
    "neg", "abs", "sext", "op_sel", "op_sel_hi", "neg_lo", "neg_hi", "clamp", "omul", "bitop3", "byte_sel", "dst_sel",
    "src0_sel", "src1_sel", "dst_unused", "dpp_ctrl", "row_mask", "bank_mask", "bound_ctrl",
}  # fmt: skip
_MEMORY_MODIFIERS = {
    "offset", "offset0", "offset1", "offen", "idxen", "glc", "sc0", "sc1", "nt", "lds", "gds", "format", "probe",
}  # fmt: skip
_MATRIX_MODIFIERS = {"cbsz", "abid", "blgp", "neg", "op_sel", "op_sel_hi"}
_SCALAR_MODIFIERS = {"simm16", "gpr_idx"}
_WAIT_MODIFIERS = {"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15}
_ZERO_COUNTS = _SCALAR_MODIFIERS | _WAIT_MODIFIERS.keys() | {"row_mask", "bank_mask", "bitop3", "format", "probe"}
"""Modifiers whose 0 is not the default."""


class _Shown:
    """The instruction as it was asked for, for errors."""

    def __init__(self, definition: Definition, operands: tuple[object, ...], where: str | None) -> None:
        self.definition, self.operands, self.where = definition, operands, where

    def error(self, code: str, what: str, fix: str = "") -> BuildError:
        operands = ", ".join("off" if o is None else str(o) for o in self.operands)
        text = f"{self.definition.name} {operands}".strip()
        return BuildError(code, f"{text}: {what}", where=self.where, fix=fix)


def prepare(
    definition: Definition, operands: tuple[object, ...], modifiers: Mapping[str, object], where: str | None
) -> tuple[tuple[Operands, ...], dict[str, object], str]:
    """Operands, modifiers and encoding of an instruction as it was asked for.

    Operands stand in the order of the text; so may 16-bit immediates (``s_nop 3``), which become modifiers. Raises
    BuildError for what does not fit; what depends on an encoding's finer print is left to LLVM's assembler, whose
    errors carry the Python line too.
    """
    shown = _Shown(definition, operands, where)
    given = {k: v for k, v in modifiers.items() if v is not None and v is not False and (v != 0 or k in _ZERO_COUNTS)}
    values = _take_immediates(definition, list(operands), given, shown)
    _check_modifiers(definition, given, shown)
    specs = definition.explicit_dsts + definition.explicit_srcs
    if definition.access is not None:
        values += [None] * (len(specs) - len(values))
    if len(values) != len(specs):
        raise shown.error("operand-count", f"{len(values)} operands, takes {len(specs)}")
    found = tuple(_operand(spec, value, shown) for spec, value in zip(specs, values, strict=True))
    encoding = _choose_encoding(definition, found, given)
    sizes = _sizes(definition, found, given)
    for i, (spec, operand, size) in enumerate(zip(specs, found, sizes, strict=True)):
        if isinstance(operand, Reg):
            _check_register(definition, i, spec, operand, size, shown)
    _check_matrix_files(definition, found, shown)
    _check_constants(definition, encoding, found, shown)
    return found, given, encoding


def _take_immediates(
    definition: Definition, operands: list[object], modifiers: dict[str, object], shown: _Shown
) -> list[object]:
    """The operands without the immediates among them, which go to ``modifiers``."""
    place = len(definition.explicit_dsts)
    for operand in definition.srcs:
        name = operand.implicit
        if name in _SCALAR_MODIFIERS and not definition.has("waitcnt"):
            assert name is not None
            if name not in modifiers:
                if place < len(operands):
                    modifiers[name] = operands.pop(place)
                elif not definition.has("ends"):
                    raise shown.error("operand-count", f"the immediate {name} is missing")
            if name in modifiers:
                modifiers[name] = _immediate(name, modifiers[name], shown)
        elif name is None:
            place += 1
    return operands


def _immediate(name: str, value: object, shown: _Shown) -> int:
    most = 15 if name == "gpr_idx" else 0xFFFF
    if not isinstance(value, int) or not -(most + 1) // 2 <= value <= most:
        raise shown.error("immediate-range", f"{name} is {value!r}, fits 0 to {most}")
    return value & most


def _check_modifiers(definition: Definition, modifiers: dict[str, object], shown: _Shown) -> None:
    if definition.has("waitcnt"):
        for name, value in modifiers.items():
            most = _WAIT_MODIFIERS.get(name, -1)
            if not isinstance(value, int) or not 0 <= value <= most:
                raise shown.error("wait-count", f"{name}({value}); vmcnt is 0 to 63, expcnt 0 to 7, lgkmcnt 0 to 15")
        return
    if definition.mfma is not None:
        known = _MATRIX_MODIFIERS
    elif definition.access is not None:
        known = _MEMORY_MODIFIERS
    else:
        known = _VECTOR_MODIFIERS if definition.format in _VALU else _SCALAR_MODIFIERS
    for name in modifiers:
        if name not in known:
            raise shown.error("unknown-modifier", f"has no modifier {name}", f"known are {', '.join(sorted(known))}")


def _operand(spec: Operand, value: object, shown: _Shown) -> Operands:
    if value is None or isinstance(value, (Reg, Const, Special, Label)):
        return value
    if isinstance(value, str) and spec.type is label:
        return Label(value)
    if isinstance(value, (bool, int, float)):
        found = constant(value, spec)
        if isinstance(found, str):
            raise shown.error("constant-range", found, "build the value in registers")
        return found
    raise shown.error("operand-kind", f"{value!r} is no operand", "use a register, a number or a label")


def _choose_encoding(definition: Definition, operands: tuple[Operands, ...], modifiers: dict[str, object]) -> str:
    """The shortest encoding of a vector ALU instruction that takes these operands."""
    if definition.format not in _SHORT:
        return ""
    if any(k in modifiers for k in ("dst_sel", "src0_sel", "src1_sel", "dst_unused", "sext")):
        return "sdwa"
    if "dpp_ctrl" in modifiers:
        return "dpp"
    if definition.has("no_e64"):
        return "e32"
    if any(k in modifiers for k in ("neg", "abs", "clamp", "omul", "op_sel")):
        return "e64"
    dsts = len(definition.explicit_dsts)
    sources = 0
    for i, (spec, operand) in enumerate(
        zip(definition.explicit_dsts + definition.explicit_srcs, operands, strict=True)
    ):
        if spec.mask:
            if operand != vcc:
                return "e64"
        elif i >= dsts and not spec.scalar:
            sources += 1
            if sources > 1 and not (isinstance(operand, Reg) and operand.file == "v"):
                return "e64"
    return "e32"


def _sizes(definition: Definition, operands: tuple[Operands, ...], modifiers: dict[str, object]) -> tuple[int, ...]:
    """Registers that each operand takes."""
    if definition.mfma is not None:
        return operand_registers(definition, modifiers)
    dsts = len(definition.explicit_dsts)
    widths = [spec.dwords for spec in definition.explicit_dsts + definition.explicit_srcs]
    if definition.access is not None:
        roles = dict(zip(definition.access.roles, range(dsts, len(widths)), strict=False))
        if "vaddr" in roles:
            widths[roles["vaddr"]] = max(1, ("idxen" in modifiers) + ("offen" in modifiers))
        if "saddr" in roles and operands[roles["saddr"]] is not None:
            widths[roles["addr"]] = 1
    return tuple(widths)


def _check_register(definition: Definition, i: int, spec: Operand, reg: Reg, size: int, shown: _Shown) -> None:
    last = _LAST_REGISTER.get(reg.file)
    if last is None or reg.last > last or reg.index < 0:
        raise shown.error("register-range", f"{reg} is outside the file, whose last is {reg.file}{last}")
    if reg.count != size:
        raise shown.error("operand-size", f"{reg} has {reg.count} registers, the operand takes {size}")
    step = _alignment(definition, reg)
    if reg.index % step:
        fixed = Reg(reg.file, reg.index // step * step + step, reg.count)
        what = f"{reg} starts at {reg.index}, which is no multiple of {step}"
        raise shown.error("register-alignment", what, f"use {fixed} or another one")
    allowed = _files(definition, i, spec)
    if reg.file not in allowed:
        names = " or ".join(f"{_FILE_NAMES[f]} ({f})" for f in allowed)
        raise shown.error("operand-file", f"{reg} is the wrong kind of register, the operand takes {names}")


def _alignment(definition: Definition, reg: Reg) -> int:
    """Vector ranges start even, except where 6-bit elements are read; scalar ones at a multiple of up to 4 (llvm)."""
    if reg.count == 1:
        return 1
    if reg.file == "s":
        return 2 if reg.count == 2 else 4
    access = definition.access
    return 1 if access is not None and access.transpose == 6 else 2


def _files(definition: Definition, i: int, spec: Operand) -> str:
    """Files of operand ``i``, the commonest first."""
    access, dsts = definition.access, len(definition.explicit_dsts)
    is_dst = i < dsts
    if access is not None:
        role = "data" if is_dst else access.roles[i - dsts]
        if access.space == "scalar" or spec.scalar:
            return "s"
        return "v" if role in ("addr", "vaddr") else "va"
    if definition.mfma is not None:
        index = i == 3 and definition.mfma.sparse
        return "v" if i > 3 or index else "va"
    if definition.format not in _VALU or spec.scalar or spec.mask:
        return "s"
    if definition.has("acc_dst" if is_dst else "acc_src"):
        return "a"
    return "v" if is_dst else "vs"


def _check_matrix_files(definition: Definition, operands: tuple[Operands, ...], shown: _Shown) -> None:
    """D and C of a matrix instruction share one bit that says which file they are in."""
    if definition.mfma is None or definition.mfma.sparse:
        return
    d, c = operands[0], operands[3]
    if isinstance(d, Reg) and isinstance(c, Reg) and d.file != c.file:
        raise shown.error("accumulator-file", f"D is {d} and C is {c}; both are v or both are a")


def _check_constants(definition: Definition, encoding: str, operands: tuple[Operands, ...], shown: _Shown) -> None:
    sources = operands[len(definition.explicit_dsts) :]
    literals = {c.bits for c in sources if isinstance(c, Const) and c.form == "literal"}
    fits = (definition.format in _WITH_LITERAL and encoding in ("", "e32")) or definition.has("literal")
    if literals and not fits:
        bits = hex(min(literals))
        kind = f"the {encoding} encoding" if encoding else f"a {definition.format} instruction"
        raise shown.error(
            "literal-encoding", f"{bits} is no inline constant, and {kind} has no room for a literal",
            "move the constant to a register first",
        )  # fmt: skip
    if len(literals) > 1:
        raise shown.error(
            "two-literals", f"has {len(literals)} literals, there is room for 1", "move one to a register"
        )
    if definition.format not in _VALU or any(spec.scalar for spec in definition.explicit_srcs):
        return
    scalars = {str(r) for r in sources if isinstance(r, Special) or (isinstance(r, Reg) and r.file == "s")}
    scalars |= {"vcc" for spec in definition.srcs if spec.implicit == "vcc"}
    if len(scalars) + len(literals) > 1:
        names = ", ".join(sorted(scalars) + [hex(b) for b in sorted(literals)])
        raise shown.error(
            "constant-bus", f"reads {len(scalars) + len(literals)} scalar values ({names}), the limit is 1",
            "copy one to a vector register",
        )  # fmt: skip
