"""The two chips: sources everywhere, figures that fit each other, and what LLVM's assembler says of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pykittens import arch as rooms
from pykittens.arch import SOURCES, Arch, Device, gfx942, gfx950
from pykittens.errors import CodeObjectError, InputError

DEVICES = [pytest.param(arch, each, id=each.name) for arch in rooms.ARCHS.values() for each in arch.devices]


def assemble(arch: str, text: str, folder: Path) -> bytes | None:
    """The object file LLVM makes of `text` for `arch`, or None if it refuses."""
    source, target = folder / "k.s", folder / "k.o"
    source.write_text(text + "\n", "utf-8")
    command = ["clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-c", str(source), "-o", str(target)]
    done = subprocess.run([sys.executable, "-m", "ziglang", *command], capture_output=True, timeout=60, check=False)
    return target.read_bytes() if done.returncode == 0 else None


def test_get_knows_its_chips() -> None:
    assert rooms.get("gfx942") is gfx942
    assert rooms.get("gfx950") is gfx950


@pytest.mark.parametrize("name", ["gfx90a", "GFX950", "", None, 950])
def test_get_refuses_others_and_lists_the_known(name: str) -> None:
    with pytest.raises(InputError, match=r"unknown arch .*; choose one of gfx942, gfx950") as caught:
        rooms.get(name)
    assert caught.value.code == "unknown-arch"


def test_chip_is_found_by_its_elf_machine(arch: Arch) -> None:
    assert rooms.of_elf_mach(arch.elf_mach) is arch
    with pytest.raises(CodeObjectError, match=r"x.co: .* machine 0x3f; build it for one of gfx942 \(0x4c\), gfx950"):
        rooms.of_elf_mach(0x3F, "x.co")


def test_every_fact_has_a_source_and_is_printed(arch: Arch) -> None:
    text = rooms.describe(arch)
    facts = list(arch.facts())
    assert len(facts) > 100
    assert text.count("\n") == len(facts)
    for path, each in facts:
        assert each.source in SOURCES
        assert each.note, path
        assert any(line.split()[0] == path and each.source in line for line in text.splitlines()[1:])


def test_caches_have_the_size_of_their_parts(arch: Arch) -> None:
    memory = arch.memory
    assert memory.l1_bytes == memory.l1_ways * memory.l1_sets * memory.l1_line_bytes
    assert memory.l2_bytes == memory.l2_channels * memory.l2_ways * memory.l2_sets_per_channel * memory.l2_line_bytes


def test_lds_is_whole_granules(arch: Arch) -> None:
    assert arch.lds_bytes % arch.lds_granule == 0
    assert arch.max_lds_per_workgroup == arch.lds_bytes
    assert arch.lds_read_bytes_per_clk == arch.lds_banks * arch.lds_bank_bytes


@pytest.mark.parametrize(
    ("name", "dtype", "tflops"),
    [
        ("MI300X", "bf16", 1307.4),
        ("MI300X", "fp8", 2614.9),
        ("MI300X", "f32", 163.4),
        ("MI355X", "bf16", 2516.6),
        ("MI355X", "fp8", 5033.2),
        ("MI355X", "fp4", 10066.3),
        ("MI355X", "f64", 78.6),
        ("MI350X", "bf16", 2306.9),
    ],
)
def test_rates_give_the_published_peaks(name: str, dtype: str, tflops: float) -> None:
    """AMD's data sheets, dense."""
    arch = next(each for each in rooms.ARCHS.values() if name in {device.name for device in each.devices})
    device = arch.device(name)
    peak = device.cus * device.peak_clock_mhz * getattr(arch.matrix_flop_per_clk, dtype) / 1e6
    assert peak == pytest.approx(tflops, abs=0.1)


@pytest.mark.parametrize(("arch", "device"), DEVICES)
def test_devices_run_below_their_peaks(arch: Arch, device: Device) -> None:
    assert arch.device(device.name) is device
    assert device.matrix_clock_mhz < device.peak_clock_mhz
    assert device.hbm_achieved_gbps < device.hbm_peak_gbps
    assert device.cus == device.xcds * device.cus_per_xcd


