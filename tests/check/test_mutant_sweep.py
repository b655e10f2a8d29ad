"""The mutation sweep: what it tries, and what it makes of mutants that are found, that are harmless, and that are wrong
though nobody says so."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest
from bench.foreign import aiter_backward, aiter_gemm, wheel
from bench.foreign.case import run
from bench.mutant_subjects import Ready, Subject, further_launches, our_subjects
from bench.mutants import Trial, orders

from pykittens.asm.code_object import read
from pykittens.check.mutants import Mutant

SUBJECT = Subject("ours", "gemm_split", json.dumps({"arch": "gfx950"}))


@cache
def trial() -> Trial:
    """With its smaller inputs alone."""
    found = Trial(SUBJECT)
    found.inputs = found.inputs[1:3]
    return found


def test_a_kernel_is_taken_with_its_defaults_and_then_with_other_choices() -> None:
    subjects = list(islice(our_subjects(["gemm_split"], ["gfx950"], defaults_only=False), 3))
    assert [json.loads(subject.detail) for subject in subjects] == [
        {"arch": "gfx950"}, {"arch": "gfx950", "dtype": "f16"}, {"arch": "gfx950", "dtype": "e4m3fn"},
    ]  # fmt: skip
    assert [s.title for s in subjects] == [
        "gemm_split gfx950",
        "gemm_split gfx950 dtype=f16",
        "gemm_split gfx950 dtype=e4m3fn",
    ]
    assert len(list(our_subjects(["gemm_split"], ["gfx950"], defaults_only=True))) == 1


def test_the_orders_are_adverse() -> None:
    """One wave at a time forwards and backwards, loads as late and as early as may be."""
    found = orders(4)
    for landing in ("late", "issue"):
        alone = [o for o in found if o.landing == landing and o.turn > 100_000]
        assert [bool(o.turns) for o in alone] == [False, True]
        assert [wave for wave, _ in alone[1].turns[:5]] == [3, 2, 1, 0, 3]
        assert any(o.turn == 1 and o.landing == landing for o in found)
        assert any(o.seed is not None and o.landing == landing for o in found)


def test_the_inputs_have_one_tile_several_and_a_tail() -> None:
    code_object, _, inputs = SUBJECT.load()
    sums = [prepare(code_object.data).results[0].shape for prepare in inputs]
    assert len(inputs) >= 4
    assert any(n % 32 for _, n in sums) or any(m % 16 for m, _ in sums)
    assert trial().complaints == 0


@pytest.mark.parametrize(("line", "outcome"), [(0, "reported"), (1, "redundant")])
def test_a_barrier_that_is_needed_and_one_that_is_not(line: int, outcome: str) -> None:
    """The first one of `add_waves` is for others' data, the second one for each wave's own."""
    barriers = [mutant for mutant in trial().mutants if mutant.kind == "remove-barrier"]
    found, why = trial().verdict(barriers[line])
    assert found == outcome, why


def test_equal_results_of_inputs_that_do_not_get_there_say_nothing() -> None:
    """The same kernel, all of whose waves end at once: nobody misses a barrier but those that the bytes call for."""
    honest = trial()
    idle = Trial.__new__(Trial)
    idle.__dict__ |= {k: v for k, v in honest.__dict__.items() if k not in ("_expected", "_known", "complaints")}
    entry = honest.judge.code.instructions[0].pc
    end = Mutant("end", entry, "s_endpgm", entry, (0xBF810000).to_bytes(4, "little"))
    idle.inputs = [lambda code: honest.inputs[0](end.applied(read(code)).data)]
    barriers = [mutant for mutant in honest.mutants if mutant.kind == "remove-barrier"]
    barriers = [barrier for barrier in barriers if honest.judge.verdict(barrier).outcome == "undecided"]
    assert barriers
    for barrier in barriers:
        assert idle.verdict(barrier) == ("undecided", "none of 1 inputs gets to the instruction")


def test_only_inputs_that_get_there_are_evidence() -> None:
    """The barrier that is not needed, on an input all of whose waves end at once and on one that gets to it."""
    honest = trial()
    mixed = Trial.__new__(Trial)
    mixed.__dict__ |= {k: v for k, v in honest.__dict__.items() if k not in ("_expected", "_known", "complaints")}
    entry = honest.judge.code.instructions[0].pc
    end = Mutant("end", entry, "s_endpgm", entry, (0xBF810000).to_bytes(4, "little"))
    mixed.inputs = [lambda code: honest.inputs[0](end.applied(read(code)).data), honest.inputs[0]]
    barrier = [mutant for mutant in honest.mutants if mutant.kind == "remove-barrier"][1]
    found, why = mixed.verdict(barrier)
    assert found == "redundant"
    assert why.startswith("no race in 1 checked runs, and equal results in ")
    assert int(why.rpartition(" ")[2]) <= len(orders(16))


@pytest.mark.foreign
def test_further_launches_are_right() -> None:
    try:
        wheel.wheel()
    except wheel.OutOfReach as reason:
        pytest.skip(str(reason))
    known = [*aiter_gemm.cases(), *aiter_backward.cases()][::10]
    results = [run(further) for case in known for further in further_launches(case)]
    assert {r.case.name.split("/")[1] for r in results} == {"bf16gemm", "fmha_v3_bwd"}
    assert [(r.case.name, r.problem) for r in results if not r.passed] == []


def test_wrong_results_that_nobody_explains_are_missed() -> None:
    """A trial whose changed copies give other results, though nothing is wrong with the code."""
    honest = trial()
    lying = Trial.__new__(Trial)
    lying.__dict__ |= {k: v for k, v in honest.__dict__.items() if k not in ("_expected", "_known", "complaints")}

    def wrong(code: bytes) -> Ready:
        ready = honest.inputs[0](code)
        changed = code != honest.code_object.data
        return replace(ready, results=[np.zeros(4) + changed])

    lying.inputs = [wrong]
    (_, barrier, *_) = (mutant for mutant in honest.mutants if mutant.kind == "remove-barrier")
    assert lying.verdict(barrier)[0] == "missed"
