"""Cycles by instruction, line and phase."""

from __future__ import annotations

import numpy as np
import pytest
from tests.report.profiled import gemm_prediction, plain_prediction

from pykittens.model.cu import REASONS
from pykittens.report.annotated import (
    SHARES,
    Spent,
    annotated_files,
    executed_stretches,
    spent_by,
    spent_by_instruction,
    spent_by_phase,
)


def test_nothing_is_lost_in_the_sums() -> None:
    p = gemm_prediction()
    clk = spent_by_instruction(p)
    assert clk.shape == (len(p.instructions.text), len(SHARES))
    for names in (p.instructions.line, p.instructions.phase, (None,) * len(clk)):
        assert sum(each.total for each in spent_by(p, names)) == clk.sum()
    share = {name: float(part) for name, part in zip(SHARES, clk.sum(axis=0) / clk.sum(), strict=True)}
    assert share == pytest.approx(p.stalls | {name: 0.0 for name in SHARES if name not in p.stalls})


def test_spent_says_what_it_waits_for() -> None:
    clk = np.zeros(len(SHARES))
    clk[0] = 8
    assert Spent("x", clk).main_reason is None
    clk[1 + REASONS.index("s_barrier")], clk[1 + REASONS.index("port busy")] = 5, 3
    found = Spent("x", clk)
    assert (found.total, found.waiting, found.main_reason) == (16, 8, "s_barrier")


def test_lines_come_hottest_first_and_phases_in_order() -> None:
    p = gemm_prediction()
    totals = [each.total for each in spent_by(p, p.instructions.line)]
    assert totals == sorted(totals, reverse=True)
    names = [each.name for each in spent_by_phase(p)]
    assert names == ["", "00", "01", "10", "11"]


def test_files_hold_every_line_with_its_instructions() -> None:
    p = gemm_prediction()
    named = {place.rpartition(":")[0] for place in p.instructions.line if place}
    text = "\n".join(f"line {i}" for i in range(1, 501))
    files = annotated_files(p, dict.fromkeys(named, text))
    assert {each.name for each in files} <= named
    clk = spent_by_instruction(p).sum(axis=1)
    for file in files:
        assert file.found and [line.number for line in file.lines] == list(range(1, 501))
        for line in file.lines:
            assert line.text == f"line {line.number}"
            assert {p.instructions.line[op] for op in line.ops} <= {f"{file.name}:{line.number}"}
            assert line.spent.total == clk[list(line.ops)].sum()
    with_line = [i for i, place in enumerate(p.instructions.line) if place]
    assert sum(file.total for file in files) == clk[with_line].sum()


def test_a_missing_or_shorter_source_leaves_the_lines_with_time() -> None:
    p = gemm_prediction()
    (first, *_) = annotated_files(p, {})
    assert not first.found and all(line.ops and line.text == "" for line in first.lines)
    (again, *_) = annotated_files(p, {first.name: "one line"})
    assert [line.number for line in again.lines] == [line.number for line in first.lines]


def test_stretches_are_what_ran() -> None:
    p = plain_prediction()
    (first, second) = executed_stretches(p)
    assert first[0] == 0 and second[0] - first[1] == 8
    assert p.instructions.executed[first[0] : first[1]].all() and p.instructions.executed[second[0] : second[1]].all()
    assert not p.instructions.executed[first[1] : second[0]].any()
    assert executed_stretches(p, most_left_out=8) == [(0, second[1])]
