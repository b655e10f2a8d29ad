"""gfx942: CDNA3, in MI300X and MI325X."""

from __future__ import annotations

from pykittens.arch.fact import fact
from pykittens.arch.facts import Arch, Device, Issue, Latency, MatrixRates, Memory
from pykittens.arch.lds_phases import GFX942_ACCESSES

WHITE_PAPER = "CDNA3 white paper"
DATA_SHEET = "AMD data sheet"
ISA = "CDNA3 ISA"
PASSES = "MFMA passes of the CDNA3 ISA and AMD's matrix calculator"
GLUON = "AMD's Gluon tutorials"
IREE = "IREE's optimization guide for MI300X"
CHIPS_AND_CHEESE = "Chips and Cheese, Testing AMD's Giant MI300X"
VM_CHECK = "microbenchmarks on MI300X virtual machines"
ROCISA = "cycle counter of TensileLite's rocisa"
FORMOCAST = "constants of origami's Formocast"
ORIGAMI = "origami's analytical model"
MAX_FLOPS = "AMD, Measuring Max-Achievable FLOPs, part 2"
COEXEC = "LLVM pull request 233721, fitted to thread traces"

MI300X = Device(
    name="MI300X",
    xcds=fact(8, "manual", WHITE_PAPER),
    cus_per_xcd=fact(38, "manual", f"{WHITE_PAPER}; 40 on the die"),
    peak_clock_mhz=fact(2100, "manual", WHITE_PAPER),
    matrix_clock_mhz=fact(1207, "measured", f"{MAX_FLOPS}: bf16 GEMM; fp16 1115, fp8 1230 to 1273"),
    board_power_w=fact(750, "published", DATA_SHEET),
    hbm_bytes=fact(192 << 30, "published", DATA_SHEET),
    hbm_peak_gbps=fact(5300, "manual", WHITE_PAPER),
    hbm_achieved_gbps=fact(4000, "measured", f"{VM_CHECK}: 3800 to 4100"),
)

MI325X = Device(
    name="MI325X",
    xcds=fact(8, "published", DATA_SHEET),
    cus_per_xcd=fact(38, "published", DATA_SHEET),
    peak_clock_mhz=fact(2100, "published", DATA_SHEET),
    matrix_clock_mhz=fact(1447, "measured", f"{MAX_FLOPS}: bf16 GEMM; fp16 1354, fp8 1464"),
    board_power_w=fact(1000, "published", DATA_SHEET),
    hbm_bytes=fact(256 << 30, "published", DATA_SHEET),
    hbm_peak_gbps=fact(6000, "published", DATA_SHEET),
    hbm_achieved_gbps=fact(4500, "guess", "MI300X's share of the peak"),
)

RATES = MatrixRates(
    f64=fact(256, "manual", PASSES),
    f32=fact(256, "manual", PASSES),
    xf32=fact(1024, "manual", PASSES),
    f16=fact(2048, "manual", PASSES),
    bf16=fact(2048, "manual", PASSES),
    i8=fact(4096, "manual", PASSES),
    fp8=fact(4096, "manual", PASSES),
    fp6=fact(0, "llvm", "no such instruction"),
    fp4=fact(0, "llvm", "no such instruction"),
)

ISSUE = Issue(
    valu_clk=fact(4, "manual", "64 lanes on 16"),
    trans_clk=fact(16, "measured", f"{CHIPS_AND_CHEESE}: four lanes a clk and SIMD"),
    packed_f32_clk=fact(4, "measured", f"{GLUON}, on gfx950"),
    valu_and_memory_coissue=fact(True, "measured", f"{GLUON}, on gfx950"),
    mfma_first_valu_quads=fact(1, "measured", COEXEC),
    mfma_first_valu_bytes=fact(16, "measured", COEXEC),
    mfma_packed_f32_quads=fact(2, "measured", COEXEC),
    mfma_packed_f32_wide_quads=fact(1, "measured", COEXEC),
    lds_after_mfma_quads=fact(0, "published", f"{ROCISA} has the rule for gfx950 only"),
    lds_after_lds_quads=fact(1, "published", ROCISA),
    lds_data_clk=fact(4, "measured", f"{GLUON}: 20 clk for 16 bytes, 4 of them for the address"),
    mfma_hides_lds_writes=fact(False, "measured", f"{GLUON}: 16 writes of 20 clk cost 366 clk an iteration"),
    waitcnt_clk=fact(4, "measured", GLUON),
    barrier_quads=fact(2, "published", f"{ROCISA}; skew between waves comes on top"),
    branch_quads=fact(6, "published", ROCISA),
    branch_after_mfma_quads=fact(4, "published", ROCISA),
    nop_clk=fact(4, "manual", ISA),
    lds_queue_entries=fact(16, "published", f"{ROCISA}: divided by the waves of a workgroup"),
    lds_queue_simds=fact(4, "guess", f"{ROCISA} counts one queue for the workgroup"),
    lds_read_b32_service_clk=fact(8, "guess", "256 bytes of 4 SIMDs at 128 bytes a clk"),
    lds_read_b64_service_clk=fact(16, "measured", GLUON),
    lds_read_b128_service_clk=fact(32, "measured", GLUON),
    lds_write_b128_service_clk=fact(32, "measured", GLUON),
    lds_read_b128_alone_clk=fact(16, "guess", "half the width of gfx950's, as everywhere in the LDS"),
    vmem_x1_clk=fact(4, "measured", f"{GLUON}: 64 bytes a clk"),
    vmem_x2_clk=fact(16, "measured", f"{GLUON}: no faster than 16 bytes a lane"),
    vmem_x4_clk=fact(16, "measured", f"{GLUON}: 64 bytes a clk"),
    vmem_row_bytes=fact(128, "measured", f"{GLUON}: rows of 64 bytes take about twice as long"),
)

