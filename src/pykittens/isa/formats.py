"""Every instruction encoding of gfx942 and gfx950 as data: identifying bits and bit fields.

Source: CDNA3 and CDNA4 ISA manuals, chapter "Microcode Formats"; the cache bits (``sc0 sc1 nt``) and the bits of
accumulation registers (``acc``) as LLVM encodes them. Bit 0 is the lowest bit of the first dword; bits from 32 on lie
in the second one. A 4-byte encoding with a source field of 255 is followed by one literal dword; the 8-byte ones take
no literal.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LITERAL, SDWA_WORD, DPP_WORD = 255, 249, 250
"""Values of a source field that say what the dword after a 4-byte encoding is."""


@dataclass(frozen=True, slots=True)
class Format:
    """One encoding: ``size`` bytes, recognised by ``prefix`` (the top ``prefix_bits`` bits of the first dword).

    ``fields`` maps a field's name to (lowest bit, width).
    """

    name: str
    size: int
    prefix_bits: int
    prefix: int
    fields: dict[str, tuple[int, int]] = field(hash=False)


def _format(name: str, size: int, prefix: str, fields: str) -> Format:
    """``fields``: space-separated ``name:low`` (one bit) or ``name:low+width``."""
    table = {}
    for item in fields.split():
        key, _, place = item.partition(":")
        low, _, width = place.partition("+")
        table[key] = (int(low), int(width or 1))
    return Format(name, size, len(prefix), int(prefix or "0", 2), table)


_CACHE_FLAT = "sc0:16 nt:17 sc1:25"
_FLAT = f"offset:0+13 lds:13 seg:14+2 {_CACHE_FLAT} op:18+7 addr:32+8 data:40+8 saddr:48+7 acc:55 vdst:56+8"
_BUFFER_ADDRESS = "vaddr:32+8 vdata:40+8 srsrc:48+5 acc:55 soffset:56+8"
_VOP3_SOURCES = "src0:32+9 src1:41+9 src2:50+9"

FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        _format("SOP2", 4, "10", "ssrc0:0+8 ssrc1:8+8 sdst:16+7 op:23+7"),
        _format("SOPK", 4, "1011", "simm16:0+16 sdst:16+7 op:23+5"),
        _format("SOP1", 4, "101111101", "ssrc0:0+8 op:8+8 sdst:16+7"),
        _format("SOPC", 4, "101111110", "ssrc0:0+8 ssrc1:8+8 op:16+7"),
        _format("SOPP", 4, "101111111", "simm16:0+16 op:16+7"),
        _format(
            "SMEM", 8, "110000",
            "sbase:0+6 sdata:6+7 soffset_en:14 nv:15 glc:16 imm:17 op:18+8 offset:32+21 soffset:57+7",
        ),
        _format("VOP2", 4, "0", "src0:0+9 vsrc1:9+8 vdst:17+8 op:25+6"),
        _format("VOPC", 4, "0111110", "src0:0+9 vsrc1:9+8 op:17+8"),
        _format("VOP1", 4, "0111111", "src0:0+9 op:9+8 vdst:17+8"),
        _format(
            "VOP3", 8, "110100",
            f"vdst:0+8 abs:8+3 op_sel:11+4 clamp:15 op:16+10 {_VOP3_SOURCES} omod:59+2 neg:61+3",
        ),
        _format(
            "VOP3P", 8, "110100111",
            "vdst:0+8 neg_hi:8+3 op_sel:11+3 op_sel_hi2:14 clamp:15 op:16+7"
            f" {_VOP3_SOURCES} op_sel_hi:59+2 neg_lo:61+3",
        ),
        _format(
            "DS", 8, "110110",
            "offset0:0+8 offset1:8+8 gds:16 op:17+8 acc:25 addr:32+8 data0:40+8 data1:48+8 vdst:56+8",
        ),
        _format("FLAT", 8, "110111", _FLAT),
        _format(
            "MUBUF", 8, "111000",
            f"offset:0+12 offen:12 idxen:13 sc0:14 sc1:15 lds:16 nt:17 op:18+7 {_BUFFER_ADDRESS}",
        ),
        _format(
            "MTBUF", 8, "111010",
            f"offset:0+12 offen:12 idxen:13 sc0:14 op:15+4 format:19+7 {_BUFFER_ADDRESS} sc1:53 nt:54",
        ),
    )
}  # fmt: skip
"""The encodings that their prefixes tell apart. GLOBAL and SCRATCH are FLAT with another ``seg`` (see `SEGMENTS`)."""

VOP3B = _format("VOP3B", 8, "110100", f"vdst:0+8 sdst:8+7 clamp:15 op:16+10 {_VOP3_SOURCES} omod:59+2 neg:61+3")
"""VOP3 with a scalar destination beside the vector one: carries and div_scale."""

MFMA = _format(
    "MFMA", 8, "110100111", f"vdst:0+8 cbsz:8+3 abid:11+4 acc_cd:15 op:16+7 {_VOP3_SOURCES} acc:59+2 blgp:61+3"
)
"""The matrix encoding of VOP3P; ``acc`` bit 0 and 1: A and B are accumulation registers, ``acc_cd``: C and D are."""

SDWA = _format(
    "SDWA", 4, "",
    "src0:0+8 dst_sel:8+3 dst_unused:11+2 clamp:13 omod:14+2 src0_sel:16+3 sext0:19 neg0:20 abs0:21 s0:23"
    " src1_sel:24+3 sext1:27 neg1:28 abs1:29 s1:31",
)  # fmt: skip
"""The second dword where src0 is `SDWA_WORD`; ``s0`` and ``s1`` make that source a scalar register."""

SDWAB = _format(
    "SDWAB", 4, "",
    "src0:0+8 sdst:8+7 sd:15 src0_sel:16+3 sext0:19 neg0:20 abs0:21 s0:23"
    " src1_sel:24+3 sext1:27 neg1:28 abs1:29 s1:31",
)  # fmt: skip
"""SDWA for compares; ``sd`` says that ``sdst`` names the destination, else it is VCC."""

DPP = _format(
    "DPP", 4, "",
    "src0:0+8 dpp_ctrl:8+9 bound_ctrl:19 neg0:20 abs0:21 neg1:22 abs1:23 bank_mask:24+4 row_mask:28+4",
)  # fmt: skip
"""The second dword where src0 is `DPP_WORD` (16-lane DPP)."""

LOAD_SCALE_OPCODE = 44
"""The VOP3P opcode of the 8 bytes that stand before a scaled matrix instruction (16 bytes together; ``VOP3PX2``)."""

SEGMENTS = ("FLAT", "SCRATCH", "GLOBAL")
"""The ``seg`` field of flat encodings, by value; 3 is reserved."""

VOP3_BASE = {"VOPC": 0, "VOP2": 256, "VOP1": 320}
"""What is added to a short opcode to get its VOP3 opcode."""


def _by_prefix() -> tuple[Format | None, ...]:
    table: list[Format | None] = [None] * 512
    for fmt in sorted(FORMATS.values(), key=lambda f: f.prefix_bits):
        low = fmt.prefix << (9 - fmt.prefix_bits)
        for top in range(low, low + (1 << (9 - fmt.prefix_bits))):
            table[top] = fmt
    return tuple(table)


BY_PREFIX = _by_prefix()
"""The format by the top 9 bits of the first dword; longer prefixes win."""
