"""Damage, run, and see that nothing but our own errors comes out. `make fuzz` (bench/fuzz.py) does it for longer.

Every trial is decided by its number alone, so that a crash can be repeated.
"""

from __future__ import annotations

import random
import struct

import numpy as np
from tests.sim.assembled import COPY, code_object, pointers

from pykittens.errors import Error
from pykittens.isa import DEFINITIONS, decode_one
from pykittens.sim import Device, Order

ARCHS = ("gfx942", "gfx950")
BODY_WORDS = 96
ROOM = f"""
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_mov_b32 s2, 2048
  s_mov_b32 s3, 0x20000
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v2, 64
  v_mov_b32 v3, 0
  v_mov_b32 v4, 128
  v_mov_b32 v5, 0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s0, s4
  s_mov_b32 s1, s5
  .fill {BODY_WORDS}, 4, 0xbf800000
  s_endpgm
"""
"""A kernel with room for random words. Before them s[4:5] and s[6:7] become pointers, s[0:3] a buffer descriptor and v1
to v5 offsets."""

_OPCODES = sorted({(d.format, d.opcode) for d in DEFINITIONS.values()})
_PREFIXES = {
    "SOP2": 0x80000000, "SOPK": 0xB0000000, "SOP1": 0xBE800000, "SOPC": 0xBF000000, "SOPP": 0xBF800000,
    "VOP2": 0, "VOPC": 0x7C000000, "VOP1": 0x7E000000, "VOP3": 0xD0000000, "VOP3P": 0xD3800000, "MFMA": 0xD3800000,
    "SMEM": 0xC0000000, "DS": 0xD8000000, "FLAT": 0xDC000000, "SCRATCH": 0xDC004000, "GLOBAL": 0xDC008000,
    "MUBUF": 0xE0000000, "MTBUF": 0xE8000000,
}  # fmt: skip
_OPCODE_AT = {
    "SOP2": 23, "SOPK": 23, "SOP1": 8, "SOPC": 16, "SOPP": 16, "VOP2": 25, "VOPC": 17, "VOP1": 9, "VOP3": 16,
    "VOP3P": 16, "MFMA": 16, "SMEM": 18, "DS": 17, "FLAT": 18, "SCRATCH": 18, "GLOBAL": 18, "MUBUF": 18, "MTBUF": 15,
}  # fmt: skip


def random_words(rng: random.Random, count: int, arch: str) -> bytes:
    """Machine code: a little noise, and instructions of the chip with random operands, mostly low registers."""
    code = b""
    while len(code) < 4 * count:
        words = _random_encoding(rng)
        if rng.random() < 0.01 or not decode_one(words, 0, arch, 0).definition.has("illegal"):
            code += words
    return code[: 4 * count]


def _random_encoding(rng: random.Random) -> bytes:
    words: list[int] = []
    while len(words) < 2:
        format, opcode = rng.choice(_OPCODES)
        operands = rng.getrandbits(32) if rng.random() < 0.3 else rng.getrandbits(32) & 0x07070707
        low = (1 << _OPCODE_AT[format]) - 1
        words.append((_PREFIXES[format] | (opcode & 0x3FF) << _OPCODE_AT[format] | operands & low) & 0xFFFFFFFF)
        if _PREFIXES[format] >= 0xC0000000:
            words.append(rng.getrandbits(32) if rng.random() < 0.3 else rng.getrandbits(32) & 0x07070F0F | 0x00040000)
    return struct.pack(f"<{len(words)}I", *words)


def damaged(rng: random.Random, code: bytes) -> bytes:
    """A code object with some bits flipped, some bytes replaced, or its end cut off."""
    data = bytearray(code)
    for _ in range(rng.choice([1, 2, 8, 64])):
        at = rng.randrange(len(data))
        data[at] = data[at] ^ 1 << rng.randrange(8) if rng.random() < 0.6 else rng.choice([0, 1, 0x7F, 0x80, 0xFF])
    return bytes(data[: rng.randrange(len(data))] if rng.random() < 0.2 else data)


def trial(number: int) -> str:
    """One attempt; how it ended: ``ran`` or the code of the error. Whatever else is raised is a defect."""
    rng = random.Random(number)
    arch = rng.choice(ARCHS)
    kind = rng.choice(["words", "words", "damage", "kernarg", "grid"])
    source = bytearray(code_object(ROOM if kind == "words" else COPY, arch, pointers(2), ()))
    if kind == "words":
        start = source.find(struct.pack("<8I", *[0xBF800000] * 8))
        source[start : start + 4 * BODY_WORDS] = random_words(rng, BODY_WORDS, arch)
    code = damaged(rng, bytes(source)) if kind == "damage" else bytes(source)
    grid, block = (rng.choice([1, 2, 5]), 1, 1), (rng.choice([1, 64, 65, 256]), 1, 1)
    if kind == "grid":
        sizes = [0, -1, 1, 3, 1 << 16, (1 << 32) - 1, 1 << 32, 1 << 64, "x", None, 2.0]
        grid, block = (tuple(rng.choice(sizes) for _ in range(rng.randrange(5))) for _ in range(2))  # type: ignore[assignment]
    order = rng.choice([None, Order(turn=1), Order(landing="late"), Order(seed=number)])
    try:
        kernel = Device(arch).load(code).kernel()
        buffers = [kernel.module.device.buffer(np.arange(1024, dtype=np.uint32)) for _ in range(2)]
        kernarg = struct.pack("<QQ", *(b.address for b in buffers))
        if kind == "kernarg":
            kernarg = bytes(b ^ (rng.getrandbits(8) if rng.random() < 0.3 else 0) for b in kernarg)[
                : rng.choice([16, 16, 9])
            ]
        limits = {"max_instructions": 3000, "timeout": 2.0, "lds": rng.choice([0, 512, 65536])}
        kernel.launch(grid, block, kernarg=kernarg, order=order, **limits)  # type: ignore[arg-type]
    except Error as error:
        if "\n" in str(error):
            raise AssertionError(f"trial {number}: {error!r} has several lines") from error
        return error.code
    return "ran"
