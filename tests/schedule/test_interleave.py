"""Merging streams of instructions by their clocks, and refusing those that depend on each other."""

from __future__ import annotations

import pytest

import pykittens as pk
from pykittens.asm.program import Line, Program
from pykittens.isa.registers import a, m0, s, v
from pykittens.schedule import Interleave
from pykittens.schedule.interleave import clocks, merge
from pykittens.tile import barrier, f32, gl, kernel, load, loop, mma_ABt, rt, st, wait_for, zero


def streams(mfmas: int, reads: int, copies: int) -> list[list[Line]]:
    p = Program("gfx950")
    for i in range(mfmas):
        p.v_mfma_f32_16x16x32_bf16(a[4 * i : 4 * i + 3], v[0:3], v[4:7], a[4 * i : 4 * i + 3])
    for i in range(reads):
        p.ds_read_b128(v[16 + 4 * i : 19 + 4 * i], v[8])
    for _ in range(copies):
        p.s_add_u32(m0, s[8], 0)
        p.buffer_load_dwordx4(None, v[9], s[4:7], 0, offen=True, lds=True)
    lines = p.lines()
    return [lines[:mfmas], lines[mfmas : mfmas + reads], lines[mfmas + reads :]]


def names(lines: list[Line]) -> list[str]:
    return [line.instruction.name.split("_")[0] + line.instruction.name.split("_")[1] for line in lines]


def test_each_mfma_hides_what_its_clocks_allow() -> None:
    """16 clk of MFMA, 16 of a read or copy, 4 of the M0 before it."""
    merged = merge(streams(4, 2, 1), "gfx950", 1.0)
    assert names(merged) == ["vmfma", "dsread", "vmfma", "sadd", "dsread", "vmfma", "bufferload", "vmfma"]


def test_a_larger_budget_comes_earlier_and_the_rest_follows() -> None:
    early = names(merge(streams(3, 4, 0), "gfx950", 2.0))
    assert early == ["vmfma", "dsread", "dsread", "vmfma", "dsread", "dsread", "vmfma"]
    assert names(merge(streams(1, 3, 0), "gfx950", 1.0)) == ["vmfma", "dsread", "dsread", "dsread"]


def test_every_stream_keeps_its_order_and_nothing_is_lost() -> None:
    given = streams(16, 8, 4)
    merged = merge(given, "gfx950", 0.7)
    assert len(merged) == sum(map(len, given))
    for stream in given:
        assert [line for line in merged if any(line is mine for mine in stream)] == stream


def test_clocks_are_those_of_the_chip() -> None:
    mfma, read, copy = (stream[-1].instruction for stream in streams(1, 1, 1))
    assert [clocks(each, "gfx950") for each in (mfma, read, copy)] == [16, 16, 16]
    assert clocks(read, "gfx942") == 32


@kernel(waves=(1, 1))
def cluster(A: gl("bf16"), C: gl("f32"), *, case="right"):
    As = st("bf16", 32, 32)
    x, y = rt("bf16", 32, 32), rt("bf16", 32, 32)
    c = rt(f32, 32, 32)
    zero(c)
    load(As, A.tile(0, 0))
    wait_for(As)
    barrier()
    load(x, As)
    streams = Interleave()
    if case == "landed":
        Bs = st("bf16", 32, 32)
        load(Bs, A.tile(0, 1))
        streams.cluster("0", mma_ABt(c, x, x), load(y, Bs), ready=(x,), landed=(Bs,))
    elif case == "jump":
        streams.cluster("0", mma_ABt(c, x, x), load(st("bf16", 32, 32), A.tile(0, 1), edges="zero"), ready=(x,))
    else:
        streams.cluster("0", mma_ABt(c, x, x), load(x if case == "dependent" else y, As), ready=(x,))


def test_a_barrier_stands_behind_the_first_mfma() -> None:
    """What a cluster reads has landed by then, and the MFMA waits for its own operands alone."""
    body = pk.compile(cluster, case="landed").assembly.split('"phase$0')[1]
    names = [line.split()[0] for line in body.splitlines() if line.startswith("  ") and not line.startswith("  .")]
    first, barrier = names.index("v_mfma_f32_16x16x32_bf16"), names.index("s_barrier")
    assert names[:barrier].count("v_mfma_f32_16x16x32_bf16") == 1
    assert names[barrier - 1] == "s_waitcnt"
    assert first < barrier < names.index("ds_read_b128")


@kernel(waves=(1, 1))
def placed(A: gl("bf16"), *, rows=32):
    """A cluster in a loop: where its copy comes from is computed in it."""
    As, Bs = st("bf16", 32, 32), st("bf16", 32, 32)
    x, c = rt("bf16", rows, 32), rt(f32, rows, rows)
    zero(c)
    load(As, A.tile(0, 0))
    wait_for(As)
    barrier()
    load(x, As.subtile(rows, 32, 0, 0))
    streams = Interleave()
    for t in loop(A.cols // 32):
        streams.cluster("0", mma_ABt(c, x, x), load(Bs, A.tile(0, t), edges="inside"), ready=(x,), landed=(As,))


def test_places_and_the_barrier_hide_under_an_mfma_each() -> None:
    body = pk.compile(placed).assembly.split('"phase$0')[-1]
    names = [line.split()[0] for line in body.splitlines() if line.startswith("  ") and not line.startswith("  .")]
    mfma, gate = "v_mfma_f32_16x16x32_bf16", names.index("s_barrier")
    first = names.index(mfma)
    second = names.index(mfma, first + 1)
    assert first < names.index("s_lshl_b32") < second < gate < names.index("buffer_load_dwordx4")
    assert names[first:gate].count(mfma) == 2


def test_a_single_mfma_hides_what_it_can() -> None:
    body = pk.compile(placed, rows=16).assembly.split('"phase$0')[-1]
    names = [line.split()[0] for line in body.splitlines() if line.startswith("  ") and not line.startswith("  .")]
    assert names.index("v_mfma_f32_16x16x32_bf16") < names.index("s_lshl_b32") < names.index("s_barrier")


def test_dependent_streams_are_refused() -> None:
    pk.compile(cluster)
    with pytest.raises(pk.errors.BuildError, match=r"uses v\[.*\], which .* writes in the same cluster") as caught:
        pk.compile(cluster, case="dependent")
    assert caught.value.where is not None
    assert "test_interleave.py" in caught.value.where


def test_branches_cannot_be_interleaved() -> None:
    with pytest.raises(pk.errors.BuildError, match="an op of this cluster has branches of its own"):
        pk.compile(cluster, case="jump")


def test_a_budget_is_positive() -> None:
    with pytest.raises(pk.errors.BuildError, match="the cycle budget is 0, it must be above 0"):
        Interleave(0)
