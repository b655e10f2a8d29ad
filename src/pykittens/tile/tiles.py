"""The nouns of the tile language: `st` in LDS, `rt` in registers (and `gl` in global memory, see `global_tensor`).
Tiles are storage that ops write into.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from . import dtypes, register_shape, shared_shape
from .dtypes import DType
from .expression import Expr, Int, evaluate, leaves
from .program_inputs import WAVE
from .register_shape import RegisterShape
from .shared_shape import SharedShape
from .trace import current, uniform

FILE_SIZE = 256
"""VGPRs, and as many AGPRs, that instructions can name."""
MIXED = "vgpr and agpr"


class st:
    """A tile in LDS: ``rows`` x ``cols`` elements, laid out in subtiles of ``shape`` (see `shared_shape`).

    ``copies`` makes an array of tiles: ``As = st(bf16, 128, 64, copies=(2, 2))``, ``As[t % 2, half]``. An index is a
    build-time number.
    """

    dtype: DType
    rows: int
    cols: int
    shape: SharedShape
    name: str
    offset: int = 0
    """Byte offset in the workgroup's LDS, set by the allocator."""

    def __new__(cls, *args: Any, copies: int | tuple[int, ...] | None = None, **options: Any) -> Any:
        if copies is not None:
            return TileArray.of(copies, lambda index: st(*args, **options, index=index))
        return super().__new__(cls)

    def __init__(
        self,
        dtype: str | DType,
        rows: int,
        cols: int,
        shape: str | SharedShape | None = None,
        *,
        name: str | None = None,
        copies: int | tuple[int, ...] | None = None,
        index: tuple[int, ...] = (),
    ) -> None:
        trace = current()
        self.dtype, self.rows, self.cols = dtypes.get(dtype, trace.arch), rows, cols
        self.shape = shared_shape.get(shape or shared_shape.default(trace.arch, self.dtype.bits, cols))
        self.name = _indexed(name or f"st{len(trace.shared)}", index)
        _whole(self.name, rows, cols, self.shape.rows, self.shape.cols)
        trace.shared.append(self)

    @property
    def bytes(self) -> int:
        return self.rows * self.cols * self.dtype.bytes

    def subtile(self, rows: int, cols: int, row: Int, col: Int) -> SharedView:
        """A window of ``rows`` x ``cols`` at (row, col), counted in windows.

        Where the position is a run-time value, windows are whole subtiles of the shape or even parts of them.
        """
        _whole(f"{self.name}.subtile", rows, cols, _step(self.shape.rows, rows, row), _step(self.shape.cols, cols, col))
        first = self._place(row, rows, self.rows, "row"), self._place(col, cols, self.cols, "column")
        return SharedView(self, rows, cols, *first)

    def _place(self, index: Int, size: int, total: int, what: str) -> Int:
        """The first row or column of a subtile, refused where a wave is sure to leave the tile."""
        index = uniform(index, f"the {what} of a subtile of {self.name}")
        numbers = [index] if isinstance(index, int) else []
        # Under a condition only some of the waves may come here.
        if isinstance(index, Expr) and leaves(index) == {WAVE} and not current().conditions:
            numbers = [int(evaluate(index, {WAVE: wave})) for wave in range(current().wave_count)]
        for number in numbers:
            if not 0 <= number <= total // size - 1:
                raise BuildError(
                    "tile-index", f"{self.name} has {total} {what}s, subtile {number} of {size} lies outside",
                    where=user_line(), fix="count subtiles from 0",
                )  # fmt: skip
        return index * size

    @property
    def whole(self) -> SharedView:
        """All of the tile as a view."""
        return SharedView(self, self.rows, self.cols, 0, 0)

    def address(self, row: Int, col: Int) -> Int:
        """LDS byte address of element (row, col), numbers or run-time expressions."""
        return self.shape.address(row, col, self.cols, self.dtype.bytes) + self.offset


@dataclass(frozen=True, eq=False)
class SharedView:
    """A window of an `st`: ``row`` and ``col`` are its first element; they may be run-time values (whole subtiles
    apart) or build-time ones.
    """

    tile: st
    rows: int
    cols: int
    row: Int
    col: Int


