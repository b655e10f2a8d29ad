"""Checked launches: the layout of what Python and the native code share, results, threads of events, faults."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.assembled import COPY, STORE, kernel, pointers

from pykittens.asm.observed import Kind
from pykittens.errors import InputError
from pykittens.sim import Order, checked_types


def test_structures_have_the_same_layout_on_both_sides() -> None:
    assert checked_types.layout_as_declared() == checked_types.layout_as_compiled()


@pytest.mark.parametrize("landing", ["issue", "late"])
def test_results_and_counts_are_those_of_an_ordinary_launch(landing: str) -> None:
    made = kernel(COPY, pointers(2))
    source = np.arange(64 * 5, dtype=np.uint32)
    plain, checked = np.zeros(64 * 5, np.uint32), np.zeros(64 * 5, np.uint32)
    run = made.launch(5, 64, [source, plain])
    seen = made.launch_checked(5, 64, [source, checked], order=Order(landing=landing))  # type: ignore[arg-type]
    assert (checked == source + 1).all() and (plain == checked).all()
    assert seen.events == () and seen.fault is None
    assert seen.run is not None and seen.run.instructions == run.instructions
    assert seen.written(checked).all()


def test_an_event_is_told_once_with_how_often_it_was_seen() -> None:
    made = kernel(STORE)
    seen = made.launch_checked(1, 256, [np.zeros(256, np.uint32)])
    (event,) = seen.events
    assert event.kind is Kind.UNDEFINED_STORE and event.times == 4
    assert event.access.instruction is not None and event.access.wave == 0


def test_events_before_a_fault_are_kept() -> None:
    body = "  v_mov_b32 v1, 0\n  ds_read_b32 v2, v3\n  s_waitcnt lgkmcnt(0)\n"
    body += "  global_load_dword v2, v1, s[50:51]\n  s_endpgm\n"
    seen = kernel(body, lds_bytes=512).launch_checked(1, 64, [np.zeros(64, np.uint32)])
    assert seen.run is None and seen.fault is not None and seen.fault.code == "wild-address"
    assert Kind.UNDEFINED_ADDRESS in {event.kind for event in seen.events}


def test_results_arrays_must_be_the_launchs() -> None:
    made = kernel(STORE)
    seen = made.launch_checked(1, 64, [np.zeros(64, np.uint32)])
    with pytest.raises(InputError):
        seen.written(np.zeros(64, np.uint32))


@pytest.mark.parametrize(
    ("between", "told"),
    [
        ("", False), ("v_mov_b32 v6, v5", False),
        ("scratch_store_dword off, v5, off\n  s_waitcnt vmcnt(0)\n  scratch_load_dword v5, off, off\n"
         "  s_waitcnt vmcnt(0)", False),
        ("v_mov_b32 v7, v5\n  v_mov_b32 v5, 1\n  v_mov_b32 v5, v7", False),
        ("scratch_store_dword off, v5, off\n  s_waitcnt vmcnt(0)\n  v_mov_b32 v5, 1\n"
         "  scratch_load_dword v5, off, off\n  s_waitcnt vmcnt(0)", False),
        ("v_mov_b32 v5, v6", True), ("v_add_u32_e32 v5, 1, v5", True),
    ],
)  # fmt: skip
def test_scalars_in_lanes_are_read_whether_active_or_not(between: str, told: bool) -> None:
    body = f"""
  v_mov_b32 v5, 0
  v_mov_b32 v6, 0
  v_writelane_b32 v5, s2, 7
  {between}
  s_mov_b64 exec, 1
  v_readlane_b32 s20, v5, 7
  s_endpgm
"""
    seen = kernel(body, scratch_bytes=16).launch_checked(1, 64, [np.zeros(64, np.uint32)])
    assert [event.kind for event in seen.events] == [Kind.INACTIVE_LANE] * told


def test_a_launch_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError):
        kernel(STORE).launch_checked(1, 2048, [np.zeros(64, np.uint32)])


def test_code_that_only_a_computed_jump_reaches_is_checked_too() -> None:
    body = """
  s_getpc_b64 s[20:21]
  s_add_u32 s20, s20, 20
  s_addc_u32 s21, s21, 0
  s_setpc_b64 s[20:21]
  s_nop 0
  s_trap 2
"""
    seen = kernel(body + STORE).launch_checked(1, 64, [np.zeros(64, np.uint32)])
    assert [event.kind for event in seen.events] == [Kind.UNDEFINED_STORE]