def test_default_devices_and_unknown_ones() -> None:
    assert (gfx942.device().name, gfx950.device().name) == ("MI300X", "MI355X")
    assert (gfx942.device().cus, gfx950.device().cus) == (304, 256)
    with pytest.raises(InputError, match="gfx950 has no device 'MI300X'; choose one of MI355X, MI350X"):
        gfx950.device("MI300X")


@pytest.mark.parametrize(("vgprs", "waves"), [(0, 8), (1, 8), (64, 8), (65, 7), (128, 4), (129, 3), (256, 2), (512, 1)])
def test_waves_for_vgprs(arch: Arch, vgprs: int, waves: int) -> None:
    assert arch.waves_for_vgprs(vgprs) == waves


def test_accum_offsets(arch: Arch) -> None:
    offsets = arch.accum_offsets()
    assert (offsets[0], offsets[1], offsets[-1], len(offsets)) == (4, 8, 256, 64)


def test_elf_machine_is_the_one_llvm_writes(arch: Arch, tmp_path: Path) -> None:
    made = assemble(arch.name, "s_endpgm", tmp_path)
    assert made is not None
    assert made[48] == arch.elf_mach  # low byte of e_flags in an ELF64 header


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("transposing_lds_reads", "ds_read_b64_tr_b16 v[0:1], v2"),
        ("transposing_lds_reads", "ds_read_b96_tr_b6 v[0:2], v4"),
        ("permlane_swap", "v_permlane16_swap_b32 v0, v1"),
        ("permlane_swap", "v_permlane32_swap_b32 v0, v1"),
        ("cvt_pk_bf16", "v_cvt_pk_bf16_f32 v0, v1, v2"),
        ("cvt_scalef32", "v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, v3"),
        ("mfma_16bit_k32", "v_mfma_f32_16x16x32_bf16 a[0:3], v[0:3], v[8:11], a[0:3]"),
        ("mfma_f8f6f4", "v_mfma_f32_16x16x128_f8f6f4 a[0:3], v[0:7], v[8:15], a[0:3]"),
        ("mfma_xf32", "v_mfma_f32_16x16x8_xf32 a[0:3], v[2:3], v[4:5], a[0:3]"),
        ("buffer_atomic_pk_bf16", "buffer_atomic_pk_add_bf16 v0, v1, s[0:3], 0 offen"),
    ],
)
def test_flags_are_what_llvm_accepts(arch: Arch, flag: str, text: str, tmp_path: Path) -> None:
    assert (assemble(arch.name, text, tmp_path) is not None) == getattr(arch, flag)


@pytest.mark.parametrize(
    ("size", "suffix"), [(1, "ubyte"), (2, "ushort"), (4, "dword"), (8, "dwordx2"), (12, "dwordx3"), (16, "dwordx4")]
)
def test_load_to_lds_widths_are_what_llvm_accepts(arch: Arch, size: int, suffix: str, tmp_path: Path) -> None:
    accepted = assemble(arch.name, f"buffer_load_{suffix} v0, s[0:3], 0 offen lds", tmp_path) is not None
    assert accepted == (size in arch.load_to_lds_bytes)


def test_register_limits_are_llvms(arch: Arch, tmp_path: Path) -> None:
    last = arch.max_sgprs - 1
    assert assemble(arch.name, f"s_mov_b32 s{last}, 0", tmp_path) is not None
    assert assemble(arch.name, f"s_mov_b32 s{last + 1}, 0", tmp_path) is None
    assert assemble(arch.name, f"v_mov_b32 v{arch.max_vgprs - 1}, 0", tmp_path) is not None
    assert assemble(arch.name, f"v_mov_b32 v{arch.max_vgprs}, 0", tmp_path) is None
    assert assemble(arch.name, "ds_read_b64 v[2:3], v0", tmp_path) is not None
    assert assemble(arch.name, "ds_read_b64 v[1:2], v0", tmp_path) is None


@pytest.mark.parametrize(
    ("counter", "field"), [("vmcnt", "max_vmcnt"), ("lgkmcnt", "max_lgkmcnt"), ("expcnt", "max_expcnt")]
)
def test_wait_counters_are_llvms(arch: Arch, counter: str, field: str, tmp_path: Path) -> None:
    most = getattr(arch, field)
    assert assemble(arch.name, f"s_waitcnt {counter}({most})", tmp_path) is not None
    assert assemble(arch.name, f"s_waitcnt {counter}({most + 1})", tmp_path) is None