class Registers(ABC):
    """What occupies registers of a wave for its whole lifetime: tiles and vectors."""

    dtype: DType
    rows: int
    cols: int
    name: str
    file: str
    """``vgpr``, ``agpr``, or of tiles pinned to both `MIXED`."""
    regs: tuple[Reg, ...] | None = None
    """Where it is: pinned by the author or set by the allocator."""
    where: str | None = None
    over: Registers | None = None
    """The tile whose registers it takes, while that one is not alive."""

    @property
    def storage(self) -> Registers:
        """What owns the registers: itself, or the tile that it is a part of."""
        return self

    @property
    @abstractmethod
    def register_count(self) -> int:
        """32-bit registers of the whole, per lane."""

    @property
    @abstractmethod
    def description(self) -> str:
        """Dtype, size and layout for the register map."""

    def registers_from(self, first: int, count: int) -> Reg:
        """``count`` registers of it in a row, once it is placed."""
        if self.regs is None:
            raise AssertionError(f"{self.name} has no registers yet")
        for part in self.regs:
            if first + count <= part.count:
                return part[first : first + count - 1]
            if first < part.count:
                raise BuildError(
                    "pinned-split", f"{self.name} is pinned to {part}, where {count} registers at {first} do not fit",
                    where=self.where, fix="pin whole base tiles",
                )  # fmt: skip
            first -= part.count
        raise AssertionError(f"{self.name} has fewer registers")

    def _placed(self, file: str, regs: Reg | tuple[Reg, ...] | None, over: Registers | None = None) -> None:
        self.where, self.over = user_line(), over
        if over is not None and (not isinstance(over, Registers) or over.storage is not over):
            name = over.name if isinstance(over, Registers) else over
            raise BuildError(
                "over-tile", f"over is {name!s}, or a part of it", where=self.where, fix="give a whole register tile"
            )
        if over is not None and regs is not None:
            raise BuildError(
                "over-pinned", f"a tile over {over.name} is pinned too", where=self.where,
                fix=f"pin {over.name}, or leave out over",
            )  # fmt: skip
        if file not in ("vgpr", "agpr"):
            raise BuildError("register-file", f"file {file!r} is neither 'vgpr' nor 'agpr'", where=self.where)
        self.file = file if over is None else over.file
        if regs is None:
            return
        self.regs = (regs,) if isinstance(regs, Reg) else tuple(regs)
        for reg in self.regs:
            _check_pin(reg, self.where)
        files = {reg.file for reg in self.regs}
        self.file = MIXED if len(files) > 1 else "agpr" if files == {"a"} else "vgpr"


def _check_pin(reg: object, where: str | None) -> None:
    """Raise `BuildError` for what no tile can be pinned to."""
    if not isinstance(reg, Reg) or reg.file not in ("v", "a"):
        raise BuildError("pinned-range", f"regs has {reg!s}, tiles lie in v or a registers", where=where)
    if reg.index < 0 or reg.last >= FILE_SIZE:
        raise BuildError(
            "pinned-range", f"regs has {reg}, the registers of a file are 0 to {FILE_SIZE - 1}", where=where
        )
    if reg.count > 1 and reg.index % 2:
        raise BuildError(
            "pinned-range", f"regs has {reg}, which starts at the odd {reg.index}", where=where,
            fix="operands of several registers start at even ones",
        )  # fmt: skip


class rt(Registers):
    """A tile in a wave's registers: ``rows`` x ``cols`` elements in base tiles of ``shape``, ``row`` or ``col`` layout.

    ``file`` is ``vgpr`` or ``agpr``; ``regs`` pins the tile to given registers (a `Reg` or several, in base-tile
    order). ``over`` shares the registers of another tile, from its first on; the two may never be alive together.
    ``copies`` makes an array of tiles, as for `st`.
    """

    layout: str
    shape: RegisterShape

    def __new__(cls, *args: Any, copies: int | tuple[int, ...] | None = None, **options: Any) -> Any:
        if copies is not None:
            return TileArray.of(copies, lambda index: rt(*args, **options, index=index))
        return super().__new__(cls)

    def __init__(
        self,
        dtype: str | DType,
        rows: int,
        cols: int,
        layout: str = "row",
        *,
        shape: str | None = None,
        name: str | None = None,
        file: str = "vgpr",
        regs: Reg | tuple[Reg, ...] | None = None,
        over: Registers | None = None,
        copies: int | tuple[int, ...] | None = None,
        index: tuple[int, ...] = (),
    ) -> None:
        trace = current()
        self._placed(file, regs, over)
        if layout not in ("row", "col"):
            raise BuildError("layout", f"layout {layout!r} is neither 'row' nor 'col'", where=self.where)
        self.dtype, self.rows, self.cols = dtypes.get(dtype, trace.arch), rows, cols
        self.layout = layout
        self.shape = register_shape.get(
            shape or default_shape(trace.arch, self.dtype, layout, cols if layout == "row" else rows)
        )
        self.shape.across(layout)
        self.name = _indexed(name or f"rt{len(trace.registers)}", index)
        _whole(self.name, rows, cols, self.shape.rows, self.shape.cols)
        trace.registers.append(self)

    @property
    def grid(self) -> tuple[int, int]:
        """Base tiles down and across."""
        return self.rows // self.shape.rows, self.cols // self.shape.cols

    @property
    def registers_per_base(self) -> int:
        """32-bit registers of one base tile."""
        return self.shape.elements * self.dtype.bits // 32

    @property
    def register_count(self) -> int:
        """32-bit registers of the whole tile, per lane."""
        return self.grid[0] * self.grid[1] * self.registers_per_base

    @property
    def description(self) -> str:
        """Dtype, size and layout for the register map."""
        return f"{self.dtype} {self.rows}x{self.cols} {self.layout} {self.shape.name}"

    def base(self, row: int, col: int) -> Reg:
        """The registers of one base tile, once the tile is placed."""
        return self.registers_from((row * self.grid[1] + col) * self.registers_per_base, self.registers_per_base)

    def subtile(self, rows: int, cols: int, row: int, col: int) -> rt:
        """The part of ``rows`` x ``cols`` at (row, col), counted in such parts; it has the tile's own registers."""
        return RegisterView(self, rows, cols, row, col)


