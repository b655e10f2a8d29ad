"""Decoding plans of SDWA and DPP: short vector encodings whose second dword says how sources are picked."""

from __future__ import annotations

from .decode_modifiers import flag, neg_abs, number, omod
from .decode_plan import IllegalEncoding, Plan, Read, ReadModifier, constant, from_table, mask_of
from .decode_vector import SECOND, short_destinations
from .define import Definition, Operand
from .formats import DPP, FORMATS, SDWA, SDWAB, Format
from .instruction import Operands
from .operand_codes import scalar_registers, scalar_sources, vector_registers
from .registers import vcc
from .vector_modifiers import SDWA_SELECT, SDWA_UNUSED, dpp_control, has_neg, has_omod, takes_neg


def _place(fmt: Format, name: str) -> tuple[int, int]:
    low, width = fmt.fields[name]
    return low + SECOND, width


def _sources(definition: Definition) -> list[Operand]:
    """The explicit sources that are no VCC mask."""
    return [operand for operand in definition.explicit_srcs if not operand.mask]


def plan_dpp(definition: Definition) -> Plan:
    """The 8-byte form of a VOP1 or VOP2 instruction whose first source comes from other lanes."""
    fmt = FORMATS[definition.format]
    operands = short_destinations(definition, fmt)
    fields = iter((_place(DPP, "src0"), fmt.fields.get("vsrc1", (0, 0))))
    for operand in definition.explicit_srcs:
        if operand.mask:
            operands.append(constant(vcc))
        else:
            operands.append(from_table(next(fields), vector_registers(operand.dwords)))
    wide = any(o.bits == 64 and not o.mask for o in definition.explicit_dsts + definition.explicit_srcs)
    modifiers: list[ReadModifier] = [
        _read_broadcast if wide else _read_dpp_control,
        flag("bound_ctrl", _place(DPP, "bound_ctrl")),
    ]
    modifiers += [number(name, _place(DPP, name), 15) for name in ("row_mask", "bank_mask")]
    # Bits of no field are ignored, those of an absent second source are not (as LLVM decodes them).
    unused = ["neg1", "abs1"] if len(_sources(definition)) == 1 else []
    if has_neg(definition):
        for name in ("neg", "abs"):
            modifiers.append(neg_abs(definition, name, tuple(_place(DPP, f"{name}{i}")[0] for i in range(2))))
    else:
        unused = ["neg0", "neg1", "abs0", "abs1"]
    zero = mask_of(DPP, *unused) << SECOND
    return Plan(definition, "dpp", 8, zero, tuple(operands), tuple(modifiers))


def _read_dpp_control(bits: int, out: dict[str, object]) -> None:
    low, width = _place(DPP, "dpp_ctrl")
    control = dpp_control((bits >> low) & ((1 << width) - 1))
    if control is None:
        raise IllegalEncoding
    out["dpp_ctrl"] = control


def _read_broadcast(bits: int, out: dict[str, object]) -> None:
    """Instructions with 64-bit operands have one pattern alone."""
    _read_dpp_control(bits, out)
    control = out["dpp_ctrl"]
    if not isinstance(control, tuple) or control[0] != "row_newbcast":
        raise IllegalEncoding


def plan_sdwa(definition: Definition) -> Plan:
    """The 8-byte form of a VOP1, VOP2 or VOPC instruction that picks bytes or words of its operands."""
    fmt = FORMATS[definition.format]
    word = SDWAB if definition.format == "VOPC" else SDWA
    sources = _sources(definition)
    operands: list[Read] = []
    modifiers: list[ReadModifier] = []
    unused: list[str] = []
    if word is SDWAB:
        operands.append(_read_sdst)
    else:
        operands += short_destinations(definition, fmt)
        modifiers += [_read_whole] if definition.has("no_dst_sel") else [_select("dst_sel"), _read_unused]
        modifiers.append(flag("clamp", _place(word, "clamp")))
        if has_omod(definition) and definition.explicit_dsts[0].type.is_float:
            modifiers.append(omod(_place(word, "omod")[0]))
        else:
            unused.append("omod")
    places = (_place(word, "src0"), fmt.fields.get("vsrc1", (0, 0)))
    for i, operand in enumerate(definition.explicit_srcs):
        operands.append(constant(vcc) if operand.mask else _source(operand, places[i], _place(word, f"s{i}")[0]))
    modifiers += [_select(f"src{i}_sel") for i in range(len(sources))]
    for name in ("neg", "abs"):
        modifiers.append(neg_abs(definition, name, tuple(_place(word, f"{name}{i}")[0] for i in range(2))))
    modifiers.append(_sext(definition))
    for i, operand in enumerate(sources):
        unused += [f"sext{i}"] if takes_neg(definition, operand) else [f"neg{i}", f"abs{i}"]
    if len(sources) == 1:
        unused += ["src1_sel", "sext1", "neg1", "abs1", "s1"]
    # Bits of no field are ignored (as LLVM decodes them).
    zero = mask_of(word, *unused) << SECOND
    return Plan(definition, "sdwa", 8, zero, tuple(operands), tuple(modifiers))


def _source(operand: Operand, place: tuple[int, int], scalar_at: int) -> Read:
    vector = from_table(place, vector_registers(operand.dwords))
    scalar = from_table(place, scalar_sources(operand.dwords))
    return lambda bits: scalar(bits) if (bits >> scalar_at) & 1 else vector(bits)


_read_sdst_field = from_table(_place(SDWAB, "sdst"), scalar_registers(2))


def _read_sdst(bits: int) -> Operands:
    return _read_sdst_field(bits) if (bits >> _place(SDWAB, "sd")[0]) & 1 else vcc


def _select(name: str) -> ReadModifier:
    low, width = _place(SDWA, name)

    def read(bits: int, out: dict[str, object]) -> None:
        code = (bits >> low) & ((1 << width) - 1)
        if code >= len(SDWA_SELECT):
            raise IllegalEncoding
        if SDWA_SELECT[code] != "DWORD":
            out[name] = SDWA_SELECT[code]

    return read


def _read_whole(bits: int, out: dict[str, object]) -> None:
    low, width = _place(SDWA, "dst_sel")
    if (bits >> low) & ((1 << width) - 1) != SDWA_SELECT.index("DWORD"):
        raise IllegalEncoding


def _read_unused(bits: int, out: dict[str, object]) -> None:
    code = (bits >> _place(SDWA, "dst_unused")[0]) & 3
    if code >= len(SDWA_UNUSED):
        raise IllegalEncoding
    if code:
        out["dst_unused"] = SDWA_UNUSED[code]


def _sext(definition: Definition) -> ReadModifier:
    """sext of each explicit source; floats and masks have none."""
    lows = tuple(
        None if operand.mask or takes_neg(definition, operand) else _place(SDWA, f"sext{i}")[0]
        for i, operand in enumerate(definition.explicit_srcs)
    )

    def read(bits: int, out: dict[str, object]) -> None:
        value = tuple([0 if low is None else (bits >> low) & 1 for low in lows])
        if any(value):
            out["sext"] = value

    return read
