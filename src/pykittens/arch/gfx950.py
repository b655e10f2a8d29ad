"""gfx950: CDNA4, in MI350X and MI355X."""

from __future__ import annotations

from pykittens.arch.fact import fact
from pykittens.arch.facts import Arch, Device, Issue, Latency, MatrixRates, Memory
from pykittens.arch.lds_phases import GFX950_ACCESSES

ISA = "CDNA4 ISA"
DATA_SHEET = "AMD data sheet"
PASSES = "MFMA passes of the CDNA4 ISA"
GLUON = "AMD's Gluon tutorials for gfx950"
BLOG = "AMD's blog on CDNA4 GEMM kernels"
IREE = "IREE's optimization guide"
HIPKITTENS = "HipKittens (arXiv 2511.08083)"
ROCISA = "cycle counter of TensileLite's rocisa"
FORMOCAST = "constants of origami's Formocast"
ORIGAMI = "origami's analytical model"
COEXEC = "LLVM pull request 233721, fitted to thread traces"
ROOFLINE = "rocprofiler-compute (ROCm/rocm-systems, pull request 8480)"
AS_GFX942 = "as gfx942"

MI355X = Device(
    name="MI355X",
    xcds=fact(8, "published", IREE),
    cus_per_xcd=fact(32, "published", IREE),
    peak_clock_mhz=fact(2400, "published", DATA_SHEET),
    matrix_clock_mhz=fact(1600, "guess", f"from the TFLOPS and MFMA utilisation in {GLUON}: 1500 to 1700"),
    board_power_w=fact(1400, "published", DATA_SHEET),
    hbm_bytes=fact(288 << 30, "published", DATA_SHEET),
    hbm_peak_gbps=fact(8000, "published", DATA_SHEET),
    hbm_achieved_gbps=fact(6914, "measured", f"{ROOFLINE} on an MI350X; {GLUON}'s skinny GEMM reads 6440"),
)

MI350X = Device(
    name="MI350X",
    xcds=fact(8, "published", IREE),
    cus_per_xcd=fact(32, "published", IREE),
    peak_clock_mhz=fact(2200, "published", DATA_SHEET),
    matrix_clock_mhz=fact(1400, "guess", "from MI355X by board power"),
    board_power_w=fact(1000, "published", DATA_SHEET),
    hbm_bytes=fact(288 << 30, "published", DATA_SHEET),
    hbm_peak_gbps=fact(8000, "published", DATA_SHEET),
    hbm_achieved_gbps=fact(6914, "measured", f"{ROOFLINE}: reads only; TransferBench reaches 7200"),
)

RATES = MatrixRates(
    f64=fact(128, "manual", PASSES),
    f32=fact(256, "manual", PASSES),
    xf32=fact(0, "llvm", "no such instruction"),
    f16=fact(4096, "manual", PASSES),
    bf16=fact(4096, "manual", PASSES),
    i8=fact(8192, "manual", PASSES),
    fp8=fact(8192, "manual", PASSES),
    fp6=fact(16384, "manual", PASSES),
    fp4=fact(16384, "manual", PASSES),
)

