"""Waits for LDS tiles by name, and the order of copies, waits, barriers and reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pykittens.asm.program import BarriersApart, Program
from pykittens.errors import BuildError
from pykittens.isa.registers import v

from .wait_programs import copy, finished, lds_read, loop, use, waits_of


def test_wait_for_names_a_tile() -> None:
    def build(p: Program) -> None:
        copy(p, "A")
        copy(p, "A")
        copy(p, "B")
        p.wait_for("A", remark="first K-tile")

    assert waits_of(build) == ["vmcnt(1) | s_endpgm"]
    wait = finished(build).lines()[3]
    assert wait.remark == "A landed, first K-tile"
    assert wait.instruction.where is not None
    assert __file__ in wait.instruction.where


def test_wait_for_what_has_landed_is_nothing() -> None:
    def build(p: Program) -> None:
        copy(p, "A")
        p.wait_for("A")
        p.wait_for("A")
        p.wait_for("never copied")

    assert waits_of(build) == ["vmcnt(0) | s_endpgm"]


def test_wait_for_writes_from_registers() -> None:
    def build(p: Program) -> None:
        p.ds_write_b32(v[0], v[1], lds_writes=("A",))
        p.ds_read_b32(v[2], v[50])
        p.wait_for("A")

    assert waits_of(build) == ["lgkmcnt(1) | s_endpgm"]


def tile_error(build: Callable[[Program], object]) -> BuildError:
    with pytest.raises(BuildError) as caught:
        finished(build)
    return caught.value


def visible(p: Program, tile: str) -> None:
    copy(p, tile)
    p.wait_for(tile)
    p.s_barrier()


def test_a_tile_is_read_after_its_wait_and_a_barrier() -> None:
    def build(p: Program) -> None:
        visible(p, "A")
        lds_read(p, v[0], "A")

    assert waits_of(build) == ["vmcnt(0) | s_barrier"]


def test_reading_a_tile_in_flight() -> None:
    def build(p: Program) -> None:
        with p.at("kernel.py:3"):
            copy(p, "A")
        p.s_barrier()
        with p.at("kernel.py:5"):
            lds_read(p, v[0], "A")

    assert str(tile_error(build)) == (
        "kernel.py:5: ds_read_b32 reads tile A, whose copy (buffer_load_dword at kernel.py:3) may still be in flight; "
        "put wait_for(A) and then a barrier between them [lds-read-early]"
    )


def test_reading_a_tile_without_a_barrier() -> None:
    def build(p: Program) -> None:
        copy(p, "A")
        p.wait_for("A")
        lds_read(p, v[0], "A")

    error = tile_error(build)
    assert error.code == "lds-read-early"
    assert "other waves may not have finished" in str(error)


def test_the_barrier_comes_after_the_wait() -> None:
    def build(p: Program) -> None:
        copy(p, "A")
        p.s_barrier()
        p.wait_for("A")
        lds_read(p, v[0], "A")

    assert tile_error(build).code == "lds-read-early"


def test_a_given_wait_is_as_good() -> None:
    def build(p: Program) -> None:
        copy(p, "A")
        copy(p, "B")
        p.s_waitcnt(vmcnt=1)
        p.s_barrier()
        lds_read(p, v[0], "A")

    assert waits_of(build) == ["vmcnt(1) | s_barrier"]

    def too_loose(p: Program) -> None:
        copy(p, "A")
        copy(p, "B")
        p.s_waitcnt(vmcnt=1)
        p.s_barrier()
        lds_read(p, v[0], "B")

    assert tile_error(too_loose).code == "lds-read-early"


def test_overwriting_a_tile_that_is_being_read() -> None:
    def build(p: Program) -> None:
        visible(p, "A")
        lds_read(p, v[0], "A")
        p.s_barrier()
        copy(p, "A")

    error = tile_error(build)
    assert error.code == "lds-overwrite-early"
    assert "may not have returned" in str(error)


def test_overwriting_a_tile_without_a_barrier() -> None:
    def build(p: Program) -> None:
        visible(p, "A")
        lds_read(p, v[0], "A")
        use(p, v[0])
        copy(p, "A")

    error = tile_error(build)
    assert error.code == "lds-overwrite-early"
    assert "other waves may still read" in str(error)


def test_overwriting_after_use_and_barrier() -> None:
    def build(p: Program) -> None:
        visible(p, "A")
        lds_read(p, v[0], "A")
        use(p, v[0])
        p.s_barrier()
        copy(p, "A")

    assert waits_of(build) == ["vmcnt(0) | s_barrier", "lgkmcnt(0) | v_mov_b32"]


def test_the_author_may_answer_for_it() -> None:
    def build(p: Program) -> None:
        copy(p, "A")
        lds_read(p, v[0], "A", unchecked=True)
        copy(p, "A", unchecked=True)

    assert waits_of(build) == []


def test_too_early_round_the_loop() -> None:
    """The copy at the bottom is read at the top of the next round, with no barrier on that path."""

    def build(p: Program) -> None:
        visible(p, "A")

        def body() -> None:
            lds_read(p, v[0], "A")
            use(p, v[0])
            p.s_barrier()
            copy(p, "A")
            p.wait_for("A")

        loop(p, body)

    assert tile_error(build).code == "lds-read-early"


@pytest.mark.parametrize(("barriers", "fine"), [(1, False), (2, True)])
def test_waves_a_barrier_apart_need_one_more(barriers: int, fine: bool) -> None:
    def build(p: Program) -> None:
        p.items.append(BarriersApart(1))
        copy(p, "A")
        p.wait_for("A")
        for _ in range(barriers):
            p.s_barrier()
        lds_read(p, v[0], "A")

    if fine:
        assert waits_of(build) == ["vmcnt(0) | s_barrier"]
    else:
        assert "put 2 barriers between them" in str(tile_error(build))


def test_a_barrier_before_the_waves_part_counts_again() -> None:
    def build(p: Program) -> None:
        copy(p, "A")
        p.wait_for("A")
        p.items.append(BarriersApart(1))
        p.s_barrier()
        p.items.append(BarriersApart(0))
        lds_read(p, v[0], "A")

    assert waits_of(build) == ["vmcnt(0) | s_barrier"]
