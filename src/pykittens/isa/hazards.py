"""The hazard table: how many instructions must stand between two that the hardware does not keep apart.

Each instruction between producer and consumer counts 1, ``s_nop N`` counts N + 1. The assembler inserts from this table
and the checker proves against it. Sources of the numbers: ``manual`` (CDNA3 ISA tables 11 and 38 and CDNA4's), ``llvm``
(GCNHazardRecognizer of LLVM 22, by probes and by its text). Where they differ, `Row.states` is the larger number, which
the assembler keeps to, and `Row.agreed` the smaller one, below which nobody thinks that the code is right.

Not in the table: hazards of XNACK replay (both chips run with it off here), and those between a VALU that names VCC and
one that reads it by number, which the row on constants covers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass

from . import hazard_classes as c
from .define import Definition
from .hazard_classes import PSEUDO_BITS, Facts, Side
from .instruction import Instruction

LONGEST = 20
"""No hazard reaches further: the XDL's 16 passes and 4 more (gfx950)."""

States = Callable[[Facts], int]
Relation = Callable[[int, int], bool]


def overlap(producer: int, consumer: int) -> bool:
    return bool(producer & consumer)


def same(producer: int, consumer: int) -> bool:
    """Exactly the same registers."""
    return producer == consumer != 0


def apart(producer: int, consumer: int) -> bool:
    """Some registers in common, but not all."""
    return bool(producer & consumer) and producer != consumer


@dataclass(frozen=True)
class Row:
    """``states``: required between producer and consumer, from the producer's facts. ``pair`` looks at both."""

    name: str
    producer: Side
    consumer: Side
    states: States
    source: str
    relation: Relation = overlap
    agreed: States | None = None
    pair: Callable[[Facts, Facts], bool] | None = None

    def words(self) -> str:
        return f"{self.producer.words}, then {self.consumer.words}"


def _fixed(count: int) -> States:
    return lambda f: count


def _passes(gfx942: int, gfx950: int, two: int) -> States:
    """Passes plus a number of the chip; ``two`` for instructions of 2 passes on gfx950."""

    def states(f: Facts) -> int:
        if f.arch == "gfx942":
            return f.passes + gfx942
        return two if f.passes == 2 else f.passes + gfx950

    return states


def _per_arch(gfx942: int, gfx950: int) -> States:
    return lambda f: gfx942 if f.arch == "gfx942" else gfx950


def _two_passes(count: int) -> States:
    return lambda f: count if f.passes == 2 else 0


def _same_opcode(p: Facts, q: Facts) -> bool:
    return p.definition is q.definition


def _other_opcode(p: Facts, q: Facts) -> bool:
    return p.definition is not q.definition


_MFMA_C = Side("a matrix instruction accumulates on them", c.is_mfma, c.src_c)
_XDL_C = Side("an XDL instruction accumulates on them", c.is_xdl, c.src_c)
_OTHER_C = Side("an f32 or f64 matrix instruction accumulates on them", c.is_sgemm_or_dgemm, c.src_c)
_MFMA_AB = Side("a matrix instruction reads them as A, B, index or scale", c.is_mfma, c.src_ab)
_MFMA_ABC = Side("a matrix instruction reads them", c.is_mfma, c.vectors_read)
_VALU_READS = Side("the VALU reads them", c.is_valu, c.vectors_read)
_VALU_WRITES = Side("the VALU overwrites them", c.is_valu, c.vectors_written)
_VALU_TOUCHES = Side("the VALU reads or overwrites them", c.is_valu, c.vectors_touched)
_MEMORY_READS = Side("a memory access reads them", c.is_memory, c.vectors_read)
_MEMORY_WRITES = Side("a load overwrites them", c.is_memory, c.vectors_written)
_MEMORY_TOUCHES = Side("a memory access reads or overwrites them", c.is_memory, c.vectors_touched)


def _matrix(words: str, holds: Callable[[Definition, str], bool]) -> Side:
    return Side(f"{words} writes registers", holds, c.vectors_written, matrix_result=True)


