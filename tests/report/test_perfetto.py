"""The trace's structure: what Chrome's trace event format asks for, so that Perfetto shows it."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from tests.report.profiled import gemm_prediction, plain_prediction

from pykittens.report import perfetto
from pykittens.report.annotated_timeline import matrix_core, wave_slices
from pykittens.report.perfetto import perfetto_trace


def events(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(metadata, slices)."""
    found = json.loads(text)["traceEvents"]
    assert {each["ph"] for each in found} <= {"M", "X", "C"}
    assert all(each["pid"] > 0 for each in found)
    return [e for e in found if e["ph"] == "M"], [e for e in found if e["ph"] == "X"]


@pytest.mark.parametrize("made", [gemm_prediction, plain_prediction])
def test_slices_are_whole_and_nest(made: Any) -> None:
    names, slices = events(perfetto_trace(made()))
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for each in slices:
        assert isinstance(each["ts"], int) and isinstance(each["dur"], int) and each["dur"] > 0 and each["ts"] >= 0
        assert each["name"] and isinstance(each["name"], str)
        tracks[each["pid"], each["tid"]].append(each)
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in names if e["name"] == "thread_name"}
    processes = {e["pid"]: e["args"]["name"] for e in names if e["name"] == "process_name"}
    assert tracks.keys() <= named.keys() and {pid for pid, _ in tracks} == processes.keys()
    for track in tracks.values():
        open_until: list[int] = []
        for each in sorted(track, key=lambda e: (e["ts"], -e["dur"])):
            while open_until and open_until[-1] <= each["ts"]:
                open_until.pop()
            assert not open_until or each["ts"] + each["dur"] <= open_until[-1], "slices overlap without nesting"
            open_until.append(each["ts"] + each["dur"])
        assert len(open_until) <= 2


def test_one_track_for_each_simd_and_wave() -> None:
    names, slices = events(perfetto_trace(gemm_prediction()))
    assert [e["args"]["name"] for e in names if e["name"] == "process_name"] == [f"SIMD {i}" for i in range(4)]
    threads = [(e["pid"], e["args"]["name"]) for e in names if e["name"] == "thread_name"]
    assert threads == [(i + 1, "matrix core") for i in range(4)] + [(i % 4 + 1, f"wave {i}") for i in range(8)]
    assert len({e["tid"] for e in names if e["name"] == "thread_name"}) == 12  # a viewer takes them for one otherwise
    assert {e["name"] for e in slices if e.get("cat") == "phase"} == {f"phase {n}" for n in ("00", "01", "10", "11")}


def test_slices_carry_instruction_line_and_reason() -> None:
    p = gemm_prediction()
    _, slices = events(perfetto_trace(p))
    work = [e for e in slices if e.get("cat") == "MFMA"]
    assert len(work) == sum(int((each.work == 0).sum()) for each in wave_slices(p))
    assert all(e["name"] == e["args"]["instruction"].split(" ")[0] for e in work)
    assert {e["args"]["line"].partition(":")[0] for e in work} == {"gemm.py"}
    waits = [e["name"] for e in slices if e.get("cat") == "wait"]
    assert "waits: s_barrier" in waits and "waits: s_waitcnt vmcnt" in waits


def test_it_says_that_it_is_modelled_and_never_changes() -> None:
    text = perfetto_trace(plain_prediction())
    assert text == perfetto_trace(plain_prediction())
    other = json.loads(text)["otherData"]
    assert "modelled" in other["modelled"] and other["extent"] == "the whole workgroup"


def test_a_long_run_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perfetto, "MAX_SLICES", 4000)
    text = perfetto_trace(gemm_prediction())
    _, slices = events(text)
    assert 1500 < sum(e.get("cat") != "phase" and e["tid"] >= 10 for e in slices) <= 4000
    assert json.loads(text)["otherData"]["extent"].startswith("the first ")
    assert len({e["tid"] for e in slices}) == 12  # of 4 matrix cores and 8 waves


def test_a_counter_says_how_busy_each_matrix_core_is() -> None:
    p = gemm_prediction()
    counted = [e for e in json.loads(perfetto_trace(p))["traceEvents"] if e["ph"] == "C"]
    for simd in range(4):
        mine = [e for e in counted if e["pid"] == simd + 1]
        assert [e["ts"] for e in mine] == [256 * i for i in range(len(mine))]
        assert all(0 <= e["args"]["%"] <= 100 for e in mine)
        worked = int(matrix_core(p, simd)[1].sum())
        assert sum(e["args"]["%"] for e in mine) * 2.56 == pytest.approx(worked, abs=0.2 * len(mine))
    assert max(e["args"]["%"] for e in counted) > 30
    assert not [e for e in json.loads(perfetto_trace(plain_prediction()))["traceEvents"] if e["ph"] == "C"]
