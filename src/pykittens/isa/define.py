"""Every instruction is defined once, by one call of `define`: name, encoding, operands, effects, meaning, unit.

A signature names the data types of what an instruction writes and reads, in the order of the assembly text:

    define("VOP2", 1, "v_add_f32", "f32 = f32, f32", lambda a, b: a + b)
    define("SOP2", 0, "s_add_u32", "u32, scc = u32, u32", add_carry)

Tokens: a type of `types.TYPES`; ``2f16`` (packed: the meaning is called once per half, op_sel and op_sel_hi choose
the halves); ``s:u32`` a scalar operand of a vector instruction; ``mask`` a lane mask operand (SGPR pair; VCC in the
short encodings; a u1 per lane); and the implicit ones, which have no text of their own: ``scc`` (u1 scalar),
``vcc`` (lane mask), ``vccz``, ``exec`` (u64 scalar), ``m0`` (u32), ``mode`` (u32), ``pc`` (u64, address of the next
instruction), ``lane`` (lane ids, read only) and ``dst``/``dst1`` (the old value of the first/second destination, of
that destination's type). The meaning gets the sources in this order as `Value`s and returns the destinations, one
or a tuple. Where the first destination is not packed, the meaning is called once and a packed source is a pair of
Values (low, high), as op_sel and op_sel_hi choose them. The tokens of `CONSTANTS` give the meaning plain Python
values that are fixed for a form of the instruction: ``op_sel`` (bit i is source i's, bit 3 the destination's;
nothing else is then chosen by these bits), ``bitop3``, ``ieee`` and ``fp16_ovfl`` (0 or 1, from MODE), ``arch``
(str). A packed destination of sources that are not packed gets a pair (low, high) from one call. An operand of more
than 64 bits is a list of its dwords (u32 Values, lowest first), in sources and in results.

``simm16`` (i16) and ``gpr_idx`` (u32) are the modifiers of these names as `Value`s, printed at their place in the
signature. ``label`` is the operand of a branch and no value: the meaning does not get it. The meaning of a conditional
branch returns a u1: whether it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from .types import TYPES, Type, i16, label, u1, u32, u64

ARCHS = ("gfx942", "gfx950")


class Unit(Enum):
    """Where an instruction executes."""

    SALU = "salu"
    VALU = "valu"
    TRANS = "trans"
    MFMA = "mfma"
    LDS = "lds"
    VMEM = "vmem"
    SMEM = "smem"
    BRANCH = "branch"
    CONTROL = "control"


class Counter(Enum):
    """The wait counter that an instruction raises; FLAT raises both."""

    VM = "vmcnt"
    LGKM = "lgkmcnt"
    BOTH = "vmcnt+lgkmcnt"


IMPLICIT: dict[str, Type] = {
    "scc": u1, "vcc": u1, "vccz": u1, "exec": u64, "m0": u32, "mode": u32, "pc": u64, "lane": u32, "dst": u32,
    "dst1": u32, "simm16": i16, "gpr_idx": u32,
}  # fmt: skip
CONSTANTS = ("op_sel", "bitop3", "ieee", "fp16_ovfl", "arch")
"""Tokens of what a meaning gets as Python values: they are no registers."""

_PER_LANE = ("vcc", "lane", "dst", "dst1")
_OLD = {"dst": 0, "dst1": 1}


@dataclass(frozen=True, slots=True)
class Operand:
    """One thing that an instruction reads or writes.

    ``type`` is the element type; ``packed`` the number of elements in it (1 or 2); ``scalar`` says that it is one
    value per wave; ``mask`` that it is a lane mask; ``implicit`` names the register that the text does not.
    """

    type: Type
    packed: int = 1
    scalar: bool = False
    mask: bool = False
    implicit: str | None = None

    @property
    def bits(self) -> int:
        """Width in the register file: a mask is a 64-bit pair."""
        return 64 if self.mask else self.type.bits * self.packed

    @property
    def dwords(self) -> int:
        return (self.bits + 31) // 32


@dataclass(frozen=True, slots=True)
class Access:
    """What a memory instruction does to memory, per lane (or per wave for scalar loads).

    ``space``: lds, buffer, global, flat, scratch, scalar, or gws (global wave sync). ``kind``: load, store, atomic,
    control (cache upkeep), clock, or permute (LDS hardware, no memory). ``bits`` is one element's size, ``count`` how
    many; ``stride`` the distance of two-address forms (``read2``) in elements per offset unit, 0 if there is one
    address. ``signed`` extends small loads; ``half`` is ``lo`` or ``hi`` for d16 forms: loads keep the other half,
    stores take that half.

    ``op`` of an atomic, working on ``type``: ``swap cmpswap add sub rsub inc dec and or xor smin umin smax umax``
    of integers, ``add min max cmpswap`` of floats (f16 and bf16 with ``count`` 2 are packed), ``mskor wrap condxchg
    append consume`` of LDS (atomics.py and ds.py say what each does); of control ``inv wb discard probe``; of a
    clock ``cycles realtime``; of permute ``push pull swizzle``. ``returns`` says where an atomic's old value goes:
    ``always`` to the destination; ``sc0``: to the destination if sc0 is set (else that operand is None);
    ``in_place``: over the data operand, from its first register, if sc0 (SMEM: glc) is set.

    ``to_lds``: the archs on which the data goes to LDS: always, if there is no destination, or with the modifier
    ``lds`` (the destination is then None). ``m0``: the address includes M0. ``transpose``: bits per element of a
    transposing LDS read, else 0. ``formatted``: elements are converted by the format in the descriptor (MTBUF: in the
    instruction). ``soffset_scale``: bytes per unit of a scalar access's ``soffset``. ``roles`` names the explicit
    sources in order:

    - DS ``addr data0 data1``. MUBUF, MTBUF ``vdata vaddr srsrc soffset``; ``vaddr`` is None, index, offset, or index
      then offset, as ``idxen`` and ``offen`` say.
    - FLAT, GLOBAL, SCRATCH ``addr data saddr``; GLOBAL's ``addr`` has 64 bits, or 32 unsigned ones beside a ``saddr``.
    - SMEM ``sdata sbase soffset``; ``sbase`` has 64 bits, or is a 128-bit buffer descriptor; ``soffset`` is a register
      or None, beside the modifier ``offset``; ``probe`` is a number.
    """

    space: str
    kind: str
    bits: int = 32
    count: int = 1
    stride: int = 0
    signed: bool = False
    half: str | None = None
    op: str | None = None
    type: Type | None = None
    returns: str | None = None
    to_lds: tuple[str, ...] = ()
    m0: bool = False
    transpose: int = 0
    formatted: bool = False
    soffset_scale: int = 1
    roles: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        return self.bits * self.count // 8


@dataclass(frozen=True, slots=True)
class Mfma:
    """A matrix instruction: shape M x N x K in ``blocks`` blocks, element types by name, passes (4 cycles each).

    ``a`` and ``b`` are ``f16 bf16 f32 xf32 f64 i8 fp8 bf8 f8f6f4``; ``d`` is ``f32``, ``i32`` or ``f64``;
    ``sparse`` for SMFMAC; ``scaled`` for the 16-byte form with a scale prefix, whose opcode is the second half's
    plus `mfma.SCALED`. ``passes`` maps arch to passes; passes and operand widths of f8f6f4 depend on the formats
    (`mfma.passes`, `mfma.operand_registers`).
    """

    m: int
    n: int
    k: int
    blocks: int
    a: str
    b: str
    d: str
    passes: dict[str, int] = field(hash=False)
    sparse: bool = False
    scaled: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """One instruction of the ISA, all encodings of it."""

    name: str
    format: str
    opcode: int
    dsts: tuple[Operand, ...]
    srcs: tuple[Operand, ...]
    meaning: Callable[..., Any] | None
    unit: Unit
    counter: Counter | None = None
    archs: tuple[str, ...] = ARCHS
    access: Access | None = None
    mfma: Mfma | None = None
    clamped: Callable[..., Any] | None = None
    """The meaning under the clamp bit, for integers (they saturate); floats are clamped from their result."""
    flags: frozenset[str] = frozenset()
    """Scalar: ``branch`` sets the pc, to its label or with ``indirect`` to its u64 source; ``conditional``: if the
    meaning says so; ``call`` saves the next pc in its destination; ``getpc`` only reads it. ``ends`` (the wave),
    ``barrier``, ``waitcnt``, ``nop``, ``sleep``, ``priority``, ``halt``, ``message``, ``trap``: what the names say,
    by ``simm16``. ``hint`` changes no result. ``hwreg_read``, ``hwreg_write``: a field of a hardware register,
    named by ``simm16``. ``gpr_idx``: sets GPR_IDX_EN (MODE bit 27) or what it acts on (M0[15:12]); ``vskip``: VSKIP
    (bit 28). ``literal``: the last source is always a 32-bit literal. ``relative_src``, ``relative_dst``: moves the
    source to the destination, M0 added to that register's number. ``unsupported_in_sim``: decodes, but means
    nothing without the rest of a GPU.

    Vector: ``quarter_rate`` takes four times as long (LLVM's scheduling model); ``no_exec`` writes all lanes;
    ``lane_permute``: lanes exchange data without memory, though by LDS hardware;
    ``approximate`` where silicon's last bits are unknown; ``no_sdwa``, ``no_dpp``, ``no_e64``: encodings
    that do not exist; ``no_clamp``; ``cmpx`` also writes EXEC; ``sdst`` writes an SGPR from a vector instruction.

    Floats: ``keeps_denormals`` ignores MODE's denormal bits; ``flushes_denormals`` flushes f32 ones whatever they
    say; ``float_modifiers`` lets neg and abs work on sources that are plain bits; ``mix``: a source is an f16 half
    (chosen by op_sel) where its op_sel_hi is set, else an f32, neg_lo negates and neg_hi takes the absolute value.

    16-bit results: the high half of the destination becomes 0; with ``keeps_high`` op_sel[3] chooses the half that is
    written and the other one stays; ``hi_half`` always writes the high half and keeps the low one.

    Encodings (by default an instruction with a float operand takes clamp, omod, and neg and abs on its float
    sources, and an integer one takes clamp if it has ``clamped``): ``no_omod``; ``no_modifiers``: no neg and abs on
    float sources; ``op_sel``: a VOP3 instruction with op_sel bits; ``byte_sel``: its last two choose a
    byte of the destination; ``no_op_sel``: a VOP3P one
    without; ``no_dst_sel``: its SDWA form writes the whole destination; ``literal0``/``literal1``/``literal2``: that
    source (from 0) is always the literal; ``swap``: the second destination stands in the src0 field; ``acc_dst``,
    ``acc_src``: that operand is an accumulation register."""

    def has(self, flag: str) -> bool:
        return flag in self.flags

    explicit_dsts: tuple[Operand, ...] = field(init=False, compare=False)
    explicit_srcs: tuple[Operand, ...] = field(init=False, compare=False)
    """The operands that stand in the text, computed once: every pass over a program asks for them."""

    def __post_init__(self) -> None:
        for name, operands in (("explicit_dsts", self.dsts), ("explicit_srcs", self.srcs)):
            object.__setattr__(self, name, tuple(o for o in operands if o.implicit is None))


DEFINITIONS: dict[str, Definition] = {}
"""Every instruction by mnemonic (LLVM's, without encoding suffix)."""

BY_OPCODE: dict[tuple[str, int, str], Definition] = {}
"""(format, opcode, arch) to definition; opcodes as in that format's own short encoding."""

_UNITS = {
    "SOP1": Unit.SALU, "SOP2": Unit.SALU, "SOPK": Unit.SALU, "SOPC": Unit.SALU, "SOPP": Unit.CONTROL,
    "SMEM": Unit.SMEM, "VOP1": Unit.VALU, "VOP2": Unit.VALU, "VOPC": Unit.VALU, "VOP3": Unit.VALU,
    "VOP3P": Unit.VALU, "MFMA": Unit.MFMA, "DS": Unit.LDS, "MUBUF": Unit.VMEM, "MTBUF": Unit.VMEM,
    "FLAT": Unit.VMEM, "GLOBAL": Unit.VMEM, "SCRATCH": Unit.VMEM,
}  # fmt: skip
_COUNTERS = {
    "SMEM": Counter.LGKM, "DS": Counter.LGKM, "MUBUF": Counter.VM, "MTBUF": Counter.VM,
    "FLAT": Counter.BOTH, "GLOBAL": Counter.VM, "SCRATCH": Counter.VM,
}  # fmt: skip


def parse_operand(token: str) -> Operand:
    """One token of a signature (see the module's docstring)."""
    if token in CONSTANTS:
        return Operand(u32, implicit=token, scalar=True)
    if token in IMPLICIT:
        return Operand(IMPLICIT[token], implicit=token, mask=token == "vcc", scalar=token not in _PER_LANE)
    if token == "mask":
        return Operand(u1, mask=True)
    if token == label.name:
        return Operand(label, scalar=True)
    if token.startswith("s:"):
        return Operand(TYPES[token[2:]], scalar=True)
    if token[0] == "2":
        return Operand(TYPES[token[1:]], packed=2)
    return Operand(TYPES[token])


def parse_signature(signature: str) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """``"u32, scc = u32, u32"`` to (destinations, sources)."""
    left, _, right = signature.partition("=")
    sides = [[t.strip() for t in side.split(",") if t.strip()] for side in (left, right)]
    dsts = tuple(map(parse_operand, sides[0]))
    srcs = [parse_operand(token) for token in sides[1]]
    for i, source in enumerate(srcs):
        if source.implicit in _OLD:
            srcs[i] = replace(dsts[_OLD[source.implicit]], implicit=source.implicit)
    return dsts, tuple(srcs)


def define(
    format: str,
    opcode: int,
    name: str,
    signature: str,
    meaning: Callable[..., Any] | None = None,
    *,
    unit: Unit | None = None,
    counter: Counter | None = None,
    archs: Iterable[str] = ARCHS,
    access: Access | None = None,
    mfma: Mfma | None = None,
    clamped: Callable[..., Any] | None = None,
    flags: str = "",
) -> Definition:
    """Add one instruction to the ISA. ``flags`` are space-separated (see `Definition.flags`)."""
    dsts, srcs = parse_signature(signature)
    definition = Definition(
        name, format, opcode, dsts, srcs, meaning, unit or _UNITS[format], counter or _COUNTERS.get(format),
        tuple(archs), access, mfma, clamped, frozenset(flags.split()),
    )  # fmt: skip
    if name in DEFINITIONS:
        raise AssertionError(f"{name} is defined twice")
    DEFINITIONS[name] = definition
    for arch in definition.archs:
        if BY_OPCODE.setdefault((format, opcode, arch), definition) is not definition:
            raise AssertionError(f"{name} and {BY_OPCODE[format, opcode, arch].name} share opcode {opcode} of {format}")
    return definition
