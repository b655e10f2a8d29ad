"""Immediates by name as LLVM prints them: hardware registers, messages, wait counts, index modes, swizzles."""

from __future__ import annotations

from collections.abc import Mapping

HARDWARE_REGISTERS = {
    1: "HW_REG_MODE", 2: "HW_REG_STATUS", 3: "HW_REG_TRAPSTS", 4: "HW_REG_HW_ID", 5: "HW_REG_GPR_ALLOC",
    6: "HW_REG_LDS_ALLOC", 7: "HW_REG_IB_STS", 15: "HW_REG_SH_MEM_BASES", 16: "HW_REG_TBA_LO", 17: "HW_REG_TBA_HI",
    18: "HW_REG_TMA_LO", 19: "HW_REG_TMA_HI", 20: "HW_REG_XCC_ID", 21: "HW_REG_SQ_PERF_SNAPSHOT_DATA",
    22: "HW_REG_SQ_PERF_SNAPSHOT_DATA1", 23: "HW_REG_SQ_PERF_SNAPSHOT_PC_LO", 24: "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
}  # fmt: skip
"""Hardware registers of s_getreg and s_setreg by number."""

_MESSAGES = {
    1: "MSG_INTERRUPT", 2: "MSG_GS", 3: "MSG_GS_DONE", 4: "MSG_SAVEWAVE", 5: "MSG_STALL_WAVE_GEN", 6: "MSG_HALT_WAVES",
    7: "MSG_ORDERED_PS_DONE", 8: "MSG_EARLY_PRIM_DEALLOC", 9: "MSG_GS_ALLOC_REQ", 10: "MSG_GET_DOORBELL",
    15: "MSG_SYSMSG",
}  # fmt: skip
_GS_OPERATIONS = {0: "GS_OP_NOP", 1: "GS_OP_CUT", 2: "GS_OP_EMIT", 3: "GS_OP_EMIT_CUT"}
_OPERATIONS = {
    "MSG_GS": {code: name for code, name in _GS_OPERATIONS.items() if code},
    "MSG_GS_DONE": _GS_OPERATIONS,
    "MSG_SYSMSG": {1: "SYSMSG_OP_ECC_ERR_INTERRUPT", 2: "SYSMSG_OP_REG_RD", 4: "SYSMSG_OP_TTRACE_PC"},
}
"""Operations of the messages that have them; all but a NOP of the GS messages have a stream too."""
_INDEX_MODES = ("SRC0", "SRC1", "SRC2", "DST")
_DATA_FORMATS = (
    "INVALID", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32",
    "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15",
)  # fmt: skip
_NUMBER_FORMATS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT")
DEFAULT_BUFFER_FORMAT = 1
"""MTBUF's 7 format bits (4 of the data, 3 of the number) that LLVM leaves out: 8-bit unsigned normalized."""


def hwreg_text(simm16: int) -> str:
    """``hwreg(HW_REG_MODE, 4, 4)``; offset and size are left out where they say the whole register."""
    number, offset, size = simm16 & 63, (simm16 >> 6) & 31, (simm16 >> 11) + 1
    name = HARDWARE_REGISTERS.get(number, str(number))
    return f"hwreg({name})" if (offset, size) == (0, 32) else f"hwreg({name}, {offset}, {size})"


def message_text(simm16: int) -> str:
    """``sendmsg(MSG_GS, GS_OP_EMIT, 0)``: message, then operation and stream where the message has them."""
    message, operation, stream = simm16 & 15, (simm16 >> 4) & 7, (simm16 >> 8) & 3
    name = _MESSAGES.get(message, "")
    operations = _OPERATIONS.get(name)
    if operations is None and name and operation == stream == 0:
        return f"sendmsg({name})"
    if operations is not None and operation in operations:
        if operation and name != "MSG_SYSMSG":
            return f"sendmsg({name}, {operations[operation]}, {stream})"
        if not stream:
            return f"sendmsg({name}, {operations[operation]})"
    if simm16 & ~0x37F:
        return str(simm16)
    return f"sendmsg({message}, {operation}, {stream})"


def waitcnt_text(modifiers: Mapping[str, object]) -> str:
    """The counters that are waited for; all of them at their maxima where none is."""
    names = ("vmcnt", "expcnt", "lgkmcnt")
    if not any(name in modifiers for name in names):
        return "vmcnt(63) expcnt(7) lgkmcnt(15)"
    return " ".join(f"{name}({modifiers[name]})" for name in names if name in modifiers)


def index_mode_text(bits: int) -> str:
    """``gpr_idx(SRC0,DST)``."""
    if bits > 15:
        return hex(bits)
    return f"gpr_idx({','.join(name for i, name in enumerate(_INDEX_MODES) if bits >> i & 1)})"


def buffer_format_text(bits: int) -> str:
    """``format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]``, without the half that is the default; empty if both are."""
    data, number = bits & 15, bits >> 4
    names = [f"BUF_DATA_FORMAT_{_DATA_FORMATS[data]}"] if data != DEFAULT_BUFFER_FORMAT & 15 else []
    names += [f"BUF_NUM_FORMAT_{_NUMBER_FORMATS[number]}"] if number != DEFAULT_BUFFER_FORMAT >> 4 else []
    return f"format:[{','.join(names)}]" if names else ""


def swizzle_text(offset: int) -> str:
    """The pattern of ds_swizzle in its 16 offset bits."""
    if offset >= 0xE000:
        return f"swizzle(FFT,{offset & 31})"
    if offset >= 0xC000:
        return f"swizzle(ROTATE,{(offset >> 10) & 1},{(offset >> 5) & 31})"
    if offset & 0xFF00 == 0x8000:
        return f"swizzle(QUAD_PERM,{','.join(str((offset >> 2 * i) & 3) for i in range(4))})"
    if offset & 0x8000:
        return str(offset)
    kept, ones, flipped = offset & 31, (offset >> 5) & 31, (offset >> 10) & 31
    if (kept, ones) == (31, 0) and flipped.bit_count() == 1:
        return f"swizzle(SWAP,{flipped})"
    if (kept, ones) == (31, 0) and flipped and (flipped + 1).bit_count() == 1:
        return f"swizzle(REVERSE,{flipped + 1})"
    group = 32 - kept
    if group > 1 and group.bit_count() == 1 and ones < group and not flipped:
        return f"swizzle(BROADCAST,{group},{ones})"
    # What becomes of a lane bit that is 0, and of one that is 1.
    zero, one = ones ^ flipped, (kept | ones) ^ flipped
    names = {(0, 0): "0", (1, 1): "1", (0, 1): "p", (1, 0): "i"}
    mask = "".join(names[zero >> bit & 1, one >> bit & 1] for bit in (4, 3, 2, 1, 0))
    return f'swizzle(BITMASK_PERM,"{mask}")'