LATENCY = Latency(
    l1_hit_clk=fact(125, "guess", "measured on MI210; CDNA3 is said to be lower"),
    l2_hit_ns=fact(83, "measured", f"{VM_CHECK}: 81 to 85"),
    mall_hit_ns=fact(218, "measured", f"{CHIPS_AND_CHEESE}; virtual machines 256 to 262"),
    hbm_ns=fact(347, "measured", f"{VM_CHECK}: 341 to 353; with TLB misses up to 660"),
    tlb_miss_ns=fact(47, "measured", CHIPS_AND_CHEESE),
    loaded_round_trip_clk=fact(1000, "guess", "as measured on gfx950"),
    lds_read_b32_clk=fact(8, "published", FORMOCAST),
    lds_read_b64_clk=fact(20, "published", FORMOCAST),
    lds_read_b128_clk=fact(40, "published", FORMOCAST),
    lds_read_back_to_back_clk=fact(8, "published", ROCISA),
    lds_read_back_to_back_max_clk=fact(32, "published", ROCISA),
    lds_write_b32_clk=fact(44, "published", FORMOCAST),
    lds_write_b64_clk=fact(48, "published", FORMOCAST),
    lds_write_b128_clk=fact(56, "published", FORMOCAST),
    lds_permute_clk=fact(50, "measured", IREE),
    dpp_clk=fact(8, "measured", f"{IREE}: 4 to 12"),
    scalar_load_hit_clk=fact(50, "guess", "no figure found"),
    scalar_load_miss_clk=fact(200, "guess", "as the L2"),
    cross_xcd_atomic_ns=fact(159, "measured", f"{CHIPS_AND_CHEESE}: 116 to 202"),
    kernel_start_us=fact(2.65, "published", f"{FORMOCAST}: 2.6 to 2.7"),
    kernel_start_warm_us=fact(2.05, "published", f"{FORMOCAST}: 2.0 to 2.1"),
)

MEMORY = Memory(
    l1_bytes=fact(32 << 10, "manual", WHITE_PAPER),
    l1_line_bytes=fact(128, "manual", WHITE_PAPER),
    l1_ways=fact(64, "published", IREE),
    l1_sets=fact(4, "published", IREE),
    l1_to_cu_bytes_per_clk=fact(64, "published", FORMOCAST),
    l1_fill_bytes_per_clk=fact(128, "published", FORMOCAST),
    l1_in_flight_bytes=fact(32 << 10, "guess", "as measured on gfx950"),
    vmem_queue_entries=fact(12, "guess", "as measured on gfx950"),
    l1i_bytes=fact(64 << 10, "manual", WHITE_PAPER),
    l1i_ways=fact(8, "published", IREE),
    l1i_cus=fact(2, "manual", WHITE_PAPER),
    scalar_l1_bytes=fact(16 << 10, "guess", "as in CDNA2"),
    scalar_l1_cus=fact(2, "guess", "as in CDNA2"),
    l2_bytes=fact(4 << 20, "manual", WHITE_PAPER),
    l2_channels=fact(16, "manual", WHITE_PAPER),
    l2_ways=fact(16, "manual", WHITE_PAPER),
    l2_sets_per_channel=fact(128, "manual", "256 KiB a channel in 16 ways of 128-byte lines"),
    l2_line_bytes=fact(128, "manual", WHITE_PAPER),
    l2_read_bytes_per_clk=fact(2048, "manual", f"{WHITE_PAPER}: 128 a channel"),
    l2_write_bytes_per_clk=fact(1024, "manual", f"{WHITE_PAPER}: 64 a channel"),
    l2_read_efficiency=fact(0.90, "published", FORMOCAST),
    l2_write_efficiency=fact(0.58, "published", FORMOCAST),
    l2_achieved_gbps=fact(17000, "published", f"{ORIGAMI}; 34400 is the theory at 2.1 GHz"),
    xcd_link_bytes_per_clk=fact(1024, "manual", f"{WHITE_PAPER}: 16 channels of 64"),
    mall_bytes=fact(256 << 20, "manual", WHITE_PAPER),
    mall_slices=fact(128, "manual", WHITE_PAPER),
    mall_ways=fact(16, "manual", WHITE_PAPER),
    mall_line_bytes=fact(64, "guess", "one transfer of a slice"),
    mall_bytes_per_clk_per_slice=fact(64, "manual", f"{WHITE_PAPER}: 17.2 TB/s in all"),
    mall_achieved_gbps=fact(11900, "measured", f"{CHIPS_AND_CHEESE}; {ORIGAMI} takes 7310"),
    bandwidth_fraction_per_cu=fact(0.015, "published", f"{ORIGAMI}: 67 CUs saturate"),
    tlb_entries_per_xcd=fact(16384, "measured", f"{CHIPS_AND_CHEESE}: reach of 64 MiB"),
    tlb_page_bytes=fact(4096, "measured", f"{CHIPS_AND_CHEESE}; larger fragments reach further"),
)

