"""Arithmetic on f32 register tiles, element by element: ``add(out, a, b)``, ``exp2(out, a)``, ``fma(out, a, b, c)``.

``out`` is a tile; each operand is a tile like it, a vector of its rows or columns (`rv`), a Python number, or a number
that the launch passes (`scalar`). ``out`` may be an operand too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import Reg, vcc

from ..dtypes import f32
from ..global_tensor import scalar
from ..op import Op, Touches
from ..register_vector import rv
from ..tiles import Registers, rt

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

Operand = rt | rv | scalar | float
_INLINE = {0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0}


class Map(Op):
    """``instruction`` on every element; ``swapped`` is the instruction for exchanged operands where only the first may
    be a number, and ``meaning`` what NumPy makes of the operands in float64.
    """

    def __init__(
        self, name: str, instruction: str, meaning: Callable[..., Any], operands: int = 1, swapped: str = ""
    ) -> None:
        self.name, self.instruction = name, instruction  # type: ignore[misc]
        self.meaning, self.operands, self.swapped = meaning, operands, swapped

    def check(self, out: rt, *operands: Operand) -> None:
        where = user_line()
        if len(operands) != self.operands:
            raise BuildError(
                "op-arguments", f"{self.name} takes {self.operands} operands, got {len(operands)}", where=where
            )
        tiles = [x for x in (out, *operands) if isinstance(x, Registers)]
        for tile in tiles:
            if tile.dtype is not f32 or tile.file != "vgpr":
                raise BuildError(
                    "map-operand", f"{self.name} computes in f32 in VGPRs, {tile.name} holds {tile.dtype} in "
                    f"{tile.file}s", where=where, fix="copy it into an f32 tile in VGPRs first",
                )  # fmt: skip
        for x in operands:
            like = x.fits(out) if isinstance(x, rv) else _alike(x, out) if isinstance(x, rt) else True
            if not like:
                raise BuildError(
                    "map-shape", f"{self.name}: {x.name} does not fit {out.name} "  # type: ignore[union-attr]
                    f"({out.rows}x{out.cols} {out.layout} {out.shape.name})", where=where,
                )  # fmt: skip
            if not isinstance(x, (rt, rv, scalar, int, float)):
                raise BuildError("op-arguments", f"{self.name} does not take {type(x).__name__}", where=where)
        if len({id(x) for x in operands if not isinstance(x, Registers)}) > 1 or not tiles[1:]:
            raise BuildError("map-numbers", f"{self.name} takes one number besides tiles and vectors", where=where)

    def touches(self, out: rt, *operands: Operand) -> Touches:
        return Touches(reads=[x for x in operands if isinstance(x, Registers)], writes=[out])

    def lower(self, emit: Lowering, out: rt, *operands: Operand) -> None:
        name = self.instruction
        if self.swapped and not isinstance(operands[1], Registers):
            name, operands = self.swapped, operands[::-1]
        numbers = [None if isinstance(x, Registers) else _number(emit, x) for x in operands]
        for i in range(out.grid[0]):
            for j in range(out.grid[1]):
                targets = _elements(out, i, j, out.shape.elements)
                sources = [
                    _elements(x, i, j, len(targets)) if number is None else [number] * len(targets)
                    for x, number in zip(operands, numbers, strict=True)
                ]
                for each in zip(targets, *sources, strict=True):
                    emit.ins(name, *each)

    def reference(self, run: Reference, out: rt, *operands: Operand) -> None:
        with np.errstate(all="ignore"):
            run.registers(out)[:] = self.meaning(*(_value(run, x) for x in operands))


class Relu(Map):
    """``relu(out, a)``: out = max(a, 0), and NaN where a is NaN, which v_max_f32 would lose."""

    def __init__(self) -> None:
        super().__init__("relu", "v_cndmask_b32", lambda a: np.maximum(a, 0.0))

    def lower(self, emit: Lowering, out: rt, *operands: Operand) -> None:
        for i in range(out.grid[0]):
            for j in range(out.grid[1]):
                targets, sources = (_elements(x, i, j, out.shape.elements) for x in (out, operands[0]))
                for target, source in zip(targets, sources, strict=True):
                    emit.ins("v_cmp_ngt_f32", vcc, 0.0, source)
                    emit.ins(self.instruction, target, 0, source, vcc)


class Copy(Op):
    """``copy(out, a)``: out = a, between VGPRs and AGPRs as well; f32 tiles of one shape."""

    name = "copy"

    def check(self, out: rt, a: rt) -> None:
        if out.dtype is not f32 or a.dtype is not f32 or not _alike(a, out):
            raise BuildError("map-shape", f"copy: {a.name} and {out.name} differ", where=user_line())

    def touches(self, out: rt, a: rt) -> Touches:
        return Touches(reads=[a], writes=[out])

    def lower(self, emit: Lowering, out: rt, a: rt) -> None:
        name = {"vv": "v_mov_b32", "va": "v_accvgpr_read_b32", "av": "v_accvgpr_write_b32", "aa": "v_accvgpr_mov_b32"}
        for i in range(out.grid[0]):
            for j in range(out.grid[1]):
                targets, sources = (_elements(x, i, j, out.shape.elements) for x in (out, a))
                for target, source in zip(targets, sources, strict=True):
                    emit.ins(name[target.file + source.file], target, source)

    def reference(self, run: Reference, out: rt, a: rt) -> None:
        run.registers(out)[:] = run.registers(a)


def _alike(a: rt, b: rt) -> bool:
    return (a.rows, a.cols, a.layout, a.shape) == (b.rows, b.cols, b.layout, b.shape)


def _elements(x: Any, row: int, col: int, count: int) -> list[Reg]:
    """The registers of an operand's elements in one base tile."""
    if isinstance(x, rv):
        return [x.element(row, col, index) for index in range(count)]
    base: Reg = x.base(row, col)
    return [Reg(base.file, base.index + index) for index in range(count)]


def _number(emit: Lowering, x: Any) -> Reg | float:
    """A number as an operand that every encoding has room for: inline, or in an SGPR."""
    if isinstance(x, scalar):
        return emit.inputs[x.value]
    if float(x) in _INLINE:
        return float(x)
    (bits,) = struct.unpack("<I", struct.pack("<f", x))
    return emit.uniform_register(bits)


def _value(run: Reference, x: Any) -> Any:
    """An operand's value in every wave, ready to be broadcast over (waves, rows, cols)."""
    if isinstance(x, Registers):
        return run.registers(x)
    return run.inputs[x.value] if isinstance(x, scalar) else float(x)


add = Map("add", "v_add_f32", np.add, 2, "v_add_f32")
sub = Map("sub", "v_sub_f32", np.subtract, 2, "v_subrev_f32")
mul = Map("mul", "v_mul_f32", np.multiply, 2, "v_mul_f32")
max = Map("max", "v_max_f32", np.fmax, 2, "v_max_f32")
min = Map("min", "v_min_f32", np.fmin, 2, "v_min_f32")
fma = Map("fma", "v_fma_f32", lambda a, b, c: a * b + c, 3)
exp2 = Map("exp2", "v_exp_f32", np.exp2)
log2 = Map("log2", "v_log_f32", np.log2)
rcp = Map("rcp", "v_rcp_f32", np.reciprocal)
relu = Relu()
copy = Copy()
