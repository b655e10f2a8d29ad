"""The data types that instructions work on, as LLVM and the ISA manual name them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """A scalar data type: ``kind`` is ``u`` (unsigned or untyped), ``i`` (signed), ``f`` (float) or ``m`` (one lane-
    mask bit).
    """

    name: str
    kind: str
    bits: int

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def signed(self) -> bool:
        return self.kind == "i"

    def __repr__(self) -> str:
        return self.name


u1 = Type("u1", "m", 1)
u8 = Type("u8", "u", 8)
i8 = Type("i8", "i", 8)
u16 = Type("u16", "u", 16)
i16 = Type("i16", "i", 16)
u32 = Type("u32", "u", 32)
i32 = Type("i32", "i", 32)
u64 = Type("u64", "u", 64)
i64 = Type("i64", "i", 64)
u128 = Type("u128", "u", 128)
f16 = Type("f16", "f", 16)
bf16 = Type("bf16", "f", 16)
f32 = Type("f32", "f", 32)
f64 = Type("f64", "f", 64)
label = Type("label", "u", 64)
"""The target of a branch, an address that only the program counter sees."""

TYPES: dict[str, Type] = {t.name: t for t in (u1, u8, i8, u16, i16, u32, i32, u64, i64, u128, f16, bf16, f32, f64)} | {
    f"b{n}": Type(f"b{n}", "u", n) for n in (8, 16, 32, 64, 96, 128, 160, 192, 256, 512, 1024)
}
"""Every type by name. ``b32`` and its like are untyped bits: no float modifiers, unsigned arithmetic."""

UNSIGNED = {8: u8, 16: u16, 32: u32, 64: u64, 128: u128}
SIGNED = {8: i8, 16: i16, 32: i32, 64: i64}
FLOAT = {16: f16, 32: f32, 64: f64}
