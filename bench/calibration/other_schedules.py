"""Schedules of attention and of kernels bound by memory, as published."""

from __future__ import annotations

from pykittens.arch import Arch

from .streams import Program, Wave

MFMA, MFMA_F16 = "v_mfma_f32_32x32x16_bf16", "v_mfma_f32_32x32x16_f16"
ROW_CLK = 64
"""L1 time of an access whose neighbouring lanes lie in different rows: a clk a lane, as `costs` has it."""


def _rows(wave: Wave, accesses: int, touched: int) -> None:
    """Loads of 16 bytes a lane to 32 bytes of 32 rows each; of ``touched`` that share lines the first fetches these."""
    for i in range(accesses):
        wave.load(to_lds=False, lines=0 if i % touched else 32, l1_clk=ROW_CLK)


def attention(arch: Arch, tiles: int) -> tuple[Program, list[Wave]]:
    """HipKittens' forward attention, D = 128: 8 waves in ping-pong over ``tiles`` tiles of 64 keys.

    A tile is 32 scores a lane: 36 exponentials and 100 vector instructions by its scheduler hints. Queries are read in
    pieces of 32 bytes of a row, the output is written in pieces of 16.
    """
    program = Program(arch, 64)  # subtiles of 32 elements
    waves = []
    for number in range(8):
        wave = Wave(program)
        wave.load(2), wave.wait(vm=0)
        _rows(wave, 8, 4)
        wave.wait(vm=0), wave.valu(64 + 64 + 32), wave.load(4), wave.read(16), wave.wait(vm=2, lgkm=0), wave.barrier()
        wave.mfma(MFMA, 16), wave.valu(16 + 2 + 32), wave.exp(16)
        if number >= 4:
            wave.barrier()
        wave.read(16), wave.load(4), wave.wait(vm=4, lgkm=0), wave.barrier()
        for _ in range(tiles - 1):
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
        wave.exp(16), wave.valu(50), wave.barrier()
        wave.read(32, 8, transpose=True), wave.wait(lgkm=0), wave.barrier(), wave.mfma(MFMA, 16), wave.barrier()
        if number < 4:
            wave.barrier()
        wave.exp(2), wave.valu(64 + 32)  # 1 / norm, the output scaled and rounded; the logarithm of the norm
        wave.do("buffer_store_dwordx2", 16, (4, 32, ROW_CLK, 0))
        waves.append(wave)
    return program, waves


def rotated(arch: Arch, tiles: int, scores: str, values: str, pauses: int = 0) -> tuple[Program, list[Wave]]:
    """Gluon's attention of four clusters, D = 128: 8 waves in ping-pong, two tiles of 64 keys an iteration.

    scores, values: the clusters beside the MFMAs of Q K and P V, as `Wave.follow` reads them. pauses: of 8 slots each,
    at the head of the clusters that load.
    """
    program = Program(arch)
    waves = []
    for number in range(8):
        wave = Wave(program)
        wave.load(2), _rows(wave, 8, 4)
        wave.load(6), wave.wait(vm=4), wave.barrier(), wave.read(16), wave.wait(lgkm=0), wave.mfma(MFMA_F16, 16)
        if number >= 4:
            wave.barrier()
        for tile in range(tiles):
            if tile % 2 == 0:
                wave.iteration()
            wave.follow(scores, MFMA_F16), wave.barrier(), wave.do("s_nop", pauses, simm16=7)
            wave.load(2), wave.read(32, 8, transpose=True), wave.wait(vm=4, lgkm=0), wave.barrier()
            wave.follow(values, MFMA_F16), wave.barrier(), wave.do("s_nop", pauses, simm16=7)
            wave.load(2), wave.read(16), wave.wait(vm=4, lgkm=0), wave.barrier()
        if number < 4:
            wave.barrier()
        wave.exp(2), wave.valu(64 + 32)
        wave.do("buffer_store_dwordx2", 16, (4, 32, ROW_CLK, 0))
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
            wave.mfma(MFMA_F16, 64), wave.barrier()
        waves.append(wave)
    return program, waves


def layer_norm(arch: Arch) -> tuple[Program, list[Wave]]:
    """HipKittens' dropout, residual and layernorm of rows of 2048: a row a wave, 64 consecutive bytes a lane.

    Random numbers are Philox's: 8 calls of 10 rounds for 32 elements a lane, a round of two wide multiplications and
    four other instructions. Arithmetic is in bf16, of which every step is widened, worked on and rounded.
    """
    program = Program(arch)
    waves = []
    for _ in range(4):
        wave = Wave(program)
        _rows(wave, 4, 4)
        wave.wait(vm=0)
        _rows(wave, 4, 4)
        wave.do("v_mad_u64_u32", 8 * 10 * 2), wave.valu(8 * 10 * 4)
        wave.valu(32 * 4)  # to a float, compared, chosen
        wave.valu(32 * 3), wave.wait(vm=0)
        _rows(wave, 8, 4)  # weight and bias
        wave.valu(32 * 3)
        wave.store(4, lines=8, l1_clk=ROW_CLK)
        wave.valu(32 * (2 + 3 + 3 + 2))  # mean, minus it, squares, variance
        wave.valu(32 * 11), wave.do("v_rcp_f32", 32)  # divided
        wave.wait(vm=4), wave.valu(32 * (3 + 3))
        wave.store(4, lines=8, l1_clk=ROW_CLK)
        waves.append(wave)
    return program, waves


def rotary(arch: Arch) -> tuple[Program, list[Wave]]:
    """HipKittens' rotary embedding: a wave a workgroup, 32 rows of 128, in accesses of 32 bytes of each row.

    16 pairs of registers are turned, in bf16 with every product and sum rounded.
    """
    program = Program(arch)
    wave = Wave(program)
    _rows(wave, 8, 4)  # cosines and sines
    _rows(wave, 8, 4)
    wave.wait(vm=0), wave.valu(16 * 34)
    wave.do("buffer_store_dwordx4", 8, (8, 32, ROW_CLK, 0))
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
