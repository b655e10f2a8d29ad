"""FLAT, GLOBAL and SCRATCH: memory by address: loads, stores, atomics and load-to-LDS.

FLAT addresses are 64 bits and lead to LDS and scratch through their apertures; GLOBAL's are 64 bits, or a scalar
base (``saddr``) plus an unsigned 32-bit offset; SCRATCH's are bytes of the lane's own private segment: ``addr``,
``saddr``, both or none. The modifier ``offset`` is added to each.
"""

from __future__ import annotations

from dataclasses import dataclass

from .atomics import FLOAT_ATOMICS, INTEGER_ATOMICS, integer_type
from .define import ARCHS, Access, define
from .types import TYPES, Type


@dataclass(frozen=True, slots=True)
class _Family:
    """One of the three formats: its name, the type of ``addr``, and that of ``saddr`` if it takes one."""

    name: str
    addr: str
    saddr: str | None

    @property
    def prefix(self) -> str:
        return self.name.lower()

    def sources(self, data: str | None = None) -> str:
        """The source half of a signature: address, data, scalar address."""
        saddr = f"s:{self.saddr}" if self.saddr else None
        return ", ".join(t for t in (self.addr, data, saddr) if t)

    def roles(self, data: bool) -> tuple[str, ...]:
        return ("addr", *(("data",) if data else ()), *(("saddr",) if self.saddr else ()))


FAMILIES = (_Family("FLAT", "b64", None), _Family("GLOBAL", "b64", "b64"), _Family("SCRATCH", "b32", "b32"))
_DWORDS = ((0, 1, "dword"), (1, 2, "dwordx2"), (2, 3, "dwordx3"), (3, 4, "dwordx4"))
_SMALL = (
    (16, "ubyte", 8, False, None),
    (17, "sbyte", 8, True, None),
    (18, "ushort", 16, False, None),
    (19, "sshort", 16, True, None),
    (32, "ubyte_d16", 8, False, "lo"),
    (33, "ubyte_d16_hi", 8, False, "hi"),
    (34, "sbyte_d16", 8, True, "lo"),
    (35, "sbyte_d16_hi", 8, True, "hi"),
    (36, "short_d16", 16, False, "lo"),
    (37, "short_d16_hi", 16, False, "hi"),
)
_SMALL_STORES = (
    (24, "byte", 8, None),
    (25, "byte_d16_hi", 8, "hi"),
    (26, "short", 16, None),
    (27, "short_d16_hi", 16, "hi"),
)
_TO_LDS = (
    (38, "ubyte", 8, 1, False),
    (39, "sbyte", 8, 1, True),
    (40, "ushort", 16, 1, False),
    (41, "sshort", 16, 1, True),
    (42, "dword", 32, 1, False),
)


def _loads_and_stores(family: _Family) -> None:
    space = family.prefix
    for i, count, name in _DWORDS:
        data = f"b{32 * count}"
        load = Access(space, "load", count=count, roles=family.roles(False))
        define(family.name, 20 + i, f"{space}_load_{name}", f"{data} = {family.sources()}", access=load)
        store = Access(space, "store", count=count, roles=family.roles(True))
        define(family.name, 28 + i, f"{space}_store_{name}", f"= {family.sources(data)}", access=store)
    for opcode, name, bits, signed, half in _SMALL:
        load = Access(space, "load", bits, signed=signed, half=half, roles=family.roles(False))
        define(family.name, opcode, f"{space}_load_{name}", f"b32 = {family.sources()}", access=load)
    for opcode, name, bits, half in _SMALL_STORES:
        store = Access(space, "store", bits, half=half, roles=family.roles(True))
        define(family.name, opcode, f"{space}_store_{name}", f"= {family.sources('b32')}", access=store)


def _load_to_lds(
    family: _Family, opcode: int, name: str, bits: int, count: int, signed: bool, archs: tuple[str, ...]
) -> None:
    access = Access(family.prefix, "load", bits, count, signed=signed, to_lds=archs, roles=family.roles(False))
    full = f"{family.prefix}_load_lds_{name}"
    define(family.name, opcode, full, f"= {family.sources()}, m0", access=access, archs=archs)


def _atomic(family: _Family, opcode: int, name: str, op: str, type: Type, count: int = 1) -> None:
    old = f"b{type.bits * count}"
    data = f"b{2 * type.bits}" if op == "cmpswap" else old
    access = Access(
        family.prefix, "atomic", type.bits, count, op=op, type=type, returns="sc0", roles=family.roles(True)
    )  # fmt: skip
    define(family.name, opcode, f"{family.prefix}_atomic_{name}", f"{old} = {family.sources(data)}", access=access)


for _family in FAMILIES:
    _loads_and_stores(_family)
    if _family.saddr:
        for _opcode, _name, _bits, _count, _signed in _TO_LDS:
            _load_to_lds(_family, _opcode, _name, _bits, _count, _signed, ARCHS)
    if _family.name != "SCRATCH":
        for _bits, _suffix, _base in ((32, "", 64), (64, "_x2", 96)):
            for _i, _op in enumerate(INTEGER_ATOMICS):
                _atomic(_family, _base + _i, f"{_op}{_suffix}", _op, integer_type(_op, _bits))
        for _opcode, _name, _op, _type, _count in FLOAT_ATOMICS:
            _atomic(_family, _opcode, _name, _op, TYPES[_type], _count)

_load_to_lds(FAMILIES[1], 125, "dwordx4", 32, 4, False, ("gfx950",))
_load_to_lds(FAMILIES[1], 126, "dwordx3", 32, 3, False, ("gfx950",))
