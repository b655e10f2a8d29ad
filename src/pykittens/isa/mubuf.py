"""MUBUF and MTBUF: memory through a buffer descriptor: loads, stores, atomics, load-to-LDS, cache upkeep.

The linear address is ``base + soffset + stride * index + voffset + offset`` (fewer terms as ``idxen`` and ``offen``
say); dwords out of the descriptor's range load 0 and are not stored.
"""

from __future__ import annotations

from .atomics import FLOAT_ATOMICS, INTEGER_ATOMICS, integer_type
from .define import ARCHS, Access, define
from .types import TYPES

LOAD, STORE = ("vaddr", "srsrc", "soffset"), ("vdata", "vaddr", "srsrc", "soffset")
_PLACE = "b32, s:b128, s:b32"
_DWORDS = ((0, 1, "dword"), (1, 2, "dwordx2"), (2, 3, "dwordx3"), (3, 4, "dwordx4"))
_LDS_ARCHS = {1: ARCHS, 3: ("gfx950",), 4: ("gfx950",)}
"""Which chips load so many dwords to LDS (llvm)."""

# -- loads and stores ------------------------------------------------------------------------------------------
for _i, _count, _name in _DWORDS:
    _data = f"b{32 * _count}"
    _access = Access("buffer", "load", count=_count, to_lds=_LDS_ARCHS.get(_count, ()), roles=LOAD)
    define("MUBUF", 20 + _i, f"buffer_load_{_name}", f"{_data} = {_PLACE}", access=_access)
    _access = Access("buffer", "store", count=_count, roles=STORE)
    define("MUBUF", 28 + _i, f"buffer_store_{_name}", f"= {_data}, {_PLACE}", access=_access)

for _opcode, _name, _bits, _signed in (
    (16, "ubyte", 8, False),
    (17, "sbyte", 8, True),
    (18, "ushort", 16, False),
    (19, "sshort", 16, True),
):
    _access = Access("buffer", "load", _bits, signed=_signed, to_lds=ARCHS, roles=LOAD)
    define("MUBUF", _opcode, f"buffer_load_{_name}", f"b32 = {_PLACE}", access=_access)

for _opcode, _name, _bits, _signed in ((32, "ubyte", 8, False), (34, "sbyte", 8, True), (36, "short", 16, False)):
    for _i, _half in enumerate(("lo", "hi")):
        _access = Access("buffer", "load", _bits, signed=_signed, half=_half, roles=LOAD)
        _full = f"buffer_load_{_name}_d16{'_hi' if _half == 'hi' else ''}"
        define("MUBUF", _opcode + _i, _full, f"b32 = {_PLACE}", access=_access)

for _opcode, _name, _bits in ((24, "byte", 8), (26, "short", 16)):
    _access = Access("buffer", "store", _bits, roles=STORE)
    define("MUBUF", _opcode, f"buffer_store_{_name}", f"= b32, {_PLACE}", access=_access)
    _access = Access("buffer", "store", _bits, half="hi", roles=STORE)
    define("MUBUF", _opcode + 1, f"buffer_store_{_name}_d16_hi", f"= b32, {_PLACE}", access=_access)

# -- formatted: one to four components, converted; d16 packs two of them in a register ---------------------------
for _format, _prefix in (("MUBUF", "buffer"), ("MTBUF", "tbuffer")):
    for _i in range(4):
        _components = "xyzw"[: _i + 1]
        for _opcode, _d16, _bits in ((0, "", 32), (8, "d16_", 16)):
            _data = f"b{32 * ((_bits * (_i + 1) + 31) // 32)}"
            # LLVM takes lds on one formatted load alone.
            _lds = ARCHS if (_format, _opcode, _i) == ("MUBUF", 0, 0) else ()
            _access = Access("buffer", "load", _bits, _i + 1, to_lds=_lds, formatted=True, roles=LOAD)
            define(
                _format,
                _opcode + _i,
                f"{_prefix}_load_format_{_d16}{_components}",
                f"{_data} = {_PLACE}",
                access=_access,
            )
            _access = Access("buffer", "store", _bits, _i + 1, formatted=True, roles=STORE)
            define(
                _format, _opcode + 4 + _i, f"{_prefix}_store_format_{_d16}{_components}", f"= {_data}, {_PLACE}",
                access=_access,
            )  # fmt: skip
_access = Access("buffer", "load", 16, half="hi", formatted=True, roles=LOAD)
define("MUBUF", 38, "buffer_load_format_d16_hi_x", f"b32 = {_PLACE}", access=_access)
_access = Access("buffer", "store", 16, half="hi", formatted=True, roles=STORE)
define("MUBUF", 39, "buffer_store_format_d16_hi_x", f"= b32, {_PLACE}", access=_access)

# -- atomics ---------------------------------------------------------------------------------------------------
for _bits, _suffix, _opcode in ((32, "", 64), (64, "_x2", 96)):
    for _i, _op in enumerate(INTEGER_ATOMICS):
        _data = f"b{_bits * (2 if _op == 'cmpswap' else 1)}"
        define(
            "MUBUF", _opcode + _i, f"buffer_atomic_{_op}{_suffix}", f"= {_data}, {_PLACE}",
            access=Access(
                "buffer", "atomic", _bits, op=_op, type=integer_type(_op, _bits), returns="in_place", roles=STORE
            ),
        )  # fmt: skip
for _opcode, _name, _op, _type, _count in FLOAT_ATOMICS:
    _element = TYPES[_type]
    define(
        "MUBUF", _opcode, f"buffer_atomic_{_name}", f"= b{_element.bits * _count}, {_PLACE}",
        archs=("gfx950",) if _type == "bf16" else ARCHS,
        access=Access(
            "buffer", "atomic", _element.bits, _count, op=_op, type=_element, returns="in_place", roles=STORE
        ),
    )  # fmt: skip

define("MUBUF", 40, "buffer_wbl2", "", access=Access("buffer", "control", op="wb"))
define("MUBUF", 41, "buffer_inv", "", access=Access("buffer", "control", op="inv"))
