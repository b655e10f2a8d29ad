"""What the scalar ALU instructions compute, in plain Python integers bit by bit, after the ISA manual's pseudocode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Result = dict[str, int]


@dataclass(frozen=True)
class State:
    """Sources of one instruction, all as unsigned integers; ``old`` is the destination's value before."""

    a: int = 0
    b: int = 0
    scc: int = 0
    exec: int = 0
    vccz: int = 0
    m0: int = 0
    mode: int = 0
    simm16: int = 0
    gpr_idx: int = 0
    old: int = 0


REFERENCE: dict[str, Callable[[State], Result]] = {}
"""By mnemonic: the destination ``d`` and the implicit ones by their names; ``taken`` for branches."""


def signed(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def wrap(value: int, bits: int = 32) -> int:
    return value & ((1 << bits) - 1)


def bit_list(value: int, bits: int) -> list[int]:
    """Bits from the lowest."""
    return [(value >> i) & 1 for i in range(bits)]


def from_bits(bits: list[int]) -> int:
    return sum(bit << i for i, bit in enumerate(bits))


def with_scc(value: int) -> Result:
    return {"d": value, "scc": int(value != 0)}


def first_index(bits: list[int], wanted: int) -> int:
    return bits.index(wanted) if wanted in bits else 0xFFFFFFFF


# -- arithmetic ------------------------------------------------------------------------------------------------
def carry(total: int) -> Result:
    return {"d": wrap(total), "scc": int(total >= 1 << 32)}


def borrow(total: int) -> Result:
    return {"d": wrap(total), "scc": int(total < 0)}


def overflow(total: int) -> Result:
    return {"d": wrap(total), "scc": int(not -(1 << 31) <= total < 1 << 31)}


REFERENCE |= {
    "s_add_u32": lambda s: carry(s.a + s.b),
    "s_addc_u32": lambda s: carry(s.a + s.b + s.scc),
    "s_sub_u32": lambda s: borrow(s.a - s.b),
    "s_subb_u32": lambda s: borrow(s.a - s.b - s.scc),
    "s_add_i32": lambda s: overflow(signed(s.a) + signed(s.b)),
    "s_sub_i32": lambda s: overflow(signed(s.a) - signed(s.b)),
    "s_addk_i32": lambda s: overflow(signed(s.old) + signed(s.simm16, 16)),
    "s_mul_i32": lambda s: {"d": wrap(s.a * s.b)},
    "s_mulk_i32": lambda s: {"d": wrap(s.old * signed(s.simm16, 16))},
    "s_mul_hi_u32": lambda s: {"d": (s.a * s.b) >> 32},
    "s_mul_hi_i32": lambda s: {"d": wrap((signed(s.a) * signed(s.b)) >> 32)},
    "s_abs_i32": lambda s: with_scc(wrap(abs(signed(s.a)))),
    "s_absdiff_i32": lambda s: with_scc(wrap(abs(signed(wrap(s.a - s.b))))),
    "s_min_u32": lambda s: {"d": min(s.a, s.b), "scc": int(s.a < s.b)},
    "s_max_u32": lambda s: {"d": max(s.a, s.b), "scc": int(s.a >= s.b)},
    "s_min_i32": lambda s: {"d": wrap(min(signed(s.a), signed(s.b))), "scc": int(signed(s.a) < signed(s.b))},
    "s_max_i32": lambda s: {"d": wrap(max(signed(s.a), signed(s.b))), "scc": int(signed(s.a) >= signed(s.b))},
    "s_sext_i32_i8": lambda s: {"d": wrap(signed(s.a & 0xFF, 8))},
    "s_sext_i32_i16": lambda s: {"d": wrap(signed(s.a & 0xFFFF, 16))},
}
for _n in (1, 2, 3, 4):
    REFERENCE[f"s_lshl{_n}_add_u32"] = lambda s, n=_n: carry((s.a << n) + s.b)

# -- bits ------------------------------------------------------------------------------------------------------
LOGIC = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
    "andn1": lambda a, b: ~a & b,
    "orn1": lambda a, b: ~a | b,
}


