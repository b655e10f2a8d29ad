"""The matrix instructions: every MFMA and SMFMAC of gfx942 and gfx950, as loops over a table of shapes.

D = A B + C for ``blocks`` independent blocks; SMFMAC accumulates into D and, instead of C, reads where A's non-zeros
are. Opcodes and names as LLVM has them; passes (of 4 cycles) from the ISA manuals and LLVM's scheduling model.

How wide A and B of the f8f6f4 instructions are depends on ``cbsz`` and ``blgp``, which name their formats: the
definition has the widest (8 registers), `operand_registers` the real one.
"""

from __future__ import annotations

from collections.abc import Mapping

from .define import ARCHS, Definition, Mfma, define
from .small_floats import FORMATS, SmallFloat

ELEMENT_BITS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8, "f8f6f4": 8}
"""Bits of an element of A or B; f8f6f4 at its widest."""

F8F6F4 = ("e4m3fn", "e5m2", "e2m3fn", "e3m2fn", "e2m1fn")
"""The formats that ``cbsz`` (of A) and ``blgp`` (of B) choose in f8f6f4 instructions, by number."""

_FP8 = {"gfx942": {"fp8": "e4m3fnuz", "bf8": "e5m2fnuz"}, "gfx950": {"fp8": "e4m3fn", "bf8": "e5m2"}}

SCALED = 0x80
"""Added to the opcode of a scaled instruction's second half, so that the pair has a number of its own."""

# Input type, or base opcode of the four fp8 and bf8 pairs -> (opcode, M = N, K, blocks, passes on gfx942, on gfx950); a
# chip without passes lacks the instruction.
_Shape = tuple[int, int, int, int, int | None, int | None]
_DENSE: dict[str, tuple[_Shape, ...]] = {
    "f32": (
        (0x40, 32, 1, 2, 16, 16), (0x41, 16, 1, 4, 8, 8), (0x42, 4, 1, 16, 2, 2),
        (0x44, 32, 2, 1, 16, 16), (0x45, 16, 4, 1, 8, 8),
    ),
    "xf32": ((0x3E, 16, 8, 1, 4, None), (0x3F, 32, 4, 1, 8, None)),
    "f16": (
        (0x48, 32, 4, 2, 16, 16), (0x49, 16, 4, 4, 8, 8), (0x4A, 4, 4, 16, 2, 2), (0x4C, 32, 8, 1, 8, 8),
        (0x4D, 16, 16, 1, 4, 4), (0x54, 16, 32, 1, None, 4), (0x55, 32, 16, 1, None, 8),
    ),
    "bf16": (
        (0x5D, 32, 4, 2, 16, 16), (0x5E, 16, 4, 4, 8, 8), (0x5F, 4, 4, 16, 2, 2), (0x60, 32, 8, 1, 8, 8),
        (0x61, 16, 16, 1, 4, 4), (0x35, 16, 32, 1, None, 4), (0x37, 32, 16, 1, None, 8),
    ),
    "i8": (
        (0x50, 32, 4, 2, 16, 16), (0x51, 16, 4, 4, 8, 8), (0x52, 4, 4, 16, 2, 2), (0x56, 32, 16, 1, 8, 8),
        (0x57, 16, 32, 1, 4, 4), (0x36, 16, 64, 1, None, 4), (0x38, 32, 32, 1, None, 8),
    ),
    "f64": ((0x6E, 16, 4, 1, 8, 16), (0x6F, 4, 4, 4, 4, 4)),
    "f8f6f4": ((0x2D, 16, 128, 1, None, 8), (0x2E, 32, 64, 1, None, 16)),
}  # fmt: skip
_DENSE_FP8: tuple[tuple[tuple[int, ...], int, int, int, int], ...] = (
    ((0x70, 0x71, 0x72, 0x73), 16, 32, 4, 4),
    ((0x74, 0x75, 0x76, 0x77), 32, 16, 8, 8),
)
_SPARSE: dict[str, tuple[_Shape, ...]] = {
    "f16": ((0x62, 16, 32, 1, 4, 4), (0x64, 32, 16, 1, 8, 8), (0x5A, 16, 64, 1, None, 4), (0x5B, 32, 32, 1, None, 8)),
    "bf16": ((0x66, 16, 32, 1, 4, 4), (0x68, 32, 16, 1, 8, 8), (0x39, 16, 64, 1, None, 4), (0x46, 32, 32, 1, None, 8)),
    "i8": ((0x6A, 16, 64, 1, 4, 4), (0x6C, 32, 32, 1, 8, 8), (0x3A, 16, 128, 1, None, 4), (0x47, 32, 64, 1, None, 8)),
}
_SPARSE_FP8: tuple[tuple[tuple[int, ...], int, int, int | None, int], ...] = (
    ((0x78, 0x79, 0x7A, 0x7B), 16, 64, 4, 4),
    ((0x7C, 0x7D, 0x7E, 0x7F), 32, 32, 8, 8),
    ((0x3B, 0x3C, 0x3D, 0x43), 16, 128, None, 4),
    ((0x4B, 0x4E, 0x4F, 0x53), 32, 64, None, 8),
)
_FP8_PAIRS = (("bf8", "bf8"), ("bf8", "fp8"), ("fp8", "bf8"), ("fp8", "fp8"))
_RESULT = {"f64": "f64", "i8": "i32"}


def _registers(elements: int, bits: int) -> int:
    """Registers that a wave's 64 lanes need for so many elements."""
    return elements * bits // (64 * 32)


