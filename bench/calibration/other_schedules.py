"""Schedules of attention and of kernels bound by memory, as published."""

from __future__ import annotations

from pykittens.arch import Arch

from .streams import Program, Wave

MFMA = "v_mfma_f32_32x32x16_bf16"


def attention(arch: Arch, tiles: int) -> tuple[Program, list[Wave]]:
    """HipKittens' forward attention, D = 128: 8 waves in ping-pong over ``tiles`` tiles of 64 keys.

    A tile is 32 scores a lane: 36 exponentials and 100 vector instructions by its scheduler hints.
    """
    program = Program(arch)
    waves = []
    for number in range(8):
        wave = Wave(program)
        wave.load(2), wave.wait(vm=0), wave.load(8, to_lds=False), wave.wait(vm=0), wave.valu(64)
        wave.load(4), wave.barrier(), wave.read(16), wave.wait(lgkm=0)
        if number >= 4:
            wave.barrier()
        for _ in range(tiles):
            wave.iteration()
            for _each in range(6):  # S = Q K, with the exponentials of the tile before
                wave.mfma(MFMA), wave.exp(3)
            for _each in range(10):
                wave.mfma(MFMA), wave.valu(5)
            wave.barrier()
            wave.load(2), wave.read(32, 8, transpose=True), wave.wait(lgkm=0), wave.wait(vm=4), wave.barrier()
            wave.priority(1)
            for _each in range(10):  # O += V P, with the row maxima
                wave.mfma(MFMA), wave.valu(5)
            for _each in range(6):
                wave.mfma(MFMA), wave.exp(3)
            wave.priority(0), wave.barrier()
            wave.load(2), wave.read(16), wave.wait(lgkm=0), wave.wait(vm=4), wave.barrier()
        if number < 4:
            wave.barrier()
        wave.valu(64), wave.store(8)
        waves.append(wave)
    return program, waves


def mfma_only(arch: Arch, tiles: int) -> tuple[Program, list[Wave]]:
    """Attention with nothing but its MFMAs."""
    program = Program(arch)
    waves = []
    for _ in range(8):
        wave = Wave(program)
        for _ in range(tiles):
            wave.iteration()
            wave.mfma(MFMA, 64), wave.barrier()
        waves.append(wave)
    return program, waves


def layer_norm(arch: Arch) -> tuple[Program, list[Wave]]:
    """HipKittens' dropout, residual and layernorm of rows of 2048: a row a wave, 64 consecutive bytes a lane."""
    program = Program(arch)
    waves = []
    for _ in range(4):
        wave = Wave(program)
        for _ in range(2):  # x, residual: 4 accesses touch the same 32 lines, 64 pieces of 64 bytes
            wave.load(to_lds=False, lines=32, l1_clk=64), wave.load(3, to_lds=False, lines=0, l1_clk=64)
        # Philox for 32 elements a lane: 8 calls of 10 rounds of 4 multiplications and 4 other instructions. Then seven
        # steps on 32 elements in bf16, each of which is widened, worked on and rounded.
        wave.wait(vm=0), wave.do("v_mul_hi_u32", 320), wave.valu(320 + 3 * 32)
        wave.load(8, to_lds=False, lines=0, l1_clk=64)  # weight and bias: in the L1 from other rows
        wave.store(4, lines=8, l1_clk=64), wave.valu(5 * 3 * 32), wave.wait(vm=4), wave.valu(2 * 3 * 32)
        wave.store(4, lines=8, l1_clk=64)
        waves.append(wave)
    return program, waves


def rotary(arch: Arch) -> tuple[Program, list[Wave]]:
    """HipKittens' rotary embedding: a wave a workgroup, 32 rows of 128, in accesses of 32 bytes of each row."""
    program = Program(arch)
    wave = Wave(program)
    wave.load(8, to_lds=False, lines=8, l1_clk=32), wave.load(8, to_lds=False, lines=4, l1_clk=32)
    wave.wait(vm=0), wave.valu(96), wave.store(8, l1_clk=32)
    return program, [wave]


def skinny(arch: Arch, steps: int) -> tuple[Program, list[Wave]]:
    """Gluon's GEMM with M = 32: 36 KiB an iteration a workgroup of 4 waves, three iterations ahead."""
    program = Program(arch)
    waves = []
    for _ in range(4):
        wave = Wave(program)
        wave.load(18)
        for _ in range(steps):
            wave.iteration()
            wave.wait(vm=9), wave.barrier(), wave.read(8), wave.load(9), wave.wait(lgkm=0)
            wave.mfma("v_mfma_f32_16x16x32_f16", 4)
        wave.store(1)
        waves.append(wave)
    return program, waves


def lds_reads(arch: Arch, waves: int, conflict: int, count: int = 256) -> tuple[Program, list[Wave]]:
    """Nothing but ds_read_b128, on one wave of the CU or on one of each SIMD."""
    program = Program(arch)
    made = []
    for _ in range(waves):
        wave = Wave(program)
        wave.iteration()
        wave.read(count, conflict=conflict)
        made.append(wave)
    return program, made
