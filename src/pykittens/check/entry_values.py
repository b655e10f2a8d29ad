"""What a wave starts with, as far as the kernel alone tells: work-item ids, EXEC, and SGPRs of unknown content."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pykittens.asm.code_object import Kernel
from pykittens.check.numbers import EXEC_KEY, Arithmetic, Knowledge
from pykittens.isa.effects import VECTOR_ROWS
from pykittens.isa.numpy_evaluator import LANES

_UNSTATED = 1024
"""The largest workgroup there is, which compilers write where the source says nothing of it."""


def workgroup(kernel: Kernel) -> tuple[int, int, int] | None:
    """The size of a workgroup in work-items; None where the kernel may be launched with others.

    That is the required size or else, of kernels that look at one dimension alone, the largest one that is stated.
    """
    note = kernel.metadata
    if note is None:
        return None
    if note.reqd_workgroup_size is not None and len(note.reqd_workgroup_size) == 3:
        x, y, z = note.reqd_workgroup_size
        return x, y, z
    one_dimension = kernel.descriptor.workitem_id_dimensions == 1
    return (note.max_workgroup_size, 1, 1) if one_dimension and 0 < note.max_workgroup_size < _UNSTATED else None


def waves_of(kernel: Kernel) -> int:
    """How many waves are followed: those of a workgroup, or one for all where their number is not known."""
    size = workgroup(kernel)
    return -(-size[0] * size[1] * size[2] // LANES) if size is not None else 1


def entry_knowledge(kernel: Kernel, arithmetic: Arithmetic) -> Knowledge:
    """The values before the first instruction."""
    known = Knowledge(waves=(1 << arithmetic.waves) - 1)
    first = 0
    for name, count in kernel.descriptor.initial_sgprs():
        for n in range(first, first + count) if name != "unused" else ():
            known.registers[VECTOR_ROWS + n] = arithmetic.fresh("entry", VECTOR_ROWS + n)
        first += count
    size = workgroup(kernel)
    if size is not None:
        x, y, _ = size
        item = np.arange(arithmetic.waves * LANES, dtype=np.uint32).reshape(arithmetic.waves, LANES)
        dimensions = kernel.descriptor.workitem_id_dimensions
        ids = (item % x, item // x % y, item // (x * y))
        packed = sum((ids[d] << np.uint32(10 * d) for d in range(dimensions)), np.zeros_like(item))
        known.registers[0] = arithmetic.numbers.make(None, packed.astype(np.uint32))
        for dword, words in enumerate(_active(item < x * y * size[2])):
            known.registers[EXEC_KEY + dword] = arithmetic.numbers.make(None, words)
    return known


def _active(
    lanes: np.ndarray[tuple[int, int], np.dtype[np.bool_]],
) -> Iterator[np.ndarray[tuple[int, int], np.dtype[np.uint32]]]:
    """Lanes as the two words of EXEC."""
    for half in (lanes[:, :32], lanes[:, 32:]):
        yield np.packbits(half, axis=1, bitorder="little").view("<u4").astype(np.uint32)
