"""DS: the LDS: loads, stores, atomics, transposing loads, and lane permutations by LDS hardware.

Sources are ``addr`` (u32 bytes), ``data0``, ``data1``, in the order of the text; the address is ``addr + offset``,
or in the ``2`` and ``2st64`` forms (``Access.stride`` 1 and 64) ``addr + offset0 * stride * size`` with ``data0``
and ``addr + offset1 * stride * size`` with ``data1``; two loaded elements fill the destination in this order. With
``Access.m0`` there is no ``addr``: add-tid forms use ``M0[15:0] + offset + 4 * lane``, append and consume
``M0[15:0] + offset`` once per wave (llvm; the manual names the offset alone).

Operations on an old value in memory (``old``), beside those of atomics.py: ``rsub`` is ``data0 - old``; ``mskor``
``(old & ~data0) | data1``; ``cmpswap`` compares with ``data0`` and stores ``data1`` (the other way round than in
vector memory); ``wrap`` is ``old >= data0 ? old - data0 : old + data1``; ``condxchg`` does for each dword of
``data0``, at 8-byte aligned addresses: if bit 31 is set, store bits 30:0. ``append`` adds and ``consume`` subtracts
the number of active lanes. Permutes take a lane number times 4, modulo 256, in ``addr + offset``: ``push`` sends
``data0`` there (of several senders the highest lane wins), ``pull`` fetches from there; ``swizzle`` moves ``addr``
itself by swizzle_pattern.py. Lanes that receive nothing, or from an inactive lane, get 0.
"""

from __future__ import annotations

from .define import Access, define
from .types import TYPES

ADDR, ONE, TWO = ("addr",), ("addr", "data0"), ("addr", "data0", "data1")

# -- loads and stores ------------------------------------------------------------------------------------------
for _opcode, _bits in ((54, 32), (118, 64), (254, 96), (255, 128)):
    define("DS", _opcode, f"ds_read_b{_bits}", f"b{_bits} = b32", access=Access("lds", "load", _bits, roles=ADDR))
for _opcode, _bits in ((13, 32), (77, 64), (222, 96), (223, 128), (30, 8), (31, 16)):
    _data = f"b{max(_bits, 32)}"
    define("DS", _opcode, f"ds_write_b{_bits}", f"= b32, {_data}", access=Access("lds", "store", _bits, roles=ONE))
for _opcode, _bits in ((84, 8), (85, 16)):
    _access = Access("lds", "store", _bits, half="hi", roles=ONE)
    define("DS", _opcode, f"ds_write_b{_bits}_d16_hi", "= b32, b32", access=_access)

for _opcode, _type in ((57, "i8"), (58, "u8"), (59, "i16"), (60, "u16")):
    _access = Access("lds", "load", TYPES[_type].bits, signed=TYPES[_type].signed, roles=ADDR)
    define("DS", _opcode, f"ds_read_{_type}", "b32 = b32", access=_access)
for _opcode, _type in ((86, "u8"), (88, "i8"), (90, "u16")):
    for _i, _half in enumerate(("lo", "hi")):
        _access = Access("lds", "load", TYPES[_type].bits, signed=TYPES[_type].signed, half=_half, roles=ADDR)
        _name = f"ds_read_{_type}_d16{'_hi' if _half == 'hi' else ''}"
        define("DS", _opcode + _i, _name, "b32 = b32", access=_access)

for _name, _stride, _load, _store, _swap in (("2", 1, 55, 14, 46), ("2st64", 64, 56, 15, 47)):
    for _bits, _base in ((32, 0), (64, 64)):
        _one, _both = f"b{_bits}", f"b{2 * _bits}"
        _access = Access("lds", "load", _bits, 2, _stride, roles=ADDR)
        define("DS", _base + _load, f"ds_read{_name}_{_one}", f"{_both} = b32", access=_access)
        _access = Access("lds", "store", _bits, 2, _stride, roles=TWO)
        define("DS", _base + _store, f"ds_write{_name}_{_one}", f"= b32, {_one}, {_one}", access=_access)
        _access = Access(
            "lds", "atomic", _bits, 2, _stride, op="swap", type=TYPES[f"u{_bits}"], returns="always", roles=TWO
        )
        define("DS", _base + _swap, f"ds_wrxchg{_name}_rtn_{_one}", f"{_both} = b32, {_one}, {_one}", access=_access)

define("DS", 29, "ds_write_addtid_b32", "= b32, m0", access=Access("lds", "store", m0=True, roles=("data0",)))
define("DS", 182, "ds_read_addtid_b32", "b32 = m0", access=Access("lds", "load", m0=True))

