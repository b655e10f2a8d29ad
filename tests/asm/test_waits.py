"""Derived waits: the loosest that are enough on every path."""

from __future__ import annotations

import pytest

from pykittens.asm import waits
from pykittens.asm.program import LabelMark, Line, Program
from pykittens.isa.registers import a, m0, s, v

from .assembled import instructions
from .wait_programs import DESCRIPTOR, copy, finished, lds_read, load, loop, store, use, waits_of


# -- straight line -------------------------------------------------------------------------------------------------
def test_loads_are_waited_for_in_order_with_the_loosest_count() -> None:
    def build(p: Program) -> None:
        for i in range(4):
            load(p, v[i])
        use(p, v[1], v[0], v[3])

    assert waits_of(build) == ["vmcnt(2) | v_mov_b32", "vmcnt(0) | v_mov_b32"]


def test_stores_count_but_nothing_waits_for_them() -> None:
    def build(p: Program) -> None:
        load(p, v[0])
        store(p, v[1])
        use(p, v[0])
        p.v_mov_b32(v[1], 0)

    assert waits_of(build) == ["vmcnt(1) | v_mov_b32"]


def test_store_data_is_waited_for() -> None:
    def build(p: Program) -> None:
        load(p, v[0])
        store(p, v[0])

    assert waits_of(build) == ["vmcnt(0) | buffer_store_dword"]


def test_overwriting_waits_too() -> None:
    def build(p: Program) -> None:
        load(p, v[0:3])
        p.v_mov_b32(v[2], 0)

    assert waits_of(build) == ["vmcnt(0) | v_mov_b32"]


def test_unused_loads_and_the_end_need_no_wait() -> None:
    def build(p: Program) -> None:
        load(p, v[0])
        p.ds_read_b32(v[1], v[2])
        p.s_load_dword(s[8], s[0:1])

    assert waits_of(build) == []


def test_lds_accesses_come_back_in_order() -> None:
    def build(p: Program) -> None:
        p.ds_read_b128(v[0:3], v[50])
        p.ds_read_b128(v[4:7], v[50])
        p.ds_write_b32(v[50], v[60])
        use(p, v[3], v[4])

    assert waits_of(build) == ["lgkmcnt(2) | v_mov_b32", "lgkmcnt(1) | v_mov_b32"]


def test_scalar_loads_come_back_in_any_order() -> None:
    def build(p: Program) -> None:
        p.s_load_dword(s[8], s[0:1])
        p.s_load_dword(s[9], s[0:1])
        p.s_mov_b32(s[10], s[8])
        p.s_mov_b32(s[10], s[9])

    assert waits_of(build) == ["lgkmcnt(0) | s_mov_b32"]


def test_scalar_loads_do_not_make_lds_counts_looser() -> None:
    def build(p: Program) -> None:
        p.ds_read_b32(v[0], v[50])
        p.s_load_dword(s[8], s[0:1])
        use(p, v[0])

    assert waits_of(build) == ["lgkmcnt(0) | v_mov_b32"]


def test_flat_needs_both_counters_empty() -> None:
    def build(p: Program) -> None:
        p.flat_load_dword(v[0], v[50:51])
        load(p, v[1])
        p.ds_read_b32(v[2], v[50])
        use(p, v[0])

    assert waits_of(build) == ["vmcnt(0) lgkmcnt(0) | v_mov_b32"]


def test_flat_makes_no_other_count_looser() -> None:
    def build(p: Program) -> None:
        load(p, v[1])
        p.flat_store_dword(v[50:51], v[60])
        use(p, v[1])

    assert waits_of(build) == ["vmcnt(0) | v_mov_b32"]


def test_cache_upkeep_makes_no_count_looser() -> None:
    def build(p: Program) -> None:
        load(p, v[1])
        p.buffer_wbl2(sc1=True)
        use(p, v[1])

    assert waits_of(build) == ["vmcnt(0) | v_mov_b32"]


def test_atomics_with_their_old_value() -> None:
    def build(p: Program) -> None:
        p.buffer_atomic_add(v[0], v[100], DESCRIPTOR, 0, offen=True, sc0=True)
        p.buffer_atomic_add(v[1], v[100], DESCRIPTOR, 0, offen=True)
        p.v_mov_b32(v[1], 0)
        p.v_mov_b32(v[0], 0)

    assert waits_of(build) == ["vmcnt(1) | v_mov_b32"]


