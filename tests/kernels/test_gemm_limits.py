"""What the GEMMs must hold: registers, MFMAs, bank conflicts and length of the hot loops; and HipKittens' mistakes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import pykittens as pk
from pykittens.check.banks import BankTable
from pykittens.kernels.gemm import TILES
from pykittens.kernels.product import Product
from pykittens.schedule import PingPong, grid
from pykittens.sim import Device
from pykittens.tile import barrier, cdiv, f32, gl, kernel, load, loop, rt, wait_for, wave, zero

from .family import FAMILY, Choice, built, tensors_of

PING_PONG: Choice = ("gemm", "gfx950", ())
PING_PONG_32: Choice = ("gemm", "gfx950", (("mfma", "32x32"),))
PING_PONG_8: Choice = ("gemm", "gfx950", (("dtype", "e4m3fn"),))
INTERLEAVED: Choice = ("gemm_interleaved", "gfx950", ())
KERNELS = Path(pk.kernels.__file__).parent


def hot_loop(choice: Choice) -> list[str]:
    """The instructions of the loop with most MFMAs, as written in the assembly."""
    lines = built(choice).assembly.splitlines()
    loops = []
    for start, line in enumerate(lines):
        if found := re.match(r"(loop_\d+):", line):
            end = next(i for i in range(start, len(lines)) if re.search(rf"s_cbranch_scc1 {found[1]}$", lines[i]))
            loops.append(
                [text.strip() for text in lines[start : end + 1] if text.startswith("  ") and "." not in text[:3]]
            )
    return max(loops, key=lambda body: sum("v_mfma" in text for text in body))


def count(body: list[str], word: str) -> int:
    return sum(text.startswith(word) for text in body)


@pytest.mark.parametrize(
    ("choice", "mfma", "expected"),
    [
        (PING_PONG, "v_mfma_f32_16x16x32_bf16", 128),
        (PING_PONG_32, "v_mfma_f32_32x32x16_bf16", 64),
        (PING_PONG_8, "v_mfma_f32_16x16x128_f8f6f4", 64),
        (INTERLEAVED, "v_mfma_f32_16x16x128_f8f6f4", 128),
    ],
)
def test_the_loop_has_the_mfmas_of_two_k_tiles_and_no_spill(choice: Choice, mfma: str, expected: int) -> None:
    body = hot_loop(choice)
    assert count(body, mfma) == count(body, "v_mfma") == expected
    assert count(body, "scratch") == count(body, "v_accvgpr") == 0


def test_two_waves_of_256_registers_share_a_simd() -> None:
    metadata = built(PING_PONG).metadata
    assert metadata.vgprs <= 256
    assert metadata.vgpr_spills in (0, None)
    assert built(INTERLEAVED).metadata.vgprs <= 512


@pytest.mark.parametrize("choice", [PING_PONG, PING_PONG_8, INTERLEAVED], ids=str)
def test_copies_need_no_wait_states(choice: Choice) -> None:
    """Between the M0 of a copy and the copy stands something useful, where a phase has anything else to do."""
    body = hot_loop(choice)
    assert count(body, "s_nop") <= (4 if choice[0] == "gemm" else 0)


@pytest.mark.parametrize("choice", [PING_PONG, PING_PONG_32, PING_PONG_8, INTERLEAVED, *FAMILY], ids=str)
def test_no_lds_access_meets_a_bank_twice(choice: Choice) -> None:
    """Executed, all waves: reads, writes and copies of K-tiles whole in K, and of a split product's sums."""
    exe = built(choice)
    tensors = tensors_of(choice, 256, 256, 512)
    launch = exe.launch_arguments(*tensors.values())
    assert launch is not None
    table = BankTable(choice[1], exe.lds_names())
    for trace in Device(choice[1]).load(exe.code_object).kernel().trace(**launch):
        table.add_trace(trace)
    tiles = ("sums",) if choice[0] == "gemm_split" else ("As", "Bs")
    assert {f"{tile} {verb}" for tile in tiles for verb in ("read", "write")} <= set(table.names())
    assert {name: table[name].degree for name in table.names()} == dict.fromkeys(table.names(), 1)


@pytest.mark.parametrize("choice", [PING_PONG, *FAMILY], ids=str)
def test_no_load_counts_on_half_a_register(choice: Choice) -> None:
    """With SRAM ECC, d16 loads do not keep the other half (llvm); stores of half a register are fine."""
    assert not re.search(r"(load|read)_\w*d16", built(choice).assembly)


def test_kernels_are_short() -> None:
    """The BF16 kernel's file below 150 lines and its loop at most 30; the 4-wave FP8 loop at most 40."""
    for name, lines, most in (("gemm", 150, 30), ("gemm_interleaved", 150, 40)):
        text = (KERNELS / f"{name}.py").read_text()
        assert text.count("\n") < lines
        start = text.index("for t in loop(p.whole")
        end = re.compile(r"\n        turns\.end|\n\n").search(text, start)
        assert end is not None
        assert text.count("\n", start, end.start()) + 1 <= most


def test_no_file_is_long() -> None:
    assert all(path.read_text().count("\n") < 400 for path in KERNELS.glob("*.py"))


# -- what HipKittens gets wrong (facts: hipkittens-defects) ------------------------------------------------------