def _add(opcode: int, side: int, k: int, blocks: int, a: str, b: str, passes: dict[str, int], kind: str) -> None:
    """One instruction; ``kind`` is ``mfma``, ``smfmac`` or ``mfma_scale``."""
    d = _RESULT.get(a, "f32")
    sparse, scaled = kind == "smfmac", kind == "mfma_scale"
    suffix = f"_{blocks}b" if blocks > 1 else ""
    inputs = a if a == b and a not in ("fp8", "bf8") else f"{a}_{b}"
    bits = ELEMENT_BITS[a]
    elements = side * k * blocks
    wide_a, wide_b = (f"b{32 * _registers(elements >> half, bits)}" for half in (sparse, 0))
    wide_d = f"b{32 * _registers(side * side * blocks, 64 if d == 'f64' else 32)}"
    third = "b32, dst" if sparse else f"{wide_d}, b32, b32" if scaled else wide_d
    flags = "no_exec"
    flags += " approximate" if d != "i32" else ""
    flags += "" if a in ("f32", "xf32") else " keeps_denormals"
    define(
        "MFMA", opcode | (SCALED if scaled else 0), f"v_{kind}_{d}_{side}x{side}x{k}{suffix}_{inputs}",
        f"{wide_d} = {wide_a}, {wide_b}, {third}", archs=tuple(passes), flags=flags,
        mfma=Mfma(side, side, k, blocks, a, b, d, passes, sparse, scaled),
    )  # fmt: skip


def _passes(*counts: int | None) -> dict[str, int]:
    return {arch: count for arch, count in zip(ARCHS, counts, strict=True) if count}


for _kind, _shapes in (("mfma", _DENSE), ("smfmac", _SPARSE)):
    for _type, _rows in _shapes.items():
        for _opcode, _side, _k, _blocks, *_counts in _rows:
            _add(_opcode, _side, _k, _blocks, _type, _type, _passes(*_counts), _kind)
for _opcode, _side, _k, _blocks, *_counts in _DENSE["f8f6f4"]:
    _add(_opcode, _side, _k, _blocks, "f8f6f4", "f8f6f4", _passes(*_counts), "mfma_scale")
for _kind, _fp8_rows in (("mfma", _DENSE_FP8), ("smfmac", _SPARSE_FP8)):
    for _opcodes, _side, _k, *_counts in _fp8_rows:
        for _opcode, (_a, _b) in zip(_opcodes, _FP8_PAIRS, strict=True):
            _add(_opcode, _side, _k, 1, _a, _b, _passes(*_counts), _kind)

# The first half of a scaled instruction, standing alone: the scales reach only the instruction that they are part of.
define(
    "VOP3P", 0x2C, "v_mfma_ld_scale_b32", "= b32, b32", lambda a, b: (), archs=("gfx950",), flags="no_exec no_modifiers"
)


def passes(definition: Definition, modifiers: Mapping[str, object], arch: str) -> int:
    """Passes of 4 cycles that a matrix instruction occupies the matrix core (ISA manuals).

    f8f6f4 takes half as many where neither A nor B is an 8-bit format.
    """
    shape = definition.mfma
    if shape is None:
        raise AssertionError(f"{definition.name} is no matrix instruction")
    count = shape.passes[arch]
    if shape.a != "f8f6f4":
        return count
    return count if 8 in element_bits(definition, modifiers) else count // 2


def element_formats(definition: Definition, modifiers: Mapping[str, object], arch: str) -> tuple[str, str]:
    """Formats of A and B on a chip: ``f64 f32 xf32 f16 bf16 i8`` or a name in `small_floats.FORMATS`.

    Raises KeyError where ``cbsz`` or ``blgp`` names no format (5 to 7).
    """
    shape = definition.mfma
    if shape is None:
        raise AssertionError(f"{definition.name} is no matrix instruction")
    if shape.a == "f8f6f4":
        return _f8f6f4(modifiers, "cbsz"), _f8f6f4(modifiers, "blgp")
    return _FP8[arch].get(shape.a, shape.a), _FP8[arch].get(shape.b, shape.b)


def element_bits(definition: Definition, modifiers: Mapping[str, object]) -> tuple[int, int]:
    """Bits of an element of A and of B; f8f6f4 formats that do not exist (5 to 7) have 8, as LLVM reads them."""
    shape = definition.mfma
    if shape is None:
        raise AssertionError(f"{definition.name} is no matrix instruction")
    if shape.a != "f8f6f4":
        return ELEMENT_BITS[shape.a], ELEMENT_BITS[shape.b]
    a, b = (_number(modifiers, key) for key in ("cbsz", "blgp"))
    widths = [FORMATS[name].bits for name in F8F6F4]
    return (widths[a] if a < len(F8F6F4) else 8), (widths[b] if b < len(F8F6F4) else 8)


def operand_registers(definition: Definition, modifiers: Mapping[str, object]) -> tuple[int, ...]:
    """Registers of each explicit operand, in the order of the text: D, A, B, then C or the index, then two scales."""
    shape = definition.mfma
    if shape is None:
        raise AssertionError(f"{definition.name} is no matrix instruction")
    widths = [operand.dwords for operand in (*definition.explicit_dsts, *definition.explicit_srcs)]
    a, b = element_bits(definition, modifiers)
    elements = shape.m * shape.k * shape.blocks
    widths[1:3] = [_registers(elements >> shape.sparse, a), _registers(elements, b)]
    return tuple(widths)


def small_float(name: str) -> SmallFloat | None:
    """The format of up to 8 bits that `element_formats` named, None for the other types."""
    return FORMATS.get(name)


def _number(modifiers: Mapping[str, object], key: str) -> int:
    value = modifiers.get(key, 0)
    if not isinstance(value, int):
        raise AssertionError(f"{key} is {value!r}, not a number")
    return value


def _f8f6f4(modifiers: Mapping[str, object], key: str) -> str:
    number = _number(modifiers, key)
    if number >= len(F8F6F4):
        raise KeyError(f"{key}:{number} names no format")
    return F8F6F4[number]
