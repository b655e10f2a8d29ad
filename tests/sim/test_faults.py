"""What stops a launch: faults with their words, watchdogs and interrupts."""

from __future__ import annotations

import _thread
import threading
import time

import numpy as np
import pytest
from tests.sim.assembled import ATOMIC, COPY, ENDLESS, kernel, pointers

from pykittens.errors import Fault


def test_wild_addresses_name_everything() -> None:
    a, b = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    with pytest.raises(Fault) as caught:
        kernel(COPY, pointers(2)).launch(3, 64, [a, b])
    fault = caught.value
    assert (fault.code, fault.wave, fault.lane) == ("wild-address", 0, 0)
    assert fault.instruction.startswith("global_load_dword v2, v1, s[4:5]")
    assert "argument 0 (p0) of 256 bytes" in str(fault) and "workgroup (1, 0, 0)" in str(fault)
    assert fault.address is not None and fault.pc is not None


@pytest.mark.parametrize("threads", [1, 4])
def test_the_lowest_workgroup_is_reported(threads: int) -> None:
    a, b = np.zeros(64 * 30, np.uint32), np.zeros(64 * 20, np.uint32)
    for _ in range(5):
        with pytest.raises(Fault, match=r"workgroup \(20, 0, 0\)"):
            kernel(COPY, pointers(2)).launch(3000, 64, [a, b], threads=threads)


def test_read_only_arrays_are_not_written() -> None:
    a, b = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    b.flags.writeable = False
    with pytest.raises(Fault, match="read-only"):
        kernel(COPY, pointers(2)).launch(1, 64, [a, b])
    assert (b == 0).all()
    b.flags.writeable = True
    a.flags.writeable = False
    kernel(COPY, pointers(2)).launch(1, 64, [a, b])
    assert (b == 1).all()


def test_loads_beside_buffers_are_forgiven_where_asked() -> None:
    a, b = np.zeros(64, np.uint32), np.zeros(128, np.uint32)
    kernel(COPY, pointers(2), overread=4096).launch(2, 64, [a, b])
    assert (b[64:] == 0x3F3F3F3F + 1).all()
    with pytest.raises(Fault, match=r"wild-address.*argument 1|argument 1.*wild-address"):
        kernel(COPY, pointers(2), overread=4096).launch(2, 64, [b, a])


def test_misaligned_atomic() -> None:
    with pytest.raises(Fault, match="misaligned"):
        kernel(ATOMIC.replace("v_mov_b32 v1, 0", "v_mov_b32 v1, 2")).launch(1, 64, [np.zeros(4, np.float32)])


def test_instruction_budget_says_where_every_wave_is() -> None:
    with pytest.raises(Fault) as caught:
        kernel(ENDLESS).launch(1, 128, [None], max_instructions=10_000)
    assert caught.value.code == "instruction-budget"
    assert "waves 0, 1 run at pc" in str(caught.value)


def test_a_loop_without_end_may_be_the_whole_kernel() -> None:
    """Each wave has just branched to the entry when its instructions run out."""
    with pytest.raises(Fault, match="waves 0, 1 run at pc") as caught:
        kernel(".Lagain:\n  s_branch .Lagain\n").launch(1, 128, [None], max_instructions=10_000)
    assert caught.value.code == "instruction-budget"
    assert str(caught.value.instruction).startswith("s_branch")


def test_waiting_for_a_wave_that_never_comes() -> None:
    body = (
        "  v_readfirstlane_b32 s10, v0\n  s_cmp_eq_u32 s10, 0\n  s_cbranch_scc0 .Lagain\n  s_barrier\n  s_endpgm\n"
        + ENDLESS
    )
    with pytest.raises(Fault, match=r"wave 0 wait at the barrier at pc .*, wave 1 run at pc"):
        kernel(body).launch(1, 128, [None], max_instructions=10_000)


def test_time_limit() -> None:
    start = time.monotonic()
    with pytest.raises(Fault, match="timeout"):
        kernel(ENDLESS).launch(4, 1024, [None], timeout=0.3, max_instructions=1 << 60)
    assert time.monotonic() - start < 3


def test_interrupting_leaves_everything_usable() -> None:
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kernel(ENDLESS).launch(8, 256, [None], max_instructions=1 << 60)
    assert time.monotonic() - start < 3
    timer.join()
    a, b = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    kernel(COPY, pointers(2)).launch(1, 64, [a, b])
    assert (b == a + 1).all()
