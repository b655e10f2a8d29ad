"""`rv`: a vector in registers that belongs to the rows or the columns of a register tile, held as the tile's lanes need
it.
"""

from __future__ import annotations

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from . import dtypes
from .dtypes import DType
from .tiles import Registers, rt
from .trace import current


class rv(Registers):
    """One f32 value for each of a tile's ``"rows"`` or ``"cols"``: ``rv(tile, "cols")``.

    Along the axis that a lane holds several elements of, it takes a register for each; across it, one for each base
    tile.
    """

    def __init__(
        self, tile: rt, axis: str, *, name: str | None = None, file: str = "vgpr",
        regs: Reg | tuple[Reg, ...] | None = None,
    ) -> None:  # fmt: skip
        if axis not in ("rows", "cols"):
            raise BuildError("axis", f"axis {axis!r} is neither 'rows' nor 'cols'", where=user_line())
        self._placed(file, regs)
        trace = current()
        self.name = name or f"rv{len(trace.registers)}"
        self.dtype: DType = dtypes.f32
        self.axis, self.shape, self.layout, self.grid = axis, tile.shape, tile.layout, tile.grid
        self.length = tile.rows if axis == "rows" else tile.cols
        self.rows, self.cols = (self.length, 1) if axis == "rows" else (1, self.length)
        trace.registers.append(self)

    @property
    def along(self) -> bool:
        """Whether a lane's elements of a base tile lie along the axis, so that it holds a value for each."""
        return (self.axis == "cols") == (self.layout == "row")

    @property
    def registers_per_base(self) -> int:
        """Registers for one base tile of the tile it belongs to."""
        return self.shape.elements if self.along else 1

    @property
    def register_count(self) -> int:
        """32-bit registers of the whole vector, per lane."""
        return (self.grid[0] if self.axis == "rows" else self.grid[1]) * self.registers_per_base

    @property
    def description(self) -> str:
        """Dtype, size and layout for the register map."""
        return f"{self.dtype} {self.length} {self.axis} of {self.layout} {self.shape.name}"

    def fits(self, tile: rt) -> bool:
        """Whether it belongs to the rows or columns of tiles like this one."""
        length = tile.rows if self.axis == "rows" else tile.cols
        return (self.shape, self.layout, self.length) == (tile.shape, tile.layout, length)

    def element(self, row: int, col: int, index: int) -> Reg:
        """The register with the value for a lane's element ``index`` of the tile's base tile (row, col)."""
        block = row if self.axis == "rows" else col
        return self.registers_from(block * self.registers_per_base + (index if self.along else 0), 1)