def _rows() -> tuple[Row, ...]:
    xdl, sgemm = _matrix("an XDL instruction", c.is_xdl), _matrix("an f32 matrix instruction", c.is_sgemm)
    dgemm16 = _matrix("a 16x16x4 f64 matrix instruction", c.is_dgemm_16x16)
    dgemm4 = _matrix("a 4x4x4 f64 matrix instruction", c.is_dgemm_4x4)
    xdl_c = Side("an XDL instruction reads its accumulator", c.is_xdl, c.src_c)
    dot = Side("a dot product writes registers", c.is_dot, c.vectors_written)
    valu = Side("the VALU writes registers", c.is_valu, c.vectors_written)
    scalar = Side("the VALU writes scalar registers", c.is_valu, c.scalars_written)
    valu_exec = Side("the VALU writes EXEC", c.is_valu, c.exec_written)
    scalar_m0 = Side("the SALU writes M0", c.is_salu, c.m0_written)
    both = "manual llvm"
    valu_and_memory = ((_VALU_TOUCHES, "valu"), (_MEMORY_TOUCHES, "memory"))
    return (
        # -- matrix instructions that write ------------------------------------------------------------------------
        Row("xdl-same-c", xdl, _MFMA_C, _two_passes(2), both, same, pair=_same_opcode),
        # Forwarding works within a chain of one instruction (llvm#218363); LLVM 22 asks for nothing across two.
        Row("xdl-other-c", xdl, _XDL_C, _passes(1, 2, 4), "llvm", same, _two_passes(2), _other_opcode),
        Row("xdl-other-c-f32", xdl, _OTHER_C, _passes(1, 2, 3), "llvm", same, _two_passes(2), _other_opcode),
        Row("xdl-c", xdl, _XDL_C, _passes(1, 2, 4), both, apart),
        Row("xdl-c-f32", xdl, _OTHER_C, _passes(1, 2, 3), both, apart),
        Row("xdl-ab", xdl, _MFMA_AB, _passes(3, 4, 5), both),
        *(Row(f"xdl-{n}", xdl, side, _passes(3, 4, 5), both) for side, n in valu_and_memory),
        Row("sgemm-same-c", sgemm, _OTHER_C, _two_passes(2), both, same, pair=_same_opcode),
        Row("sgemm-other-c", sgemm, _OTHER_C, lambda f: f.passes, "llvm", same, _two_passes(2), _other_opcode),
        Row("sgemm-c", sgemm, _OTHER_C, lambda f: f.passes, both, apart),
        Row("sgemm-ab", sgemm, _MFMA_AB, lambda f: f.passes + 2, both),
        *(Row(f"sgemm-{n}", sgemm, side, lambda f: f.passes + 2, both) for side, n in valu_and_memory),
        # No other instruction has an accumulator of this size, and its own is forwarded.
        Row("dgemm16-c", dgemm16, _OTHER_C, _per_arch(9, 17), both, apart),
        Row("dgemm16-ab", dgemm16, _MFMA_AB, _per_arch(11, 19), both),
        Row("dgemm16-valu", dgemm16, _VALU_READS, _per_arch(11, 19), both),
        Row("dgemm16-overwrite", dgemm16, _VALU_WRITES, _per_arch(11, 19), "manual", agreed=_fixed(11)),
        Row("dgemm16-memory", dgemm16, _MEMORY_READS, _fixed(18), both),
        Row("dgemm16-load", dgemm16, _MEMORY_WRITES, _fixed(11), "llvm"),
        Row("dgemm4-c", dgemm4, _OTHER_C, _fixed(4), both),
        Row("dgemm4-ab", dgemm4, _MFMA_AB, _fixed(6), both),
        Row("dgemm4-valu", dgemm4, _VALU_TOUCHES, _fixed(6), both),
        Row("dgemm4-memory", dgemm4, _MEMORY_READS, _fixed(9), both),
        Row("dgemm4-load", dgemm4, _MEMORY_WRITES, _fixed(6), "llvm"),
        Row("dgemm-fma", Side("an f64 matrix instruction", c.is_dgemm, c.any_register),
            Side("v_fma_f64 or v_fmac_f64", c.is_fma_f64, c.any_register), _fixed(2), "llvm", agreed=_fixed(0)),
        # -- matrix instructions that read -------------------------------------------------------------------------
        Row("xdl-reads-c", xdl_c, _VALU_WRITES, lambda f: f.passes - 1, both),
        Row("xdl-reads-c-load", xdl_c, _MEMORY_WRITES, lambda f: f.passes - 1, "llvm"),
        # -- before matrix instructions ----------------------------------------------------------------------------
        Row("valu-mfma", valu, _MFMA_ABC, _fixed(2), both),
        Row("exec-mfma", valu_exec, Side("a matrix instruction follows", c.is_mfma, c.any_register), _fixed(4), both),
        # -- dot products ------------------------------------------------------------------------------------------
        Row("dot-dot", dot, Side("the same one reads them as A or B", c.is_dot, c.src_ab), _fixed(3), both,
            pair=_same_opcode),
        Row("dot-other", dot, _VALU_TOUCHES, _fixed(3), both, pair=_other_opcode),
        Row("dot-memory", dot, _MEMORY_TOUCHES, _fixed(3), both),
        Row("dot-mfma", dot, _MFMA_ABC, _fixed(3), "manual", agreed=_fixed(0)),
        # -- what the VALU writes ----------------------------------------------------------------------------------
        Row("sgpr-vmem", scalar, Side("vector memory reads them", c.is_vmem, c.addresses_read), _fixed(5), both),
        Row("sgpr-constant", scalar, Side("the VALU reads them as numbers", c.is_valu, c.constants_read), _fixed(2),
            both),
        Row("sgpr-mask", scalar, Side("the VALU reads them as lane masks", c.is_valu, c.masks_read), _fixed(2), "llvm",
            agreed=_fixed(0)),
        Row("sgpr-lane", scalar, Side("they select a lane", c.selects_lane, c.lane_number), _fixed(4), both),
        Row("vcc-div-fmas", Side("the VALU writes VCC", c.is_valu, c.vcc_written),
            Side("v_div_fmas reads it", c.is_div_fmas, c.vcc_read), _fixed(4), both),
        Row("zero-flag", Side("the VALU writes VCC or EXEC", c.is_valu, c.zero_flags_written),
            Side("the VALU reads src_vccz or src_execz", c.is_valu, c.zero_flags_read), _fixed(5), "manual"),
        Row("vgpr-dpp", valu, Side("DPP reads them", c.is_dpp, c.vectors_read), _fixed(2), both),
        Row("vgpr-readlane", valu, Side("they are read by lane", c.is_lane_read, c.vectors_read), _fixed(1), both),
        Row("vgpr-permlane", valu, Side("v_permlane reads them", c.is_permlane, c.vectors_read), _fixed(2), both),
        Row("exec-vmem", valu_exec, Side("vector memory follows", c.is_vmem, c.any_register), _fixed(5), "llvm",
            agreed=_fixed(0)),
        Row("exec-dpp", valu_exec, Side("DPP follows", c.is_dpp, c.any_register), _fixed(5), both),
        Row("exec-lane", valu_exec, Side("a lane is read or written", c.is_lane_access, c.any_register), _fixed(4),
            both),
        Row("exec-permlane", valu_exec, Side("v_permlane follows", c.is_permlane, c.any_register), _fixed(4), both),
        Row("trans-valu", Side("a transcendental instruction writes registers", c.is_trans, c.vectors_written),
            Side("another VALU instruction reads them", c.is_plain_valu, c.vectors_read), _fixed(1), both),
        Row("part-valu", Side("a result goes to part of a register", c.writes_partly, c.part_written), _VALU_TOUCHES,
            _fixed(1), both),
        Row("scaled-part", Side("v_cvt_scalef32 writes part of a register", c.is_scaling_conversion, c.part_kept),
            Side("the next one writes another part", c.is_scaling_conversion, c.part_kept), _fixed(1), "manual",
            agreed=_fixed(0)),
        # -- what memory accesses still read -----------------------------------------------------------------------
        Row("store-valu", Side("more than 8 bytes are stored", c.is_vmem, lambda f: c.wide_store_data(f, False)),
            _VALU_WRITES, _fixed(2), both),
        Row("store-load", Side("more than 8 bytes are stored", c.is_vmem, lambda f: c.wide_store_data(f, False)),
            _MEMORY_WRITES, _fixed(1), "manual"),
        Row("store-offset-valu",
            Side("more than 8 bytes are stored, with an SGPR offset", c.is_vmem, lambda f: c.wide_store_data(f, True)),
            _VALU_WRITES, _fixed(1), "llvm", agreed=_fixed(0)),
        # -- scalar ------------------------------------------------------------------------------------------------
        Row("m0", scalar_m0, Side("it is read where the hardware does not wait", c.touches_m0_late, c.to_lds_m0),
            _fixed(1), both),
        Row("hwreg", Side("s_setreg writes a hardware register", c.writes_hwreg, c.hwreg),
            Side("s_getreg or s_setreg names it", c.is_hwreg, c.hwreg), _fixed(2), both),
        Row("vskip", Side("vskip is set", c.may_set_vskip, c.vskip_set),
            Side("a vector instruction, or MODE is read", c.sees_vskip, c.vskip_seen), _fixed(2), "manual"),
    )  # fmt: skip


