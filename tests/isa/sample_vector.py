"""Sample Instructions of the vector ALU and of the matrix core."""

from __future__ import annotations

from random import Random

from tests.isa.sample_operands import destination_pair, inline, literal, scalar, special, vector

from pykittens.isa.define import Definition, Operand
from pykittens.isa.instruction import Instruction, Operands
from pykittens.isa.mfma import operand_registers
from pykittens.isa.registers import Const, Reg, Special, vcc
from pykittens.isa.vector_modifiers import (
    SDWA_SELECT,
    has_bitop3,
    has_clamp,
    has_omod,
    has_op_sel,
    op_sel_entries,
    takes_neg,
)

_DPP_CONTROLS: tuple[tuple[object, ...], ...] = (
    ("quad_perm", 0, 1, 2, 3), ("quad_perm", 3, 3, 0, 1), ("row_shl", 1), ("row_shr", 15), ("row_ror", 8),
    ("wave_shl", 1), ("wave_rol", 1), ("wave_shr", 1), ("wave_ror", 1), ("row_mirror",), ("row_half_mirror",),
    ("row_bcast", 15), ("row_bcast", 31), ("row_newbcast", 7),
)  # fmt: skip
Modifiers = dict[str, object]


def vector_sample(rnd: Random, definition: Definition, encoding: str) -> Instruction:
    """One of the given encoding; at most one operand comes from the scalar side, as the constant bus allows."""
    operands: list[Operands] = [
        _destination(rnd, definition, o, i, encoding) for i, o in enumerate(definition.explicit_dsts)
    ]
    reads_vcc = any(o.implicit == "vcc" for o in definition.srcs) or (
        encoding != "e64" and any(o.mask for o in definition.explicit_srcs)
    )
    scalars = 0 if reads_vcc else 1
    size = 4 if encoding == "e32" else 8
    for i, operand in enumerate(definition.explicit_srcs):
        if definition.has(f"literal{i}"):
            operands.append(Const(rnd.choice((0x1234, 5) if operand.bits == 16 else (0x12345678, 5)), "literal"))
            scalars, size = 0, 8
        elif operand.mask:
            operands.append(vcc if encoding != "e64" and definition.format != "VOP3" else scalar(rnd, 2, plain=True))
            scalars = 0
    index = len(definition.explicit_dsts)
    for i, operand in enumerate(definition.explicit_srcs):
        if operand.mask or definition.has(f"literal{i}"):
            continue
        value = _source(rnd, definition, operand, i, encoding, scalars)
        operands.insert(index + i, value)
        if isinstance(value, Const) and value.form == "literal":
            size = 8
        from_scalar_side = isinstance(value, Special) or (isinstance(value, Reg) and value.file == "s")
        if from_scalar_side or (encoding == "e32" and size == 8):
            scalars = 0
    return Instruction(definition, tuple(operands), _modifiers(rnd, definition, encoding), encoding, -1, size)


def _destination(rnd: Random, definition: Definition, operand: Operand, index: int, encoding: str) -> Operands:
    if operand.mask:
        return (
            destination_pair(rnd)
            if encoding in ("e64", "") or (encoding, definition.format) == ("sdwa", "VOPC")
            else vcc
        )
    if operand.scalar:
        return scalar(rnd, operand.dwords, plain=True)
    return vector(rnd, operand.dwords, "a" if definition.has("acc_dst") else "v")


def _source(rnd: Random, definition: Definition, operand: Operand, index: int, encoding: str, scalars: int) -> Operands:
    """A vector register, or where it may be one a scalar register, a constant or a special source."""
    if definition.has("acc_src"):
        return vector(rnd, operand.dwords, "a")
    lane_read = any(o.scalar for o in definition.explicit_dsts)
    pair = definition.format == "VOP3" and operand.packed == 2 and operand.bits == 64
    short = encoding in ("e32", "dpp", "sdwa")
    if operand.scalar:
        return rnd.choice((scalar(rnd, 1), inline(rnd, operand))) if scalars else inline(rnd, operand)
    if lane_read or pair or operand.dwords > 2 or encoding == "dpp" or (short and index and encoding != "sdwa"):
        return vector(rnd, operand.dwords)
    choices: list[Operands] = [vector(rnd, operand.dwords)] * 2
    if encoding == "sdwa":
        # The assembler takes no constants there.
        return rnd.choice([*choices, scalar(rnd, 1)]) if scalars else choices[0]
    choices.append(inline(rnd, operand))
    if scalars:
        choices += [scalar(rnd, operand.dwords), special(rnd, operand)]
        if encoding == "e32":
            choices.append(literal(rnd, operand))
    return rnd.choice(choices)


def _bits(rnd: Random, allowed: list[bool]) -> tuple[int, ...]:
    return tuple(int(bit and rnd.random() < 0.4) for bit in allowed)


def _set(modifiers: Modifiers, name: str, bits: tuple[int, ...]) -> None:
    if any(bits):
        modifiers[name] = bits


