"""Flags in LDS in the model: polls that came too early are dropped, and the last one waits for what it had seen."""

from __future__ import annotations

from functools import cache

import numpy as np
from tests.sim.assembled import kernel

import pykittens as pk
from pykittens.arch import get
from pykittens.asm.execution import WorkgroupTrace
from pykittens.model.costs import costs_of
from pykittens.model.cu import REASONS
from pykittens.model.flags import POLLS, Flags
from pykittens.model.timing_table import timing_table
from pykittens.modelled_launch import predict_kernel

FLAG = 256
SLOW = "  s_nop 15\n" * 200
"""3200 wait states of 4 clk."""


def posts_and_polls(before: str = "", sleep: str = "  s_sleep 0\n", times: int = 2) -> str:
    """Wave 0 does something and then posts, ``times`` times; wave 1 polls after each."""
    steps = "".join(
        f"""
.Lpoll{i}:
  ds_add_rtn_u32 v32, v30, v33 offset:{FLAG}
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s21, v32
  s_cmp_ge_u32 s21, {i + 1}
  s_cbranch_scc1 .Lpolled{i}
{sleep}  s_branch .Lpoll{i}
.Lpolled{i}:
"""
        for i in range(times)
    )
    posts = f"{before}  ds_add_u32 v30, v31 offset:{FLAG}\n" * times
    return f"""
  v_lshrrev_b32 v20, 6, v0
  v_readfirstlane_b32 s20, v20
  v_mov_b32 v30, 0
  v_mov_b32 v31, 1
  v_mov_b32 v33, 0
  s_mov_b64 exec, 1
  ds_write_b32 v30, v33 offset:{FLAG}
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_cmp_eq_u32 s20, 0
  s_cbranch_scc0 .Lother
{posts}
  s_branch .Ldone
.Lother:
{steps}
.Ldone:
  s_endpgm
"""


@cache
def traced(body: str) -> WorkgroupTrace:
    made = kernel(body, (), lds_bytes=1024, vgprs=64)
    (trace,) = made.trace(grid=1, block=128, args=[], workgroups=[0])
    return trace


def names(trace: WorkgroupTrace, wave: int) -> list[str]:
    return [i.name for i in (trace.instructions[int(op)] for op in trace.waves[wave].ops) if i is not None]


def flags_of(trace: WorkgroupTrace) -> Flags:
    return Flags.of([trace], timing_table(trace.instructions, get("gfx950"))["issue"])


def test_only_the_last_poll_of_each_kind_stays() -> None:
    trace = traced(posts_and_polls(SLOW))
    assert names(trace, 1).count("ds_add_rtn_u32") > 20
    flags = flags_of(trace)
    settled = flags.settled(trace)
    assert len(flags.polls) == 2
    assert names(settled, 0) == names(trace, 0)
    assert names(settled, 1).count("ds_add_rtn_u32") == 2 and "s_sleep" not in names(settled, 1)
    ops = settled.waves[1].ops[settled.waves[1].memory["step"].astype(np.int64)]
    assert [trace.instructions[int(op)].name for op in ops[1:]] == ["ds_add_rtn_u32"] * 2  # type: ignore[union-attr]


def test_a_poll_needs_the_posts_that_it_had_seen() -> None:
    trace = traced(posts_and_polls(SLOW, times=3))
    flags = flags_of(trace)
    posts, polls = flags.needs(flags.settled(trace))
    assert posts.tolist() == [[0, 0], *[[1, 0]] * 3]  # what is stored before is no post
    assert polls.tolist() == [[0, 0], [1, 1], [1, 2], [1, 3]]
    costs = costs_of(flags.settled(trace), get("gfx950"), flags)
    assert costs.waves[1]["lines"].tolist() == [0, 1, 1, 1] and costs.waves[1]["l1_clk"].tolist() == [0, 1, 2, 3]


def test_an_atomic_that_is_not_slept_over_is_no_poll() -> None:
    trace = traced(posts_and_polls(SLOW, sleep="  s_nop 0\n"))
    flags = flags_of(trace)
    assert flags.polls == {} and flags.settled(trace) is trace
    assert not any(each.any() for each in flags.needs(trace))


def test_the_table_tells_polls_and_the_turn_of_their_loop() -> None:
    trace = traced(posts_and_polls(SLOW))
    table, flags = timing_table(trace.instructions, get("gfx950")), flags_of(trace)
    flags.mark(table)
    (first, *_) = flags.polls
    assert {int(op) for op in np.flatnonzero(table["flags"] & POLLS)} == set(flags.polls)
    # LDS 64 clk or so, and what the loop issues.
    assert 64 < table["value"][first] < 256


def test_the_poll_waits_for_the_post_and_not_much_longer() -> None:
    made = kernel(posts_and_polls(SLOW), (), lds_bytes=1024, vgprs=64)
    found = predict_kernel(made, grid=1, block=128, args=[])
    where = [text.split()[0] for text in found.instructions.text]
    posts, polls = (
        [int(clk) for op, clk in zip(wave.ops, wave.issued, strict=True) if where[op] == name]
        for wave, name in zip(found.waves, ("ds_add_u32", "ds_add_rtn_u32"), strict=True)
    )
    assert posts[1] - posts[0] > 3200 * 4
    assert all(0 < poll - post < 256 for post, poll in zip(posts, polls, strict=True))
    why = found.waves[1].reason[[where[op] == "ds_add_rtn_u32" for op in found.waves[1].ops]]
    assert [REASONS[each] for each in why] == ["flag in LDS"] * 2


def test_predictions_come_out_again() -> None:
    exe = pk.compile(pk.kernels.KERNELS["gemm_specialized"], sync="flags")
    first, second = (pk.predict(exe, (600, 512), (600, 512), (600, 600)) for _ in range(2))
    assert first.cycles == second.cycles and first.stalls == second.stalls
    assert "polls of flags in LDS" in {guess.name for guess in first.guesses}
    barriers = pk.predict(pk.compile(pk.kernels.KERNELS["gemm_specialized"]), (600, 512), (600, 512), (600, 600))
    assert "polls of flags in LDS" not in {guess.name for guess in barriers.guesses}
