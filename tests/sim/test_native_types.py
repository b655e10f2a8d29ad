"""The structures that Python, C and generated code share have one layout."""

from __future__ import annotations

import ctypes

from pykittens.sim import alu_code, native_types
from pykittens.sim.native_types import native_layout


def test_sizes_agree_with_the_native_core() -> None:
    sizes = native_layout()
    for name, kind in (
        ("region", native_types.Region), ("launch", native_types.Launch), ("group", native_types.Group),
        ("variant", native_types.Variant), ("fault", native_types.FaultRecord),
    ):  # fmt: skip
        assert ctypes.sizeof(kind) == sizes[name], name
    assert (sizes["wave"], sizes["op"]) == (native_types.WAVE_BYTES, native_types.OP_BYTES)
    assert ctypes.sizeof(native_types.WaveHeader) <= native_types.VECTOR_REGISTERS_AT


def test_offsets_are_those_of_generated_code() -> None:
    wave = native_types.WaveHeader
    assert (wave.scc.offset, wave.mode.offset, wave.pc.offset) == (512, 516, 520)
    assert (wave.count.offset, wave.group.offset, wave.scratch.offset) == (528, 536, 552)
    assert alu_code.VGPR == native_types.VECTOR_REGISTERS_AT
