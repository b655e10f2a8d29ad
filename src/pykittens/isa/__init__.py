"""The ISA: every instruction defined once, with decoder and text. Importing this room fills `DEFINITIONS`."""

from __future__ import annotations

from pykittens.errors import InputError

from . import (  # noqa: F401  (each adds its instructions to DEFINITIONS)
    ds,
    flat,
    mfma,
    mubuf,
    scaled_conversions,
    smem,
    sop1,
    sop2,
    sopc,
    sopk,
    sopp,
    vop1,
    vop2,
    vop3,
    vop3_conversions,
    vop3p,
    vopc,
)
from .decode import decode, decode_one
from .define import DEFINITIONS, Definition
from .instruction import Instruction
from .registers import Const, Label, Reg, Special
from .text import text


def lookup(name: str) -> Definition:
    """The definition of a mnemonic (LLVM's, without encoding suffix). Raises InputError where there is none."""
    if name not in DEFINITIONS:
        raise InputError("unknown-instruction", f"no instruction is named {name!r} on gfx942 or gfx950")
    return DEFINITIONS[name]


__all__ = [
    "DEFINITIONS",
    "Const",
    "Definition",
    "Instruction",
    "Label",
    "Reg",
    "Special",
    "decode",
    "decode_one",
    "lookup",
    "text",
]
