"""A swizzle from the solver, in a kernel: what it promises is what the traced machine code does."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pykittens.arch import ARCHS
from pykittens.check.banks import BankTable
from pykittens.sim import Device
from pykittens.tile import barrier, build, gl, kernel, load, rt, st, store, wait_for, wave
from pykittens.tile.shared_shape import SharedShape
from pykittens.tile.swizzle_patterns import register_read, register_write
from pykittens.tile.swizzle_solver import Problem, solve

SUBTILE = (16, 32)


@kernel(waves=(1, 2))
def written_and_read(A: gl("bf16"), *, shape: Any = "16x32"):
    """32 rows of 64: each wave writes half of them as rt_16x16 and reads the others' as rt_16x32."""
    As, Cs = st("bf16", 32, 64), st("bf16", 32, 64, shape)
    load(As, A.tile(0, 0), edges="inside")
    wait_for(As)
    barrier()
    narrow, wide = rt("bf16", 16, 64, shape="16x16"), rt("bf16", 16, 64, shape="16x32")
    load(narrow, As.subtile(16, 64, wave.col, 0))
    store(Cs.subtile(16, 64, wave.col, 0), narrow)
    wait_for(Cs)
    barrier()
    load(wide, Cs.subtile(16, 64, 1 - wave.col, 0))


def degrees(arch: str, shape: SharedShape | str) -> dict[str, int]:
    """Worst degree of each instruction that writes and reads the second tile."""
    built = build(written_and_read, arch, shape=shape)
    A = np.zeros((32, 64), ml_dtypes.bfloat16)
    traces = Device(arch).load(built.code_object).kernel().trace(grid=1, block=128, args=[A, 32, 64, 128])
    table = BankTable(arch)
    for trace in traces:
        table.add_trace(trace)
    found: dict[str, int] = {}
    writes = False
    for cost in table.places():
        name = cost.instruction.split()[0]
        writes = writes or name.startswith("ds_write_b64")
        if writes:
            found[name] = max(found.get(name, 1), cost.degree)
    return found


@pytest.mark.parametrize("arch", ARCHS)
def test_a_solved_swizzle_is_free_of_conflicts_in_machine_code(arch: str) -> None:
    chip = ARCHS[arch]
    patterns = (
        register_write(chip, "16x16", "row", SUBTILE),
        register_read(chip, "16x32", "row", SUBTILE, lane_bytes=8),
    )
    solution = solve(Problem(*SUBTILE, 2, patterns))
    assert solution.conflict_free
    assert degrees(arch, solution.shape) == {"ds_write_b64": 1, "ds_read_b64": 1}


@pytest.mark.parametrize(("arch", "read"), [("gfx942", 2), ("gfx950", 1)])
def test_a_shape_for_other_accesses_is_not(arch: str, read: int) -> None:
    """st_16x32 is made for 16-byte reads on gfx950: the writes conflict on both chips, and the reads on gfx942."""
    assert degrees(arch, "16x32") == {"ds_write_b64": 4, "ds_read_b128": read}
