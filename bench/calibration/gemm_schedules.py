"""HipKittens' GEMM schedules: ping-pong, interleave, producer-consumer, and ping-pong with tiles by registers."""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.arch import Arch

from .streams import Program, Wave

BF16 = {"gfx950": ("v_mfma_f32_16x16x32_bf16", 32), "gfx942": ("v_mfma_f32_16x16x16_bf16", 16)}
FP8 = ("v_mfma_f32_16x16x128_f8f6f4", 128)


@dataclass(frozen=True)
class Tile:
    """A workgroup's tile and its type: rows and columns of C, length along K of one step, bytes of an element."""

    m: int
    n: int
    k: int
    mfma: str
    mfma_k: int
    nbytes: int = 2

    def mfmas(self, m: int, n: int) -> int:
        """MFMAs for so many rows and columns of C over one step."""
        return m // 16 * (n // 16) * (self.k // self.mfma_k)

    def accesses(self, rows: int) -> int:
        """Wave-wide accesses of 16 bytes a lane for so many rows over one step."""
        return -(-rows * self.k * self.nbytes // 1024)

    @property
    def row_bytes(self) -> int:
        """That a copy takes of each row: HipKittens' subtiles are 32 elements of 16 bits or 128 of 8 wide."""
        return 64 if self.nbytes == 2 else 128


def bf16(arch: Arch, m: int, n: int, k: int = 64) -> Tile:
    return Tile(m, n, k, *BF16[arch.name])


def fp8(m: int, n: int, k: int = 128) -> Tile:
    return Tile(m, n, k, *FP8, nbytes=1)


def ping_pong(arch: Arch, tile: Tile, steps: int, drained: bool = False) -> tuple[Program, list[Wave]]:
    """HipKittens' 8 waves, 2 x 4: four phases a step.

    drained: a step ends with vmcnt(0), loads just issued among them (its 192 x 256 kernel).
    """
    program = Program(arch, tile.row_bytes)
    rows, cols = tile.m // 4, tile.n // 8
    loads = tile.accesses(tile.m // 2) / 8, tile.accesses(tile.n // 2) / 8
    waves = []
    for number in range(8):
        wave = Wave(program)
        a = int(loads[0]) + (loads[0] % 1 > number // 4 / 2)
        b = int(loads[1])
        wave.load(2 * (a + b))
        if number >= 4:
            wave.barrier()
        wave.wait(vm=0), wave.barrier(), wave.load(a + 2 * b), wave.barrier()
        reads_a, reads_b, mfmas = tile.accesses(rows), tile.accesses(cols), tile.mfmas(rows, cols)
        for _ in range(steps):
            wave.iteration()
            phases = ((reads_b + reads_a, a, 8), (reads_b, b, None), (reads_a, a, None), (0, b, None))
            for i, (reads, copies, lgkm) in enumerate(phases):
                wave.read(reads), wave.load(copies)
                if i == 3 and drained:
                    wave.wait(vm=0)
                if lgkm is not None:
                    wave.wait(lgkm=lgkm)
                if i == 3 and not drained:
                    wave.wait(vm=2 * a + b)
                wave.barrier(), wave.wait(lgkm=0), wave.priority(1), wave.mfma(tile.mfma, mfmas)
                wave.priority(0), wave.barrier()
        if number < 4:
            wave.barrier()
        wave.store(tile.m * tile.n * 2 // 8 // 1024)
        waves.append(wave)
    return program, waves


def interleave(arch: Arch, tile: Tile, steps: int) -> tuple[Program, list[Wave]]:
    """HipKittens' 4 waves, 2 x 2: four clusters a step, copies and reads among the MFMAs, two waits with barriers."""
    program = Program(arch, tile.row_bytes)
    a, b = tile.accesses(tile.m // 4), tile.accesses(tile.n // 4)
    copies_a, copies_b = (max(1, tile.accesses(side // 2) // 4) for side in (tile.m, tile.n))
    mfmas = tile.mfmas(tile.m // 4, tile.n // 4)
    step = 2 * (copies_a + copies_b)
    waves = []
    for _ in range(4):
        wave = Wave(program)
        wave.load(2 * step)
        wave.wait(vm=step), wave.barrier(), wave.read(a + b)
        for _ in range(steps):
            wave.iteration()
            wave.wait(vm=2 * copies_a + copies_b), wave.wait(lgkm=0), wave.barrier()
            wave.spread(tile.mfma, mfmas, [("load", copies_a), ("read", b)])
            wave.wait(lgkm=0)
            wave.spread(tile.mfma, mfmas, [("load", copies_b), ("read", a)])
            wave.wait(vm=copies_a + 2 * copies_b), wave.barrier(), wave.wait(lgkm=0)
            wave.spread(tile.mfma, mfmas, [("load", copies_b), ("read", a)])
            wave.spread(tile.mfma, mfmas, [("load", copies_a), ("read", b)])
        wave.store(tile.m * tile.n * 2 // 4 // 1024)
        waves.append(wave)
    return program, waves


def staged_ping_pong(arch: Arch, steps: int) -> tuple[Program, list[Wave]]:
    """HipKittens' gfx942 kernel, 256x256x64: 8 waves, 2 x 4, one LDS buffer, four slices along K, tiles by registers.

    LDS accesses have 8 bytes a lane, as its swizzle moves pieces of 8.
    """
    program, tile = Program(arch), bf16(arch, 256, 256)
    piece = tile.accesses(64) // 2  # 64 rows of a slice of 16, in accesses of 8 bytes
    copies, mfmas = tile.accesses(256) // 8, tile.mfmas(128, 64) // 4
    clusters = ((copies, 3 * piece), (0, 5 * piece), (copies, 4 * piece))
    waves = []
    for number in range(8):
        wave = Wave(program)
        wave.load(2 * copies, to_lds=False), wave.wait(vm=0), wave.write(4 * copies, 8), wave.wait(lgkm=0)
        wave.barrier()
        if number >= 4:
            wave.barrier()
        for _ in range(steps):
            wave.iteration()
            for i, (loads, reads) in enumerate(clusters):
                wave.load(loads, to_lds=False), wave.read(reads, 8), wave.barrier()
                if i < 2:
                    wave.wait(lgkm=0)
                wave.mfma(tile.mfma, mfmas), wave.barrier()
            wave.wait(lgkm=0), wave.wait(vm=0), wave.write(4 * copies, 8), wave.barrier()
            wave.mfma(tile.mfma, mfmas), wave.barrier()
        if number < 4:
            wave.barrier()
        wave.store(16)
        waves.append(wave)
    return program, waves


def producers(arch: Arch, tile: Tile, consumers: int, steps: int) -> tuple[Program, list[Wave]]:
    """HipKittens' 4 producers beside consumers of 64 x 64 each: one barrier a step, producers drain before it."""
    program = Program(arch, tile.row_bytes)
    copies = tile.accesses(tile.m + tile.n) // 4
    waves = []
    for _ in range(4):
        wave = Wave(program)
        wave.load(copies), wave.wait(vm=0), wave.barrier()
        for _ in range(steps):
            wave.iteration()
            wave.load(copies), wave.wait(vm=0), wave.barrier()
        waves.append(wave)
    for _ in range(consumers):
        wave = Wave(program)
        wave.barrier()
        reads, mfmas = tile.accesses(32), tile.mfmas(32, 32)
        for _ in range(steps):
            wave.iteration()
            for needed, count in ((2 * reads, 1), (reads, 1), (reads, 2)):
                wave.read(needed), wave.wait(lgkm=0), wave.priority(1), wave.mfma(tile.mfma, mfmas * count)
                wave.priority(0)
            wave.barrier()
        wave.store(64 * 64 * 2 // 1024)
        waves.append(wave)
    return program, waves
