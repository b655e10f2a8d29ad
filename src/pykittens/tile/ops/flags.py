"""`clear`, `post`, `poll`: flags in LDS tell other waves that tiles are full or free; a barrier would hold up all.

`post` adds 1 to a flag once this wave's accesses of some tiles have completed; `poll` reads a flag again and again
until it has counted so many posts. Both are atomics, so that a checked run can tell which accesses they put in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pykittens.asm.program import user_line
from pykittens.errors import BuildError
from pykittens.isa.registers import exec_

from ..expression import Int, equal
from ..flags import Flag, flags
from ..op import Op, Touches
from ..program_inputs import WAVE
from ..tiles import st
from ..trace import uniform

if TYPE_CHECKING:
    from ..lowering import Lowering
    from ..reference import Reference

_SLEEP = 0
"""Of the ``s_sleep`` between two polls: it only lets the SIMD's other waves go first."""
_OFFSET_LIMIT = 65536


class ClearFlags(Op):
    """``clear(full, free)``: wave 0 sets the flags to 0; a `barrier` must follow before any wave uses them."""

    name = "clear"

    def check(self, *each: flags) -> None:
        for one in each:
            if not isinstance(one, flags):
                raise BuildError("op-arguments", f"clear takes flags, not {type(one).__name__}", where=user_line())

    def touches(self, *each: flags) -> Touches:
        return Touches()

    def lower(self, emit: Lowering, *each: flags) -> None:
        end = emit.program.new_label("skip")
        with emit.inner():
            emit.branch_unless(equal(WAVE, 0), end)  # type: ignore[arg-type]
            with _one_lane(emit), emit.temporary("v") as zero:
                emit.ins("v_mov_b32", zero, 0)
                for one in each:
                    for index in range(one.count):
                        with _address(emit, one[index]) as (address, offset):
                            emit.ins("ds_write_b32", address, zero, offset=offset)
                # A barrier waits for nobody's memory, and no tile's name brings a wait about.
                emit.ins("s_waitcnt", lgkmcnt=0)
            emit.program.label(end)

    def reference(self, run: Reference, *each: flags) -> None:
        """The reference runs all waves op by op, so they are always together."""


class Post(Op):
    """``post(full[s], *tiles)``: this wave's copies into these tiles, and its reads of them, have completed (it waits
    for them); whoever polls the flag's next count may rely on it.
    """

    name = "post"

    def check(self, flag: Flag, *tiles: st) -> None:
        _check(self.name, flag, tiles)

    def touches(self, flag: Flag, *tiles: st) -> Touches:
        return Touches()

    def lower(self, emit: Lowering, flag: Flag, *tiles: st) -> None:
        emit.wait_for(tuple(tile.name for tile in tiles), (), reads=True)
        with _one_lane(emit), emit.temporary("v") as one, _address(emit, flag) as (address, offset):
            emit.ins("v_mov_b32", one, 1)
            emit.ins("ds_add_u32", address, one, offset=offset, remark=f"post {flag.name}")

    def reference(self, run: Reference, flag: Flag, *tiles: st) -> None:
        """Accesses complete at once in the reference."""


class Poll(Op):
    """``poll(full[s], count, *tiles)``: this wave waits until the flag has been posted ``count`` times; what the posts
    said of these tiles then holds.
    """

    name = "poll"

    def check(self, flag: Flag, count: Int, *tiles: st) -> None:
        _check(self.name, flag, tiles)
        uniform(count, "the count of a poll")

    def touches(self, flag: Flag, count: Int, *tiles: st) -> Touches:
        return Touches()

    def lower(self, emit: Lowering, flag: Flag, count: Int, *tiles: st) -> None:
        again, done = emit.program.new_label("poll"), emit.program.new_label("polled")
        wanted = emit.uniform(count)
        with (
            _one_lane(emit),
            emit.temporary("s") as posts,
            emit.temporary("v") as seen,
            emit.temporary("v") as nothing,
            _address(emit, flag) as (address, offset),
        ):
            emit.ins("v_mov_b32", nothing, 0)
            emit.program.label(again)
            emit.ins("ds_add_rtn_u32", seen, address, nothing, offset=offset, remark=f"poll {flag.name}")
            emit.ins("v_readfirstlane_b32", posts, seen)
            emit.ins("s_cmp_ge_u32", posts, wanted)
            emit.ins("s_cbranch_scc1", done)
            emit.ins("s_sleep", simm16=_SLEEP)
            emit.ins("s_branch", again)
            emit.program.label(done)
        emit.acquired(tuple(tile.name for tile in tiles))

    def reference(self, run: Reference, flag: Flag, count: Int, *tiles: st) -> None:
        """The reference runs all waves op by op, so they are always together."""


@contextmanager
def _one_lane(emit: Lowering) -> Iterator[None]:
    """What is emitted inside runs in lane 0 alone: one count a wave."""
    emit.ins("s_mov_b64", exec_, 1)
    yield
    emit.ins("s_mov_b64", exec_, -1)


@contextmanager
def _address(emit: Lowering, flag: Flag) -> Iterator[tuple[object, int]]:
    """(register, offset of the instruction) that lead to a flag."""
    far = flag.offset // _OFFSET_LIMIT * _OFFSET_LIMIT
    with emit.temporary("v") as address:
        emit.ins("v_mov_b32", address, far)
        yield address, flag.offset - far


def _check(name: str, flag: Flag, tiles: tuple[st, ...]) -> None:
    where = user_line()
    if not isinstance(flag, Flag):
        raise BuildError("op-arguments", f"{name} takes one flag, not {type(flag).__name__}", where=where)
    for tile in tiles:
        if not isinstance(tile, st):
            raise BuildError("op-arguments", f"{name} takes shared tiles, not {type(tile).__name__}", where=where)


clear = ClearFlags()
post = Post()
poll = Poll()
