"""One wave of the native core with LDS, scratch and one buffer, which runs single memory instructions for tests."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pykittens.isa.instruction import Instruction
from pykittens.sim import memory_handlers, native_types
from pykittens.sim.bind import BindContext
from pykittens.sim.memory import Region, RegionTable
from pykittens.sim.mode import Mode
from pykittens.sim.native_types import LANES, VECTOR_REGISTERS_AT, WAVE_BYTES
from pykittens.sim.runner import GroupMemory

Array = np.ndarray[Any, Any]

LDS_BYTES, PRIVATE_BYTES, BUFFER_BYTES = 4096, 64, 8192
BUFFER = 0x20_0001_0000
FAULT = 4
ACCUM_OFFSET = 256
_HANDLER = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


@dataclass
class State:
    """Everything that an instruction can change. ``buffer`` is device memory from `BUFFER` on."""

    sgpr: Array = field(default_factory=lambda: np.zeros(128, np.uint32))
    vgpr: Array = field(default_factory=lambda: np.zeros((512, LANES), np.uint32))
    lds: Array = field(default_factory=lambda: np.zeros(LDS_BYTES, np.uint8))
    buffer: Array = field(default_factory=lambda: np.zeros(BUFFER_BYTES, np.uint8))
    scratch: Array = field(default_factory=lambda: np.zeros((LANES, PRIVATE_BYTES), np.uint8))
    mode: int = 0xF0

    def copy(self) -> State:
        copies = (array.copy() for array in (self.sgpr, self.vgpr, self.lds, self.buffer, self.scratch))
        return State(*copies, mode=self.mode)

    @property
    def exec(self) -> int:
        return int(self.sgpr[126]) | int(self.sgpr[127]) << 32

    @exec.setter
    def exec(self, mask: int) -> None:
        self.sgpr[126:128] = mask & 0xFFFFFFFF, mask >> 32

    @property
    def active(self) -> list[int]:
        return [lane for lane in range(LANES) if self.exec >> lane & 1]


class OneWave:
    """Memory for a wave, used again by every `run`. ``owned``: bytes of the buffer that the device knows."""

    def __init__(self, arch: str, owned: int = BUFFER_BYTES) -> None:
        self.arch = arch
        self._memory = GroupMemory()
        self._buffer = np.zeros(BUFFER_BYTES, np.uint8)
        self._regions = RegionTable([Region("buffer", BUFFER, owned, self._buffer.ctypes.data, False)])
        launch = self._launch = native_types.Launch()
        launch.waves, launch.turn = 1, 16
        launch.lds_bytes, launch.private_bytes = LDS_BYTES, PRIVATE_BYTES
        launch.regions, launch.region_count = self._regions.address, self._regions.count
        self._memory.prepare(launch, np.zeros(1, np.uint8))

    @property
    def group(self) -> native_types.Group:
        return self._memory.group

    def run(self, instruction: Instruction, before: State) -> tuple[int, State]:
        """(event, state afterwards) of one instruction."""
        wave, memory = self._memory.wave(0), self._memory
        context = BindContext(self.arch, ACCUM_OFFSET, Mode(), lambda pc: pc)
        bound = memory_handlers.bind(instruction, context)
        registers = memory.waves[VECTOR_REGISTERS_AT:WAVE_BYTES].view(np.uint32).reshape(512, LANES)
        lds = np.ctypeslib.as_array((ctypes.c_uint8 * LDS_BYTES).from_address(memory.group.lds))
        size = LANES * PRIVATE_BYTES
        scratch = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(memory.group.scratch))
        wave.sgpr[:], wave.mode, wave.pc, wave.count = before.sgpr.tolist(), before.mode, 1, 0
        wave.group, wave.id, wave.pending = ctypes.addressof(memory.group), 0, 0
        wave.private_memory, wave.private_bytes = memory.group.scratch, PRIVATE_BYTES
        registers[:], lds[:], self._buffer[:] = before.vgpr, before.lds, before.buffer
        scratch[:] = before.scratch.reshape(-1)
        operation = np.zeros(16, np.uint32)
        operation[2 : 2 + len(bound.fields)] = bound.fields
        event = _HANDLER(bound.handler)(memory.waves.ctypes.data, operation.ctypes.data)
        after = State(
            np.array(wave.sgpr, np.uint32), registers.copy(), lds.copy(), self._buffer.copy(),
            scratch.reshape(LANES, PRIVATE_BYTES).copy(), wave.mode,
        )  # fmt: skip
        return event, after