ROWS = _rows()


_CLASSES: dict[tuple[str, str], tuple[tuple[tuple[int, Row], ...], frozenset[int]]] = {}


def _classes(definition: Definition, encoding: str) -> tuple[tuple[tuple[int, Row], ...], frozenset[int]]:
    """Rows in which instructions of this definition and encoding can be the producer, and the consumer, by number."""
    key = definition.name, encoding
    if key not in _CLASSES:
        _CLASSES[key] = (
            tuple((n, row) for n, row in enumerate(ROWS) if row.producer.holds(definition, encoding)),
            frozenset(n for n, row in enumerate(ROWS) if row.consumer.holds(definition, encoding)),
        )
    return _CLASSES[key]


class Profile:
    """An instruction's part in hazards.

    ``threats`` as producer: number of the row, registers, states; ``threat`` all those registers, ``reach`` the most
    states. ``exposed`` as consumer: no register outside it matters.
    """

    __slots__ = ("_consuming", "_exposures", "exposed", "facts", "reach", "threat", "threats")

    def __init__(self, instruction: Instruction, arch: str, accum_offset: int = 256) -> None:
        producing, self._consuming = _classes(instruction.definition, instruction.encoding)
        self.facts = facts = Facts(instruction, arch, accum_offset)
        self._exposures: dict[int, int] = {}
        self.exposed = facts.read | facts.written | PSEUDO_BITS if self._consuming else 0
        self.threats: list[tuple[int, int, int]] = []
        self.threat = self.reach = 0
        for n, row in producing:
            registers = row.producer.registers(facts)
            states = row.states(facts) if registers else 0
            if states:
                self.threats.append((n, registers, states))
                self.threat |= registers
                self.reach = max(self.reach, states)

    def exposure(self, n: int) -> int:
        """The registers that row ``n`` is about if this instruction is the consumer."""
        if n not in self._consuming:
            return 0
        if n not in self._exposures:
            self._exposures[n] = ROWS[n].consumer.registers(self.facts)
        return self._exposures[n]


