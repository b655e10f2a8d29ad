"""The register map: every register tile gets its place for its whole lifetime, in VGPRs or AGPRs. Nothing ever
spills.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from pykittens.errors import BuildError
from pykittens.isa.registers import Reg

from .tiles import FILE_SIZE, Registers
from .trace import Loop, Node, OpCall, Trace

FILE = {"vgpr": "v", "agpr": "a"}


@dataclass
class Lifetime:
    """From the first op that writes a tile to the last that uses it, as positions in the program, loops included
    whole.
    """

    tile: Registers
    start: int
    end: int
    where: str | None


@dataclass(frozen=True)
class _Use:
    """An op that touches a tile: where in the program, and where the loops and conditions around it begin."""

    position: int
    writes: bool
    around: tuple[int, ...]

    def surely_writes_in(self, begin: int) -> bool:
        """Whether it writes in every pass of the loop that begins there."""
        return self.writes and all(place <= begin for place in self.around)


def lifetimes(nodes: list[Node]) -> list[Lifetime]:
    """When each register tile is alive. A tile that enters a loop from outside, leaves it, or may carry a value from
    one pass into the next lives through all of it.
    """
    touched: dict[int, list[_Use]] = {}
    tiles: dict[int, tuple[Registers, str | None]] = {}
    loops: list[tuple[int, int]] = []
    position = 0

    def walk(body: list[Node], around: tuple[int, ...]) -> None:
        nonlocal position
        for node in body:
            position += 1
            begin = position
            if isinstance(node, OpCall):
                touches = node.op.touches(*node.args, **node.options)
                for group, writes in ((touches.reads, False), (touches.writes, True)):
                    for tile in group:
                        if isinstance(tile, Registers):
                            owner = tile.storage
                            touched.setdefault(id(owner), []).append(_Use(position, writes, around))
                            tiles.setdefault(id(owner), (owner, node.where))
            else:
                walk(node.body, (*around, begin))
                if isinstance(node, Loop):
                    position += 1
                    loops.append((begin, position))

    walk(nodes, ())
    result = []
    for key, uses in touched.items():
        start, end = uses[0].position, uses[-1].position
        for begin, stop in loops:  # inner loops first
            inside = [use for use in uses if begin <= use.position <= stop]
            if inside and (len(inside) < len(uses) or not inside[0].surely_writes_in(begin)):
                start, end = min(start, begin), max(end, stop)
        result.append(Lifetime(tiles[key][0], start, end, tiles[key][1]))
    return sorted(result, key=lambda life: (life.start, life.tile.name))


@dataclass
class RegisterMap:
    """Where the tiles are: ``lives`` in order, ``vgprs`` and ``agprs`` one past the highest register of a tile."""

    lives: list[Lifetime]
    vgprs: int
    agprs: int

    def at_peak(self) -> list[Lifetime]:
        """The tiles alive where most registers are taken."""
        alive = [[o for o in self.lives if o.start <= life.start <= o.end] for life in self.lives]
        return max(alive, key=lambda each: sum(o.tile.register_count for o in each), default=[])

    def bars(self) -> list[tuple[str, str, int, int, int, int]]:
        """(tile, file, first register, count, first op, last op) of each range, for pictures."""
        return [
            (life.tile.name, reg.file, reg.index, reg.count, life.start, life.end)
            for life in self.lives
            for reg in life.tile.regs or ()
        ]

    def text(self) -> list[str]:
        """One line per tile for the head of the assembly."""
        lines = []
        for life in self.lives:
            tile = life.tile
            where = " ".join(map(str, tile.regs or ()))
            lines.append(f"{tile.name:<14} {where:<14} {tile.register_count:>3} registers  {tile.description}")
        return lines


def allocate(trace: Trace, reserved: int) -> RegisterMap:
    """Place every tile: pinned ones where their author says, the others first fit; ``reserved`` VGPRs from v0 stay
    free.
    """
    lives = lifetimes(trace.nodes)
    unused = _unused_below(lives)
    every = [*lives, *unused]
    placed: list[tuple[Lifetime, Reg]] = []
    for life in [each for each in every if each.tile.regs is not None]:
        _place(life, life.tile.regs or (), placed)
        if sum(r.count for r in life.tile.regs or ()) != life.tile.register_count:
            raise BuildError(
                "pinned-size", f"{life.tile.name} needs {life.tile.register_count} registers, "
                f"{sum(r.count for r in life.tile.regs or ())} are pinned", where=life.tile.where,
            )  # fmt: skip
        _place_over(life, every, unused, placed)
    for life in sorted(every, key=lambda each: each.start):
        if life.tile.regs is None and life.tile.over is None:
            _place(life, (_first_fit(life, placed, reserved),), placed)
            _place_over(life, every, unused, placed)
    high = {"v": reserved, "a": 0}
    for _, reg in placed:
        high[reg.file] = max(high[reg.file], reg.index + reg.count)
    return RegisterMap(lives, high["v"], high["a"])


def _unused_below(lives: list[Lifetime]) -> list[Lifetime]:
    """The tiles that no op touches but that others lie over: they keep a place for as long as any of those lives."""
    used = {id(life.tile) for life in lives}
    found: dict[int, Lifetime] = {}
    for life in lives:
        tile = life.tile.over
        while tile is not None:
            if id(tile) not in used:
                same = found.setdefault(id(tile), Lifetime(tile, life.start, life.end, life.where))
                same.start, same.end = min(same.start, life.start), max(same.end, life.end)
            tile = tile.over
    return list(found.values())


def _place(life: Lifetime, regs: tuple[Reg, ...], placed: list[tuple[Lifetime, Reg]]) -> None:
    for reg in regs:
        _refuse_overlap(life, reg, placed)
        placed.append((life, reg))
    life.tile.regs = regs


def listing(tiles: Iterable[Registers]) -> str:
    """``c 128 (gemm.py:43), a 32 (gemm.py:42)``: tiles, their registers and where they are made, each once."""
    return ", ".join(
        f"{tile.name} {tile.register_count}" + (f" ({os.path.basename(tile.where)})" if tile.where else "")
        for tile in dict.fromkeys(tiles)
    ) or "nothing"  # fmt: skip


def _alive_together(a: Lifetime, b: Lifetime) -> bool:
    return a.start <= b.end and b.start <= a.end


def _refuse_overlap(life: Lifetime, reg: Reg, placed: list[tuple[Lifetime, Reg]]) -> None:
    for other, taken in placed:
        if taken.overlaps(reg) and _alive_together(life, other) and not _lies_over(life.tile, other.tile):
            how = "is pinned to" if life.tile.over is None else f"lies over {life.tile.over.name} in"
            raise BuildError(
                "pinned-overlap",
                f"{life.tile.name} {how} {reg}, {other.tile.name} holds {taken} at the same time",
                where=life.tile.where, fix="pin one of them elsewhere" if life.tile.over is None else
                f"use {other.tile.name} for the last time before {life.tile.name} is written",
            )  # fmt: skip


def _lies_over(tile: Registers, other: Registers) -> bool:
    """Whether that is declared; what lives together with the tile below is found in `_place_over`."""
    below = tile.over
    while below is not None and below is not other:
        below = below.over
    return below is other


def _place_over(
    life: Lifetime, every: list[Lifetime], unused: list[Lifetime], placed: list[tuple[Lifetime, Reg]]
) -> None:  # fmt: skip
    """Place the tiles that share the registers of this one, and those that share theirs."""
    for other in every:
        tile = other.tile
        if tile.over is not life.tile:
            continue
        left, regs = tile.register_count, []
        for reg in life.tile.regs or ():
            if left:
                regs.append(reg[0 : min(left, reg.count) - 1])
                left -= regs[-1].count
        if left:
            raise BuildError(
                "over-size", f"{tile.name} needs {tile.register_count} registers, {life.tile.name} under it has "
                f"{life.tile.register_count}", where=tile.where,
            )  # fmt: skip
        for below in every:
            if below not in unused and other not in unused and _lies_over(tile, below.tile):
                _refuse_alive(other, below)
        _place(other, tuple(regs), placed)
        _place_over(other, every, unused, placed)


def _refuse_alive(life: Lifetime, below: Lifetime) -> None:
    """Raise BuildError if a tile lives together with one that it lies over."""
    if _alive_together(life, below):
        raise BuildError(
            "over-alive", f"{life.tile.name} lies over {below.tile.name}, which is alive at the same time",
            where=life.where, fix=f"use {below.tile.name} for the last time before {life.tile.name} is written",
        )  # fmt: skip


def _first_fit(life: Lifetime, placed: list[tuple[Lifetime, Reg]], reserved: int) -> Reg:
    file, count = FILE[life.tile.file], life.tile.register_count
    busy = sorted((r.index, r.index + r.count) for o, r in placed if r.file == file and _alive_together(life, o))
    first = reserved if file == "v" else 0
    for begin, end in busy:
        if begin - first >= count:
            break
        # Operands of 64 bits and more start at even registers.
        first = max(first, end + end % 2)
    first += first % 2
    if first + count > FILE_SIZE:
        alive = [o.tile for o, r in placed if r.file == file and _alive_together(life, o)]
        left = max(FILE_SIZE - first, 0)
        raise BuildError(
            "register-budget", f"{life.tile.name} needs {count} {life.tile.file}s, {left} are left (alive here: "
            f"{listing(alive)})", where=life.where, fix="use smaller tiles or file='agpr'",
        )  # fmt: skip
    return Reg(file, first, count)