for _opcode, _bits, _element in ((224, 64, 4), (225, 96, 6), (226, 64, 8), (227, 64, 16)):
    define(
        "DS", _opcode, f"ds_read_b{_bits}_tr_b{_element}", f"b{_bits} = b32", archs=("gfx950",),
        access=Access("lds", "load", _bits, transpose=_element, roles=ADDR),
    )  # fmt: skip

# -- atomics ---------------------------------------------------------------------------------------------------
# Opcode of the 32-bit form without return (64-bit ones come 64 later, returning ones 32 later), name, type, operation.
_ATOMICS = (
    (0, "add", "u", "add"), (1, "sub", "u", "sub"), (2, "rsub", "u", "rsub"), (3, "inc", "u", "inc"),
    (4, "dec", "u", "dec"), (5, "min", "i", "smin"), (6, "max", "i", "smax"), (7, "min", "u", "umin"),
    (8, "max", "u", "umax"), (9, "and", "b", "and"), (10, "or", "b", "or"), (11, "xor", "b", "xor"),
    (12, "mskor", "b", "mskor"), (16, "cmpst", "b", "cmpswap"), (17, "cmpst", "f", "cmpswap"), (18, "min", "f", "min"),
    (19, "max", "f", "max"),
)  # fmt: skip


def _atomic(opcode: int, name: str, suffix: str, op: str, type: str, count: int = 1, returns: bool = False) -> None:
    element = TYPES[type]
    data = f"b{element.bits * count}"
    two = op in ("cmpswap", "mskor", "wrap")
    define(
        "DS", opcode, f"ds_{name}{'_rtn' if returns else ''}_{suffix}",
        f"{data if returns else ''} = b32, {data}{', ' + data if two else ''}",
        access=Access(
            "lds", "atomic", element.bits, count, op=op, type=element, returns="always" if returns else None,
            roles=TWO if two else ONE,
        ),
    )  # fmt: skip


for _bits, _base in ((32, 0), (64, 64)):
    for _opcode, _name, _kind, _op in _ATOMICS:
        _type = f"{'u' if _kind == 'b' else _kind}{_bits}"
        _atomic(_base + _opcode, _name, f"{_kind}{_bits}", _op, _type)
        _atomic(_base + _opcode + 32, _name, f"{_kind}{_bits}", _op, _type, returns=True)
    _atomic(_base + 45, "wrxchg", f"b{_bits}", "swap", f"u{_bits}", returns=True)

for _opcode, _returning, _name, _type, _count in (
    (21, 53, "add", "f32", 1),
    (92, 124, "add", "f64", 1),
    (23, 183, "pk_add", "f16", 2),
    (24, 184, "pk_add", "bf16", 2),
):
    _atomic(_opcode, _name, _type, "add", _type, _count)
    _atomic(_returning, _name, _type, "add", _type, _count, returns=True)

_atomic(52, "wrap", "b32", "wrap", "u32", returns=True)
_atomic(126, "condxchg32", "b64", "condxchg", "u32", 2, returns=True)
for _opcode, _name in ((189, "consume"), (190, "append")):
    define(
        "DS", _opcode, f"ds_{_name}", "u32 = m0",
        access=Access("lds", "atomic", op=_name, type=TYPES["u32"], returns="always", m0=True),
    )  # fmt: skip

# -- lane permutations, and what needs a global wave sync ------------------------------------------------------
for _opcode, _name, _signature, _op, _roles in (
    (61, "ds_swizzle_b32", "b32 = b32", "swizzle", ADDR),
    (62, "ds_permute_b32", "b32 = b32, b32", "push", ONE),
    (63, "ds_bpermute_b32", "b32 = b32, b32", "pull", ONE),
):
    _access = Access("lds", "permute", op=_op, roles=_roles)
    define("DS", _opcode, _name, _signature, access=_access, flags="lane_permute")

define("DS", 20, "ds_nop", "", flags="hint")
for _opcode, _name, _has_data in (
    (152, "sema_release_all", False),
    (153, "init", True),
    (154, "sema_v", False),
    (155, "sema_br", True),
    (156, "sema_p", False),
    (157, "barrier", True),
):
    define(
        "DS", _opcode, f"ds_gws_{_name}", "= b32, m0" if _has_data else "= m0",
        access=Access("gws", "control", m0=True, roles=ADDR if _has_data else ()), flags="unsupported_in_sim",
    )  # fmt: skip
