"""What a prediction rests on that nobody measured: facts of the chip whose source is a guess, and the model's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from pykittens.arch import Arch
from pykittens.arch.facts import Device

from .chip import START_GAP_CLK
from .clock import FITTED, TYPE_CLOCK, Clock
from .flags import POLLS
from .prediction import Guess
from .timing_table import Kind

_ALWAYS = ("issue.branch_quads", "issue.barrier_quads", "issue.waitcnt_clk", "issue.valu_clk")
_USED = {
    Kind.TRANSCENDENTAL: ("issue.trans_clk",),
    Kind.PACKED: ("issue.packed_f32_clk", "issue.mfma_packed_f32_quads", "issue.mfma_packed_f32_wide_quads"),
    Kind.MATRIX: ("issue.mfma_first_valu_quads", "issue.mfma_first_valu_bytes", "issue.lds_after_mfma_quads"),
    Kind.LDS: (
        "issue.lds_queue_entries", "issue.lds_queue_simds", "issue.lds_after_lds_quads", "lds_read_bytes_per_clk",
        "latency.lds_read_b32_clk", "latency.lds_read_b64_clk", "latency.lds_read_b128_clk", "latency.lds_permute_clk",
        "issue.lds_data_clk", "issue.mfma_hides_lds_writes", "latency.lds_write_b32_clk", "latency.lds_write_b64_clk",
        "latency.lds_write_b128_clk",
    ),
    Kind.LOAD: (
        "issue.vmem_x1_clk", "issue.vmem_x2_clk", "issue.vmem_x4_clk", "issue.vmem_row_bytes",
        "memory.l1_in_flight_bytes",
        "memory.vmem_queue_entries", "memory.l2_achieved_gbps", "memory.mall_achieved_gbps", "memory.l2_bytes",
        "memory.mall_bytes", "memory.bandwidth_fraction_per_cu", "latency.l1_hit_clk", "latency.l2_hit_ns",
        "latency.mall_hit_ns", "latency.hbm_ns",
    ),
    Kind.STORE: ("memory.l2_write_bytes_per_clk", "memory.l2_write_efficiency"),
    Kind.SCALAR_LOAD: ("latency.scalar_load_hit_clk", "latency.scalar_load_miss_clk"),
}  # fmt: skip
"""Facts of the chip that each kind of instruction is timed by."""

_WRITES = f"{FITTED.hbm_write_gbps:g} GB/s on gfx950"
_SCATTER = "HipKittens' attention, whose neighbours lie in different rows, agrees at five lengths"
_TYPES = ", ".join(f"{name} {share:g}" for name, share in TYPE_CLOCK.items())
_OWN = {
    None: (
        ("waves of one priority", "oldest first", "AMD's ISA names the age, not its direction"),
        ("instruction fetch", "never stalls", "773 instructions before a loop took Gluon 2708 clk"),
        ("workgroup start", f"{START_GAP_CLK} clk after its place is free", "no figure found"),
        ("workgroups of a round", "keep step", "drift between them is not modelled"),
    ),
    Kind.VECTOR: (
        ("vector power", "none", "published attention shows none beside its MFMAs'"),
        ("three vector sources", "wait where data of an LDS read comes, a slot each", "Gluon names it, not its length"),
    ),
    Kind.STORE: (("writes to the HBM", _WRITES, "fitted; elsewhere as fast as it reads"),),
    Kind.MATRIX: (
        ("clock by type", _TYPES, "measured on MI300X and MI325X; fp6 and fp4 from published TFLOPS"),
        ("slots after an MFMA", "barred to its own wave only", "published of one wave"),
        ("MFMAs after a pause", "start at once", "Gluon tells of di/dt stalls, without figures"),
    ),
    Kind.LOAD: (
        ("vector L1", "64 bytes' worth of neighbouring lanes a clk, and a clk for every 64 bytes they touch", _SCATTER),
        ("caches", "empty when the launch starts", "as in benchmarks that take tensors in turn"),
        ("power of loads", f"{FITTED.load_power:g} of the MFMAs'", "fitted, of loads that fill the L1s' buses"),
        ("latency", "the mean of what a load may wait for", "misses of others on shared lines count, drift does not"),
        ("hits and misses", "spread evenly over the loads", "no published order"),
        ("data copied to LDS", "takes the LDS at its full width", "no figure found"),
    ),
    Kind.BRANCH: (("branches", "cost the same taken or not", "published of a loop's end"),),
}  # fmt: skip

_POLLS = (
    "polls of flags in LDS", "see a post after whole turns of their loop", "guess", "those too early take no LDS time",
)  # fmt: skip


def guesses_of(
    arch: Arch, device: Device, table: np.ndarray[Any, Any], executed: np.ndarray[Any, Any], at: Clock,
    different: int = 1,
) -> tuple[Guess, ...]:  # fmt: skip
    """The guesses behind a run of these instructions, the clock's first; ``different``: workgroups that stand for all
    others.
    """
    kinds = [Kind(k) for k in np.unique(table["kind"][executed > 0])]
    found = []
    if at.source != "measured":
        found.append(Guess("clock", f"{at.mhz:.0f} MHz", at.source, at.note))
    start = arch.fact("latency.kernel_start_us")
    found.append(Guess("launch", f"{start.value} us", start.source, f"added to the units' work: {start.note}"))
    if device.fact("hbm_achieved_gbps").source == "guess" and Kind.LOAD in kinds:
        fact = device.fact("hbm_achieved_gbps")
        found.append(Guess(f"{device.name}.hbm_achieved_gbps", fact.value, fact.source, fact.note))
    for path in (*_ALWAYS, *(path for kind in kinds for path in _USED.get(kind, ()))):
        fact = arch.fact(path)
        if fact.source == "guess":
            found.append(Guess(path, fact.value, fact.source, fact.note))
    for kind in (None, *kinds):
        found += [
            Guess(name, value, "fitted" if note.startswith("fitted") else "guess", note)
            for name, value, note in _OWN.get(kind, ())
        ]
    if (table["flags"][executed > 0] & POLLS).any():
        found.append(Guess(*_POLLS))
    if different > 1:
        value = f"as {different} that were traced, on average"
        found.append(
            Guess("unlike workgroups", value, "guess", "a unit that is free takes the next one, long or short")
        )
    return tuple(found)