def _modifiers(rnd: Random, definition: Definition, encoding: str) -> Modifiers:
    modifiers: Modifiers = {}
    if definition.format == "VOP3P":
        return _packed_modifiers(rnd, definition)
    if encoding == "e32":
        return modifiers
    if has_bitop3(definition):
        modifiers["bitop3"] = rnd.randrange(1, 256)
    else:
        negs = [takes_neg(definition, operand) for operand in definition.explicit_srcs]
        _set(modifiers, "neg", _bits(rnd, negs))
        # VOP3 with a scalar destination has it in the bits of abs.
        if len(definition.explicit_dsts) < 2 or encoding in ("sdwa", "dpp"):
            _set(modifiers, "abs", _bits(rnd, negs))
        if encoding == "sdwa" and not definition.has("no_dst_sel"):
            free = [not neg and not operand.mask for neg, operand in zip(negs, definition.explicit_srcs, strict=True)]
            _set(modifiers, "sext", _bits(rnd, free))
        to_float = encoding != "sdwa" or definition.explicit_dsts[0].type.is_float
        if encoding != "dpp" and has_omod(definition) and to_float and rnd.random() < 0.3:
            modifiers["omul"] = rnd.choice((2.0, 4.0, 0.5))
    no_clamp = encoding == "dpp" or (encoding, definition.format) == ("sdwa", "VOPC")
    if has_clamp(definition) and not no_clamp and rnd.random() < 0.3:
        modifiers["clamp"] = True
    if encoding in ("e64", "") and has_op_sel(definition):
        bits = [0, 0, 0, 0]
        for i in op_sel_entries(definition):
            bits[i] = rnd.randrange(2)
        _set(modifiers, "op_sel", tuple(bits))
    if encoding == "e64" and definition.has("swap"):
        modifiers |= {name: True for name in ("fi", "bound_ctrl") if rnd.random() < 0.5}
    if encoding == "sdwa":
        modifiers |= _sdwa_modifiers(rnd, definition)
    if encoding == "dpp":
        modifiers |= _dpp_modifiers(rnd, definition)
    return modifiers


def _sdwa_modifiers(rnd: Random, definition: Definition) -> Modifiers:
    modifiers: Modifiers = {}
    names = [f"src{i}_sel" for i in range(sum(not o.mask for o in definition.explicit_srcs))]
    if definition.format != "VOPC" and not definition.has("no_dst_sel"):
        names.append("dst_sel")
        unused = rnd.choice(("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"))
        modifiers |= {"dst_unused": unused} if unused != "UNUSED_PAD" else {}
    for name in names:
        select = rnd.choice(SDWA_SELECT)
        modifiers |= {name: select} if select != "DWORD" else {}
    return modifiers


def _dpp_modifiers(rnd: Random, definition: Definition) -> Modifiers:
    wide = any(o.bits == 64 and not o.mask for o in definition.explicit_dsts + definition.explicit_srcs)
    modifiers: Modifiers = {"dpp_ctrl": ("row_newbcast", rnd.randrange(16)) if wide else rnd.choice(_DPP_CONTROLS)}
    for name in ("row_mask", "bank_mask"):
        mask = rnd.choice((15, rnd.randrange(16)))
        modifiers |= {name: mask} if mask != 15 else {}
    return modifiers | ({"bound_ctrl": True} if rnd.random() < 0.5 else {})


def _packed_modifiers(rnd: Random, definition: Definition) -> Modifiers:
    modifiers: Modifiers = {}
    count = len(definition.explicit_srcs)
    # Dot products have op_sel bits, but the assembler takes only their defaults.
    dot = not definition.has("mix") and definition.explicit_dsts and definition.dsts[0].packed == 1
    if not definition.has("no_op_sel") and not (dot and definition.dsts[0].bits == 32):
        _set(modifiers, "op_sel", _bits(rnd, [True] * count))
        high = tuple(rnd.choice((1, rnd.randrange(2))) for _ in range(count))
        modifiers |= {"op_sel_hi": high} if high != (1,) * count else {}
    if not definition.has("no_modifiers"):
        for name in ("neg_lo", "neg_hi"):
            _set(modifiers, name, _bits(rnd, [True] * count))
    return modifiers | ({"clamp": True} if has_clamp(definition) and rnd.random() < 0.3 else {})


def matrix_sample(rnd: Random, definition: Definition) -> Instruction:
    """D never overlaps C but as the same registers, nor A and B: the wide instructions write D early."""
    shape = definition.mfma
    assert shape is not None
    modifiers: Modifiers = {}
    if shape.a == "f8f6f4":
        modifiers |= {name: code for name in ("cbsz", "blgp") if (code := rnd.randrange(5))}
    elif shape.d == "f64":
        _set(modifiers, "neg", _bits(rnd, [True] * 3))
    else:
        names = ("cbsz", "abid") if shape.sparse else ("cbsz", "abid", "blgp")
        modifiers |= {name: code for name in names if (code := rnd.choice((0, 1, rnd.randrange(8))))}
    widths = operand_registers(definition, modifiers)
    file = rnd.choice("va")
    low = Reg(file, 2 * rnd.randrange(8), widths[0])
    a, b = (Reg(rnd.choice("va"), 100 + 8 * rnd.randrange(4), width) for width in widths[1:3])
    if shape.sparse:
        c: Operands = Reg("v", rnd.randrange(200, 256))
    else:
        c = rnd.choice((low, Reg(file, 200, widths[3]), Const(rnd.choice((0, 1, 0xFFFFFFFF)))))
    operands: tuple[Operands, ...] = (low, a, b, c)
    if shape.scaled:
        operands += (Reg("v", rnd.randrange(256)), Reg("v", rnd.randrange(256)))
        for name in ("op_sel", "op_sel_hi"):
            _set(modifiers, name, _bits(rnd, [True] * 2))
    return Instruction(definition, operands, modifiers, "", -1, 16 if shape.scaled else 8)
