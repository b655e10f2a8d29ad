"""The decoder: bytes to Instructions, from the definitions and the formats alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from pykittens import arch as chips

from . import decode_matrix, decode_memory, decode_scalar, decode_sdwa_dpp, decode_vector
from .decode_plan import IllegalEncoding, Plan
from .define import BY_OPCODE, Definition, Unit
from .formats import BY_PREFIX, DPP_WORD, LOAD_SCALE_OPCODE, SDWA_WORD, VOP3_BASE
from .instruction import Instruction, Operands
from .mfma import SCALED
from .registers import Const

ILLEGAL = Definition(".long", "", -1, (), (), None, Unit.CONTROL, flags=frozenset(("illegal",)))
"""What stands for a dword (or odd bytes at the end) that is no instruction; its operand is the word as a literal."""

_Shape = tuple[Definition, tuple[Operands, ...], dict[str, object], str, int]
_MEMORY_FORMATS = ("DS", "MUBUF", "MTBUF", "FLAT", "GLOBAL", "SCRATCH")
_SECOND_DWORDS = {SDWA_WORD: "sdwa", DPP_WORD: "dpp"}
"""The encoding of a short vector instruction by its src0 field, if not e32."""
_REMEMBERED = 1 << 18
"""Distinct encodings that a decoder keeps; more of them do not occur but in random data."""


def decode(code: bytes, arch: str, base: int = 0) -> list[Instruction]:
    """Every instruction of ``code`` in order, for code that starts at address ``base``.

    A dword that starts no instruction of ``arch`` becomes one of `ILLEGAL` (flag ``illegal``) and decoding goes on
    after it; so do the last one to three bytes of a truncated file. Decoded instructions share operands and modifiers.
    Raises InputError for an unknown arch.
    """
    decoder = _decoder(arch)
    shape_at = decoder.shape_at
    found = []
    offset, end = 0, len(code)
    while offset < end:
        definition, operands, modifiers, encoding, size = shape_at(code, offset)
        found.append(Instruction(definition, operands, modifiers, encoding, base + offset, size))
        offset += size
    return found


def decode_one(code: bytes, offset: int, arch: str, pc: int) -> Instruction:
    """The instruction that starts at ``offset`` of ``code`` and has the address ``pc``."""
    definition, operands, modifiers, encoding, size = _decoder(arch).shape_at(code, offset)
    return Instruction(definition, operands, modifiers, encoding, pc, size)


@cache
def _decoder(arch: str) -> _Decoder:
    return _Decoder(arch)


class _Decoder:
    """The plans of one chip, made when first needed, and the encodings met so far."""

    def __init__(self, arch: str) -> None:
        self.arch = chips.get(arch).name
        self._plans: dict[tuple[str, int, str], tuple[Plan, ...]] = {}
        self._by_dwords: tuple[dict[bytes, _Shape], ...] = ({}, {}, {}, {})

    def shape_at(self, code: bytes, offset: int) -> _Shape:
        """All of an instruction but its address."""
        for dwords in (2, 1, 4):
            shape = self._by_dwords[dwords - 1].get(code[offset : offset + 4 * dwords])
            if shape is not None:
                return shape
        shape = self._read(code, offset)
        # What these depend on reaches further than their own bytes.
        if shape[0] is not ILLEGAL and (shape[0].format, shape[0].opcode) != ("VOP3P", LOAD_SCALE_OPCODE):
            seen = self._by_dwords[shape[4] // 4 - 1]
            if len(seen) >= _REMEMBERED:
                seen.clear()
            seen[code[offset : offset + shape[4]]] = shape
        return shape

    def _read(self, code: bytes, offset: int) -> _Shape:
        if offset + 4 > len(code):
            rest = code[offset:]
            return ILLEGAL, (Const(int.from_bytes(rest, "little"), "literal"),), {}, "", len(rest)
        # Four dwords and one for a literal; what is missing at the end reads as 0 and the size tells.
        bits = int.from_bytes(code[offset : offset + 20], "little")
        for plan in self._plans_of(bits):
            try:
                shape = plan.read(bits)
            except IllegalEncoding:
                continue
            if offset + shape[4] <= len(code):
                return shape
        return ILLEGAL, (Const(bits & 0xFFFFFFFF, "literal"),), {}, "", 4

    def _plans_of(self, bits: int) -> Iterator[Plan]:
        """What may stand here, the longest first."""
        fmt = BY_PREFIX[(bits >> 23) & 511]
        if fmt is None:
            return
        low, width = fmt.fields["op"]
        opcode = (bits >> low) & ((1 << width) - 1)
        if fmt.name == "VOP3P" and opcode == LOAD_SCALE_OPCODE and self._is_scaled(bits >> 64):
            yield from self._plan("MFMA", (bits >> 64 >> low) & ((1 << width) - 1) | SCALED, "")
        if fmt.name in VOP3_BASE:
            yield from self._plan(fmt.name, opcode, _SECOND_DWORDS.get(bits & 511, "e32"))
        elif fmt.name == "FLAT":
            yield from self._plan(decode_memory.segment_of(bits), opcode, "")
        else:
            yield from self._plan(fmt.name, opcode, "")

    def _plan(self, format: str, opcode: int, variant: str) -> tuple[Plan, ...]:
        key = (format, opcode, variant)
        if key not in self._plans:
            plan = self._make_plan(*key)
            self._plans[key] = () if plan is None else (plan,)
        return self._plans[key]

    def _is_scaled(self, bits: int) -> bool:
        """Whether a scaled matrix instruction's own half stands here, after its scales."""
        fmt = BY_PREFIX[(bits >> 23) & 511]
        if fmt is None or fmt.name != "VOP3P" or not decode_matrix.has_scales(bits):
            return False
        low, width = fmt.fields["op"]
        return ("MFMA", (bits >> low) & ((1 << width) - 1) | SCALED, self.arch) in BY_OPCODE

    def _definition(self, format: str, opcode: int) -> Definition | None:
        return BY_OPCODE.get((format, opcode, self.arch))

    def _make_plan(self, format: str, opcode: int, variant: str) -> Plan | None:
        if format == "VOP3":
            return self._vop3_plan(opcode)
        definition = self._definition(format, opcode)
        if definition is None and format == "VOP3P":
            definition = self._definition("MFMA", opcode)
        if definition is None:
            return None
        if definition.mfma is not None:
            return decode_matrix.plan_matrix(definition)
        if format == "VOP3P":
            return decode_vector.plan_vop3p(definition)
        if format in VOP3_BASE:
            return _short_plan(definition, variant)
        if format in ("MUBUF", "MTBUF"):
            return decode_memory.plan_buffer(definition, self.arch)
        if format in _MEMORY_FORMATS:
            return decode_memory.plan_ds(definition) if format == "DS" else decode_memory.plan_flat(definition)
        if format == "SMEM":
            return decode_scalar.plan_smem(definition)
        return decode_scalar.plan_scalar_alu(definition)

    def _vop3_plan(self, opcode: int) -> Plan | None:
        definition = self._definition("VOP3", opcode)
        if definition is None:
            # VOP1's base is the highest: the first base that is not above the opcode is the format's.
            for format, first in sorted(VOP3_BASE.items(), key=lambda item: -item[1]):
                if opcode >= first:
                    definition = self._definition(format, opcode - first)
                    break
        if definition is None or definition.has("no_e64"):
            return None
        return decode_vector.plan_vop3(definition)


def _short_plan(definition: Definition, variant: str) -> Plan | None:
    if variant == "e32":
        return decode_vector.plan_short(definition)
    if definition.has(f"no_{variant}") or (definition.format == "VOPC" and variant == "dpp"):
        return None
    return decode_sdwa_dpp.plan_sdwa(definition) if variant == "sdwa" else decode_sdwa_dpp.plan_dpp(definition)
