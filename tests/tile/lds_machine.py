"""A stand-in for the lowering that runs each LDS instruction at once, one wave on an LDS image.

It knows instructions by their definitions (width, direction, half, transposed elements) and addresses as the run-time
expressions that the lowering would compute, so it shares no address arithmetic with the ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from pykittens.arch import get
from pykittens.arch.lds_banks import BankReport, bank_report
from pykittens.isa import Reg, lookup
from pykittens.tile import dtypes, register_shape
from pykittens.tile.expression import Expr, Int, evaluate
from pykittens.tile.program_inputs import LANE, WAVE
from pykittens.tile.register_shape import RegisterShape
from pykittens.tile.shared_shape import SharedShape
from pykittens.tile.tiles import rt, st
from pykittens.tile.trace import Trace, tracing

LANES = np.arange(64)
ARITHMETIC: dict[str, Callable[..., Any]] = {
    "v_add_u32": lambda a, b: a + b, "v_sub_u32": lambda a, b: a - b, "v_subrev_u32": lambda a, b: b - a,
    "v_and_or_b32": lambda a, b, c: a & b | c, "v_lshl_or_b32": lambda a, b, c: a << b | c,
}  # fmt: skip
"""What the ops need of the VALU, on int64 arrays."""
FIRST_TEMPORARY = 384
LAYOUTS = [
    (name, layout)
    for name, shape in register_shape.SHAPES.items()
    for layout, across in (("row", shape.rows), ("col", shape.cols))
    if across <= len(LANES)
]
"""Every register shape with every layout that it has."""


class LdsMachine:
    """One wave. ``memory``: the LDS's bytes; ``registers``: v0 to v511 by lane; ``reports``: the bank conflicts met."""

    def __init__(self, arch: str, memory: np.ndarray, wave: int = 0) -> None:
        self.arch = arch
        self.memory = memory
        self.registers = np.full((512, 64), 0xDEADBEEF, np.uint32)
        self.inputs: dict[Expr, Any] = {LANE: LANES, WAVE: wave}
        self.reports: list[BankReport] = []
        self.names: list[str] = []
        self._free = FIRST_TEMPORARY

    def lane(self, value: Int) -> np.ndarray:
        """What the lowering would put in a VGPR: the value in every lane."""
        return np.broadcast_to(np.asarray(evaluate(value, self.inputs)), 64)

    @contextmanager
    def temporary(self, file: str, count: int = 1, align: int | None = None) -> Iterator[Reg]:
        first, self._free = self._free, self._free + count
        yield Reg(file, first, count)
        self._free = first

    def value(self, operand: Any) -> Any:
        """An operand of the VALU in every lane: registers, computed values and numbers."""
        found = self.registers[operand.index] if isinstance(operand, Reg) else operand
        return np.asarray(found, np.int64)

    def compute(self, name: str, target: Any, *operands: Any) -> None:
        """One instruction of the VALU."""
        result = ARITHMETIC[name](*map(self.value, operands))
        if isinstance(target, Reg):
            self.registers[target.index] = result.astype(np.uint32)
        else:
            target[:] = result

    def ins(self, name: str, *operands: Any, offset: int = 0, **tiles: tuple[str, ...]) -> None:
        if name in ARITHMETIC:
            self.compute(name, *operands)
            return
        definition = lookup(name)
        access = definition.access
        assert self.arch in definition.archs
        assert access is not None and access.space == "lds" and 0 <= offset < 65536
        size = access.bytes
        (regs,) = (o for o in operands if isinstance(o, Reg))
        (base,) = (o for o in operands if not isinstance(o, Reg))
        address = base + offset
        assert (address % size == 0).all(), f"{name} is misaligned"
        assert regs.count == -(-size // 4)
        direction = "transpose" if access.transpose else "read" if access.kind == "load" else "write"
        self.reports.append(bank_report(get(self.arch), direction, size, address))  # type: ignore[arg-type]
        self.names.append(name)
        if access.kind == "load":
            self._load(regs, self.memory[address[:, None] + np.arange(size)], access)
        else:
            self._store(regs, address, access)

    def _load(self, regs: Reg, data: np.ndarray, access: Any) -> None:
        """``data``: bytes (64, size)."""
        if access.transpose:
            elements = data.view(f"<u{access.transpose // 8}")
            n = elements.shape[1]
            moved = elements.copy()
            for lane in range(64):
                group, q = lane // 16 * 16, lane % 16
                for e in range(n):
                    moved[lane, e] = elements[group + e * (16 // n) + q // n, q % n]
            data = moved.view(np.uint8)
        if data.shape[1] >= 4:
            self.registers[regs.index : regs.last + 1] = data.view("<u4").T
            return
        assert access.half is None, "with SRAM ECC, loads of half a register do not keep the other half"
        self.registers[regs.index] = data.view(f"<u{data.shape[1]}")[:, 0]

    def _store(self, regs: Reg, address: np.ndarray, access: Any) -> None:
        data = np.ascontiguousarray(self.registers[regs.index : regs.last + 1].T)
        if access.bytes < 4:
            data = (data >> 16 if access.half == "hi" else data).astype("<u2")
        for lane in range(64):
            self.memory[address[lane] : address[lane] + access.bytes] = data[lane].view(np.uint8)[: access.bytes]


@contextmanager
def tiles(
    arch: str, dtype: str, register: tuple[str, str], shared: str, size: tuple[int, int], windows: tuple[int, int]
) -> Iterator[tuple[rt, st]]:
    """A register tile of ``size`` at v0, its shape and layout in ``register``; a shared tile of so many windows."""
    with tracing(Trace(arch, (1, 1))):
        tile = rt(
            dtype,
            *size,
            register[1],
            shape=register[0],
            regs=Reg("v", 0, size[0] * size[1] * dtypes.get(dtype).bits // 2048),
        )
        yield tile, st(dtype, size[0] * windows[0], size[1] * windows[1], shared)


def element_ids(tile: st) -> np.ndarray:
    """Numbers that tell the elements of a shared tile apart: (rows, cols); single bytes are random."""
    count, size = tile.rows * tile.cols, tile.dtype.bytes
    ids = np.random.default_rng(1).integers(0, 256, count) if size == 1 else np.arange(count)
    return ids.astype(f"<u{size}").reshape(tile.rows, tile.cols)


@cache
def _places(shape: SharedShape, rows: int, cols: int, size: int) -> np.ndarray:
    """Byte address of every element, found one at a time: (rows, cols)."""
    return np.array([[shape.address(row, col, cols, size) for col in range(cols)] for row in range(rows)])


def element_places(tile: st) -> np.ndarray:
    """LDS byte address of every element of a shared tile: (rows, cols)."""
    return _places(tile.shape, tile.rows, tile.cols, tile.dtype.bytes) + tile.offset


def scatter(tile: st, memory: np.ndarray, rows: slice, cols: slice) -> None:
    """Write the `element_ids` of a window to their places."""
    data = element_ids(tile)[rows, cols].reshape(-1, 1).view(np.uint8)
    memory[element_places(tile)[rows, cols].reshape(-1, 1) + np.arange(tile.dtype.bytes)] = data


def filled_memory(tile: st, spare: int = 0) -> np.ndarray:
    """An LDS image with the `element_ids` of a whole tile and ``spare`` bytes after it; the rest is 0xEE."""
    memory = np.full(tile.offset + tile.bytes + spare, 0xEE, np.uint8)
    scatter(tile, memory, slice(None), slice(None))
    return memory


def register_elements(tile: rt, registers: np.ndarray) -> np.ndarray:
    """What a register tile holds by its shape's own definition: (rows, cols)."""
    out = np.zeros((tile.rows, tile.cols), f"<u{tile.dtype.bytes}")
    for i in range(tile.grid[0]):
        for j in range(tile.grid[1]):
            base = tile.base(i, j)
            data = np.ascontiguousarray(registers[base.index : base.last + 1].T).view(out.dtype)
            row, col = _elements(tile.shape, tile.layout)
            out[i * tile.shape.rows + row, j * tile.shape.cols + col] = data
    return out


@cache
def _elements(shape: RegisterShape, layout: str) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each lane's elements: two arrays (64, elements)."""
    pairs = np.array([[shape.element(layout, lane, index) for index in range(shape.elements)] for lane in range(64)])
    return pairs[..., 0], pairs[..., 1]
