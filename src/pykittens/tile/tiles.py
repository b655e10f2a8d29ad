"""The nouns of the tile language: `gl` in global memory, `st` in LDS, `rt` in registers. Tiles are storage that ops
write into.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from . import dtypes, register_shape, shared_shape
from .dtypes import DType
from .expression import Expr, Int, equal, leaf
from .register_shape import RegisterShape
from .shared_shape import SharedShape
from .trace import current


class gl:
    """A matrix in global memory: run-time ``rows``, ``cols`` and row ``stride`` (bytes); elements of a row are
    contiguous.

    As a kernel parameter's annotation, ``pk.gl("bf16")`` fixes the dtype and ``pk.gl("dtype")`` takes it from the
    keyword parameter of that name.
    """

    def __init__(self, dtype: str | DType) -> None:
        self.dtype_name = dtype
        self.dtype: DType
        self.name = ""
        self.pointer: Expr
        self.rows: Int
        self.cols: Int
        self.stride: Int

    def bind(self, name: str, dtype: DType, pointer: Expr, rows: Int, cols: Int, stride: Int) -> gl:
        """The parameter as it is seen while tracing."""
        bound = gl(dtype)
        bound.name, bound.dtype, bound.pointer = name, dtype, pointer
        bound.rows, bound.cols, bound.stride = rows, cols, stride
        return bound

    def aligned(self, size: int) -> Int:
        """1 if the address and the row stride are multiples of ``size`` (a power of two) bytes, else 0."""
        low = leaf("low", self.pointer)
        return equal((low | self.stride) & (size - 1), 0)

    def tile(self, row: Int, col: Int) -> GlobalTile:
        """The tile at (row, col), counted in tiles of the shape that it is loaded into or stored from."""
        return GlobalTile(self, row, col)


@dataclass(frozen=True, eq=False)
class GlobalTile:
    """A tile-sized window of a `gl`; parts that reach beyond its rows or columns load as 0 and are not stored."""

    tensor: gl
    row: Int
    col: Int


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
        shape: str | None = None,
        *,
        name: str | None = None,
        copies: int | tuple[int, ...] | None = None,
        index: tuple[int, ...] = (),
    ) -> None:
        trace = current()
        self.dtype, self.rows, self.cols = dtypes.get(dtype, trace.arch), rows, cols
        self.shape = shared_shape.get(shape or ("16x128" if self.dtype.bits == 8 else "16x32"))
        base = name or f"st{len(trace.shared)}"
        self.name = base + "".join(f"[{i}]" for i in index)
        _whole(self.name, rows, cols, self.shape.rows, self.shape.cols)
        trace.shared.append(self)

    @property
    def bytes(self) -> int:
        return self.rows * self.cols * self.dtype.bytes

    def subtile(self, rows: int, cols: int, row: Int, col: Int) -> SharedView:
        """A window of ``rows`` x ``cols`` at (row, col), counted in windows."""
        _whole(f"{self.name}.subtile", rows, cols, self.shape.rows, self.shape.cols)
        return SharedView(self, rows, cols, row * rows, col * cols)

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
    apart).
    """

    tile: st
    rows: int
    cols: int
    row: Int
    col: Int


class rt:
    """A tile in a wave's registers: ``rows`` x ``cols`` elements in base tiles of ``shape``, ``row`` or ``col`` layout.

    ``file`` is ``vgpr`` or ``agpr``; ``regs`` pins the tile to given registers (a `Reg` or several, in base-tile
    order). ``copies`` makes an array of tiles, as for `st`.
    """

    dtype: DType
    rows: int
    cols: int
    layout: str
    shape: RegisterShape
    name: str
    file: str
    regs: tuple[Reg, ...] | None
    where: str | None = None

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
        copies: int | tuple[int, ...] | None = None,
        index: tuple[int, ...] = (),
    ) -> None:
        trace = current()
        self.where = user_line()
        if layout not in ("row", "col"):
            raise BuildError("layout", f"layout {layout!r} is neither 'row' nor 'col'", where=self.where)
        if file not in ("vgpr", "agpr"):
            raise BuildError("register-file", f"file {file!r} is neither 'vgpr' nor 'agpr'", where=self.where)
        self.dtype, self.rows, self.cols = dtypes.get(dtype, trace.arch), rows, cols
        self.layout, self.file = layout, file
        self.shape = register_shape.get(shape or default_shape(trace.arch, self.dtype, layout))
        self.shape.across(layout)
        self.name = (name or f"rt{len(trace.registers)}") + "".join(f"[{i}]" for i in index)
        self.regs = (regs,) if isinstance(regs, Reg) else regs
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

    def base(self, row: int, col: int) -> Reg:
        """The registers of one base tile, once the tile is placed."""
        if self.regs is None:
            raise AssertionError(f"{self.name} has no registers yet")
        first = (row * self.grid[1] + col) * self.registers_per_base
        for part in self.regs:
            if first < part.count:
                return Reg(part.file, part.index + first, self.registers_per_base)
            first -= part.count
        raise AssertionError(f"{self.name} has fewer registers than base tiles")


def default_shape(arch: str, dtype: DType, layout: str) -> str:
    """The operand shape of the chip's widest 16x16 MFMA; accumulators are 16x16."""
    if dtype.bits == 32:
        return "16x16"
    depth = {("gfx942", 16): 16, ("gfx942", 8): 32, ("gfx950", 16): 32, ("gfx950", 8): 128}[arch, dtype.bits]
    return f"16x{depth}" if layout == "row" else f"{depth}x16"


def _whole(name: str, rows: int, cols: int, step_rows: int, step_cols: int) -> None:
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
