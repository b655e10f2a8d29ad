"""Where the elements of A, B, C and D of a matrix instruction live: registers, lanes and bits, as formulae.

Everything is plain integer arithmetic, so arguments may be ints or NumPy arrays (they broadcast). Registers count from
the operand's first one. Sources: CDNA3 and CDNA4 ISA manuals, "Matrix arithmetic", AMD's matrix calculator, and, for
what only gfx950 has, the layouts of compiled kernels.

A lane of A or B holds elements of one row i (column j) and several k, packed from bit 0 of the first register on; lanes
whose numbers differ by ``side * blocks`` hold other k. A lane's k come in runs of at most four registers (of all its
registers where elements have 6 bits), and the runs take turns over the groups of lanes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .define import Mfma

LANES = 64
SCALE_BLOCK = 32
"""Elements along K that share a scale."""


class Location(NamedTuple):
    """``bit`` is the lowest bit of the element in that register; 6-bit elements may go on in the next register."""

    register: Any
    lane: Any
    bit: Any


class Packing(NamedTuple):
    """How a lane's ``items`` elements lie along K: in runs of ``run``, which ``groups`` lane groups take in turn."""

    groups: int
    items: int
    run: int

    def k(self, group: Any, item: Any) -> Any:
        """The k of an element by its lane's group and its number in the lane."""
        return item % self.run + self.run * (group + self.groups * (item // self.run))

    def group(self, k: Any) -> Any:
        return k // self.run % self.groups

    def item(self, k: Any) -> Any:
        return self.run * (k // (self.run * self.groups)) + k % self.run


def packing(shape: Mfma, bits: int, compressed: bool = False) -> Packing:
    """The packing of B, and of A unless the instruction is sparse; ``bits`` is the size of an element.

    ``compressed``: of a sparse A, which stores two elements for each four of B in the same lane; its k counts those.
    """
    groups = LANES // (shape.m * shape.blocks)
    items = shape.k // groups
    run = items if bits == 6 else min(items, 128 // bits)
    return Packing(groups, items // 2, run // 2) if compressed else Packing(groups, items, run)


def _input(shape: Mfma, bits: int, index: Any, k: Any, block: Any, compressed: bool) -> Location:
    pack = packing(shape, bits, compressed)
    position = pack.item(k) * bits
    lane = index + shape.m * (block + shape.blocks * pack.group(k))
    return Location(position // 32, lane, position % 32)


def a_loc(shape: Mfma, bits: int, i: Any, k: Any, block: Any = 0) -> Location:
    """A[block][i][k], an element of ``bits`` bits; k counts the stored elements (K/2 of them) where A is sparse."""
    return _input(shape, bits, i, k, block, shape.sparse)


def b_loc(shape: Mfma, bits: int, k: Any, j: Any, block: Any = 0) -> Location:
    """B[block][k][j], an element of ``bits`` bits."""
    return _input(shape, bits, j, k, block, False)


def d_loc(shape: Mfma, i: Any, j: Any, block: Any = 0) -> Location:
    """D[block][i][j], and C likewise. An f64 element lies in the register that this gives (even) and the next one."""
    height = 1 if shape.d == "f64" else 4
    blocks_per_register = -(-LANES // (shape.m * shape.n // height))
    rows_per_register = LANES // blocks_per_register // shape.n
    row_groups = shape.m // (height * rows_per_register)
    item = i % height + height * (i // (height * rows_per_register) + row_groups * (block // blocks_per_register))
    lane = j + shape.n * (block % blocks_per_register + blocks_per_register * (i // height % rows_per_register))
    return Location(2 * item if shape.d == "f64" else item, lane, 0 * item)


def scale_lane(shape: Mfma, index: Any, k_block: Any) -> Any:
    """The lane with the scale of row i of A (column j of B) for elements 32*k_block to 32*k_block + 31 along K."""
    return index + shape.m * k_block


def index_loc(shape: Mfma, bits: int, i: Any, k: Any) -> Location:
    """The two bits that say which of four elements of B belongs to stored element k of row i of a sparse A.

    They are those of set 0; `index_sets` says how many sets the register has, one above the other.
    """
    pack = packing(shape, bits, compressed=True)
    return Location(0 * k, i + shape.m * pack.group(k), 2 * pack.item(k))


def index_sets(shape: Mfma, bits: int) -> int:
    """How many sets of indices a register holds: ``abid`` chooses one if ``cbsz`` is 0, else it is the first."""
    return 32 // (2 * packing(shape, bits, compressed=True).items)


def a_source_lane(lane: Any, cbsz: int, abid: int) -> Any:
    """The lane that A is read from in place of ``lane``: block ``abid`` of ``64 >> cbsz`` lanes serves them all.

    cbsz is 0 (no broadcast, whatever abid is) to 4, and abid below ``1 << cbsz``; other values mean nothing.
    """
    if cbsz == 0:
        return lane
    size = LANES >> cbsz
    return lane % size + size * abid


def b_source_lane(lane: Any, blgp: int) -> Any:
    """The lane that B is read from instead of ``lane``: 1 and 2 broadcast a half, 3 rotates by 16, 4 to 7 a quarter."""
    if blgp == 0:
        return lane
    if blgp == 3:
        return (lane + 16) % LANES
    return lane % 32 + 32 * (blgp - 1) if blgp < 3 else lane % 16 + 16 * (blgp - 4)