def test_one_wait_for_both_counters() -> None:
    def build(p: Program) -> None:
        load(p, v[0])
        p.ds_read_b32(v[1], v[50])
        p.v_add_f32(v[2], v[0], v[1])

    assert waits_of(build) == ["vmcnt(0) lgkmcnt(0) | v_add_f32"]


def test_accumulation_registers_are_waited_for() -> None:
    def build(p: Program) -> None:
        load(p, a[0:3])
        p.v_mfma_f32_16x16x16_f16(a[0:3], v[8:9], v[8:9], a[0:3])

    assert waits_of(build) == ["vmcnt(0) | v_mfma_f32_16x16x16_f16"]


@pytest.mark.parametrize(("count", "wanted"), [(62, 62), (63, 62), (64, 62), (80, 62)])
def test_counts_end_at_what_the_counter_can_tell(count: int, wanted: int) -> None:
    def build(p: Program) -> None:
        load(p, v[0])
        for _ in range(count):
            store(p, v[60])
        use(p, v[0])

    assert waits_of(build) == [f"vmcnt({wanted}) | v_mov_b32"]


# -- waits of the program ------------------------------------------------------------------------------------------
def test_given_waits_count() -> None:
    def build(p: Program) -> None:
        load(p, v[0])
        load(p, v[1])
        p.s_waitcnt(vmcnt=1)
        p.s_nop(0)
        use(p, v[0], v[1])

    assert waits_of(build) == ["vmcnt(1) | s_nop", "vmcnt(0) | v_mov_b32"]


def test_waits_side_by_side_become_one() -> None:
    def build(p: Program) -> None:
        load(p, v[0])
        p.ds_read_b32(v[1], v[50])
        p.s_waitcnt(vmcnt=0, remark="mine")
        p.comment("a remark between them")
        use(p, v[1])

    assert waits_of(build) == ["vmcnt(0) lgkmcnt(0) | v_mov_b32"]
    wait = next(line for line in finished(build).lines() if line.instruction.definition.has("waitcnt"))
    assert wait.remark == "mine; v1"


def test_waits_do_not_join_across_a_label() -> None:
    def build(p: Program) -> None:
        p.ds_read_b32(v[1], v[50])
        p.s_cbranch_scc1("x")
        p.s_waitcnt(vmcnt=0)
        p.label("x")
        use(p, v[1])

    assert waits_of(build) == ["vmcnt(0) | s_waitcnt", "lgkmcnt(0) | v_mov_b32"]


def test_a_wait_for_the_maximum_waits_for_nothing() -> None:
    def build(p: Program) -> None:
        load(p, v[0])
        p.s_waitcnt(vmcnt=63)
        use(p, v[0])

    assert waits_of(build) == ["vmcnt(0) | v_mov_b32"]


def test_waits_tell_where_and_why() -> None:
    program = Program("gfx950")
    load(program, v[0:3])
    program.phase = "01"
    with program.at("kernel.py:9"):
        program.v_mov_b32(v[9], v[2])
    program.s_endpgm()
    wait = waits.insert(program).lines()[1]
    assert (wait.remark, wait.phase, wait.instruction.where) == ("v[0:3]", "01", "kernel.py:9")


# -- paths ---------------------------------------------------------------------------------------------------------
def test_a_use_at_the_top_of_a_load_at_the_bottom() -> None:
    """Case 5: the wait belongs to the next round's use, however early a wait in this round stands."""

    def build(p: Program) -> None:
        p.ds_read_b32(v[0], v[50])

        def body() -> None:
            p.s_waitcnt(lgkmcnt=0)
            use(p, v[0])
            p.ds_read_b32(v[0], v[50])

        loop(p, body)

    assert waits_of(build) == ["lgkmcnt(0) | v_mov_b32"]

    def without(p: Program) -> None:
        p.ds_read_b32(v[0], v[50])
        loop(p, lambda: (use(p, v[0]), p.ds_read_b32(v[0], v[50])))

    assert waits_of(without) == ["lgkmcnt(0) | v_mov_b32"]


def test_counts_go_round_the_loop() -> None:
    """Two stores come after the load on its way to the next round's use; before the first round there is none."""

    def build(p: Program) -> None:
        load(p, v[0])
        store(p, v[60])
        store(p, v[60])

        def body() -> None:
            store(p, v[60])
            use(p, v[0])
            load(p, v[0])
            store(p, v[60])

        loop(p, body)

    assert waits_of(build) == ["vmcnt(2) | v_mov_b32"]


