"""Slices of what waves did when: they fill the time, in order, and show the schedule."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from tests.report.profiled import gemm_prediction, plain_prediction

from pykittens.model.cu import REASONS
from pykittens.model.prediction import Prediction
from pykittens.report.annotated_timeline import (
    BARRIER_REASON,
    WORK,
    matrix_core,
    phase_runs,
    steady_window,
    wave_slices,
    work_of,
)

MFMA = WORK.index("MFMA")


@pytest.fixture(params=[gemm_prediction, plain_prediction])
def prediction(request: pytest.FixtureRequest) -> Prediction:
    made: Prediction = request.param()
    return made


def test_slices_fill_a_waves_time_without_gaps(prediction: Prediction) -> None:
    for slices, wave in zip(wave_slices(prediction), prediction.waves, strict=True):
        assert slices.start[0] == wave.issued[0]
        assert (slices.start[1:] == (slices.start + slices.length)[:-1]).all()
        assert (slices.length > 0).all()
        assert slices.simd == wave.simd


def test_every_executed_instruction_works_once(prediction: Prediction) -> None:
    for slices, wave in zip(wave_slices(prediction), prediction.waves, strict=True):
        works = slices.work >= 0
        assert slices.op[works].tolist() == wave.ops.tolist()
        assert ((slices.reason < 0) == works).all()
        assert (slices.start[works] == wave.issued).all()
        assert (slices.work[works] == work_of(prediction)[wave.ops]).all()


def test_time_after_a_barrier_is_waiting_at_it() -> None:
    prediction = gemm_prediction()
    for slices in wave_slices(prediction):
        at = np.flatnonzero(slices.work[:-1] == WORK.index("s_barrier"))
        assert len(at) > 10
        after = slices.work[at + 1] < 0
        assert (slices.reason[at + 1][after] == BARRIER_REASON).all()
        assert (slices.op[at + 1][after] == slices.op[at][after]).all()


def test_reasons_are_the_models() -> None:
    """Where no MFMA hides waiting, the slices wait for what the model counted."""
    prediction = plain_prediction()
    seen: Counter[int] = Counter()
    for slices in wave_slices(prediction):
        waits = slices.work < 0
        for reason, length in zip(slices.reason[waits].tolist(), slices.length[waits].tolist(), strict=True):
            seen[reason] += length
    counted = prediction.instructions.stall_clk.sum(axis=0)
    first_group = {REASONS[reason] for reason in seen}
    assert first_group == {REASONS[i] for i in np.flatnonzero(counted)}
    assert "s_waitcnt lgkmcnt (LDS)" in first_group


def test_a_matrix_core_works_on_one_thing_at_a_time() -> None:
    prediction = gemm_prediction()
    for simd in range(4):
        start, length, wave = matrix_core(prediction, simd)
        assert (start[1:] >= (start + length)[:-1]).all()
        assert set(wave.tolist()) == {simd, simd + 4}


def test_ping_pong_can_be_seen() -> None:
    """In the steady part the two waves of a SIMD take turns at their MFMAs: clusters of one, then of the other."""
    prediction = gemm_prediction()
    window = steady_window(prediction)
    start, _, wave = matrix_core(prediction, 0)
    inside = wave[(start >= window.first) & (start < window.last)]
    turns = 1 + int((inside[1:] != inside[:-1]).sum())
    assert turns >= 12  # 4 phases of 2 unrolled iterations: 8 clusters of each wave
    assert len(inside) >= 2 * turns and 0.4 < (inside == 0).mean() < 0.6


def test_the_window_is_an_iteration() -> None:
    prediction = gemm_prediction()
    window = steady_window(prediction)
    assert prediction.loop is not None
    assert abs((window.last - window.first) / prediction.loop.cycles - 1) < 0.2
    assert "hot loop" in window.words


def test_the_window_without_a_loop_is_the_whole_run() -> None:
    window = steady_window(plain_prediction())
    assert window.first == 0 and window.words == "the whole run"
    assert window.last == max(int(wave.issued[-1]) for wave in plain_prediction().waves) + 4


def test_within_cuts_at_both_ends() -> None:
    slices = wave_slices(gemm_prediction())[0]
    cut = slices.within(1001, 2003)
    assert cut.start[0] == 1001 and (cut.start + cut.length)[-1] == 2003
    assert int(cut.length.sum()) == 1002


def test_phases_of_a_wave_follow_each_other() -> None:
    prediction = gemm_prediction()
    window = steady_window(prediction)
    runs = phase_runs(prediction, wave_slices(prediction)[0].within(window.first, window.last))
    names = [name for _, _, name in runs]
    assert names[:8] == ["00", "01", "10", "11"] * 2
    assert all(a[1] <= b[0] for a, b in pairwise(runs))
    assert phase_runs(plain_prediction(), wave_slices(plain_prediction())[0]) == []
