"""What the model says of one launch: `Prediction`, its parts, and how they are printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pykittens.isa.instruction import Instruction

from .caches import Panels
from .chip import Dispatch, Occupancy
from .clock import Clock
from .costs import LdsUse
from .cu import REASONS
from .loops import HotLoop

Array = np.ndarray


@dataclass(frozen=True)
class Guess:
    """Something that a prediction rests on and nobody measured: ``source`` is guess or fitted."""

    name: str
    value: object
    source: str
    note: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value} ({self.source}{': ' + self.note if self.note else ''})"


@dataclass(frozen=True)
class WaveTimes:
    """One wave of the first workgroup: ops (indices into `InstructionTimes`), when each issued (clk) and why it waited.

    reason: index into `cu.REASONS`, or `cu.NOT_STALLED`. held: clk from its issue to the wave's next chance.
    """

    simd: int
    ops: Array
    issued: Array
    reason: Array


@dataclass(frozen=True)
class InstructionTimes:
    """Where the time went, by instruction of the program: parallel arrays and tuples, in the order of the code.

    program: the instructions, None where a slot is none. pc: bytes from the code's start as the code object has it.
    text; phase and line ("file.py:12") or None. executed: times on the modelled unit. issue_clk: wave-clk its issues
    took. stall_clk: (n, reasons) wave-clk waited before it, by `cu.REASONS`.
    """

    program: tuple[Instruction | None, ...]
    pc: Array
    text: tuple[str, ...]
    phase: tuple[str | None, ...]
    line: tuple[str | None, ...]
    executed: Array
    issue_clk: Array
    stall_clk: Array

    def total(self, by: tuple[str | None, ...]) -> dict[str, tuple[float, float]]:
        """(issuing, waiting) wave-clk summed by phase or line; what has none is under ""."""
        found: dict[str, tuple[float, float]] = {}
        for name, issue, stall in zip(by, self.issue_clk, self.stall_clk.sum(axis=1), strict=True):
            a, b = found.get(name or "", (0.0, 0.0))
            found[name or ""] = a + float(issue), b + float(stall)
        return found

    def waits(self, by: tuple[str | None, ...]) -> dict[str, dict[str, int]]:
        """Waiting wave-clk summed by phase or line and by reason; only what is not 0."""
        found: dict[str, Array] = {}
        for name, stall in zip(by, self.stall_clk, strict=True):
            found[name or ""] = found.get(name or "", 0) + stall
        return {name: {why: int(n) for why, n in zip(REASONS, each, strict=True) if n} for name, each in found.items()}


@dataclass(frozen=True)
class Prediction:
    """Modelled figures of one launch on one device. Nothing here was measured.

    cycles: engine clk from the first workgroup's start to the last one's end. cycles_per_iteration and loop: of the
    hot loop, None without one. mfma_utilisation: share of all cycles in which the matrix cores work, 0 to 1. seconds:
    cycles at `clock`, and the launch. tflops: matrix FLOP executed in those seconds; tbps: HBM bytes. l2_hit, llc_hit:
    of loads, 0 to 1. stalls: share of the waves' time by reason, "issuing" included; together 1. lds_conflict: LDS
    passes beyond the conflict-free ones, as a share of these. requested_bytes, hbm_read_bytes, hbm_written_bytes: of
    the whole launch. lds: the first workgroup's LDS instructions. panels: what the surveyed workgroups read.
    """

    kernel: str
    arch: str
    device: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cycles: float
    seconds: float
    clock: Clock
    mfma_utilisation: float
    loop: HotLoop | None
    flops: float
    l2_hit: float
    llc_hit: float
    requested_bytes: float
    hbm_read_bytes: float
    hbm_written_bytes: float
    lds_conflict: float
    stalls: dict[str, float]
    occupancy: Occupancy
    dispatch: Dispatch
    guesses: tuple[Guess, ...]
    instructions: InstructionTimes = field(repr=False)
    waves: tuple[WaveTimes, ...] = field(repr=False)
    lds: tuple[LdsUse, ...] = field(repr=False)
    panels: tuple[Panels, ...] = field(repr=False)

    @property
    def cycles_per_iteration(self) -> float | None:
        return self.loop.cycles if self.loop else None

    @property
    def tflops(self) -> float:
        return self.flops / self.seconds / 1e12

    @property
    def tbps(self) -> float:
        return (self.hbm_read_bytes + self.hbm_written_bytes) / self.seconds / 1e12

    def figures(self) -> dict[str, Any]:
        """The figures as plain numbers and words, for JSON."""
        loop, dispatch, clock = self.loop, self.dispatch, self.clock
        return {
            "kernel": self.kernel, "arch": self.arch, "device": self.device, "modelled": True, "grid": list(self.grid),
            "block": list(self.block), "cycles": self.cycles, "microseconds": self.seconds * 1e6,
            "clock_mhz": clock.mhz, "clock_range_mhz": [clock.low_mhz, clock.high_mhz], "clock_source": clock.source,
            "tflops": self.tflops, "hbm_tbps": self.tbps, "mfma_utilisation": self.mfma_utilisation,
            "cycles_per_iteration": self.cycles_per_iteration,
            "loop_mfma_utilisation": loop.utilisation if loop else None,
            "loop_iterations": loop.iterations if loop else None, "l2_hit": self.l2_hit, "llc_hit": self.llc_hit,
            "requested_bytes": self.requested_bytes, "l2_miss_bytes": (1 - self.l2_hit) * self.requested_bytes,
            "hbm_read_bytes": self.hbm_read_bytes,
            "hbm_written_bytes": self.hbm_written_bytes, "lds_conflict": self.lds_conflict,
            "workgroups_per_cu": self.occupancy.workgroups, "limited_by": self.occupancy.limited_by,
            "waves_per_simd": self.occupancy.waves_per_simd, "rounds": dispatch.rounds, "tail": dispatch.tail,
            "stalls": self.stalls,
            "phases": self._spent(self.instructions.phase), "lines": self._spent(self.instructions.line),
            "guesses": [
                {"name": g.name, "value": g.value, "source": g.source, "note": g.note} for g in self.guesses
            ],
        }  # fmt: skip

    def _spent(self, by: tuple[str | None, ...]) -> dict[str, dict[str, Any]]:
        waits = self.instructions.waits(by)
        return {
            name: {"issue_clk": issue, "wait_clk": wait, "waits": waits[name]}
            for name, (issue, wait) in self.instructions.total(by).items()
        }

    def __str__(self) -> str:
        return prediction_text(self)


def summary_rows(p: Prediction) -> list[tuple[str, str, str]]:
    """The prediction's figures in words: name, value with unit, and what belongs beside it. All are modelled."""
    rows = [
        ("time", f"{p.seconds * 1e6:,.1f} us", f"{p.cycles:,.0f} clk at {p.clock.mhz:,.0f} MHz, and the launch"),
        ("clock", f"{p.clock.mhz:,.0f} MHz", f"{p.clock.low_mhz:,.0f} to {p.clock.high_mhz:,.0f}; {p.clock.source}"),
        ("matrix rate", f"{p.tflops:,.1f} TFLOPS", f"{p.flops:.4g} FLOP executed by MFMAs"),
        (
            "HBM traffic",
            f"{p.tbps:.2f} TB/s",
            f"{p.hbm_read_bytes:,.0f} bytes read, {p.hbm_written_bytes:,.0f} written",
        ),
        ("MFMA utilisation", f"{100 * p.mfma_utilisation:.1f} %", "of all cycles"),
    ]
    if p.loop:
        words = f"{p.loop.iterations} iterations, MFMA utilisation {100 * p.loop.utilisation:.1f} %"
        rows.append(("hot loop", f"{p.loop.cycles:,.0f} clk an iteration", words))
    o, d = p.occupancy, p.dispatch
    rows += [
        ("L2 hits", f"{100 * p.l2_hit:.1f} %", f"of {p.requested_bytes:,.0f} bytes"),
        (
            "LLC hits",
            f"{100 * p.llc_hit:.1f} %",
            f"of {(1 - p.l2_hit) * p.requested_bytes:,.0f} bytes that the L2s miss",
        ),
        ("LDS conflicts", f"{100 * p.lds_conflict:.1f} %", "passes beyond the conflict-free ones"),
        (
            "occupancy",
            f"{o.workgroups} workgroup{_s(o.workgroups)} a CU",
            f"{o.waves_per_simd:g} waves a SIMD; {o.limited_by} decide",
        ),
        (
            "dispatch",
            f"{d.rounds} round{_s(d.rounds)}",
            f"{d.workgroups:,} workgroups; the last round is {100 * d.tail:.0f} % full",
        ),
    ]
    return rows


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def prediction_text(p: Prediction) -> str:
    """The prediction for a terminal; every figure is called modelled."""
    lines = [f"{p.kernel} on {p.device} ({p.arch}), grid {p.grid}, block {p.block}: modelled, not measured"]
    lines += [f"  {name:<18} {value:>22}  modelled  {note}" for name, value, note in summary_rows(p)]
    lines.append("  where the waves' time goes (modelled)")
    lines += [f"    {name:<32} {100 * share:5.1f} %" for name, share in p.stalls.items() if share >= 0.0005]
    lines.append("  guesses that this rests on")
    lines += [f"    {guess}" for guess in p.guesses]
    return "\n".join(lines)