def quads(s: State, bits: int) -> list[int]:
    all_bits = bit_list(s.a, bits)
    return [int(any(all_bits[i : i + 4])) for i in range(0, bits, 4)]


def bit_field(s: State, bits: int, is_signed: bool) -> Result:
    width, low = (s.b >> 16) & 0x7F, s.b & (bits - 1)
    value = (signed(s.a, bits) if is_signed else s.a) >> low
    value &= (1 << width) - 1
    if is_signed and width and value >> (width - 1) & 1:
        value -= 1 << width
    return with_scc(wrap(value, bits))


def leading_same(s: State, bits: int) -> int:
    """Leading bits equal to the top one; -1 if all are."""
    top_down = bit_list(s.a, bits)[::-1]
    return first_index(top_down, 1 - top_down[0])


def bitset(s: State, bits: int, value: int) -> Result:
    all_bits = bit_list(s.old, bits)
    all_bits[s.a % bits] = value
    return {"d": from_bits(all_bits)}


for _bits in (32, 64):
    _t = f"b{_bits}"
    for _name in ("and", "or", "xor", "andn2", "orn2", "nand", "nor", "xnor"):
        REFERENCE[f"s_{_name}_{_t}"] = lambda s, f=LOGIC[_name], n=_bits: with_scc(wrap(f(s.a, s.b), n))
    REFERENCE |= {
        f"s_mov_{_t}": lambda s: {"d": s.a},
        f"s_cmov_{_t}": lambda s: {"d": s.a if s.scc else s.old},
        f"s_cselect_{_t}": lambda s: {"d": s.a if s.scc else s.b},
        f"s_not_{_t}": lambda s, n=_bits: with_scc(wrap(~s.a, n)),
        f"s_wqm_{_t}": lambda s, n=_bits: with_scc(from_bits([q for q in quads(s, n) for _ in range(4)])),
        f"s_quadmask_{_t}": lambda s, n=_bits: with_scc(from_bits(quads(s, n))),
        f"s_brev_{_t}": lambda s, n=_bits: {"d": from_bits(bit_list(s.a, n)[::-1])},
        f"s_bcnt0_i32_{_t}": lambda s, n=_bits: with_scc(bit_list(s.a, n).count(0)),
        f"s_bcnt1_i32_{_t}": lambda s, n=_bits: with_scc(bit_list(s.a, n).count(1)),
        f"s_ff0_i32_{_t}": lambda s, n=_bits: {"d": first_index(bit_list(s.a, n), 0)},
        f"s_ff1_i32_{_t}": lambda s, n=_bits: {"d": first_index(bit_list(s.a, n), 1)},
        f"s_flbit_i32_{_t}": lambda s, n=_bits: {"d": first_index(bit_list(s.a, n)[::-1], 1)},
        f"s_bitset0_{_t}": lambda s, n=_bits: bitset(s, n, 0),
        f"s_bitset1_{_t}": lambda s, n=_bits: bitset(s, n, 1),
        f"s_lshl_{_t}": lambda s, n=_bits: with_scc(wrap(s.a << (s.b % n), n)),
        f"s_lshr_{_t}": lambda s, n=_bits: with_scc(s.a >> (s.b % n)),
        f"s_ashr_i{_bits}": lambda s, n=_bits: with_scc(wrap(signed(s.a, n) >> (s.b % n), n)),
        f"s_bfm_{_t}": lambda s, n=_bits: {"d": wrap(((1 << (s.a % n)) - 1) << (s.b % n), n)},
        f"s_bfe_u{_bits}": lambda s, n=_bits: bit_field(s, n, False),
        f"s_bfe_i{_bits}": lambda s, n=_bits: bit_field(s, n, True),
        f"s_bitcmp0_{_t}": lambda s, n=_bits: {"scc": int(bit_list(s.a, n)[s.b % n] == 0)},
        f"s_bitcmp1_{_t}": lambda s, n=_bits: {"scc": bit_list(s.a, n)[s.b % n]},
    }