def test_the_path_with_the_fewest_loads_after_decides() -> None:
    def build(p: Program) -> None:
        load(p, v[0])
        p.s_cbranch_scc1("skip")
        load(p, v[1])
        load(p, v[2])
        p.label("skip")
        load(p, v[3])
        use(p, v[0])

    assert waits_of(build) == ["vmcnt(1) | v_mov_b32"]


def test_a_load_on_one_path_is_waited_for_after_the_join() -> None:
    def build(p: Program) -> None:
        p.s_cbranch_scc1("skip")
        load(p, v[0])
        p.label("skip")
        use(p, v[0])

    assert waits_of(build) == ["vmcnt(0) | v_mov_b32"]


def test_what_a_loop_needs_from_before_is_waited_for_before_it() -> None:
    def build(p: Program) -> None:
        p.s_load_dword(s[30], s[0:1])
        p.v_mov_b32(v[7], 0)
        loop(p, lambda: (p.v_nop(), p.s_add_u32(s[31], s[30], 1)))

    assert waits_of(build) == ["lgkmcnt(0) | v_nop"]
    items = finished(build).items
    wait = next(i for i, item in enumerate(items) if isinstance(item, Line) and "lgkmcnt" in item.instruction.modifiers)
    assert isinstance(items[wait + 1], LabelMark)


def test_the_wait_before_a_loop_comes_before_the_branch_into_it() -> None:
    def build(p: Program) -> None:
        p.s_load_dword(s[30], s[0:1])
        p.s_cbranch_scc0("end")
        p.label("head")
        p.s_add_u32(s[31], s[30], 1)
        p.s_cbranch_scc1("head")
        p.label("end")

    assert waits_of(build) == ["lgkmcnt(0) | s_cbranch_scc0"]


def test_nested_loops_wait_before_the_outer_one() -> None:
    def build(p: Program) -> None:
        load(p, v[0])
        p.label("outer")
        p.s_mov_b32(s[40], 0)
        p.label("inner")
        use(p, v[0])
        p.s_cbranch_scc1("inner")
        p.s_cbranch_vccz("outer")

    assert waits_of(build) == ["vmcnt(0) | s_mov_b32"]
    assert [line.instruction.name for line in finished(build).lines()][:3] == [
        "buffer_load_dword",
        "s_waitcnt",
        "s_mov_b32",
    ]


def test_copies_are_not_waited_for_before_the_loop() -> None:
    """A prologue's copies stay in flight into the loop, which waits for its own ones with the same wait."""

    def build(p: Program) -> None:
        copy(p, "A0")
        copy(p, "A1")

        def body() -> None:
            for tile in ("A0", "A1"):
                p.wait_for(tile)
                p.s_barrier()
                lds_read(p, v[0], tile)
                use(p, v[0])
                p.s_barrier()
                copy(p, tile)

        loop(p, body)

    assert waits_of(build) == [
        "vmcnt(1) | s_barrier", "lgkmcnt(0) | v_mov_b32", "vmcnt(1) | s_barrier", "lgkmcnt(0) | v_mov_b32",
    ]  # fmt: skip


# -- the assembler -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_finished_programs_assemble(arch: str) -> None:
    program = Program(arch)
    program.s_load_dwordx4(DESCRIPTOR, s[0:1])
    program.s_mov_b32(m0, 0)
    copy(program, "A")

    def body() -> None:
        program.wait_for("A")
        program.s_barrier()
        program.ds_read_b64(v[8:9], v[101], lds_reads=("A",))
        program.v_mfma_f32_32x32x8_f16(a[0:15], v[8:9], v[8:9], a[0:15])
        program.s_barrier()
        copy(program, "A")

    loop(program, body)
    program.v_accvgpr_read_b32(v[0], a[0])
    store(program, v[0])
    program.s_endpgm()
    names = [i.name for i in instructions(program)]
    end = names.index("s_endpgm") + 1
    assert names[:end] == [
        "s_load_dwordx4", "s_mov_b32", "s_waitcnt", "buffer_load_dword", "s_mov_b32",
        "s_waitcnt", "s_barrier", "ds_read_b64", "s_waitcnt", "v_mfma_f32_32x32x8_f16", "s_barrier",
        "buffer_load_dword", "s_sub_u32", "s_cmp_lg_u32", "s_cbranch_scc1",
        "s_nop", "v_accvgpr_read_b32", "buffer_store_dword", "s_endpgm",
    ]  # fmt: skip
