"""Hot loops of AMD's Gluon tutorials as orders of instructions, from their machine code or as their notes tell them.

Letters as in `Wave.follow`. All have four waves on 256x256 tiles with steps of 64 along K, where not said otherwise;
each of four waves has 32 LDS reads, 16 copies and, of 16x16x32, 128 MFMAs a step.
"""

from __future__ import annotations

from dataclasses import dataclass

from pykittens.arch import Arch

from .gemm_schedules import Tile
from .streams import Program, Wave

MFMA = {"gfx950": "v_mfma_f32_16x16x32_f16", "gfx942": "v_mfma_f32_16x16x16_f16"}


@dataclass(frozen=True)
class Loop:
    """A loop's order, what comes before it, MFMA steps along K in one iteration, and passes of an LDS read's phase.

    groups: of four waves; the second one is a barrier behind the first. stores: of a KiB of C by each SIMD's waves.
    """

    before: str
    body: str
    steps: int = 1
    conflict: int = 1
    groups: int = 1
    stores: int = 32

    def schedule(self, arch: Arch, steps: int) -> tuple[Program, list[Wave]]:
        """``steps`` steps along K on every wave of a workgroup; then a tile of C is stored."""
        program, waves = Program(arch), []
        for number in range(4 * self.groups):
            wave, group = Wave(program), number // 4
            wave.follow(self.before, MFMA[arch.name], self.conflict)
            wave.follow(f"B{group}" if group else "", MFMA[arch.name])
            for _ in range(steps // self.steps):
                wave.marks.append(len(wave.ops))
                wave.follow(self.body, MFMA[arch.name], self.conflict)
            behind = self.groups - 1 - group
            wave.follow(f"B{behind}" if behind else "", MFMA[arch.name])
            wave.store(self.stores // self.groups)
            waves.append(wave)
        return program, waves


ASYNC_COPY = Loop(
    before="",
    body="V S J 2(S2) 14(S V L) 2(S N L) J S V v0l0 B R16 V R16"
    " l14 M S3 l13 M S3 l11 M S l9 M l7 M l5 M l3 M l1 M M63 l0 M57 J",
    conflict=4,
)
"""v2: one buffer, copies and reads in turn; rows of 128 bytes without padding give 4 passes."""

PADDED = Loop(before="", body="S3 B L 15(S V L) S2 v0 B R32 l14 M S3 l0 M S3 M126 J")
"""v3: as v2 with padded rows, free of conflicts, and one more barrier."""

GLOBAL_PREFETCH = Loop(
    before="L16",
    body="S8 V l0 B L 15(S V L) S3 V2 v16l0 B R16 V2 R2 V3 R14"
    " l14 M V3 M V S2 M S3 l13 M S l12 M l11 M l10 M l9 M l8 M V4 M12 V3 M40 V3 M V M2"
    " l6 M8 l5 M8 l4 M8 l3 M8 l2 M8 l1 M8 l0 M16 J",
)
"""v4: copies one step ahead in two buffers."""

LOCAL_PREFETCH = Loop(
    before="L32 v16 B R32",
    body="S6 V v0l0 B L 10(S V L) 3(S V L) S M L S V L M S3 M S2 V M V M B S M S3 M S2 M121 R16 V3 R16 J",
)
"""v5: LDS reads one step ahead as well."""

_LEFT = "8(R M) M2 12(S M L M3) M v16l0 M B"
_RIGHT = "M20 24(R M) M2 3(S M L M3)"
SLICE_N = Loop(
    before="L32 v16 B R24",
    body=f"M S4 M3 {_LEFT} {_RIGHT} S M L M4 v16l0 M B M4 {_LEFT} {_RIGHT} S M L M S5 M S v16l0 B M3 J",
    steps=2,
)
"""v7 with scheduler, accumulators in AGPRs and its peephole pass: columns in two halves, all interleaved."""


MOVES = 50
"""Between VGPRs and AGPRs in a step of a 256x256 tile without accumulators fixed in AGPRs: of v7, 100 in two steps."""


def slice_mn(tile: Tile, moves: int = 0) -> Loop:
    """v8 at a tile: four quarters a step; each reads what the next multiplies and copies what comes 6 quarters later.

    The scheduler gives each read 16 clk of MFMAs and each copy 64, as far as they reach. moves: between VGPRs and AGPRs
    in a step.
    """
    mfmas = tile.mfmas(tile.m // 4, tile.n // 4)
    a, b = tile.accesses(tile.m // 2) // 4, tile.accesses(tile.n // 2) // 4
    under_way = [b + a + a + b + b, a + a + b + b + a, a + b + b + a + a, b + b + a + a + b]
    body = []
    for quarter, (reads, copies) in enumerate(((2 * a, b), (2 * b, a), (2 * b, a), (2 * a, b))):
        body.append(_quarter(mfmas, reads, copies, moves // 4))
        body.append(f"v{under_way[quarter]}l0 B")
    before = f"L{4 * (a + b)} v{2 * (a + b)} B R{2 * (a + b)}"
    return Loop(before, " ".join(body) + " S3 J", stores=tile.m * tile.n * 2 // 4096)


def _quarter(mfmas: int, reads: int, copies: int, moves: int) -> str:
    spare = max(0, mfmas - reads - 4 * copies)
    each = min(4, max(0, mfmas - reads) // copies)
    head, tail = spare // 2, mfmas - spare // 2 - min(mfmas, reads) - each * copies
    under = f"{reads}(R M)" if mfmas >= reads else f"R{reads} M{mfmas}"
    moved = f"{moves // 4}(M V4 N2)" if moves else ""
    return f"{_mfmas(head - moves // 4)} {moved} {under} {copies}(S L {_mfmas(each)}) {_mfmas(tail)}"


def _mfmas(count: int) -> str:
    return f"M{count}" if count > 0 else ""


STAGED = Loop(
    before="G16 v0 W16 l0 B R16",
    body="l0 B R4 M R4 M3 l0 B M R3 M v3 W v1 W2 v0 W G2 M G2 W4 M G4 M23 R M R M46"
    " R M R M R l0 B W4 G3 W4 G5 M72 R3 M7 R3 M65 R3 M12 R3 M10 R3 M2 R M8 S3 J",
    conflict=2,
)
"""gfx942 by LLVM's own schedule: 256 MFMAs of 16x16x16, 32 reads, 16 writes and 16 loads to registers a step."""


_WRITES = "W M2 W M2 W M2 W M G M2 G M4 G M4 G M5"
_FIRST_WRITES = "v3 W M2 v1 W M2 W M2 v0 W M G M2 G M4 G M4 G M5"

STAGED_SPACED = Loop(
    before="G16 v0 W16 l0 B R16",
    body=f"l0 M B M R M10 7(R M2) l0 B {_FIRST_WRITES} M42 8(R M2) {_WRITES}"
    f" M25 l0 B M 8(R M2) {_WRITES} M26 8(R M2) {_WRITES} S3 J",
    conflict=2,
)
"""With the scheduler (opt1): each read before 32 clk of MFMAs, each load before 64, what remains at a region's head."""


STAGED_PARKED = Loop(
    before="G16 v0 W16 l0 B R16",
    body=f"l0 B M4 7(R M2) R l0 B M24 {_FIRST_WRITES} M4 7(R M2) R M24 {_WRITES}"
    f" l0 B M4 7(R M2) R M24 {_WRITES} M4 7(R M2) R M24 {_WRITES} S3 J",
    conflict=2,
)
"""What remains between the last read and the first write (opt2)."""

STAGED_TWO_BARRIERS = Loop(
    before="G16 v0 W16 l0 B R16 l0 B",
    body=f"l0 B M2 l14 M l13 M 7(R M2) R M24 {_FIRST_WRITES} M2 l14 M l12 M 7(R M2) R M24 {_WRITES}"
    f" l0 B M2 l14 M l13 M 7(R M2) R M24 {_WRITES} M l14 M l12 M l9 M 7(R M2) R M24 {_WRITES} S3 J",
    conflict=2,
)
"""Without the barrier between them (opt3)."""

STAGED_PING_PONG = Loop(
    before="G8 v0 W8 l0 B R4",
    body="G4 R8 l0 B M32 B G4 R4 l0 B M32 B R8 v4 W4 l0 B M32 B R4 v0 W4 l0 B M32 B S3 J",
    groups=2,
)
"""gfx942 with eight waves (inter_wave): eight regions a step, memory and MFMAs in turn, free of conflicts."""
