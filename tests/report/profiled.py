"""Predictions that the report's tests share, made once."""

from __future__ import annotations

from functools import cache

import numpy as np
from tests.sim.assembled import code_object, pointers

import pykittens as pk
from pykittens.executable import Executable
from pykittens.model.prediction import Prediction
from pykittens.modelled_launch import predict
from pykittens.schedule.grid import Chiplet

PLAIN = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v1, 8, v0
  v_lshlrev_b32 v2, 2, v0
  ds_write_b32 v1, v0
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_cbranch_scc0 8
  v_mov_b32 v4, v3
  v_mov_b32 v4, v3
  v_mov_b32 v4, v3
  v_mov_b32 v4, v3
  v_mov_b32 v4, v3
  v_mov_b32 v4, v3
  v_mov_b32 v4, v3
  v_mov_b32 v4, v3
  global_store_dword v2, v3, s[4:5]
  s_endpgm
"""
"""No loop, no lines, no phases; 32 lanes write to one bank; 8 instructions are jumped over."""


@cache
def gemm() -> Executable:
    return pk.compile(pk.kernels.gemm, "gfx950", tile="128x128")


@cache
def gemm_prediction() -> Prediction:
    """8-wave ping-pong on 2 x 3 tiles, 4 iterations."""
    return predict(gemm(), (256, 512), (384, 512), (256, 384))


@cache
def chiplet_prediction() -> tuple[Prediction, np.ndarray]:
    """A GEMM on 4 x 6 tiles in an order for chiplets, and the (row, col) of its workgroups."""
    order = Chiplet(window=2, chunk=2)
    exe = pk.compile(pk.kernels.gemm, "gfx950", tile="128x128", order=order)
    return predict(exe, (512, 128), (768, 128), (512, 768)), order.tiles(4, 6)


@cache
def plain_prediction() -> Prediction:
    code = code_object(PLAIN, "gfx942", pointers(1), (("lds_bytes", 32768),))
    return predict(code, grid=3, block=128, args=[np.zeros(128, np.uint32)])