REFERENCE |= {
    "s_flbit_i32": lambda s: {"d": leading_same(s, 32)},
    "s_flbit_i32_i64": lambda s: {"d": leading_same(s, 64)},
    "s_bitreplicate_b64_b32": lambda s: {"d": from_bits([bit for bit in bit_list(s.a, 32) for _ in range(2)])},
    "s_pack_ll_b32_b16": lambda s: {"d": s.a & 0xFFFF | (s.b & 0xFFFF) << 16},
    "s_pack_lh_b32_b16": lambda s: {"d": s.a & 0xFFFF | s.b >> 16 << 16},
    "s_pack_hh_b32_b16": lambda s: {"d": s.a >> 16 | s.b >> 16 << 16},
}


# -- EXEC ------------------------------------------------------------------------------------------------------
def exec_result(s: State, name: str, saves: bool) -> Result:
    new = wrap(LOGIC[name](s.a, s.exec), 64)
    return {"d": s.exec if saves else new, "exec": new, "scc": int(new != 0)}


for _name in LOGIC:
    REFERENCE[f"s_{_name}_saveexec_b64"] = lambda s, name=_name: exec_result(s, name, True)
for _name in ("andn1", "andn2"):
    REFERENCE[f"s_{_name}_wrexec_b64"] = lambda s, name=_name: exec_result(s, name, False)

# -- compares, constants, modes, branches ----------------------------------------------------------------------
COMPARES = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}
for _name, _f in COMPARES.items():
    REFERENCE |= {
        f"s_cmp_{_name}_i32": lambda s, f=_f: {"scc": int(f(signed(s.a), signed(s.b)))},
        f"s_cmp_{_name}_u32": lambda s, f=_f: {"scc": int(f(s.a, s.b))},
        f"s_cmpk_{_name}_i32": lambda s, f=_f: {"scc": int(f(signed(s.a), signed(s.simm16, 16)))},
        f"s_cmpk_{_name}_u32": lambda s, f=_f: {"scc": int(f(s.a, s.simm16))},
    }
REFERENCE |= {
    "s_cmp_eq_u64": lambda s: {"scc": int(s.a == s.b)},
    "s_cmp_lg_u64": lambda s: {"scc": int(s.a != s.b)},
    "s_movk_i32": lambda s: {"d": wrap(signed(s.simm16, 16))},
    "s_cmovk_i32": lambda s: {"d": wrap(signed(s.simm16, 16)) if s.scc else s.old},
    "s_setvskip": lambda s: {"mode": s.mode & ~(1 << 28) | ((s.a >> (s.b % 32)) & 1) << 28},
    "s_set_gpr_idx_on": lambda s: {
        "m0": s.m0 & 0xFFFF0F00 | s.a & 0xFF | s.gpr_idx << 12,
        "mode": s.mode | 1 << 27,
    },
    "s_set_gpr_idx_off": lambda s: {"mode": s.mode & ~(1 << 27)},
    "s_set_gpr_idx_mode": lambda s: {"m0": s.m0 & 0xFFFF0FFF | s.gpr_idx << 12},
    "s_set_gpr_idx_idx": lambda s: {"m0": s.m0 & 0xFFFFFF00 | s.a & 0xFF},
    "s_cbranch_scc0": lambda s: {"taken": 1 - s.scc},
    "s_cbranch_scc1": lambda s: {"taken": s.scc},
    "s_cbranch_vccz": lambda s: {"taken": s.vccz},
    "s_cbranch_vccnz": lambda s: {"taken": 1 - s.vccz},
    "s_cbranch_execz": lambda s: {"taken": int(s.exec == 0)},
    "s_cbranch_execnz": lambda s: {"taken": int(s.exec != 0)},
}
