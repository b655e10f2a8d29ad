"""SMEM: scalar memory: loads, stores, atomics, cache upkeep and clocks.

Addresses are ``sbase`` (64 bits; in ``s_buffer_*`` a buffer descriptor of 128) plus the modifier ``offset`` plus
``soffset``, the two low bits ignored.
"""

from __future__ import annotations

from .atomics import INTEGER_ATOMICS, integer_type
from .define import Access, define

_COUNTS = (1, 2, 4, 8, 16)
# Prefix of the name, type of sbase, what soffset is multiplied by, opcodes of load and store, widths of loads.
_FAMILIES = (
    ("s", "b64", 1, 0, 16, _COUNTS),
    ("s_scratch", "b64", 64, 5, 21, _COUNTS[:3]),
    ("s_buffer", "b128", 1, 8, 24, _COUNTS),
)


def _suffix(count: int) -> str:
    return "dword" if count == 1 else f"dwordx{count}"


for _prefix, _base, _scale, _load, _store, _widths in _FAMILIES:
    for _i, _count in enumerate(_widths):
        define(
            "SMEM", _load + _i, f"{_prefix}_load_{_suffix(_count)}", f"b{32 * _count} = {_base}, b32",
            access=Access("scalar", "load", count=_count, soffset_scale=_scale, roles=("sbase", "soffset")),
        )  # fmt: skip
    for _i, _count in enumerate(_COUNTS[:3]):
        define(
            "SMEM", _store + _i, f"{_prefix}_store_{_suffix(_count)}", f"= b{32 * _count}, {_base}, b32",
            access=Access("scalar", "store", count=_count, soffset_scale=_scale, roles=("sdata", "sbase", "soffset")),
        )  # fmt: skip

for _prefix, _base, _first in (("s_buffer_atomic", "b128", 64), ("s_atomic", "b64", 128)):
    for _bits, _suffix_x2, _opcode in ((32, "", _first), (64, "_x2", _first + 32)):
        for _i, _op in enumerate(INTEGER_ATOMICS):
            _data = f"b{_bits * (2 if _op == 'cmpswap' else 1)}"
            define(
                "SMEM", _opcode + _i, f"{_prefix}_{_op}{_suffix_x2}", f"= {_data}, {_base}, b32",
                access=Access(
                    "scalar", "atomic", bits=_bits, op=_op, type=integer_type(_op, _bits), returns="in_place",
                    roles=("sdata", "sbase", "soffset"),
                ),
            )  # fmt: skip

for _opcode, _name, _op in (
    (32, "s_dcache_inv", "inv"),
    (33, "s_dcache_wb", "wb"),
    (34, "s_dcache_inv_vol", "inv"),
    (35, "s_dcache_wb_vol", "wb"),
):
    define("SMEM", _opcode, _name, "", access=Access("scalar", "control", op=_op))
define("SMEM", 36, "s_memtime", "u64 =", access=Access("scalar", "clock", bits=64, op="cycles"))
define("SMEM", 37, "s_memrealtime", "u64 =", access=Access("scalar", "clock", bits=64, op="realtime"))
for _i, (_name, _base) in enumerate((("s_atc_probe", "b64"), ("s_atc_probe_buffer", "b128"))):
    define(
        "SMEM", 38 + _i, _name, f"= u8, {_base}, b32",
        access=Access("scalar", "control", op="probe", roles=("probe", "sbase", "soffset")),
    )  # fmt: skip
for _i, (_name, _count) in enumerate((("s_dcache_discard", 16), ("s_dcache_discard_x2", 32))):
    define(
        "SMEM", 40 + _i, _name, "= b64, b32",
        access=Access("scalar", "control", count=_count, op="discard", roles=("sbase", "soffset")),
    )  # fmt: skip
