"""What waves executed, as plain arrays: how whoever runs code objects tells whoever times or checks them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pykittens.isa.instruction import Instruction

LANES = 64

MEMORY_RECORD = np.dtype(
    [
        ("step", "<u8"), ("active", "<u8"), ("order", "<u8"), ("m0", "<u4"), ("soffset", "<u4"), ("base", "<u4", 4),
        ("rows", "<u4", (2, LANES)),
    ]
)  # fmt: skip
"""A memory instruction as it was about to execute.

step: its place in the wave's ``ops``. active: EXEC. order: its place among the memory instructions of the workgroup.
soffset, base: values of its scalar offset and of its scalar base (descriptor, base address), 0 where it has none. rows:
its address registers, as many as it has.
"""


@dataclass(frozen=True)
class WaveTrace:
    """One wave's way through the program.

    ops: uint32 (n,) indices into the workgroup's instructions, in the order executed. memory: `MEMORY_RECORD` (k,),
    for every instruction that has an ``access``. complete: whether the wave came to its end.
    """

    ops: np.ndarray[Any, np.dtype[np.uint32]]
    memory: np.ndarray[Any, Any]
    complete: bool


@dataclass(frozen=True)
class WorkgroupTrace:
    """What one workgroup executed.

    number: its place in the grid. instructions: the program; None where a slot is no instruction. load_address: what to
    subtract from ``Instruction.pc`` for addresses as the code object has them. regions: (first address, bytes, name) of
    device memory.
    """

    number: int
    instructions: tuple[Instruction | None, ...]
    waves: tuple[WaveTrace, ...]
    load_address: int
    regions: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True)
class Survey:
    """Vector loads and atomics of many workgroups up to the end of their first loop that accesses memory: parallel
    arrays, one entry for each.

    workgroup, wave, op (index into ``instructions``), record (`MEMORY_RECORD` fields, of the first active lane only in
    ``row``, uint32 (n, 2)). workgroups: how many were looked at, the first ones of the grid.
    """

    workgroups: int
    instructions: tuple[Instruction | None, ...]
    workgroup: np.ndarray
    wave: np.ndarray
    op: np.ndarray
    soffset: np.ndarray
    base: np.ndarray
    row: np.ndarray
