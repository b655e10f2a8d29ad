"""Code of the chiplet order: the numbers that the host computes for a launch, and the instructions that make a
workgroup's tile of them.

Dividing by a number known before the launch is a multiplication: n // d is the high half of 2 n m, shifted right by s,
for n < 2^31 with 2^(s-1) < d <= 2^s and m = ceil(2^(31+s) / d) (Granlund and Montgomery, 1994). The host finds m and s,
so that a workgroup's tile takes some 30 scalar instructions and not one division.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pykittens.isa.registers import Reg, s
from pykittens.tile.expression import Expr, Int, below, binary, evaluate, high_product, leaf, minimum, select
from pykittens.tile.expression_code import uniform_code
from pykittens.tile.op import Op, Touches
from pykittens.tile.program_inputs import WORKGROUP

if TYPE_CHECKING:
    from pykittens.tile.lowering import Lowering
    from pykittens.tile.reference import Reference

ROW, COL = leaf("order", "row"), leaf("order", "col")
"""This workgroup's tile."""
LAUNCH_COLS, LAUNCH_ROWS = leaf("order", "launch_cols"), leaf("order", "launch_rows")
"""Workgroups of the launch along x and y."""
_KERNARG_POINTER = s[0:1]


def divisor(number: int) -> tuple[int, int]:
    """(m, s) with which `quotient` divides by a positive number."""
    shift = (number - 1).bit_length()
    return -(-(1 << 31 + shift) // number), shift


def quotient(n: Int, magic: Int, shift: Int) -> Int:
    """``n // d`` for ``magic, shift = divisor(d)`` and 0 <= n < 2^31."""
    return binary("shr", high_product(n + n, magic), shift)


@dataclass(frozen=True)
class OrderNumbers:
    """What the code of the order needs to know of a launch, 18 dwords of its arguments."""

    chunk: int
    """Tiles that follow each other on an XCD; 0: tiles as the launch has them, in rows and columns."""
    chunk_magic: int = 0
    chunk_shift: int = 0
    chunk_skip: int = 0
    """Tiles from the end of an XCD's chunk to the start of its next one."""
    whole_turns: int = 0
    """Workgroups of an XCD that are in whole chunks; the others share what is left evenly."""
    rest_skip: int = 0
    rest_share: int = 0
    rest_more: int = 0
    """So many XCDs get one more of what is left."""
    band: int = 0
    """Tiles of a whole window."""
    band_magic: int = 0
    band_shift: int = 0
    window_magic: int = 0
    window_shift: int = 0
    last_magic: int = 0
    last_shift: int = 0
    window: int = 0
    last: int = 0
    """Rows of tiles in the window that is cut off, if one is."""
    whole_windows: int = 0

    def values(self) -> dict[Expr, int]:
        """The numbers by their names in the kernel's code."""
        return {leaf("order", name): number for name, number in vars(self).items()}


NAMES = tuple(OrderNumbers.__dataclass_fields__)


def chiplet_numbers(window: int, chunk: int, xcds: int, rows: int, cols: int) -> OrderNumbers:
    """The numbers for a grid of rows x cols tiles, neither of them 0."""
    window, count = min(window, rows), rows * cols
    # A chunk longer than an XCD's share makes no whole turn: what counts is the rest.
    chunk = min(chunk, count)
    whole = count // (xcds * chunk) * (xcds * chunk)
    share, more = divmod(count - whole, xcds)
    last = rows % window or window
    return OrderNumbers(
        chunk, *divisor(chunk), chunk * (xcds - 1), whole // xcds, whole - whole // xcds, share, more,
        window * cols, *divisor(window * cols), *divisor(window), *divisor(last), window, last, rows // window,
    )  # fmt: skip


@cache
def steps(xcds: int) -> tuple[tuple[Expr, Int], ...]:
    """The code as values, each made of those before it: (what it is called, what it is)."""
    return tuple(_steps(xcds))


def _steps(xcds: int) -> Iterator[tuple[Expr, Int]]:
    n = {name: leaf("order", name) for name in NAMES}

    def named(name: str, value: Int) -> tuple[Expr, Int]:
        return leaf("order", name), value

    def known(name: str) -> Expr:
        return leaf("order", name)

    workgroup = WORKGROUP[0]
    power = xcds & (xcds - 1) == 0
    yield named("turn", workgroup // xcds if power else quotient(workgroup, *divisor(xcds)))
    turn = known("turn")
    yield named("xcd", workgroup % xcds if power else workgroup - turn * xcds)
    # Algorithm 1: the XCD's turns go through its chunks, then through its part of what is left.
    yield named("chunks", quotient(turn, n["chunk_magic"], n["chunk_shift"]))
    whole = below(turn, n["whole_turns"])
    skipped = n["rest_skip"] + minimum(known("xcd"), n["rest_more"])
    yield named("skipped", select(whole, known("chunks") * n["chunk_skip"], skipped))
    yield named("step", select(whole, n["chunk"], n["rest_share"]))
    yield named("index", turn + known("skipped") + known("xcd") * known("step"))
    # Windows: the tiles of one go down its columns, one column after the other.
    yield named("band_number", quotient(known("index"), n["band_magic"], n["band_shift"]))
    yield named("inside", known("index") - known("band_number") * n["band"])
    full = below(known("band_number"), n["whole_windows"])
    yield named("height", select(full, n["window"], n["last"]))
    yield named("height_magic", select(full, n["window_magic"], n["last_magic"]))
    yield named("height_shift", select(full, n["window_shift"], n["last_shift"]))
    yield COL, quotient(known("inside"), known("height_magic"), known("height_shift"))
    yield ROW, known("band_number") * n["window"] + known("inside") - COL * known("height")


def place(numbers: OrderNumbers, xcds: int, workgroup: Any) -> tuple[Any, Any]:
    """(row, col) of workgroups of a launch in one row, numbers or int64 arrays: what the code computes."""
    inputs = {**numbers.values(), WORKGROUP[0]: workgroup}
    for name, value in steps(xcds):
        inputs[name] = evaluate(value, inputs)
    return inputs[ROW], inputs[COL]


class PlaceTile(Op):
    """This workgroup's tile, computed where it is first asked for; its numbers follow the kernel's arguments."""

    name = "place_tile"

    def check(self, xcds: int, arguments: list[Any], plain: bool) -> None:
        pass

    def touches(self, xcds: int, arguments: list[Any], plain: bool) -> Touches:
        return Touches()

    def lower(self, emit: Lowering, xcds: int, arguments: list[Any], plain: bool) -> None:
        """``plain``: tiles may also come in rows and columns, as a launch decides."""
        where, offset = emit.program.where, arguments[-1].end
        numbers = [emit.hold("s", 16), emit.hold("s", 2)]
        emit.ins("s_load_dwordx16", numbers[0], _KERNARG_POINTER, None, offset=offset)
        emit.ins("s_load_dwordx2", numbers[1], _KERNARG_POINTER, None, offset=offset + 64)
        registers = [reg[i] for reg in numbers for i in range(reg.count)]

        def code() -> None:
            phase, emit.program.phase = emit.program.phase, None
            with emit.program.at(where):
                _code(emit, xcds, plain, dict(zip(NAMES, registers, strict=True)))
            emit.program.phase = phase
            for reg in numbers:
                emit.release(reg)

        emit.promise((ROW, COL), code)

    def reference(self, run: Reference, xcds: int, arguments: list[Any], plain: bool) -> None:
        run.inputs |= dict(zip((ROW, COL), self._reference(run.inputs, xcds), strict=True))

    def _reference(self, inputs: dict[Expr, Any], xcds: int) -> tuple[Any, Any]:
        if not inputs[leaf("order", "chunk")]:
            return inputs[WORKGROUP[1]], inputs[WORKGROUP[0]]
        numbers = OrderNumbers(**{name: inputs[leaf("order", name)] for name in NAMES})
        return place(numbers, xcds, inputs[WORKGROUP[0]])


place_tile = PlaceTile()


def _code(emit: Lowering, xcds: int, plain: bool, registers: dict[str, Reg]) -> None:
    """Put this workgroup's tile into registers that stay."""
    inputs: dict[Expr, Reg] = {leaf("order", name): reg for name, reg in registers.items()}
    found = {name: emit.hold("s", 1) for name in (ROW, COL)}
    end = emit.program.new_label("placed")
    if plain:
        emit.ins("s_mov_b32", found[ROW], emit.inputs[WORKGROUP[1]])
        emit.ins("s_mov_b32", found[COL], emit.inputs[WORKGROUP[0]])
        emit.ins("s_cmp_eq_u32", registers["chunk"], 0)
        emit.ins("s_cbranch_scc1", end)
    with ExitStack() as stack:
        emit.inputs |= inputs
        condition: Expr | None = None
        for name, value in steps(xcds):
            reg = found[name] if name in found else stack.enter_context(emit.temporary("s"))
            assert isinstance(value, Expr)
            chooses = value.op == "select"
            if chooses and value.args[0] is condition:
                # The comparison of the step before still holds: it chose between registers too.
                emit.ins("s_cselect_b32", reg, *(emit.inputs[choice] for choice in value.args[1:]))
            else:
                uniform_code(emit, value, reg)
            condition = value.args[0] if chooses else None
            inputs[name] = emit.inputs[name] = reg
    for name in inputs:
        if name not in found:
            del emit.inputs[name]
    if plain:
        emit.program.label(end)
