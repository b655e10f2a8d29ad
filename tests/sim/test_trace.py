"""Traces and surveys: what is recorded is what a launch executes, and recording changes nothing."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.sim.assembled import kernel

import pykittens as pk
from pykittens.errors import InputError

SIZE = 512


@cache
def executable() -> Any:
    return pk.compile(pk.kernels.gemm, "gfx950")


def launch() -> tuple[list[np.ndarray], dict[str, Any]]:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((SIZE, SIZE)).astype(ml_dtypes.bfloat16) for _ in range(2))
    tensors = [a, b, np.zeros((SIZE, SIZE), ml_dtypes.bfloat16)]
    return tensors, executable().launch_arguments(*tensors)


def test_every_instruction_is_recorded() -> None:
    tensors, arguments = launch()
    traces = executable().sim_kernel.trace(**arguments, workgroups=range(4))
    run = executable()(*tensors)
    assert sum(len(wave.ops) for trace in traces for wave in trace.waves) == run.instructions
    assert all(wave.complete for trace in traces for wave in trace.waves)


def test_traced_workgroups_compute_what_launched_ones_do() -> None:
    tensors, arguments = launch()
    executable().sim_kernel.trace(**arguments, workgroups=[3])
    traced = tensors[2].copy()
    executable()(*tensors)
    assert (traced[256:, 256:] == tensors[2][256:, 256:]).all()
    assert (traced[:256] == 0).all()


def test_memory_records_belong_to_memory_instructions() -> None:
    _, arguments = launch()
    (trace,) = executable().sim_kernel.trace(**arguments, workgroups=[0])
    for wave in trace.waves:
        executed = wave.ops[wave.memory["step"].astype(np.int64)]
        assert all(trace.instructions[op].definition.access is not None for op in np.unique(executed))
        others = np.delete(wave.ops, wave.memory["step"].astype(np.int64))
        assert all(trace.instructions[op].definition.access is None for op in np.unique(others))


def test_a_limit_stops_waves() -> None:
    _, arguments = launch()
    (trace,) = executable().sim_kernel.trace(**arguments, workgroups=[0], max_instructions=100)
    assert [len(wave.ops) for wave in trace.waves] == [100] * 8
    assert not any(wave.complete for wave in trace.waves)


def test_a_survey_looks_at_every_workgroup() -> None:
    _, arguments = launch()
    survey = executable().sim_kernel.survey(**arguments)
    assert survey.workgroups == 4
    assert set(survey.workgroup) == {0, 1, 2, 3}
    assert set(survey.wave) == set(range(8))
    counts = np.bincount(survey.workgroup)
    assert (counts == counts[0]).all()


def test_workgroups_outside_the_grid_are_refused() -> None:
    _, arguments = launch()
    with pytest.raises(InputError, match="workgroup 4"):
        executable().sim_kernel.trace(**arguments, workgroups=[4])


def test_a_scalar_loop_before_the_loads_does_not_end_a_survey() -> None:
    """Kernels map workgroups to tiles by loops that load nothing but the kernarg before them."""
    body = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 s8, s2
again:
  s_cmp_lt_u32 s8, 2
  s_cbranch_scc1 found
  s_sub_u32 s8, s8, 2
  s_branch again
found:
  s_lshl_b32 s8, s8, 8
  v_lshlrev_b32 v1, 2, v0
  v_add_u32 v1, s8, v1
  s_movk_i32 s9, 4
  s_waitcnt lgkmcnt(0)
turn:
  global_load_dword v2, v1, s[4:5]
  s_sub_u32 s9, s9, 1
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 turn
  s_waitcnt vmcnt(0)
  s_endpgm
"""
    loaded = kernel(body)
    buffer = loaded.module.device.buffer(np.zeros(128, np.uint32))
    survey = loaded.survey(grid=6, block=64, args=[buffer])
    assert list(survey.workgroup) == [0, 1, 2, 3, 4, 5]
    assert list(survey.row[:, 0]) == [0, 256] * 3
