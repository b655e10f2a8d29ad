"""The modelled compute unit: published intervals, and rules that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pykittens.arch import get
from pykittens.errors import Unsupported
from pykittens.model.caches import CacheRates
from pykittens.model.cu import NOT_STALLED, REASONS

from .unit_programs import Step, issued, run, step

MFMA, WIDE = step("v_mfma_f32_16x16x32_bf16"), step("v_mfma_f32_32x32x16_bf16")
ADD, EXP, PACKED = step("v_add_f32"), step("v_exp_f32"), step("v_pk_add_f32")


def read(conflict: int = 1) -> Step:
    return step("ds_read_b128", (4 * conflict, 0, 0, 0))


LOAD = step("buffer_load_dwordx4", (8, 8, 16, 0), lds=True)


@pytest.mark.parametrize(
    ("waves", "conflict", "clk"),
    [(1, 1, 8), (1, 2, 8), (1, 4, 16), (1, 8, 32), (4, 1, 16), (4, 2, 32), (4, 4, 64), (4, 8, 128)],
)
def test_lds_reads_take_what_was_measured(waves: int, conflict: int, clk: int) -> None:
    """Clk between ds_read_b128 of one wave: one wave alone, and one on each SIMD (Gluon's experiment)."""
    result = run([[read(conflict)] * 200] * waves)
    for wave in range(waves):
        times = issued(result, wave)
        assert (times[180] - times[80]) / 100 == clk


def test_the_lds_queue_holds_reads_until_their_data() -> None:
    """A burst of eight for a pair of SIMDs, a gap until the first one's data, then the rate of the LDS (Gluon)."""
    first = issued(run([[read()] * 12] * 4))
    assert first[:5] == [0, 8, 16, 24, 56]
    assert np.diff(first[4:12]).tolist() == [16] * 7


def test_mfmas_follow_each_other_at_their_passes() -> None:
    assert np.diff(issued(run([[MFMA] * 4]))[:4]).tolist() == [16, 16, 16]
    assert np.diff(issued(run([[WIDE] * 3]))[:3]).tolist() == [32, 32]


@pytest.mark.parametrize(("mfma", "hidden"), [(MFMA, 2), (WIDE, 6)])
def test_vector_instructions_hide_under_an_mfma(mfma: Step, hidden: int) -> None:
    """Two under a 16x16x32, six under a 32x32x16; one more delays the next MFMA by a slot."""
    free = issued(run([[mfma, *[ADD] * hidden, mfma]]))
    late = issued(run([[mfma, *[ADD] * (hidden + 1), mfma]]))
    alone = issued(run([[mfma, mfma]]))[1]
    assert free[-2] == alone
    assert late[-2] == alone + 4


@pytest.mark.parametrize(
    ("name", "waits"), [("v_fma_f32", True), ("v_fmac_f32", True), ("v_mul_f32", False), ("v_cndmask_b32", False)]
)
def test_three_vector_sources_leave_registers_to_what_comes_from_lds(name: str, waits: bool) -> None:
    """Four reads of a SIMD's other wave, with their data at 56, 64, 72 and 80: the slot before each is taken."""
    vector = [step(name)] * 32
    times = issued(run([vector, [], [], [], [read()] * 4]))[:32]
    skipped = sorted(set(range(0, times[-1], 4)) - set(times))
    assert skipped == ([52, 60, 68, 76] if waits else [])
    apart = issued(run([vector, [read()] * 4]))[:32]
    assert np.diff(apart).tolist() == [4] * 31


MFMA_942, WRITE = step("v_mfma_f32_16x16x16_f16"), step("ds_write_b128", (8, 0, 0, 0))


def test_lds_writes_hold_their_wave_and_their_pair() -> None:
    """A slot, and one for each dword of a lane (Gluon: 20 clk); two SIMDs of a pair take turns (Formocast)."""
    both = run([[WRITE, ADD]] * 2, arch="gfx942")
    assert [issued(both, wave)[1] for wave in range(2)] == [20, 40]
    apart = run([[WRITE, ADD], [], [WRITE, ADD]], arch="gfx942")
    assert [issued(apart, wave)[1] for wave in (0, 2)] == [20, 20]
    assert issued(run([[step("ds_write_b32", (2, 0, 0, 0)), ADD]]))[1] == 8


def test_lds_writes_wait_for_the_reads_before_them() -> None:
    """16 reads of 16 clk: the last wave goes on after them and its write, the others not much before."""
    slow = [step("ds_read_b128", (16, 0, 0, 0))] * 4
    result = run([[*slow, WRITE, ADD]] * 4, arch="gfx942")
    after = [issued(result, wave)[-2] for wave in range(4)]
    assert max(after) > 16 * 16
    assert min(after) > 13 * 16


def test_mfmas_do_not_hide_lds_writes_of_their_wave() -> None:
    """16 clk, then 20: what Gluon's gfx942 GEMM loses by each write. Another wave's MFMAs go on."""
    assert issued(run([[MFMA_942, WRITE, MFMA_942]], arch="gfx942"))[:3] == [0, 16, 36]
    other = run([[WRITE, ADD], [], [], [], [MFMA_942] * 3], arch="gfx942")
    assert np.diff(issued(other, 4)[:3]).tolist() == [16, 16]


def test_exponentials_take_two_slots() -> None:
    times = issued(run([[WIDE, EXP, EXP, EXP, WIDE]]))
    assert times[:5] == [0, 8, 16, 24, 32]


def test_packed_f32_waits_for_the_mfma() -> None:
    assert issued(run([[WIDE, PACKED]]))[1] == 44


def test_waits_end_with_the_data() -> None:
    times = issued(run([[read(), step("s_waitcnt", lgkmcnt=0), ADD]]))
    assert times[1] == 56
    assert times[2] == 60


def test_loads_come_back_after_the_l2() -> None:
    miss = CacheRates(0.0, 0.0, 1.0, 1.0, 1.0, 1)
    wave = [LOAD, step("s_waitcnt", vmcnt=0)]
    hit, far = issued(run([wave]))[1], issued(run([wave], rates=miss))[1]
    assert 200 <= hit <= 260
    assert far >= 1.6 * get("gfx950").latency.hbm_ns


def test_a_unit_gets_its_share_of_the_bandwidth() -> None:
    """One unit alone draws no more than its part of what the memory-side cache achieves, here at 1.6 GHz."""
    result = run([[LOAD] * 400] * 4, rates=CacheRates(0.0, 1.0, 1.0, 1.0, 0.0, 1))
    memory = get("gfx950").memory
    share = memory.bandwidth_fraction_per_cu * memory.mall_achieved_gbps / 1.6
    assert 0.95 < 1600 * 1024 / result.clk / share < 1.05


def test_the_vmem_queue_fills() -> None:
    result = run([[LOAD] * 100] * 4, active_cus=256)
    assert result.stall[:, REASONS.index("VMEM queue full")].sum() > 0


def test_priority_wins_and_age_breaks_ties() -> None:
    eight = [[MFMA] * 8 for _ in range(8)]
    equal = run(eight)
    assert issued(equal, 0)[-2] < issued(equal, 4)[0]
    raised = run([[MFMA] * 8, *[[]] * 3, [step("s_setprio", simm16=1), *[MFMA] * 8], *[[]] * 3])
    assert issued(raised, 4)[-2] < issued(raised, 0)[-2]


def test_a_barrier_holds_all_until_the_last() -> None:
    slow = [step("s_nop", simm16=15)] * 10
    result = run([[*slow, step("s_barrier"), ADD], [step("s_barrier"), ADD]])
    assert issued(result, 0)[-2] == issued(result, 1)[-2] == 640 + 8
    assert result.stall[:, REASONS.index("s_barrier")].sum() > 600


def test_ended_waves_count_as_arrived() -> None:
    result = run([[step("s_barrier"), ADD], []])
    assert result.clk < 100


def test_time_is_issuing_or_waiting() -> None:
    wave = [LOAD, read(), step("s_waitcnt", vmcnt=0, lgkmcnt=0), *[MFMA, ADD] * 8, step("s_barrier")]
    result = run([wave] * 8)
    alive = sum(issued(result, i)[-1] + 4 for i in range(8))
    assert result.stall.sum() + result.held.sum() == alive


def test_reasons_name_what_was_waited_for() -> None:
    result = run([[read(), step("s_waitcnt", lgkmcnt=0)]])
    assert REASONS[result.reason[0][1]] == "s_waitcnt lgkmcnt (LDS)"
    assert result.reason[0][0] == NOT_STALLED


def test_workgroups_follow_in_their_places() -> None:
    one = run([[MFMA] * 10] * 4).clk
    three = run([[MFMA] * 10] * 4, groups=3)
    assert three.started.tolist()[0] == 0
    assert (three.started[1:] > three.ended[:-1]).all()
    assert three.clk > 3 * one
    side_by_side = run([[MFMA] * 10] * 4, groups=2, slots=2)
    assert side_by_side.started.tolist() == [0, 0]


def test_endless_waits_are_refused() -> None:
    late = [step("s_nop", simm16=15)] * 4
    with pytest.raises(Unsupported, match="for ever"):
        run([[step("s_sleep", simm16=127)] * 300_000, late])


def test_streams_and_table_belong_together() -> None:
    from pykittens.model.chip import machine
    from pykittens.model.costs import COST
    from pykittens.model.cu import Engine, Stream, run_unit
    from pykittens.model.timing_table import TIMING_OP
    from pykittens.sim.native_build import symbol

    from .unit_programs import ALL_HIT

    chip = get("gfx950")
    stream = Stream(np.array([3], np.uint32), np.zeros(0, COST))
    with pytest.raises(AssertionError, match="timing table"):
        run_unit(
            Engine.find(symbol), np.zeros(1, TIMING_OP), [[stream]],
            machine(chip, chip.device(), 1600.0, 1, ALL_HIT), 1, 1,
        )  # fmt: skip
