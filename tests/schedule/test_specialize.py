"""Producers and consumers under barriers and under flags in LDS: right, clean, reported where something is missing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import ml_dtypes
import numpy as np
import pytest

import pykittens as pk
from pykittens.asm.code_object import read
from pykittens.check.code import KernelCode, Places, follow
from pykittens.check.mutants import Mutant, mutants
from pykittens.checking import check_call, check_launch
from pykittens.errors import BuildError, InputError
from pykittens.executable import Executable
from pykittens.isa import text
from pykittens.schedule import Specialize
from pykittens.sim import Order
from pykittens.tile import cdiv, f32, gl, kernel, load, loop, mma_ABt, rt, st, store, wave, zero
from pykittens.tile.flags import flags
from pykittens.tile.ops import barrier, clear, poll, post

ARCHS = ("gfx942", "gfx950")
SYNC = ("barriers", "flags")
TILE = 32
CHECKED = {"max_instructions": 20_000}
"""A wave that waits for ever is stopped after so many instructions; a right one has far fewer."""


@kernel(waves=(3, 1))
def product(A: gl("bf16"), B: gl("bf16"), C: gl("f32"), *, sync="barriers", stages=2, early=False):
    """C[64, 32] = A[64, K] B[32, K]ᵀ for K in whole tiles: wave 0 copies, waves 1 and 2 multiply 32 rows each."""
    roles = Specialize(1)
    As = st("bf16", 2 * TILE, TILE, copies=stages, name="As")
    Bs = st("bf16", TILE, TILE, copies=stages, name="Bs")
    a, b, c = rt("bf16", TILE, TILE), rt("bf16", TILE, TILE), rt(f32, TILE, TILE)
    steps = A.cols // TILE

    def copy(t):
        at = pk.minimum(t, steps - 1)
        load(As[t % stages], A.tile(0, at), edges="inside", team=roles.team)
        load(Bs[t % stages], B.tile(0, at), edges="inside", team=roles.team)

    def multiply(t, release):
        load(a, As[t % stages].subtile(TILE, TILE, roles.consumer, 0))
        if early:
            release()
        load(b, Bs[t % stages])
        if not early:
            release()
        with roles.compute(a, b):
            mma_ABt(c, a, b)

    zero(c)
    roles.run(steps, copy, multiply, lambda t: (As[t % stages], Bs[t % stages]), stages=stages, sync=sync)
    with roles.consume():
        store(C.tile(roles.consumer, 0), c)


@cache
def built(arch: str, sync: str, stages: int = 2, early: bool = False) -> Executable:
    return pk.compile(product, arch, sync=sync, stages=stages, early=early)


def factors(steps: int) -> list[np.ndarray]:
    rng = np.random.default_rng(steps)
    a, b = (rng.standard_normal((rows, TILE * steps)).astype(ml_dtypes.bfloat16) for rows in (64, 32))
    return [a, b, np.full((64, 32), np.nan, np.float32)]


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("sync", SYNC)
@pytest.mark.parametrize("arch", ARCHS)
def test_any_number_of_steps_is_right_and_clean(arch: str, sync: str, stages: int) -> None:
    exe = built(arch, sync, stages)
    assert not [f for f in pk.check(exe).findings if f.severity != "note"]
    for steps in range(1, 3 * stages + 2):
        a, b, c = factors(steps)
        assert check_call(exe, a, b, c).clean
        np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, atol=1e-4)


@pytest.mark.parametrize("sync", SYNC)
def test_the_order_of_waves_changes_nothing(sync: str) -> None:
    found = []
    for order in (
        Order(),
        Order(turn=1, landing="late"),
        Order(turn=1000),
        Order(turn=3, seed=2),
        Order(turn=2, seed=5),
    ):
        a, b, c = factors(7)
        built("gfx950", sync)(a, b, c, order=order)
        found.append(c)
    assert all(np.array_equal(each, found[0]) for each in found)


def code_of(exe: Executable) -> KernelCode:
    code_object = read(exe.code_object)
    return follow(code_object, code_object.kernel(None), Places(code_object))


def codes(exe: Executable, mutant: Mutant, steps: int, order: Order | None = None) -> set[str]:
    changed = Executable(replace(exe.built, code_object=mutant.applied(read(exe.code_object)).data))
    launch = changed.launch_arguments(*factors(steps))
    assert launch is not None
    report = check_launch(changed.sim_kernel, **launch, **CHECKED, order=order)
    return {finding.code for finding in report.findings if finding.severity != "note"}


def left_out(exe: Executable, name: str) -> list[Mutant]:
    """One mutant for each instruction of that name, an 8-byte one, which is left out."""
    nops = (0xBF800000).to_bytes(4, "little") * 2
    found = [i for i in code_of(exe).instructions if i.name == name]
    return [Mutant("left-out", i.pc, f"{text(i)}: left out", i.pc, nops) for i in found]


def test_a_flag_that_is_not_posted_is_reported() -> None:
    """The last post of a stage is for nobody; with 5 steps, and two unrolled, that is the loop's second `free`."""
    exe = built("gfx950", "flags")
    posts = left_out(exe, "ds_add_u32")
    assert len(posts) == 6  # full and free, each for two steps and for one that remains
    silent = [mutant for mutant in posts if not codes(exe, mutant, 5)]
    assert [mutant.pc for mutant in silent] == [posts[-1].pc]
    assert all("fault" in codes(exe, mutant, 5) for mutant in posts[:2])


