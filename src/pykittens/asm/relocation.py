"""Dynamic relocations: the words of a code object that depend on where it is loaded.

Source: LLVM, "User Guide for AMDGPU Backend", relocation records. S is the symbol's address, A the addend, B the load
address, P the place that is patched.
"""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.errors import CodeObjectError

# Number -> name, for the kinds that a linked file can still have.
RELOCATION_KINDS = {
    1: "R_AMDGPU_ABS32_LO",
    2: "R_AMDGPU_ABS32_HI",
    3: "R_AMDGPU_ABS64",
    4: "R_AMDGPU_REL32",
    5: "R_AMDGPU_REL64",
    6: "R_AMDGPU_ABS32",
    10: "R_AMDGPU_REL32_LO",
    11: "R_AMDGPU_REL32_HI",
    13: "R_AMDGPU_RELATIVE64",
}


@dataclass(frozen=True)
class Relocation:
    """One word to patch at `address` (relative to the load address), `size` bytes long.

    symbol: the name it depends on; None for R_AMDGPU_RELATIVE64.
    symbol_address: relative to the load address; None when the file leaves the symbol open.
    """

    address: int
    kind: str
    addend: int
    symbol: str | None = None
    symbol_address: int | None = None
    weak: bool = False

    @property
    def size(self) -> int:
        """Bytes that it patches: 4 or 8."""
        return 8 if self.kind.endswith("64") else 4

    def patch(self, base: int) -> bytes:
        """The bytes to write at `base` + `address` when the code object is loaded at `base`.

        Raises CodeObjectError where the symbol is defined nowhere (a weak one counts as address 0).
        """
        place = base + self.address
        if self.kind == "R_AMDGPU_RELATIVE64":
            value = base + self.addend
        elif self.symbol_address is not None:
            value = base + self.symbol_address + self.addend
        elif self.weak:
            value = self.addend
        else:
            what = f"{self.symbol} is defined nowhere, and the code object refers to it at {self.address:#x}"
            raise CodeObjectError("undefined-symbol", what, fix="link the device library that defines it")
        if "_REL32" in self.kind or "_REL64" in self.kind:
            value -= place
        if self.kind.endswith("_HI"):
            value >>= 32
        return (value & (1 << 8 * self.size) - 1).to_bytes(self.size, "little")