@dataclass(frozen=True)
class Missing:
    """A hazard that is open: ``there`` states stand between ``producer`` and the consumer, ``row`` asks for more."""

    row: Row
    producer: Hashable
    required: int
    agreed: int
    there: int


def required(producer: Instruction, consumer: Instruction, arch: str, accum_offset: int = 256) -> list[tuple[Row, int]]:
    """The rows that hold between two instructions, with the states that each wants between them."""
    return list(_open(Profile(producer, arch, accum_offset), Profile(consumer, arch, accum_offset), 0))


def _open(producer: Profile, consumer: Profile, there: int, alive: int = -1) -> Iterator[tuple[Row, int]]:
    for n, registers, states in producer.threats:
        if states <= there:
            continue
        exposed, row = consumer.exposure(n), ROWS[n]
        if row.producer.matrix_result:
            registers &= alive
        if row.relation(registers, exposed) and (row.pair is None or row.pair(producer.facts, consumer.facts)):
            yield row, states


Ages = dict[Hashable, tuple[int, int]]
"""Producers by the caller's keys: states since then, and the registers that no later matrix instruction rewrote."""


def join(a: Ages, b: Ages) -> Ages:
    """What two paths that meet have behind them: of each producer the smaller age and all registers."""
    joined = dict(a)
    for key, (age, alive) in b.items():
        other_age, other_alive = a.get(key, (age, 0))
        joined[key] = min(age, other_age), alive | other_alive
    return joined


class Tracker:
    """Hazards along one path: the producers of the last `LONGEST` states, of which ``profiles`` tells by key."""

    def __init__(self, profiles: Mapping[Hashable, Profile], ages: Ages | None = None) -> None:
        self._profiles = profiles
        self._clock = 0
        self._issued = {key: (-age, alive) for key, (age, alive) in (ages or {}).items()}

    def missing(self, profile: Profile) -> list[Missing]:
        """The hazards that are open if this instruction comes next."""
        found: list[Missing] = []
        for key, (issued, alive) in self._issued.items():
            producer = self._profiles[key]
            if producer.threat & profile.exposed:
                there = self._clock - issued
                for row, states in _open(producer, profile, there, alive):
                    agreed = states if row.agreed is None else min(states, row.agreed(producer.facts))
                    found.append(Missing(row, key, states, agreed, there))
        return found

    def wait(self, states: int) -> None:
        """So many states pass."""
        self._clock += states
        old = [key for key, (issued, _) in self._issued.items() if self._clock - issued >= self._profiles[key].reach]
        for key in old:
            del self._issued[key]

    def issue(self, key: Hashable) -> None:
        """The instruction of this key comes next, and takes its states."""
        profile = self._profiles[key]
        self.wait(wait_states(profile.facts.instruction))
        if profile.facts.definition.mfma is not None:
            for other, (issued, alive) in self._issued.items():
                self._issued[other] = issued, alive & ~profile.facts.written
        if profile.threats:
            self._issued[key] = self._clock, -1

    def ages(self) -> Ages:
        return {key: (self._clock - issued, alive) for key, (issued, alive) in self._issued.items()}


def wait_states(instruction: Instruction) -> int:
    """States that an instruction puts between its neighbours: 1, or N + 1 of ``s_nop N``."""
    if instruction.definition.has("nop") and instruction.definition.format == "SOPP":
        count = instruction.modifiers.get("simm16", 0)
        assert isinstance(count, int)
        return (count & 15) + 1
    return 1