def test_waves_that_wait_for_ever_are_a_finding() -> None:
    exe = built("gfx950", "flags")
    mutant = left_out(exe, "ds_add_u32")[0]
    changed = Executable(replace(exe.built, code_object=mutant.applied(read(exe.code_object)).data))
    (finding,) = check_call(changed, *factors(5), **CHECKED).by_code("fault")
    assert "20000 instructions" in finding.why


def test_a_flag_that_is_not_cleared_is_reported() -> None:
    exe = built("gfx950", "flags")
    clears = left_out(exe, "ds_write_b32")
    assert len(clears) == 4
    assert all(codes(exe, mutant, 5) & {"undefined-branch", "undefined-store"} for mutant in clears)


def test_every_wait_of_the_steps_is_needed() -> None:
    """All paths are taken with 5 steps; a copy that is posted before it has landed is a race."""
    exe = built("gfx950", "flags")
    code = code_of(exe)
    polls = [i.pc for i in code.instructions if i.name == "ds_add_rtn_u32"]
    waits = [m for m in mutants(code, read(exe.code_object)) if m.kind == "remove-wait"]
    found = {m: codes(exe, m, 5) for m in waits if polls[0] < m.pc < polls[-1] + 100}
    assert len(found) > len(polls) and all(found.values())
    landed = [each for m, each in found.items() if "vmcnt" in m.counts]
    assert len(landed) == 3 and all("lds-race" in each for each in landed)


@pytest.mark.parametrize("order", [Order(turn=1), Order(turn=7, seed=3), Order(turn=1000)], ids=repr)
def test_a_stage_released_before_its_last_read_is_a_race(order: Order) -> None:
    exe = built("gfx950", "flags", early=True)
    launch = exe.launch_arguments(*factors(9))
    assert launch is not None
    report = check_launch(exe.sim_kernel, **launch, order=order)
    assert report.by_code("lds-race")


@kernel(waves=(2, 1))
def handed_over(A: gl("bf16"), C: gl("f32"), *, polled=True, freed=True):
    """C = A Aᵀ: wave 0 copies K-tile after K-tile into one place, wave 1 multiplies, with or without their polls."""
    roles = Specialize(1)
    As, a, c = st("bf16", TILE, TILE, name="As"), rt("bf16", TILE, TILE), rt(f32, TILE, TILE)
    zero(c)
    full, free = flags(1, name="full"), flags(1, name="free")
    clear(full, free)
    barrier()
    with roles.produce():
        for t in loop(cdiv(A.cols, TILE)):
            if freed:
                poll(free[0], t, As)
            load(As, A.tile(0, t), edges="inside", team=roles.team)
            post(full[0], As)
    with roles.consume():
        for t in loop(cdiv(A.cols, TILE)):
            if polled:
                poll(full[0], t + 1, As)
            load(a, As)
            post(free[0], As)
            mma_ABt(c, a, a)
        store(C.tile(0, 0), c)


def test_what_is_not_polled_is_refused_or_reported() -> None:
    """Reads need their poll as they need a barrier; copies that follow no read on their own path are left to a run."""
    exe = pk.compile(handed_over)
    a = np.random.default_rng(0).standard_normal((32, 96)).astype(ml_dtypes.bfloat16)
    c = np.zeros((32, 32), np.float32)
    assert check_call(exe, a, c).clean
    np.testing.assert_allclose(c, a.astype(np.float64) @ a.astype(np.float64).T, atol=1e-4)
    with pytest.raises(BuildError, match=r"reads tile As, whose copy .* other waves may not have finished") as caught:
        pk.compile(handed_over, polled=False)
    assert caught.value.code == "lds-read-early"
    assert check_call(pk.compile(handed_over, freed=False), a, c).by_code("lds-race")


@kernel(waves=(2, 2))
def misused(A: gl("bf16"), *, case="producers", producers=1, stages=2, sync="flags"):
    roles = Specialize(producers)
    tile = st("bf16", 64, 64)
    if case == "index":
        flags(2, name="full")[2]
    elif case == "run-time index":
        full = flags(2, name="full")
        for t in loop(A.rows):
            post(full[t])
    elif case == "none":
        flags(0)
    elif case == "post":
        post(tile)
    elif case == "poll":
        poll(flags(1)[0], wave.row, A.tile(0, 0))
    elif case == "clear":
        clear(flags(1)[0])
    else:
        roles.run(A.rows, lambda t: None, lambda t, release: None, lambda t: (tile,), stages=stages, sync=sync)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"producers": 0}, "0 of 4 waves are producers"),
        ({"producers": 4}, "4 of 4 waves are producers"),
        ({"stages": 1}, "1 stages, producers need 2"),
        ({"sync": "hope"}, "sync is 'hope'"),
        ({"case": "index"}, "full has 2 flags, flag 2 is none of them"),
        ({"case": "run-time index"}, "full has 2 flags, flag .* is none of them"),
        ({"case": "none"}, "0 flags, at least 1 is needed"),
        ({"case": "post"}, "post takes one flag, not st"),
        ({"case": "poll"}, "poll takes shared tiles, not GlobalTile"),
        ({"case": "clear"}, "clear takes flags, not Flag"),
    ],
)
def test_misuse_is_refused_in_words(options: dict[str, object], words: str) -> None:
    with pytest.raises((BuildError, InputError), match=words):
        pk.compile(misused, **options)