def hipkittens(early: bool):
    """The 8-wave loop, and with ``early`` HipKittens' order: B of the next K-tile is read in the phase whose end alone
    proves that its copy has landed.
    """

    @kernel(waves=(2, 4))
    def product(A: gl("bf16"), B: gl("bf16"), C: gl("f32")):
        height, width = TILES["gfx950"][0]
        rows, cols = height // 4, width // 8
        place = grid.row_major(cdiv(C.rows, height), cdiv(C.cols, width))
        p = Product(
            A, B, C, "bf16", "ABt", halves=(128, 128), part=(rows, cols), place=place, wave=(wave.row, wave.col)
        )  # fmt: skip
        a, b = p.a_tile(), p.b_tile(copies=2)
        c = rt(f32, rows, cols, copies=(2, 2), file="agpr")
        for part in c:
            zero(part)

        def read_a(t, h):
            return load(a, p.view_a(t, h))

        def read_b(t, h):
            return load(b[h], p.view_b(t, h))

        turns = PingPong(late=wave.row)
        for h in range(2):
            p.copy_b(0, h), p.copy_a(0, h)
        turns.begin()
        wait_for(*p.tiles(0))
        barrier()
        p.copy_b(1, 0), p.copy_a(1, 0), p.copy_b(1, 1)
        barrier()
        read_b(0, 0)
        wait_for(b[0])
        for t in loop(p.whole, unroll=2):
            first = () if early else (read_b(t, 0),)
            turns.phase("00", *first, read_a(t, 0), p.copy_a(t + 1, 1), p.mma(c[0, 0], a, b[0]), wait=(b[0],))
            turns.phase("01", read_b(t, 1), p.copy_b(t + 2, 0), p.mma(c[0, 1], a, b[1]))
            turns.phase("10", read_a(t, 1), p.copy_a(t + 2, 0), p.mma(c[1, 0], a, b[0]))
            last = (read_b(t + 1, 0),) if early else ()
            turns.phase("11", *last, p.copy_b(t + 2, 1), p.mma(c[1, 1], a, b[1]), wait=p.tiles(t + 1))
        turns.end()

    return product


def test_reading_b_while_its_copy_may_be_in_flight_is_refused() -> None:
    """HipKittens reads Bs[1][0] in phase 4, whose own end waits for it."""
    pk.compile(hipkittens(early=False))
    with pytest.raises(pk.errors.BuildError, match=r"reads tile Bs\[1, 0\], whose copy .* may still be in flight"):
        pk.compile(hipkittens(early=True))


def overwriting(waited: bool):
    """B9: A's buffer is filled again in the phase after its reads, of which only B's have been waited for."""

    @kernel(waves=(2, 4))
    def product(A: gl("bf16"), B: gl("bf16"), C: gl("f32")):
        p = Product(A, B, C, "bf16", "ABt", halves=(128, 128), part=(64, 32), place=(0, 0), wave=(wave.row, wave.col))
        a, b = p.a_tile(), p.b_tile()
        c = rt(f32, 64, 32, file="agpr")
        zero(c)
        turns = PingPong(late=wave.row)
        p.copy_b(0, 0), p.copy_a(0, 0)
        turns.begin()
        wait_for(*p.tiles(0))
        barrier()
        barrier()
        if waited:  # the schedule waits for all reads of a memory part before the barrier that ends it
            turns.phase("0", load(b, p.view_b(0, 0)), load(a, p.view_a(0, 0)), p.mma(c, a, b))
        else:
            load(b, p.view_b(0, 0)), load(a, p.view_a(0, 0))
            wait_for(b)
            barrier()
            p.mma(c, a, b)
            barrier()
        turns.phase("1", p.copy_a(0, 0))
        turns.end()

    return product


def test_refilling_a_buffer_one_phase_after_its_reads_needs_them_returned() -> None:
    """B9: FP8 8-wave refills A0 on the strength of a wait for B0."""
    pk.compile(overwriting(waited=True))
    with pytest.raises(pk.errors.BuildError, match=r"copies into tile As\[0, 0\], which other waves may still read"):
        pk.compile(overwriting(waited=False))


def test_rows_of_16384_bytes_are_not_taken_for_none() -> None:
    """B16: a row stride of 16384 bytes is 0 in HipKittens' descriptor; ours have no stride field."""
    exe = built(("gemm", "gfx950", (("out", "f32"), ("tile", "128x128"))))
    rng = np.random.default_rng(0)
    wide = rng.integers(-3, 4, (6, 8192)).astype("float32").astype(pk.bf16.numpy)
    a, b = wide[:, :70], wide[::-1][:, :70].copy()
    c = rng.random((6, 6)).astype("float32")
    exe(a, b, c)
    assert a.strides[0] == 16384
    assert (c == a.astype("float32") @ b.astype("float32").T).all()


def test_the_sources_name_no_counter_values() -> None:
    """Waits are by name: no kernel counts them by hand."""
    for path in KERNELS.glob("gemm*.py"):
        assert "vmcnt" not in path.read_text() and "lgkmcnt" not in path.read_text()
    assert "wait=" in inspect.getsource(pk.kernels.gemm.function.__globals__["multiply"])
