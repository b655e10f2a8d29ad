"""Panels of small kernels: which workgroups read the same memory, whatever way through the code they take."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.sim.assembled import kernel, pointers

import pykittens as pk
from pykittens.model.caches import NOT_READ, cache_rates

BLOCK = 64 * 16
"""Bytes that a workgroup of one wave reads at once."""

LOADS = """
  global_load_dwordx4 v[4:7], v1, s[4:5]
  global_load_dwordx4 v[8:11], v2, s[6:7]
  s_waitcnt vmcnt(0)
  s_endpgm
"""
TILES = f"""
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_cmp_ge_u32 s2, 12
  s_cbranch_scc1 nothing
  s_and_b32 s8, s2, 3
  s_lshr_b32 s9, s2, 2
  s_mul_i32 s8, s8, {BLOCK}
  s_mul_i32 s9, s9, {BLOCK}
  v_lshlrev_b32 v3, 4, v0
  v_add_u32 v1, s8, v3
  v_add_u32 v2, s9, v3
  s_waitcnt lgkmcnt(0)
  s_cmp_ge_u32 s2, 6
  s_cbranch_scc1 copy
{LOADS}
copy:
{LOADS}
nothing:
  s_endpgm
"""
"""Workgroup w reads block w % 4 of the first tensor and w // 4 of the second; the later ones by a copy of the loads,
and from 12 on none."""


def prediction(workgroups: int) -> Any:
    loaded = kernel(TILES, pointers(2))
    device = loaded.module.device
    buffers = [device.buffer(np.zeros(count * BLOCK, np.uint8)) for count in (4, 3)]
    return pk.modelled_launch.predict_kernel(loaded, grid=workgroups, block=64, args=buffers)


def test_copies_of_the_code_read_the_same_panels() -> None:
    columns, rows = sorted(prediction(12).panels, key=lambda panel: int(panel.labels.min()))
    number = np.arange(12)
    assert (np.unique(columns.labels, return_inverse=True)[1] == number % 4).all()
    assert (np.unique(rows.labels, return_inverse=True)[1] == number // 4).all()
    assert {panel.nbytes for panel in (columns, rows)} == {BLOCK}


def test_workgroups_that_leave_early_read_nothing() -> None:
    some, all_ = prediction(16), prediction(12)
    assert all((panel.labels[12:] == NOT_READ).all() for panel in some.panels)
    assert some.requested_bytes == all_.requested_bytes == 12 * 2 * BLOCK
    assert some.hbm_read_bytes == all_.hbm_read_bytes == 7 * BLOCK


def test_rates_of_panels_that_nobody_reads() -> None:
    (columns, _) = prediction(12).panels
    unread = type(columns)(np.full(12, NOT_READ), columns.nbytes, columns.requested)
    rates = cache_rates([unread], 12, 32, 8, 4 << 20, 256 << 20)
    assert (rates.requested_bytes, rates.hbm_bytes, rates.l2_hit) == (0.0, 0.0, 1.0)
