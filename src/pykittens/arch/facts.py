"""What pykittens needs to know of a chip, as frozen dataclasses; the chips themselves are gfx942.py and gfx950.py.

Units are in the names: `bytes`, `clk` (engine clocks), `quads` (4 clk, one issue slot of a 64-lane wave), `ns`, `us`,
`mhz`, `gbps` (10^9 bytes a second). "Per clk" is per engine clock. What belongs to single instructions (MFMA passes,
hazard classes, which chip has which) is defined with them in `isa/`; here are only flags that choose between two ways
to build a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pykittens.arch.fact import Facts
from pykittens.arch.lds_phases import LdsAccess
from pykittens.errors import InputError, Unsupported


@dataclass(frozen=True, kw_only=True, eq=False)
class Device(Facts):
    """One product with the chip in it: how many CUs, how fast, how much memory."""

    name: str
    xcds: int
    cus_per_xcd: int  # active ones
    peak_clock_mhz: int
    matrix_clock_mhz: int  # sustained under dense bf16 MFMA; far below the peak, power decides
    board_power_w: int
    hbm_bytes: int
    hbm_peak_gbps: int
    hbm_achieved_gbps: int

    @property
    def cus(self) -> int:
        """Compute units of the whole device."""
        return self.xcds * self.cus_per_xcd


@dataclass(frozen=True, kw_only=True, eq=False)
class MatrixRates(Facts):
    """Peak matrix FLOP per clk and CU (a multiply-add counts two) by input type; 0 where the chip has no such MFMA."""

    f64: int
    f32: int
    xf32: int
    f16: int
    bf16: int
    i8: int
    fp8: int
    fp6: int
    fp4: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Memory(Facts):
    """Caches and the paths between them. The MALL (Infinity Cache) is memory-side, shared by all XCDs, never dirty."""

    l1_bytes: int
    l1_line_bytes: int
    l1_ways: int
    l1_sets: int
    l1_to_cu_bytes_per_clk: int
    l1_fill_bytes_per_clk: int
    l1_in_flight_bytes: int  # data the vector L1 can hold on its way
    vmem_queue_entries: int  # vector memory instructions a CU can have waiting
    l1i_bytes: int
    l1i_ways: int
    l1i_cus: int  # CUs that share one
    scalar_l1_bytes: int
    scalar_l1_cus: int
    l2_bytes: int  # per XCD
    l2_channels: int
    l2_ways: int
    l2_sets_per_channel: int
    l2_line_bytes: int
    l2_read_bytes_per_clk: int  # per XCD
    l2_write_bytes_per_clk: int  # per XCD
    l2_read_efficiency: float
    l2_write_efficiency: float
    l2_achieved_gbps: int  # whole device
    xcd_link_bytes_per_clk: int  # between an XCD and its I/O die
    mall_bytes: int
    mall_slices: int
    mall_ways: int
    mall_line_bytes: int
    mall_bytes_per_clk_per_slice: int
    mall_achieved_gbps: int
    bandwidth_fraction_per_cu: float  # share of the achieved bandwidth one active CU draws, up to 1 in all
    tlb_entries_per_xcd: int
    tlb_page_bytes: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Latency(Facts):
    """Time from issue to data, unloaded unless said otherwise."""

    l1_hit_clk: int
    l2_hit_ns: int
    mall_hit_ns: int
    hbm_ns: int
    tlb_miss_ns: int  # added to the access
    loaded_round_trip_clk: int  # of a global load inside a full GEMM
    lds_read_b32_clk: int
    lds_read_b64_clk: int
    lds_read_b128_clk: int
    lds_read_back_to_back_clk: int  # more for every read just before it
    lds_read_back_to_back_max_clk: int
    lds_write_b32_clk: int
    lds_write_b64_clk: int
    lds_write_b128_clk: int
    lds_permute_clk: int
    dpp_clk: int
    scalar_load_hit_clk: int
    scalar_load_miss_clk: int
    cross_xcd_atomic_ns: int
    kernel_start_us: float
    kernel_start_warm_us: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Issue(Facts):
    """How a SIMD issues. Every wave issues in order, at most one instruction a slot."""

    valu_clk: int  # one vector instruction of a 64-lane wave
    trans_clk: int  # exp, log, rcp, rsq, sqrt, sin, cos
    packed_f32_clk: int  # v_pk_*_f32, two results a lane
    valu_and_memory_coissue: bool  # in one clk, from different waves; LDS and vector memory share one port
    mfma_first_valu_quads: int  # from an MFMA to the same wave's first VALU ...
    mfma_first_valu_bytes: int  # ... and one more for each of so many bytes in its wider operand of A and B
    mfma_packed_f32_quads: int  # past the MFMA's passes before a packed f32 or DOT may start ...
    mfma_packed_f32_wide_quads: int  # ... and so many more if A has 16 bytes or more
    lds_after_mfma_quads: int
    lds_after_lds_quads: int
    lds_data_clk: int  # an LDS write's issue takes for each dword that a lane hands over, beside one slot
    mfma_hides_lds_writes: bool  # else an LDS write waits until its wave's MFMA is done
    waitcnt_clk: int  # when already satisfied
    barrier_quads: int
    branch_quads: int
    branch_after_mfma_quads: int  # earliest after the last MFMA
    nop_clk: int  # s_nop N costs (N + 1) of these
    lds_queue_entries: int  # waiting LDS instructions, reads and writes together
    lds_queue_simds: int  # SIMDs that share one such queue
    lds_read_b32_service_clk: int  # an instruction, per SIMD, while all four SIMDs read
    lds_read_b64_service_clk: int
    lds_read_b128_service_clk: int
    lds_write_b128_service_clk: int
    lds_read_b128_alone_clk: int  # one wave alone on the CU
    vmem_x1_clk: int  # vector L1 time of one coalesced load of 4 bytes a lane, each wave's own
    vmem_x2_clk: int  # 8 bytes a lane
    vmem_x4_clk: int  # 16 bytes a lane
    vmem_row_bytes: int  # a shorter run of addresses takes the vector L1 as long as one of so many bytes


@dataclass(frozen=True, kw_only=True, eq=False)
class Arch(Facts):
    """One instruction set architecture (LLVM's processor name) and everything the rooms above ask of it."""

    name: str
    generation: str
    elf_mach: int  # EF_AMDGPU_MACH: the low byte of e_flags in a code object

    wave_size: int
    simds_per_cu: int
    lanes_per_simd: int
    waves_per_simd: int
    max_workgroup_size: int  # work-items

    vgprs: int  # in the one file of a lane: v and a together
    max_vgprs: int  # most a wave may name as v, and as many again as a
    vgpr_granule: int
    vgpr_tuple_alignment: int  # operands of 64 bits and more start at a multiple of this
    accum_offset_granule: int  # a0 is v[accum_offset]; the offset is a multiple of this ...
    accum_offset_min: int  # ... from here ...
    accum_offset_max: int  # ... to here
    max_sgprs: int  # s0 ... without VCC and the trap handler's
    sgpr_granule: int
    sgprs_per_simd: int
    max_user_sgprs: int

    max_vmcnt: int
    max_lgkmcnt: int
    max_expcnt: int

    lds_bytes: int  # of a CU
    max_lds_per_workgroup: int
    lds_granule: int
    lds_banks: int
    lds_bank_bytes: int
    lds_read_bytes_per_clk: int
    lds_accesses: tuple[LdsAccess, ...]

    fp8: Literal["fnuz", "ocp"]  # what MFMA and conversions mean by an fp8 or bf8 byte
    load_to_lds_bytes: tuple[int, ...]  # per lane, by loads that go to LDS past the registers
    load_to_lds_wide_stride: int  # bytes from lane to lane in LDS for 12 and 16 bytes; 4 below that
    transposing_lds_reads: bool  # ds_read_b64_tr_* and ds_read_b96_tr_b6
    permlane_swap: bool  # v_permlane16_swap and v_permlane32_swap
    cvt_pk_bf16: bool  # two f32 to packed bf16, rounded to nearest even, in one instruction
    cvt_scalef32: bool  # conversions to and from fp8, fp6 and fp4 with an E8M0 scale
    mfma_16bit_k32: bool  # 16x16x32 and 32x32x16 for f16 and bf16
    mfma_f8f6f4: bool  # 16x16x128 and 32x32x64, block-scaled or not
    mfma_xf32: bool
    buffer_atomic_pk_bf16: bool

    matrix_flop_per_clk: MatrixRates
    issue: Issue
    latency: Latency
    memory: Memory
    devices: tuple[Device, ...]

    def device(self, name: str | None = None) -> Device:
        """The product called `name`, or the first of the chip's products; InputError lists those there are."""
        for device in self.devices:
            if name is None or device.name == name:
                return device
        known = ", ".join(device.name for device in self.devices)
        raise InputError("unknown-device", f"{self.name} has no device {name!r}", fix=f"choose one of {known}")

    def lds_access(self, direction: Literal["read", "write", "transpose"], lane_bytes: int) -> LdsAccess:
        """Banks and phases of an LDS instruction that moves `lane_bytes` a lane; less than 4 bytes count as 4.

        `transpose` is a read that exchanges elements between lanes. Raises Unsupported for what the chip cannot do.
        """
        for access in self.lds_accesses:
            if access.direction == direction and access.lane_bytes == max(lane_bytes, 4):
                return access
        raise Unsupported("lds-access", f"{self.name} has no LDS {direction} of {lane_bytes} bytes a lane")

    def accum_offsets(self) -> range:
        """The values that accum_offset may take."""
        return range(self.accum_offset_min, self.accum_offset_max + 1, self.accum_offset_granule)

    def waves_for_vgprs(self, vgprs: int) -> int:
        """Waves that fit on one SIMD when each allocates `vgprs` (v and a together), at most `waves_per_simd`."""
        granules = max(1, -(-vgprs // self.vgpr_granule))
        return min(self.waves_per_simd, self.vgprs // (granules * self.vgpr_granule))
