"""Launching: arrays and buffers, threads, workgroups' order and the orders of waves."""

from __future__ import annotations

import struct
import threading

import numpy as np
import pytest
from tests.sim.assembled import ATOMIC, COPY, code_object, kernel, pointers

from pykittens.errors import CodeObjectError, Fault, InputError
from pykittens.sim import Device, Order


def test_arrays_are_worked_on_in_place_by_all_workgroups() -> None:
    a, b = np.arange(640, dtype=np.uint32), np.zeros(640, np.uint32)
    run = kernel(COPY, pointers(2)).launch(10, 64, [a, b])
    assert (b == a + 1).all()
    assert (run.workgroups, run.waves, run.instructions) == (10, 10, 100)
    assert "v_add_u32" in run.exact and run.approximate == ()


def test_sizes_may_be_numpy_integers() -> None:
    a, b = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    kernel(COPY, pointers(2)).launch(np.int64(2), (np.uint16(64), 1), [a, b], lds=np.int32(64))
    assert (b == a + 1).all()


def test_several_launches_and_devices_on_several_threads() -> None:
    kernels = [kernel(COPY, pointers(2), arch) for arch in ("gfx950", "gfx942", "gfx950")]
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(20):
                a, b = np.full(640, number + i, np.uint32), np.zeros(640, np.uint32)
                kernels[number % 3].launch(10, 64, [a, b])
                assert (b == number + i + 1).all()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_strided_and_offset_views() -> None:
    base = np.zeros((64, 4), np.uint32)
    a, b = base[:, 1], np.zeros(64, np.uint32)
    body = COPY.replace(
        "global_load_dword v2, v1, s[4:5]", "v_lshlrev_b32 v3, 2, v1\n  global_load_dword v2, v3, s[4:5]"
    )
    base[:, 1] = np.arange(64)
    kernel(body, pointers(2)).launch(1, 64, [a, b])
    assert (b == np.arange(64) + 1).all()
    with pytest.raises(Fault, match="4 bytes behind the end"):
        kernel(body.replace("s[4:5]\n  s_waitcnt", "s[4:5] offset:8\n  s_waitcnt"), pointers(2)).launch(1, 64, [a, b])


def test_buffers_live_across_launches_at_one_address() -> None:
    device = Device("gfx950")
    module = device.load(code_object(COPY, "gfx950", pointers(2), ()))
    a, b = device.buffer(np.arange(64, dtype=np.uint32)), device.buffer(np.zeros(64, np.uint32), "result")
    module.kernel("k").launch(1, 64, [a, b])
    module.kernel("k").launch(1, 64, kernarg=struct.pack("<QQ", b.address, b.address))
    assert (b.array == a.array + 2).all()
    assert Device("gfx950").buffer(np.zeros(64, np.uint32)).address == a.address
    assert a.address % 4096 == 0


def test_required_workgroup_size() -> None:
    with pytest.raises(InputError, match="compiled for"):
        kernel("s_endpgm", (), reqd_workgroup_size=(64, 1, 1)).launch(1, 128)


def test_code_object_for_another_chip() -> None:
    with pytest.raises(CodeObjectError, match="gfx950"):
        Device("gfx942").load(code_object(COPY, "gfx950", pointers(2), ()))


def test_atomics_between_workgroups_are_the_same_in_every_run() -> None:
    target = kernel(ATOMIC)
    sums = []
    for threads in (None, None, 4):
        total = np.zeros(1, np.float32)
        run = target.launch(200, 64, [total], threads=threads)
        sums.append(total[0])
        assert run.threads == (threads or 1)
    assert sums[0] == sums[1]
    assert abs(sums[2] - sums[0]) < 1e-3 * sums[0]


def test_workgroups_may_wait_for_later_ones() -> None:
    """The first workgroup spins until the last one has stored; a GPU runs them at the same time."""
    body = """
      s_load_dwordx2 s[4:5], s[0:1], 0x0
      v_mov_b32 v1, 0
      s_waitcnt lgkmcnt(0)
      s_cmp_eq_u32 s2, 3
      s_cbranch_scc1 .Llast
      s_cmp_lg_u32 s2, 0
      s_cbranch_scc1 .Ldone
    .Lagain:
      s_sleep 1
      global_load_dword v2, v1, s[4:5] sc1
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s6, v2
      s_cmp_eq_u32 s6, 0
      s_cbranch_scc1 .Lagain
      s_endpgm
    .Llast:
      v_mov_b32 v2, 1
      global_store_dword v1, v2, s[4:5]
    .Ldone:
      s_endpgm
    """
    for threads in (1, 2):
        flag = np.zeros(1, np.uint32)
        kernel(body).launch(4, 64, [flag], threads=threads, timeout=60)
        assert flag[0] == 1


@pytest.mark.parametrize("order", [Order(turn=1), Order(turn=64), Order(landing="late"), Order(seed=7, landing="late")])
def test_every_order_gives_the_same_result_without_races(order: Order) -> None:
    a, b = np.arange(640, dtype=np.uint32), np.zeros(640, np.uint32)
    kernel(COPY, pointers(2)).launch(10, 64, [a, b], order=order)
    assert (b == a + 1).all()


def test_listed_turns_decide_who_is_last() -> None:
    """Every wave stores its number to one place, which is a race: the wave whose turn comes last wins."""
    body = """
      s_load_dwordx2 s[4:5], s[0:1], 0x0
      v_lshrrev_b32 v2, 6, v0
      v_mov_b32 v1, 0
      s_waitcnt lgkmcnt(0)
      global_store_dword v1, v2, s[4:5]
      s_endpgm
    """
    for last in range(4):
        turns = (*((wave, 2) for wave in range(4)), *((wave, 100) for wave in range(4) if wave != last), (last, 100))
        out = np.full(1, 99, np.uint32)
        kernel(body).launch(1, 256, [out], order=Order(turns=turns))
        assert out[0] == last


def test_late_landing_shows_a_missing_wait() -> None:
    body = COPY.replace("s_waitcnt vmcnt(0)\n  v_add", "v_add")
    a, b = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    kernel(body, pointers(2)).launch(1, 64, [a, b])
    assert (b == a + 1).all()
    kernel(body, pointers(2)).launch(1, 64, [a, b], order=Order(landing="late"))
    assert (b == 0).all(), "v2 still had its undefined content, -1"


@pytest.mark.parametrize("order", ["late", 3])
def test_what_is_no_order(order: object) -> None:
    with pytest.raises(InputError, match=r"kernel k: order is .*; give a pk.sim.Order \[order\]"):
        kernel("s_endpgm", ()).launch(1, 64, order=order)  # type: ignore[arg-type]