class RegisterView(rt):
    """A part of a register tile, whole base tiles."""

    def __init__(self, tile: rt, rows: int, cols: int, row: int, col: int) -> None:
        _whole(f"{tile.name}.subtile", rows, cols, tile.shape.rows, tile.shape.cols)
        if not (0 <= row < tile.rows // rows and 0 <= col < tile.cols // cols):
            raise BuildError("tile-index", f"{tile.name} has no {rows}x{cols} at {row}, {col}", where=user_line())
        self.tile, self.rows, self.cols = tile, rows, cols
        self.dtype, self.layout, self.shape, self.file = tile.dtype, tile.layout, tile.shape, tile.file
        self.name, self.where = tile.name, tile.where
        self.first = row * rows // tile.shape.rows, col * cols // tile.shape.cols

    @property
    def storage(self) -> Registers:
        """The tile that it is a part of."""
        return self.tile.storage

    def base(self, row: int, col: int) -> Reg:
        """The registers of one base tile of the part."""
        return self.tile.base(self.first[0] + row, self.first[1] + col)


def default_shape(arch: str, dtype: DType, layout: str, depth: int) -> str:
    """The operand shape that lanes read 16 bytes at a time for MFMAs of 16 rows; accumulators are 16x16.

    gfx942's MFMAs take half of it (see `matrix_instructions`), so there tiles may be half as long along K as well.
    """
    if dtype.bits == 32:
        return "16x16"
    wide = {("gfx942", 16): 32, ("gfx942", 8): 64, ("gfx950", 16): 32, ("gfx950", 8): 128}[arch, dtype.bits]
    along = wide // 2 if arch == "gfx942" and depth % wide else wide
    return f"16x{along}" if layout == "row" else f"{along}x16"


def _indexed(name: str, index: tuple[int, ...]) -> str:
    """``As[0, 1]``"""
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _step(subtile: int, window: int, place: Int) -> int:
    """What a window's size must be a multiple of."""
    return 1 if isinstance(place, int) or (window > 0 and subtile % window == 0) else subtile


def _whole(name: str, rows: int, cols: int, step_rows: int, step_cols: int) -> None:
    if not isinstance(rows, int) or not isinstance(cols, int):
        raise BuildError(
            "tile-shape", f"{name} is {rows!r} by {cols!r}", where=user_line(), fix="sizes of tiles are integers"
        )
    if rows <= 0 or cols <= 0 or rows % step_rows or cols % step_cols:
        raise BuildError(
            "tile-shape", f"{name} is {rows}x{cols}, its shape is {step_rows}x{step_cols}", where=user_line(),
            fix=f"use multiples of {step_rows} rows and {step_cols} columns",
        )  # fmt: skip


class TileArray:
    """Several tiles of one kind by index: ``c[i, j]``."""

    def __init__(self, shape: tuple[int, ...], tiles: dict[tuple[int, ...], Any]) -> None:
        self.shape, self._tiles = shape, tiles

    @staticmethod
    def of(copies: int | tuple[int, ...], make: Any) -> TileArray:
        shape = (copies,) if isinstance(copies, int) else tuple(copies)
        indices: list[tuple[int, ...]] = [()]
        for size in shape:
            indices = [(*index, i) for index in indices for i in range(size)]
        return TileArray(shape, {index: make(index) for index in indices})

    def __getitem__(self, index: Int | tuple[Int, ...]) -> Any:
        key = index if isinstance(index, tuple) else (index,)
        if any(isinstance(i, Expr) for i in key):
            raise BuildError(
                "tile-index", f"tile index {key} is only known on the GPU", where=user_line(),
                fix="unroll the loop: for t in pk.loop(n, unroll=2) makes t % 2 a build-time number",
            )  # fmt: skip
        if key not in self._tiles:
            raise BuildError("tile-index", f"tile index {key} is outside {self.shape}", where=user_line())
        return self._tiles[key]  # type: ignore[index]

    def items(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        """(index, tile) of every tile."""
        return iter(self._tiles.items())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tiles.values())