gfx942 = Arch(
    name="gfx942",
    generation="CDNA3",
    elf_mach=fact(0x4C, "llvm", "EF_AMDGPU_MACH_AMDGCN_GFX942, as llvm-readelf shows it"),
    wave_size=fact(64, "manual", ISA),
    simds_per_cu=fact(4, "manual", WHITE_PAPER),
    lanes_per_simd=fact(16, "manual", WHITE_PAPER),
    waves_per_simd=fact(8, "measured", "the Linux driver reports 8; LLVM agrees"),
    max_workgroup_size=fact(1024, "llvm", "largest flat workgroup size"),
    vgprs=fact(512, "manual", ISA),
    max_vgprs=fact(256, "manual", f"{ISA}: v0 to v255, and a0 to a255"),
    vgpr_granule=fact(8, "llvm", "allocation granule"),
    vgpr_tuple_alignment=fact(2, "llvm", "an odd register pair is refused"),
    accum_offset_granule=fact(4, "llvm", "accum_offset in range 4 to 256 in increments of 4"),
    accum_offset_min=fact(4, "llvm", "accum_offset in range 4 to 256 in increments of 4"),
    accum_offset_max=fact(256, "llvm", "accum_offset in range 4 to 256 in increments of 4"),
    max_sgprs=fact(102, "llvm", "s102 is refused"),
    sgpr_granule=fact(16, "llvm", "allocation granule"),
    sgprs_per_simd=fact(800, "llvm", "total number of SGPRs"),
    max_user_sgprs=fact(16, "llvm", "user SGPRs of a kernel descriptor"),
    max_vmcnt=fact(63, "llvm", "6 bits"),
    max_lgkmcnt=fact(15, "llvm", "4 bits"),
    max_expcnt=fact(7, "llvm", "3 bits"),
    lds_bytes=fact(64 << 10, "manual", WHITE_PAPER),
    max_lds_per_workgroup=fact(64 << 10, "manual", ISA),
    lds_granule=fact(512, "llvm", "allocation granule"),
    lds_banks=fact(32, "published", IREE),
    lds_bank_bytes=fact(4, "manual", ISA),
    lds_read_bytes_per_clk=fact(128, "published", IREE),
    lds_accesses=GFX942_ACCESSES,
    fp8=fact("fnuz", "manual", f"{ISA}: E4M3 with bias 8 and E5M2 with bias 16, no infinities, one zero"),
    load_to_lds_bytes=fact((1, 2, 4), "llvm", "wider ones are refused"),
    load_to_lds_wide_stride=fact(0, "llvm", "there are no wide ones"),
    transposing_lds_reads=fact(False, "llvm", "refused"),
    permlane_swap=fact(False, "llvm", "refused"),
    cvt_pk_bf16=fact(False, "llvm", "refused"),
    cvt_scalef32=fact(False, "llvm", "refused"),
    mfma_16bit_k32=fact(False, "llvm", "refused"),
    mfma_f8f6f4=fact(False, "llvm", "refused"),
    mfma_xf32=fact(True, "llvm", "assembles"),
    buffer_atomic_pk_bf16=fact(False, "llvm", "refused"),
    matrix_flop_per_clk=RATES,
    issue=ISSUE,
    latency=LATENCY,
    memory=MEMORY,
    devices=(MI300X, MI325X),
)