ISSUE = Issue(
    valu_clk=fact(4, "manual", "64 lanes on 16"),
    trans_clk=fact(8, "measured", f"{GLUON}: three fit under a 32x32x16 MFMA"),
    packed_f32_clk=fact(4, "measured", GLUON),
    valu_and_memory_coissue=fact(True, "measured", GLUON),
    mfma_first_valu_quads=fact(1, "measured", COEXEC),
    mfma_first_valu_bytes=fact(16, "measured", COEXEC),
    mfma_packed_f32_quads=fact(2, "measured", f"{COEXEC}; {GLUON} agree"),
    mfma_packed_f32_wide_quads=fact(1, "measured", f"{COEXEC}; {GLUON} agree"),
    lds_after_mfma_quads=fact(1, "published", ROCISA),
    lds_after_lds_quads=fact(1, "published", ROCISA),
    lds_data_clk=fact(4, "published", f"{FORMOCAST}: 5 slots for 16 bytes, 3 for 8"),
    mfma_hides_lds_writes=fact(False, "guess", AS_GFX942),
    waitcnt_clk=fact(4, "measured", GLUON),
    barrier_quads=fact(2, "published", f"{ROCISA}; skew between waves comes on top, 37 to 94 clk in {GLUON}"),
    branch_quads=fact(6, "published", ROCISA),
    branch_after_mfma_quads=fact(4, "published", ROCISA),
    nop_clk=fact(4, "manual", ISA),
    lds_queue_entries=fact(8, "measured", f"{GLUON}: the first eight issue at 4 to 8 clk"),
    lds_queue_simds=fact(2, "measured", GLUON),
    lds_read_b32_service_clk=fact(4, "measured", GLUON),
    lds_read_b64_service_clk=fact(8, "measured", GLUON),
    lds_read_b128_service_clk=fact(16, "measured", GLUON),
    lds_write_b128_service_clk=fact(32, "guess", "1024 bytes of 4 SIMDs over 32 banks, as 8-byte writes"),
    lds_read_b128_alone_clk=fact(8, "measured", f"{GLUON}: 128 bytes a clk to a pair of SIMDs"),
    vmem_x1_clk=fact(4, "measured", f"{GLUON}: 64 bytes a clk"),
    vmem_x2_clk=fact(16, "measured", f"{GLUON}: no faster than 16 bytes a lane"),
    vmem_x4_clk=fact(16, "measured", f"{GLUON}: 64 bytes a clk"),
    vmem_row_bytes=fact(128, "guess", f"{AS_GFX942}, where it was measured; the vector L1 is the same"),
)

LATENCY = Latency(
    l1_hit_clk=fact(125, "guess", "measured on MI210"),
    l2_hit_ns=fact(83, "guess", AS_GFX942),
    mall_hit_ns=fact(218, "guess", f"{AS_GFX942}; {HIPKITTENS}, section 3.4: 300 at worst"),
    hbm_ns=fact(347, "guess", f"{AS_GFX942}; {HIPKITTENS}, section 3.4: 500 at worst"),
    tlb_miss_ns=fact(47, "guess", AS_GFX942),
    loaded_round_trip_clk=fact(1000, "measured", f"{GLUON}: K = 8192, mostly L2; up to 1500 at large K"),
    lds_read_b32_clk=fact(40, "published", FORMOCAST),
    lds_read_b64_clk=fact(40, "published", FORMOCAST),
    lds_read_b128_clk=fact(56, "published", f"{FORMOCAST}; {GLUON} measure 50 to 70"),
    lds_read_back_to_back_clk=fact(8, "published", ROCISA),
    lds_read_back_to_back_max_clk=fact(32, "published", ROCISA),
    lds_write_b32_clk=fact(44, "published", FORMOCAST),
    lds_write_b64_clk=fact(48, "published", FORMOCAST),
    lds_write_b128_clk=fact(56, "published", FORMOCAST),
    lds_permute_clk=fact(50, "guess", AS_GFX942),
    dpp_clk=fact(8, "guess", AS_GFX942),
    scalar_load_hit_clk=fact(50, "guess", "no figure found"),
    scalar_load_miss_clk=fact(200, "guess", "as the L2"),
    cross_xcd_atomic_ns=fact(159, "guess", AS_GFX942),
    kernel_start_us=fact(2.65, "published", f"{FORMOCAST}: 2.6 to 2.7"),
    kernel_start_warm_us=fact(2.05, "published", f"{FORMOCAST}: 2.0 to 2.1"),
)

