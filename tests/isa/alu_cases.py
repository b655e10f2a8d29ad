"""Random ALU instructions of a definition in all encodings, and register contents that hit the edges of its types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pykittens.isa.define import Definition, Operand
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Const, Reg, Special, vcc
from pykittens.isa.sources import VECTOR
from pykittens.isa.vector_modifiers import SDWA_SELECT, SDWA_UNUSED, has_clamp, has_neg, has_omod, has_op_sel, takes_neg
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave

ACCUM_OFFSET = 256
_INLINE_FLOATS = (0x3F000000, 0xBF000000, 0x3F800000, 0xC0000000, 0x40800000, 0x3E22F983)
_DPP = (
    ("quad_perm", 1, 0, 3, 2), ("quad_perm", 3, 3, 0, 1), ("row_shl", 3), ("row_shr", 1), ("row_ror", 5),
    ("row_mirror",), ("row_half_mirror",), ("row_bcast", 15), ("row_bcast", 31), ("row_newbcast", 7),
    ("wave_shl", 1), ("wave_rol", 1), ("wave_shr", 1), ("wave_ror", 1),
)  # fmt: skip
_FLUSHING = dict.fromkeys(
    ("f32_denorm_flush_in", "f32_denorm_flush_out", "f64_f16_denorm_flush_in", "f64_f16_denorm_flush_out"), True
)
MODES = (
    Mode(), Mode(**_FLUSHING, ieee=False), Mode(ieee=False, dx10_clamp=False, fp16_ovfl=True),
    Mode(f32_denorm_flush_out=True, f64_f16_denorm_flush_in=True, ieee=False),
)  # fmt: skip


def bits_of(rng: np.random.Generator, name: str, bits: int, count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """``count`` patterns of a type: edges of its range, near misses, and random ones."""
    random = rng.integers(0, 1 << 64, count, np.uint64) & np.uint64((1 << bits) - 1)
    small = rng.integers(0, 80, count, np.uint64)
    edges = (
        _float_edges(name)
        if name in _MANTISSA
        else [0, 1, 2, 31, 32, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1]
    )
    near = np.array([e & ((1 << bits) - 1) for e in edges], np.uint64)[rng.integers(0, len(edges), count)]
    if name in _MANTISSA:
        small = _close_floats(rng, name, count)
    kind = rng.integers(0, 3, count)
    return np.where(kind == 0, near, np.where(kind == 1, small, random))


_MANTISSA = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}


def _float_edges(name: str) -> list[int]:
    bits, mantissa = _MANTISSA[name]
    infinity = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
    one = ((1 << (bits - 2 - mantissa)) - 1) << mantissa
    quiet = 1 << (mantissa - 1)
    positive = [
        0, 1, 3, (1 << mantissa) - 1, 1 << mantissa, (1 << mantissa) + 1, one, one - 1, one + 1, one + (1 << mantissa),
        one - (1 << mantissa), one | quiet, infinity - 1, infinity, infinity | quiet, infinity | 1,
        infinity | quiet | 5, infinity | (quiet - 1),
    ]  # fmt: skip
    return positive + [p | 1 << (bits - 1) for p in positive]


def _close_floats(rng: np.random.Generator, name: str, count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Floats of about the size of one with few mantissa bits, so that sums cancel and rounding meets ties."""
    bits, mantissa = _MANTISSA[name]
    exponent = rng.integers(-6, 7, count) + ((1 << (bits - 2 - mantissa)) - 1)
    fraction = rng.integers(0, 1 << mantissa, count) & rng.choice([-1, -(1 << (mantissa // 2)), 7, 1], count)
    sign = rng.integers(0, 2, count).astype(np.uint64) << np.uint64(bits - 1)
    return sign | (exponent.astype(np.uint64) << np.uint64(mantissa)) | fraction.astype(np.uint64)


def _first(slot: int) -> int:
    """Where an operand's registers start, far enough apart for the widest."""
    return 32 * slot + 8


class Cases:
    """Random instructions of one definition; the same for the same seed."""

    def __init__(self, definition: Definition, seed: int) -> None:
        self.d = definition
        self.rng = np.random.default_rng([seed, *definition.name.encode()])
        self.operands = definition.explicit_dsts + definition.explicit_srcs

    def _pick(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def _bit(self) -> int:
        return int(self.rng.integers(2))

    def instructions(self) -> Iterator[tuple[Instruction, Mode]]:
        """A few of each encoding, with the modes they are to run in."""
        if self.d.format not in VECTOR:
            for _ in range(3):
                yield self._instruction("", {}, True), Mode()
            return
        # Wide operands are conversions of 32 numbers at once: one form of them is much code.
        wide = any(o.dwords > 4 for o in self.operands)
        for encoding, count in (("e32", 2), ("e64", 3), ("", 1 if wide else 4), ("sdwa", 3), ("dpp", 3)):
            if self.has(encoding):
                for i in range(count):
                    mode = MODES[i] if encoding == "" else self._pick(*MODES) if i else Mode()
                    yield self._instruction(encoding, self._modifiers(encoding), i > 0), mode

    def has(self, encoding: str) -> bool:
        """Whether the definition has an encoding."""
        d = self.d
        only = "" if d.format in ("VOP3", "VOP3P") else "e32"
        if encoding in ("", "e32"):
            return encoding == only
        if only == "" or d.has("no_" + encoding):
            return False
        small = all(o.bits <= 32 or o.mask for o in self.operands) and not any(o.scalar for o in self.operands)
        return encoding == "e64" or (
            small and not any(d.has(f"literal{i}") for i in range(3)) and (encoding, d.format) != ("dpp", "VOPC")
        )

    # -- modifiers ---------------------------------------------------------------------------------------------
    def _modifiers(self, encoding: str) -> dict[str, object]:
        d, found = self.d, {}
        sources = d.explicit_srcs
        if encoding in ("", "e64", "sdwa", "dpp") and d.format != "VOP3P" and has_neg(d):
            found["neg"] = tuple(int(takes_neg(d, o)) & self._bit() for o in sources)
            found["abs"] = tuple(int(takes_neg(d, o)) & self._bit() for o in sources)
        if encoding in ("", "e64", "sdwa") and has_clamp(d) and self._bit():
            found["clamp"] = True
        if encoding in ("", "e64", "sdwa") and d.format != "VOP3P" and has_omod(d) and self._bit():
            found["omul"] = self._pick(2.0, 4.0, 0.5)
        if encoding == "" and has_op_sel(d):
            found["op_sel"] = tuple(self._bit() for _ in range(4))
        if any(s.implicit == "bitop3" for s in d.srcs):
            found["bitop3"] = int(self.rng.integers(256))
        if d.format == "VOP3P":
            for name in ("op_sel", "op_sel_hi") + (
                ("neg_lo", "neg_hi") if any(o.type.is_float for o in sources) else ()
            ):
                found[name] = tuple(self._bit() for _ in sources)
        if encoding == "sdwa":
            found |= {f"src{i}_sel": self._pick(*SDWA_SELECT) for i in range(min(len(sources), 2))}
            if not any(o.type.is_float for o in sources):
                found["sext"] = tuple(self._bit() for _ in sources)
            if d.format != "VOPC":
                found |= {"dst_sel": self._pick(*SDWA_SELECT), "dst_unused": self._pick(*SDWA_UNUSED)}
        if encoding == "dpp":
            found["dpp_ctrl"] = self._pick(*_DPP)
            found |= {name: int(self.rng.integers(16)) for name in ("row_mask", "bank_mask") if self._bit()}
            if self._bit():
                found["bound_ctrl"] = True
        return found

    # -- operands ----------------------------------------------------------------------------------------------
    def _instruction(self, encoding: str, modifiers: dict[str, object], varied: bool) -> Instruction:
        d = self.d
        for s in d.srcs:
            if s.implicit == "simm16":
                modifiers["simm16"] = self._pick(0, 1, 0x7FFF, 0x8000, 0xFFFF, int(self.rng.integers(1 << 16)))
            if s.implicit == "gpr_idx":
                modifiers["gpr_idx"] = int(self.rng.integers(16))
        destinations = len(d.explicit_dsts)
        given = [
            self._operand(i, o, encoding, varied and i >= destinations, i - destinations)
            for i, o in enumerate(self.operands)
        ]
        return Instruction(d, tuple(given), modifiers, encoding)

    def _operand(self, slot: int, o: Operand, encoding: str, varied: bool, source: int) -> Reg | Const | Special:
        vector = self.d.format in VECTOR
        register = (
            Reg("v", _first(slot), o.dwords) if vector and not o.scalar else Reg("s", _first(slot) % 96, o.dwords)
        )
        if o.mask:
            return vcc if encoding in ("e32", "dpp") else Reg("s", _first(slot) % 96, 2)
        if self.d.has(f"literal{source}") or (self.d.has("literal") and slot == len(self.operands) - 1):
            return self._literal()
        if not varied or o.dwords > 2 or (encoding in ("sdwa", "dpp") and (source or self._bit())):
            return register
        if not vector:
            return self._pick(register, self._constant(o), self._constant(o), Special(253), Reg("s", 106, o.dwords))
        if (encoding == "e32" and source) or encoding in ("sdwa", "dpp"):
            return register
        scalar = Reg("s", _first(slot) % 96, o.dwords)
        return self._pick(register, scalar, self._constant(o), Special(253) if o.dwords == 1 else scalar, register)

    def _constant(self, o: Operand) -> Const:
        if self._bit():
            return Const(self._pick(*_INLINE_FLOATS), "float")
        if self.d.format == "VOP3P":
            return Const(int(self.rng.integers(-16, 65)) & 0xFFFFFFFF, "int")
        return self._literal() if self._bit() else Const(int(self.rng.integers(-16, 65)) & 0xFFFFFFFF, "int")

    def _literal(self) -> Const:
        return Const(int(bits_of(self.rng, "f32", 32, 1)[0]), "literal")

    # -- register contents -------------------------------------------------------------------------------------
    def wave(self, instruction: Instruction) -> Wave:
        """A wave whose registers suit the instruction's operands, with a random EXEC (full, empty or partial)."""
        rng = self.rng
        wave = Wave(accum_offset=ACCUM_OFFSET, scc=self._bit(), mode=int(rng.integers(1 << 32)))
        wave.sgpr[:] = rng.integers(0, 1 << 32, wave.sgpr.size, np.uint64)
        wave.vgpr[: ACCUM_OFFSET + 64] = rng.integers(0, 1 << 32, (ACCUM_OFFSET + 64, 64), np.uint64)
        for given, operand in zip(instruction.operands, self.operands, strict=True):
            if isinstance(given, Reg):
                self._fill(wave, given, operand)
        wave.sgpr[124] = self._pick(0, 5, int(rng.integers(1 << 32)))
        exec_mask = self._pick(
            (1 << 64) - 1, (1 << 64) - 1, 0, int(rng.integers(1 << 64, dtype=np.uint64)), 1 << 63, 0x00FF0F0F0001F0FF
        )
        wave.sgpr[126:128] = exec_mask & 0xFFFFFFFF, exec_mask >> 32
        return wave

    def _fill(self, wave: Wave, given: Reg, operand: Operand) -> None:
        """Each register gets elements of the operand's type, low ones first."""
        count = 1 if given.file == "s" else 64
        name, bits = ("b64", 64) if operand.mask else (operand.type.name, operand.type.bits)
        if bits > 64:
            # Plain bits that hold f32 or f16.
            name, bits = self._pick(("f32", 32), ("f16", 16), ("bf16", 16))
        size = max(bits, 32)
        for first in range(0, given.count, size // 32):
            word = np.zeros(count, np.uint64)
            for low in range(0, size, bits):
                word |= bits_of(self.rng, name, bits, count) << np.uint64(low)
            for dword in range(size // 32):
                self._set(wave, given, first + dword, (word >> np.uint64(32 * dword)) & np.uint64(0xFFFFFFFF))

    def _set(self, wave: Wave, given: Reg, dword: int, words: np.ndarray[Any, Any]) -> None:
        if dword >= given.count:
            return
        if given.file == "s":
            wave.sgpr[given.index + dword] = words[0]
        else:
            wave.vgpr[given.index + dword] = words
