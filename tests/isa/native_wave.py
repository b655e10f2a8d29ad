"""Runs native handlers on the state of an oracle's `Wave`."""

from __future__ import annotations

import ctypes

import numpy as np

from pykittens.isa.instruction import Instruction
from pykittens.sim import alu_code, alu_handlers
from pykittens.sim.bind import BindContext, Bound
from pykittens.sim.forms import Form, form_of
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave

_HANDLER = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_BYTES = alu_code.VGPR + alu_code.ROWS * alu_code.ROW_BYTES
_STORAGE = np.zeros(_BYTES + 64, np.uint8)
_MEMORY = _STORAGE[-_STORAGE.ctypes.data % 64 :][:_BYTES]


def context(arch: str, mode: Mode, accum_offset: int) -> BindContext:
    return BindContext(arch, accum_offset, mode, lambda pc: pc)


def compile_all(cases: list[tuple[Instruction, Mode]], arch: str) -> list[Form]:
    """Compile the forms of many instructions together."""
    forms = [form_of(instruction, arch, mode) for instruction, mode in cases]
    alu_handlers.compile_forms(forms)
    return forms


def run(bound: Bound, wave: Wave) -> Wave:
    """A new wave: the old one after the operation."""
    words = _MEMORY.view(np.uint32)
    words[:128] = wave.sgpr
    words[128], words[129] = wave.scc, wave.mode
    words[256:] = wave.vgpr.reshape(-1)
    operation = np.zeros(16, np.uint32)
    operation[2 : 2 + len(bound.fields)] = bound.fields
    assert _HANDLER(bound.handler)(_MEMORY.ctypes.data, operation.ctypes.data) == 0
    after = Wave(words[:128].copy(), words[256:].reshape(wave.vgpr.shape).copy(), accum_offset=wave.accum_offset)
    after.scc, after.mode = int(words[128]), int(words[129])
    return after
