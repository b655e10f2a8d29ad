"""Writes waves' instruction streams for the cycle model by hand, where the kernel itself is not at hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pykittens.arch import Arch
from pykittens.isa import lookup
from pykittens.isa.instruction import Instruction
from pykittens.model.costs import COST, LINE
from pykittens.model.cu import Stream
from pykittens.model.timing_table import MEMORY_KINDS, TIMING_OP, kind_of, timing_op

WAVE_LINES = 8
"""Lines of 128 bytes that one coalesced access of 16 bytes a lane touches."""


class Program:
    """The instructions that the streams of one workgroup use.

    row_bytes: that a copy to LDS takes of each row; rows are longer, and a piece of a line costs as much as the line.
    """

    def __init__(self, arch: Arch, row_bytes: int = LINE) -> None:
        self.arch = arch
        whole = max(row_bytes, arch.issue.vmem_row_bytes)
        self.copy_clk = arch.issue.vmem_x4_clk * whole // row_bytes
        """L1 time of a copy of 16 bytes a lane."""
        self._numbers: dict[Any, int] = {}
        self.instructions: list[Instruction] = []

    def number(self, name: str, **modifiers: object) -> int:
        """The index of an instruction with these modifiers."""
        key = name, tuple(sorted(modifiers.items()))
        if key not in self._numbers:
            instruction = Instruction(lookup(name), modifiers=modifiers)
            self._numbers[key] = len(self.instructions)
            self.instructions.append(instruction)
        return self._numbers[key]

    @property
    def table(self) -> np.ndarray[Any, Any]:
        """`TIMING_OP` of the instructions used so far."""
        return np.array([timing_op(each, self.arch) for each in self.instructions], TIMING_OP)

    def is_memory(self, number: int) -> bool:
        return kind_of(self.instructions[number]) in MEMORY_KINDS


class Wave:
    """One wave's stream; methods are the instructions that schedules are made of."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.ops: list[int] = []
        self.costs: list[tuple[int, int, int, int]] = []
        self.marks: list[int] = []
        """Places where an iteration of the hot loop begins."""

    def do(self, name: str, count: int = 1, cost: tuple[int, int, int, int] | None = None, **modifiers: object) -> None:
        number = self.program.number(name, **modifiers)
        self.ops += [number] * count
        if self.program.is_memory(number):
            self.costs += [cost or (1, 0, 1, 0)] * count

    def mfma(self, name: str, count: int = 1) -> None:
        self.do(name, count)

    def read(self, count: int = 1, nbytes: int = 16, conflict: int = 1, transpose: bool = False) -> None:
        """LDS reads of so many bytes a lane; every phase takes ``conflict`` passes."""
        arch = self.program.arch
        name = {16: "ds_read_b128", 8: "ds_read_b64_tr_b16" if transpose else "ds_read_b64"}[nbytes]
        phases = len(arch.lds_access("read", nbytes).phases)
        self.do(name, count, (phases * conflict, 0, 0, 0))

    def write(self, count: int = 1, nbytes: int = 16) -> None:
        """LDS writes of so many bytes a lane, without conflicts."""
        phases = len(self.program.arch.lds_access("write", nbytes).phases)
        self.do(f"ds_write_b{8 * nbytes}", count, (phases, 0, 0, 0))

    def load(self, count: int = 1, *, to_lds: bool = True, lines: int = WAVE_LINES, l1_clk: int = 0) -> None:
        """Global loads of 16 bytes a lane."""
        arch = self.program.arch
        if to_lds:
            passes = 64 * 16 // arch.lds_read_bytes_per_clk
            self.do("buffer_load_dwordx4", count, (passes, lines, l1_clk or self.program.copy_clk, 0), lds=True)
        else:
            self.do("buffer_load_dwordx4", count, (0, lines, l1_clk or arch.issue.vmem_x4_clk, 0))

    def store(self, count: int = 1, *, lines: int = WAVE_LINES, l1_clk: int = 0) -> None:
        """Global stores of 16 bytes a lane."""
        self.do(
            "buffer_store_dwordx4", count, (lines, 2 * WAVE_LINES, l1_clk or self.program.arch.issue.vmem_x4_clk, 0)
        )

    def wait(self, vm: int | None = None, lgkm: int | None = None) -> None:
        counts = {"vmcnt": vm, "lgkmcnt": lgkm}
        self.do("s_waitcnt", **{name: count for name, count in counts.items() if count is not None})

    def barrier(self) -> None:
        self.do("s_barrier")

    def priority(self, level: int) -> None:
        self.do("s_setprio", simm16=level)

    def iteration(self) -> None:
        """Here an iteration of the hot loop begins, with the scalar work and the branch that end the one before."""
        if self.marks:
            self.do("s_add_u32"), self.do("s_cmp_lg_u32"), self.do("s_cbranch_scc1")
        self.marks.append(len(self.ops))

    def spread(self, mfma: str, count: int, others: Sequence[tuple[str, int]]) -> None:
        """``count`` MFMAs with the other instructions, (method, times) in order, evenly between them."""
        queue = [name for name, times in others for _ in range(times)]
        done = 0
        for i in range(count):
            self.mfma(mfma)
            due = (i + 1) * len(queue) // count
            for name in queue[done:due]:
                getattr(self, name)()
            done = due

    def valu(self, count: int = 1) -> None:
        self.do("v_mul_f32", count)

    def exp(self, count: int = 1) -> None:
        self.do("v_exp_f32", count)

    def follow(self, order: str, mfma: str, conflict: int = 1) -> None:
        """Writes an order of instructions: ``M4 8(R M) v16l0 B`` is 4 MFMAs, 8 times an LDS read and an MFMA, one wait
        for vmcnt(16) and lgkmcnt(0), and a barrier.

        Letters: M MFMA, R and W LDS read and write of 16 bytes a lane, L copy to LDS, G load to registers, S scalar, V
        vector, X and F with three sources, T exponential, P packed f32, Q with three sources, B barrier, J a branch,
        N s_nop 0; v and l with a count are waits.
        ``conflict``: passes of a read's phases.
        """
        for name, count in _steps(order):
            if name[0] in "vl":
                counts = dict(re.findall(r"([vl])(\d+)", name))
                self.wait(**{_WAITS[key]: int(value) for key, value in counts.items()})
            elif name == "M":
                self.mfma(mfma, count)
            elif name == "R":
                self.read(count, conflict=conflict)
            elif name == "G":
                self.load(count, to_lds=False)
            elif name == "L":
                self.load(count)
            elif name == "W":
                self.write(count)
            else:
                self.do(_PLAIN[name], count)

    def stream(self) -> Stream:
        self.do("s_endpgm")
        return Stream(np.array(self.ops, np.uint32), np.array(self.costs, COST))


_WAITS = {"v": "vm", "l": "lgkm"}
_PLAIN = {"S": "s_add_u32", "V": "v_mov_b32", "B": "s_barrier", "J": "s_cbranch_scc1", "N": "s_nop",
          "T": "v_exp_f32", "P": "v_pk_mul_f32", "X": "v_max3_f32", "F": "v_fma_f32", "Q": "v_pk_fma_f32"}  # fmt: skip
_TOKEN = re.compile(r"(\d+)\(([^()]*)\)|([A-Z])(\d*)|((?:[vl]\d+)+)")


def _steps(order: str) -> Iterator[tuple[str, int]]:
    """(instruction, how often) of an order."""
    if _TOKEN.sub("", order).strip():
        raise AssertionError(f"not an order of instructions: {_TOKEN.sub('', order).strip()}")
    for times, group, letter, count, waits in _TOKEN.findall(order):
        if group:
            for _ in range(int(times)):
                yield from _steps(group)
        elif waits:
            yield waits, 1
        else:
            yield letter, int(count or 1)