MEMORY = Memory(
    l1_bytes=fact(32 << 10, "published", IREE),
    l1_line_bytes=fact(128, "published", IREE),
    l1_ways=fact(64, "published", IREE),
    l1_sets=fact(4, "published", IREE),
    l1_to_cu_bytes_per_clk=fact(64, "measured", GLUON),
    l1_fill_bytes_per_clk=fact(128, "published", FORMOCAST),
    l1_in_flight_bytes=fact(32 << 10, "measured", f"{GLUON}: with the queue, 44 KiB a round trip"),
    vmem_queue_entries=fact(12, "measured", f"{GLUON}: about 12, of 1 KiB"),
    l1i_bytes=fact(64 << 10, "published", IREE),
    l1i_ways=fact(8, "published", IREE),
    l1i_cus=fact(2, "guess", AS_GFX942),
    scalar_l1_bytes=fact(16 << 10, "guess", AS_GFX942),
    scalar_l1_cus=fact(2, "guess", AS_GFX942),
    l2_bytes=fact(4 << 20, "published", IREE),
    l2_channels=fact(16, "published", IREE),
    l2_ways=fact(16, "published", IREE),
    l2_sets_per_channel=fact(128, "published", "256 KiB a channel in 16 ways of 128-byte lines"),
    l2_line_bytes=fact(128, "published", IREE),
    l2_read_bytes_per_clk=fact(2048, "published", IREE),
    l2_write_bytes_per_clk=fact(1024, "published", IREE),
    l2_read_efficiency=fact(0.90, "published", FORMOCAST),
    l2_write_efficiency=fact(0.75, "published", FORMOCAST),
    l2_achieved_gbps=fact(17000, "published", f"{ORIGAMI}; 17200 follows from {HIPKITTENS}, equation 1"),
    xcd_link_bytes_per_clk=fact(1024, "guess", AS_GFX942),
    mall_bytes=fact(256 << 20, "published", f"{HIPKITTENS} and AMD's blogs"),
    mall_slices=fact(128, "guess", AS_GFX942),
    mall_ways=fact(16, "guess", AS_GFX942),
    mall_line_bytes=fact(64, "guess", AS_GFX942),
    mall_bytes_per_clk_per_slice=fact(64, "guess", AS_GFX942),
    mall_achieved_gbps=fact(8530, "published", f"{ORIGAMI}; 5750 follows from {HIPKITTENS}, equation 1"),
    bandwidth_fraction_per_cu=fact(0.0069, "measured", f"{GLUON}: 47.8 GB/s a CU; {ORIGAMI} has 0.008 of 6000"),
    tlb_entries_per_xcd=fact(16384, "guess", AS_GFX942),
    tlb_page_bytes=fact(4096, "guess", AS_GFX942),
)

gfx950 = Arch(
    name="gfx950",
    generation="CDNA4",
    elf_mach=fact(0x4F, "llvm", "EF_AMDGPU_MACH_AMDGCN_GFX950, as llvm-readelf shows it"),
    wave_size=fact(64, "manual", ISA),
    simds_per_cu=fact(4, "published", IREE),
    lanes_per_simd=fact(16, "published", IREE),
    waves_per_simd=fact(8, "llvm", "most waves a SIMD"),
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
    lds_bytes=fact(160 << 10, "manual", ISA),
    max_lds_per_workgroup=fact(160 << 10, "manual", ISA),
    lds_granule=fact(1280, "manual", f"{ISA}; LLVM agrees"),
    lds_banks=fact(64, "manual", f"{ISA}: of 640 dwords; some accesses see 32, their phases say so"),
    lds_bank_bytes=fact(4, "manual", ISA),
    lds_read_bytes_per_clk=fact(256, "measured", f"{GLUON}; {BLOG}"),
    lds_accesses=GFX950_ACCESSES,
    fp8=fact("ocp", "manual", f"{ISA}: E4M3 with bias 7 and E5M2 with bias 15"),
    load_to_lds_bytes=fact((1, 2, 4, 12, 16), "llvm", "8 bytes are refused"),
    load_to_lds_wide_stride=fact(
        16, "measured", "Triton's kernels: 16 gives no wrong element; b96 leaves every 4th dword"
    ),
    transposing_lds_reads=fact(True, "llvm", "assembles"),
    permlane_swap=fact(True, "llvm", "assembles"),
    cvt_pk_bf16=fact(True, "llvm", "assembles"),
    cvt_scalef32=fact(True, "llvm", "assembles"),
    mfma_16bit_k32=fact(True, "llvm", "assembles"),
    mfma_f8f6f4=fact(True, "llvm", "assembles"),
    mfma_xf32=fact(False, "llvm", "refused"),
    buffer_atomic_pk_bf16=fact(True, "llvm", "assembles"),
    matrix_flop_per_clk=RATES,
    issue=ISSUE,
    latency=LATENCY,
    memory=MEMORY,
    devices=(MI355X, MI350X),
)
