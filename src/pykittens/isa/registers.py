"""Registers and other operands as they stand in an instruction: ``v[8:11]``, ``vcc``, ``0.5``, ``off``.

Scalar registers are numbered as the encodings number them: s0-s101, flat_scratch 102, xnack_mask 104, vcc 106,
ttmp0-15 at 108, m0 124, exec 126 (ISA manual, scalar operand table).
"""

from __future__ import annotations

from dataclasses import dataclass

NAMED_SCALARS: dict[str, tuple[int, int]] = {
    "flat_scratch": (102, 2), "flat_scratch_lo": (102, 1), "flat_scratch_hi": (103, 1),
    "xnack_mask": (104, 2), "xnack_mask_lo": (104, 1), "xnack_mask_hi": (105, 1),
    "vcc": (106, 2), "vcc_lo": (106, 1), "vcc_hi": (107, 1), "m0": (124, 1),
    "exec": (126, 2), "exec_lo": (126, 1), "exec_hi": (127, 1),
}  # fmt: skip
_SCALAR_NAMES = {place: name for name, place in NAMED_SCALARS.items()}

NAMED_SOURCES: dict[int, str] = {
    235: "src_shared_base", 236: "src_shared_limit", 237: "src_private_base", 238: "src_private_limit",
    239: "src_pops_exiting_wave_id", 251: "src_vccz", 252: "src_execz", 253: "src_scc", 254: "src_lds_direct",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reg:
    """``count`` consecutive 32-bit registers from ``index`` of a file: ``s`` scalar, ``v`` vector, ``a``
    accumulation.
    """

    file: str
    index: int
    count: int = 1

    def __str__(self) -> str:
        if self.file == "s":
            if (self.index, self.count) in _SCALAR_NAMES:
                return _SCALAR_NAMES[self.index, self.count]
            if 108 <= self.index < 124:
                return _span("ttmp", self.index - 108, self.count)
        return _span(self.file, self.index, self.count)

    def __getitem__(self, item: int | slice) -> Reg:
        """Part of this range, inclusive ends as in assembly: ``r[0]``, ``r[2:3]``."""
        low, high = (item, item) if isinstance(item, int) else (item.start, item.stop)
        if not 0 <= low <= high < self.count:
            raise IndexError(f"{self} has {self.count} registers, [{low}:{high}] is outside")
        return Reg(self.file, self.index + low, high - low + 1)

    @property
    def last(self) -> int:
        return self.index + self.count - 1

    def overlaps(self, other: Reg) -> bool:
        return self.file == other.file and self.index <= other.last and other.index <= self.last


def _span(prefix: str, index: int, count: int) -> str:
    return f"{prefix}{index}" if count == 1 else f"{prefix}[{index}:{index + count - 1}]"


@dataclass(frozen=True, slots=True)
class Special:
    """A source that is computed by the hardware, by its code in the scalar operand table: ``src_scc`` is 253."""

    code: int

    def __str__(self) -> str:
        return NAMED_SOURCES[self.code]


@dataclass(frozen=True, slots=True)
class Const:
    """A constant source. ``bits`` is its encoding's 32-bit pattern: for inline floats the f32 bits, for integers two's
    complement; ``form`` is ``int`` or ``float`` (inline) or ``literal``. What a 16- or 64-bit operand sees follows
    from both."""

    bits: int
    form: str = "int"


@dataclass(frozen=True, slots=True)
class Label:
    """A branch target: byte offset relative to the next instruction once decoded, or a name in a program being
    written.
    """

    name: str
    offset: int | None = None

    def __str__(self) -> str:
        return self.name


class _File:
    """``v[3]``, ``v[8:11]`` (inclusive, as in assembly) make registers of one file."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __getitem__(self, item: int | slice) -> Reg:
        if isinstance(item, int):
            return Reg(self.file, item)
        return Reg(self.file, item.start, item.stop - item.start + 1)


s, v, a = _File("s"), _File("v"), _File("a")
vcc, exec_, m0 = Reg("s", 106, 2), Reg("s", 126, 2), Reg("s", 124)
