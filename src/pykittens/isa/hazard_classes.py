"""Classes of instructions in hazards, and which of their registers a hazard is about.

A class looks at a definition and its encoding; registers come as bits (`effects.mask_of`), none where the instruction's
modifiers keep it out of the class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from . import mfma
from .define import Definition, Unit
from .effects import FIRST_FREE_BIT, SCALAR_BITS, VECTOR_BITS, keeps_part, loads_to_lds, mask, mask_of, reads, writes
from .instruction import Instruction, Operands
from .registers import Reg, Special, exec_, m0, vcc

EXEC, VCC, M0 = mask(exec_), mask(vcc), mask(m0)
ANY = 1 << FIRST_FREE_BIT
"""Stands for no register: the classes alone make the hazard."""
_FIRST_HWREG = FIRST_FREE_BIT + 1
PSEUDO_BITS = ((1 << 65) - 1) << FIRST_FREE_BIT
"""ANY and the hardware registers."""
_MODE_HWREG, _VSKIP_BIT = 1, 28
_MODE_BIT = 1 << (_FIRST_HWREG + _MODE_HWREG)


class Facts:
    """One instruction as hazards see it; sets of registers are computed when first asked for."""

    def __init__(self, instruction: Instruction, arch: str, accum_offset: int) -> None:
        self.instruction = instruction
        self.definition = instruction.definition
        self.arch = arch
        self.accum_offset = accum_offset
        self.read = mask_of(reads(instruction), accum_offset)
        self.written = mask_of(writes(instruction), accum_offset)

    @cached_property
    def passes(self) -> int:
        """Passes of 4 cycles of a matrix instruction."""
        return mfma.passes(self.definition, self.instruction.modifiers, self.arch)

    def bits(self, *operands: Operands) -> int:
        return mask_of((o for o in operands if isinstance(o, Reg)), self.accum_offset)


@dataclass(frozen=True)
class Side:
    """Producer or consumer of a hazard: a class in words, who belongs to it, and the registers in question.

    ``matrix_result``: of the results of matrix instructions, which come in order, only the last in a register matters.
    """

    words: str
    holds: Callable[[Definition, str], bool]
    registers: Callable[[Facts], int]
    matrix_result: bool = False


# -- classes -----------------------------------------------------------------------------------------------------
_VALU_UNITS = (Unit.VALU, Unit.TRANS)


def is_valu(d: Definition, encoding: str) -> bool:
    """The vector ALU without matrix instructions."""
    return d.unit in _VALU_UNITS


def uses_vectors(d: Definition, encoding: str) -> bool:
    """The vector ALU, matrix instructions, vector memory and LDS."""
    return d.unit in (*_VALU_UNITS, Unit.MFMA, Unit.VMEM, Unit.LDS)


def is_trans(d: Definition, encoding: str) -> bool:
    return d.unit is Unit.TRANS


def is_plain_valu(d: Definition, encoding: str) -> bool:
    return d.unit is Unit.VALU


def is_salu(d: Definition, encoding: str) -> bool:
    return d.unit is Unit.SALU or (d.unit is Unit.CONTROL and bool(d.dsts))


def is_memory(d: Definition, encoding: str) -> bool:
    """Vector memory and LDS."""
    return d.unit in (Unit.VMEM, Unit.LDS)


def is_vmem(d: Definition, encoding: str) -> bool:
    return d.unit is Unit.VMEM


def is_mfma(d: Definition, encoding: str) -> bool:
    return d.mfma is not None


def is_xdl(d: Definition, encoding: str) -> bool:
    """Matrix instructions of the XDL: all but those with f32 or f64 inputs."""
    return d.mfma is not None and d.mfma.a not in ("f32", "f64")


def is_sgemm(d: Definition, encoding: str) -> bool:
    return d.mfma is not None and d.mfma.a == "f32"


def is_dgemm(d: Definition, encoding: str) -> bool:
    return d.mfma is not None and d.mfma.a == "f64"


def is_dgemm_16x16(d: Definition, encoding: str) -> bool:
    return is_dgemm(d, encoding) and d.mfma is not None and d.mfma.m == 16


def is_dgemm_4x4(d: Definition, encoding: str) -> bool:
    return is_dgemm(d, encoding) and not is_dgemm_16x16(d, encoding)


def is_sgemm_or_dgemm(d: Definition, encoding: str) -> bool:
    return is_sgemm(d, encoding) or is_dgemm(d, encoding)


def is_fma_f64(d: Definition, encoding: str) -> bool:
    return d.name in ("v_fma_f64", "v_fmac_f64")


def is_dot(d: Definition, encoding: str) -> bool:
    return d.name.startswith("v_dot")


def is_dpp(d: Definition, encoding: str) -> bool:
    return encoding == "dpp"


def is_lane_read(d: Definition, encoding: str) -> bool:
    """v_readlane, v_readfirstlane."""
    return is_valu(d, encoding) and d.has("sdst")


def selects_lane(d: Definition, encoding: str) -> bool:
    """v_readlane, v_writelane: the last source is a scalar lane number."""
    return is_valu(d, encoding) and bool(d.explicit_srcs) and d.explicit_srcs[-1].scalar


def is_lane_access(d: Definition, encoding: str) -> bool:
    return is_lane_read(d, encoding) or selects_lane(d, encoding)


def is_permlane(d: Definition, encoding: str) -> bool:
    return d.name.startswith("v_permlane")


def is_div_fmas(d: Definition, encoding: str) -> bool:
    """Reads VCC without naming it."""
    return is_valu(d, encoding) and any(o.implicit == "vcc" for o in d.srcs)


def is_scaling_conversion(d: Definition, encoding: str) -> bool:
    return d.name.startswith("v_cvt_scalef32")


def writes_partly(d: Definition, encoding: str) -> bool:
    """May write a byte or half that a forwarded result does not tell of."""
    return is_valu(d, encoding) and (
        encoding == "sdwa" or any(o.implicit == "op_sel" for o in d.srcs) or d.has("op_sel")
    )


def touches_m0_late(d: Definition, encoding: str) -> bool:
    """Reads M0 without waiting for the SALU: load to LDS, add-tid, messages, relative registers."""
    access = d.access
    in_memory = access is not None and (access.m0 or bool(access.to_lds))
    return in_memory or d.has("message") or d.has("relative_src") or d.has("relative_dst")


def is_hwreg(d: Definition, encoding: str) -> bool:
    return d.has("hwreg_read") or d.has("hwreg_write")


def writes_hwreg(d: Definition, encoding: str) -> bool:
    return d.has("hwreg_write")


def may_set_vskip(d: Definition, encoding: str) -> bool:
    return d.has("vskip") or d.has("hwreg_write")


def sees_vskip(d: Definition, encoding: str) -> bool:
    return uses_vectors(d, encoding) or d.has("hwreg_read")


# -- registers ---------------------------------------------------------------------------------------------------
def any_register(f: Facts) -> int:
    return ANY


def vectors_written(f: Facts) -> int:
    return f.written & VECTOR_BITS


def vectors_read(f: Facts) -> int:
    return f.read & VECTOR_BITS


def vectors_touched(f: Facts) -> int:
    return (f.read | f.written) & VECTOR_BITS


def scalars_written(f: Facts) -> int:
    return f.written & SCALAR_BITS


def exec_written(f: Facts) -> int:
    """ANY where the instruction writes EXEC: what follows need not name it."""
    return ANY if f.written & EXEC else 0


def vcc_written(f: Facts) -> int:
    return f.written & VCC


def vcc_read(f: Facts) -> int:
    return f.read & VCC


def m0_written(f: Facts) -> int:
    return f.written & M0


def m0_read(f: Facts) -> int:
    return f.read & M0


def src_c(f: Facts) -> int:
    """The accumulator that a matrix or dot instruction reads."""
    i = f.instruction
    shape = f.definition.mfma
    if shape is not None:
        return f.bits(i.dsts[0] if shape.sparse else i.srcs[2])
    return f.bits(i.srcs[2] if len(i.srcs) > 2 else i.dsts[0])


def src_ab(f: Facts) -> int:
    """The matrices that a matrix instruction reads, with the index of a sparse one and the scales of a scaled one."""
    i, shape = f.instruction, f.definition.mfma
    others = i.srcs[2:] if shape is not None and shape.sparse else i.srcs[3:]
    return f.bits(*i.srcs[:2], *others)


def constants_read(f: Facts) -> int:
    """Scalar registers that the VALU reads as numbers, lane masks and lane numbers left out."""
    d = f.definition
    specs = d.explicit_srcs[:-1] if selects_lane(d, f.instruction.encoding) else d.explicit_srcs
    operands = [o for spec, o in zip(specs, f.instruction.srcs, strict=False) if not spec.mask]
    return f.bits(*operands) & SCALAR_BITS


def masks_read(f: Facts) -> int:
    """Lane masks: carries and selections, named or not."""
    operands = [o for spec, o in zip(f.definition.explicit_srcs, f.instruction.srcs, strict=True) if spec.mask]
    implicit = VCC if any(o.implicit == "vcc" for o in f.definition.srcs) else 0
    return f.bits(*operands) & SCALAR_BITS | implicit


def lane_number(f: Facts) -> int:
    return f.bits(f.instruction.srcs[-1]) & SCALAR_BITS


def addresses_read(f: Facts) -> int:
    """Scalar registers of a memory access: descriptor, base, offset, M0."""
    return f.bits(*f.instruction.srcs) & SCALAR_BITS | (f.read & M0)


def zero_flags_written(f: Facts) -> int:
    return f.written & (VCC | EXEC)


def zero_flags_read(f: Facts) -> int:
    """VCC for src_vccz, EXEC for src_execz."""
    codes = {o.code for o in f.instruction.srcs if isinstance(o, Special)}
    return (VCC if 251 in codes else 0) | (EXEC if 252 in codes else 0)


def part_written(f: Facts) -> int:
    """The destination, if this SDWA, op_sel or byte selection leaves its low half or byte alone."""
    m, d = f.instruction.modifiers, f.definition
    if f.instruction.encoding == "sdwa":
        narrow = m.get("dst_sel", "DWORD") != "DWORD"
    else:
        op_sel = m.get("op_sel")
        bits = op_sel if isinstance(op_sel, tuple) else ()
        selects_byte = any(o.implicit == "op_sel" for o in d.srcs) and any(o.implicit == "dst" for o in d.srcs)
        narrow = any(bits[2:4]) if selects_byte else any(bits[3:4])
        # Randomly rounded fp4 is not forwarded whichever byte it goes to (llvm).
        narrow = narrow or d.name.startswith("v_cvt_scalef32_sr_pk_fp4")
    return vectors_written(f) if narrow else 0


def part_kept(f: Facts) -> int:
    """The destination of a conversion that keeps the rest of it."""
    keeps = keeps_part(f.instruction) or any(o.implicit == "dst" for o in f.definition.srcs)
    return vectors_written(f) if keeps else 0


def wide_store_data(f: Facts, scalar_offset: bool) -> int:
    """Data of stores and atomics of more than 8 bytes, with or without an SGPR offset (llvm: they differ)."""
    access = f.definition.access
    if access is None or access.kind not in ("store", "atomic"):
        return 0
    operands = dict(zip(access.roles, f.instruction.srcs, strict=False))
    data = operands.get("vdata", operands.get("data"))
    if not isinstance(data, Reg) or data.count <= 2:
        return 0
    has_offset = isinstance(operands.get("soffset"), Reg)
    return f.bits(data) if has_offset == scalar_offset else 0


def hwreg(f: Facts) -> int:
    """One bit for each hardware register."""
    return 1 << (_FIRST_HWREG + (_simm16(f) & 63))


def vskip_set(f: Facts) -> int:
    """ANY where vector instructions have to wait; ``s_setvskip`` concerns only who reads MODE (manual)."""
    if f.definition.has("vskip"):
        return _MODE_BIT
    field = _simm16(f)
    low, width = field >> 6 & 31, (field >> 11) + 1
    return ANY if field & 63 == _MODE_HWREG and low <= _VSKIP_BIT < low + width else 0


def vskip_seen(f: Facts) -> int:
    if not f.definition.has("hwreg_read"):
        return ANY
    return _MODE_BIT if _simm16(f) & 63 == _MODE_HWREG else 0


def _simm16(f: Facts) -> int:
    value = f.instruction.modifiers.get("simm16", 0)
    assert isinstance(value, int)
    return value


def to_lds_m0(f: Facts) -> int:
    """M0, if this instruction reads it as it is set up: ordinary loads with a form to LDS do not."""
    access = f.definition.access
    return 0 if access is not None and access.to_lds and not loads_to_lds(f.instruction) else m0_read(f)
