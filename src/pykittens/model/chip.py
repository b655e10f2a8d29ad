"""The chip around a compute unit: how many workgroups live on it, its share of the caches and the HBM, and dispatch."""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.arch import Arch
from pykittens.arch.facts import Device
from pykittens.errors import InputError

from .caches import CacheRates
from .clock import FITTED, Fitted
from .costs import LINE
from .cu import MAX_WAVES, Machine

START_GAP_CLK = 512
"""From a workgroup's end to the next one's start in its place; a guess."""
_GRAIN = 256
_SHARE = 65536


@dataclass(frozen=True)
class Occupancy:
    """Workgroups of a kernel that fit one compute unit, and what keeps another one out.

    limits: workgroups that registers, LDS and wave slots would each allow.
    """

    workgroups: int
    waves_per_workgroup: int
    waves_per_simd: float
    limits: dict[str, int]

    @property
    def limited_by(self) -> str:
        return min(self.limits, key=lambda name: self.limits[name])


def occupancy(arch: Arch, waves: int, vgprs: int, lds_bytes: int, where: str | None = None) -> Occupancy:
    """Of workgroups of ``waves`` waves with ``vgprs`` registers a lane (v and a together) and ``lds_bytes`` of LDS.

    Raises InputError for a workgroup that does not fit at all.
    """
    per_simd = arch.waves_for_vgprs(vgprs)
    fits = per_simd >= -(-waves // arch.simds_per_cu)
    limits = {
        "registers": per_simd * arch.simds_per_cu // waves if fits else 0,
        "LDS": arch.lds_bytes // lds_bytes if lds_bytes else MAX_WAVES,
        "wave slots": arch.waves_per_simd * arch.simds_per_cu // waves,
    }
    count = min(limits.values())
    if count < 1:
        what = f"a workgroup of {waves} waves with {vgprs} registers and {lds_bytes} bytes of LDS does not fit a CU"
        raise InputError("occupancy", what, where=where)
    return Occupancy(count, waves, count * waves / arch.simds_per_cu, limits)


@dataclass(frozen=True)
class Dispatch:
    """How a grid spreads over the device: active CUs, and workgroups on the busiest of them."""

    workgroups: int
    active_cus: int
    on_busiest: int
    slots: int
    rounds: int

    @property
    def tail(self) -> float:
        """Part of the last round's places that are filled, above 0 up to 1."""
        places = self.active_cus * self.slots
        return (self.workgroups - (self.rounds - 1) * places) / places if places else 1.0

    @property
    def fill(self) -> float:
        """Part of all units' time that holds as much work as the busiest one's: the rest idles at the end."""
        return self.workgroups / (self.active_cus * self.on_busiest)


def dispatch(device: Device, workgroups: int, fitting: int) -> Dispatch:
    """Workgroup w goes to XCD w % xcds, there to the CU with the most room."""
    on_xcd = -(-workgroups // device.xcds)
    busiest = -(-on_xcd // device.cus_per_xcd)
    slots = min(fitting, busiest)
    places = device.cus_per_xcd * slots
    return Dispatch(workgroups, min(workgroups, device.cus), busiest, slots, -(-on_xcd // places))


def machine(
    arch: Arch, device: Device, clock_mhz: float, active_cus: int, rates: CacheRates, fitted: Fitted = FITTED
) -> Machine:
    """The unit's constants when ``active_cus`` share the device at a clock."""
    memory, latency, issue = arch.memory, arch.latency, arch.issue
    found = Machine()
    found.lds_queue = issue.lds_queue_entries * 2 // issue.lds_queue_simds  # of a pair of SIMDs
    found.lds_gap = 4 * (1 + issue.lds_after_lds_quads)
    found.vmem_queue, found.l1_in_flight = memory.vmem_queue_entries, memory.l1_in_flight_bytes
    found.l1_latency = latency.l1_hit_clk
    # Caches run at the engine clock, the fabric and the HBM at their own: the one's clk and the other's ns are fixed.
    l2 = latency.l2_hit_ns * device.peak_clock_mhz / 1000
    llc = max(l2, latency.mall_hit_ns * clock_mhz / 1000)
    hbm = max(llc, latency.hbm_ns * clock_mhz / 1000)
    # A line that another has asked for and that is still under way comes when the other's does: a load waits for the
    # memory-side cache if it misses the L2 or shares a line with one that does, and for the HBM if any XCD has to.
    l2_miss, llc_miss = 1 - rates.l2_hit, 1 - rates.llc_hit
    beyond_l2, beyond_llc = 1 - rates.l2_hit**2, 1 - (1 - l2_miss * llc_miss) ** device.xcds
    found.l2_latency = round(l2)
    found.load_latency = round(l2 + beyond_l2 * (llc - l2) + beyond_llc * (hbm - llc))
    found.l2_miss, found.llc_miss = round(l2_miss * _SHARE), round(llc_miss * _SHARE)
    share = (
        min(1 / active_cus, memory.bandwidth_fraction_per_cu) * 1000 / clock_mhz
    )  # GB/s of the device to bytes a clk
    per_xcd = -(-active_cus // device.xcds)
    # The L2s' rate was found under dense MFMAs, and they run at the engine clock: it is so many bytes a clk.
    l2_share = share * clock_mhz / device.matrix_clock_mhz
    all_l2s = memory.l2_read_bytes_per_clk * memory.l2_read_efficiency / per_xcd
    l2_rate = min(memory.l2_achieved_gbps * l2_share, all_l2s)
    found.l2_line = _clk(LINE, min(l2_rate, memory.l1_fill_bytes_per_clk))
    found.llc_line = _clk(LINE, memory.mall_achieved_gbps * share)
    found.hbm_line = _clk(LINE, device.hbm_achieved_gbps * share)
    # Fitted on gfx950; MI300X copies as fast as it reads (measured). The L2s write back, whatever one unit could draw.
    hbm_write = fitted.hbm_write_gbps if arch.name == "gfx950" else device.hbm_achieved_gbps
    found.hbm_write_line = _clk(LINE, hbm_write * 1000 / clock_mhz / active_cus)
    found.dirty_clk = found.hbm_write_line * memory.l2_bytes // (LINE * per_xcd * _GRAIN)
    written = memory.l2_write_bytes_per_clk * memory.l2_write_efficiency / per_xcd
    found.write_line = _clk(LINE // 2, min(written, memory.l1_to_cu_bytes_per_clk))
    found.barrier_clk, found.start_gap = 4 * issue.barrier_quads, START_GAP_CLK
    found.max_vm, found.max_lgkm = arch.max_vmcnt, arch.max_lgkmcnt
    return found


def _clk(nbytes: int, bytes_per_clk: float) -> int:
    return max(1, round(_GRAIN * nbytes / bytes_per_clk))
