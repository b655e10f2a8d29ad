"""VOP3 of gfx950: conversions to and from 4-, 6- and 8-bit floats that share a power of two as scale.

The scale is the exponent field of an f32: conversions to small floats divide by 2^(field - 127), conversions from them
multiply. A field of 255 makes every result NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain

from .conversions import pack_halves
from .define import define
from .insert_bits import insert_byte, insert_half, source_byte, source_half
from .integer_functions import prng_step
from .small_float_conversions import BY_NAME, decode, encode
from .small_floats import SmallFloat
from .types import TYPES, Type, f32, u32, u64
from .value import Value, concat, mantissa_bits, quiet_nan_bits

Pair = tuple[Value, Value]

_ARCH = "gfx950"
_FLAGS = "no_clamp no_omod keeps_denormals op_sel"
_WIDE_FLAGS = "no_clamp no_omod no_modifiers keeps_denormals"
_BIG = 3.0e38


def _exponent(scale: Value) -> Value:
    return scale.bits(u32).field(23, 8)


def _power(exponent: Value) -> Value:
    """The f32 2^(exponent - 127) of an exponent field below 255; a denormal for 0."""
    return (exponent == 0).select(1 << 22, exponent << 23).bits(f32)


def _nan_scale(scale: Value, result: Value) -> Value:
    return (_exponent(scale) == 255).select(result.const_bits(quiet_nan_bits(f32)), result)


def _to_small(x: Value, form: SmallFloat, scale: Value, *, saturate: int = 0, random: Value | None = None) -> Value:
    wide = x.to(f32)
    scaled = wide * _power(254 - _exponent(scale))
    if saturate:
        beyond = scaled.isinf() & ~wide.isinf()
        scaled = beyond.select((wide < 0.0).select(wide.const(-_BIG), _BIG), scaled)
    scaled = _nan_scale(scale, scaled)
    return encode(scaled, form, saturate=saturate, random=random, source_mantissa=mantissa_bits(x.type))


def _from_small(code: Value, form: SmallFloat, scale: Value) -> Value:
    """As f32: exact, or infinite."""
    return _nan_scale(scale, decode(code, form) * _power(_exponent(scale)))


# -- 8-bit floats: two in a half of the destination, or one in a byte ----------------------------------------------


def _define_fp8(name: str, form: SmallFloat, opcodes: dict[str, int]) -> None:
    def pack(low: Value, high: Value, scale: Value, old: Value, op_sel: int, saturate: int) -> Value:
        codes = (_to_small(x, form, scale, saturate=saturate) for x in (low, high))
        low_code, high_code = codes
        return insert_half(old, low_code | (high_code << 8), op_sel)

    def pack_pair(pair: Pair, scale: Value, old: Value, op_sel: int, saturate: int) -> Value:
        return pack(*pair, scale, old, op_sel, saturate)

    def stochastic(x: Value, random: Value, scale: Value, old: Value, op_sel: int, saturate: int) -> Value:
        return insert_byte(old, _to_small(x, form, scale, saturate=saturate, random=random), op_sel)

    def stochastic_half(pair: Pair, random: Value, scale: Value, old: Value, op_sel: int, saturate: int) -> Value:
        return stochastic(pair[op_sel & 1], random, scale, old, op_sel, saturate)

    def unpack(word: Value, scale: Value, op_sel: int) -> Pair:
        half = source_half(word, op_sel)
        return _from_small(half.field(0, 8), form, scale), _from_small(half.field(8, 8), form, scale)

    def single(word: Value, scale: Value, op_sel: int) -> Value:
        return _from_small(source_byte(word, op_sel), form, scale)

    def single_f16(word: Value, scale: Value, old: Value, op_sel: int) -> Value:
        number = single(word, scale, op_sel).to(TYPES["f16"])
        return insert_half(old, number.bits(TYPES["u16"]).resize(u32), op_sel)

    def add(kind: str, signature: str, meaning: Callable[..., Value | Pair]) -> None:
        define("VOP3", opcodes[kind], f"v_cvt_scalef32_{kind}", signature, meaning, archs=(_ARCH,), flags=_FLAGS)

    into = "dst, op_sel, fp16_ovfl"
    add(f"pk_{name}_f32", f"b32 = f32, f32, f32, {into}", pack)
    add(f"sr_{name}_f32", f"b32 = f32, u32, f32, {into}", stochastic)
    for source in ("f16", "bf16"):
        add(f"pk_{name}_{source}", f"b32 = 2{source}, f32, {into}", pack_pair)
        add(f"sr_{name}_{source}", f"b32 = 2{source}, u32, f32, {into}", stochastic_half)
        add(f"pk_{source}_{name}", "b32 = b32, f32, op_sel", partial(_narrow_pair, unpack, TYPES[source]))
    add(f"pk_f32_{name}", "b64 = b32, f32, op_sel", partial(_wide_pair, unpack))
    add(f"f32_{name}", "f32 = b32, f32, op_sel", single)
    add(f"f16_{name}", "b32 = b32, f32, dst, op_sel", single_f16)


def _narrow_pair(unpack: Callable[..., Pair], type: Type, *sources: Value | int) -> Value:
    low, high = (x.to(type) for x in unpack(*sources))
    return pack_halves(low, high)


def _wide_pair(unpack: Callable[..., Pair], *sources: Value | int) -> Value:
    return concat(*unpack(*sources))


_define_fp8(
    "fp8", BY_NAME["fp8"][_ARCH],
    {"pk_fp8_f32": 565, "sr_fp8_f32": 567, "pk_f32_fp8": 569, "f32_fp8": 571, "pk_fp8_f16": 576, "sr_fp8_f16": 578,
     "pk_fp8_bf16": 580, "sr_fp8_bf16": 582, "pk_f16_fp8": 584, "f16_fp8": 586, "pk_bf16_fp8": 617},
)  # fmt: skip
_define_fp8(
    "bf8", BY_NAME["bf8"][_ARCH],
    {"pk_bf8_f32": 566, "sr_bf8_f32": 568, "pk_f32_bf8": 570, "f32_bf8": 572, "pk_bf8_f16": 577, "sr_bf8_f16": 579,
     "pk_bf8_bf16": 581, "sr_bf8_bf16": 583, "pk_f16_bf8": 585, "f16_bf8": 587, "pk_bf16_bf8": 618},
)  # fmt: skip

# -- fp4: two in a byte --------------------------------------------------------------------------------------------
_FP4 = BY_NAME["fp4"][_ARCH]


def _pack_fp4(low: Value, high: Value, scale: Value, old: Value, op_sel: int) -> Value:
    return insert_byte(old, _to_small(low, _FP4, scale) | (_to_small(high, _FP4, scale) << 4), op_sel)


def _pack_fp4_pair(pair: Pair, scale: Value, old: Value, op_sel: int) -> Value:
    return _pack_fp4(*pair, scale, old, op_sel)


def _pack_fp4_randomly(pair: Pair, random: Value, scale: Value, old: Value, op_sel: int) -> Value:
    low = _to_small(pair[0], _FP4, scale, random=random)
    high = _to_small(pair[1], _FP4, scale, random=prng_step(random))
    return insert_byte(old, low | (high << 4), op_sel)


def _unpack_fp4(word: Value, scale: Value, op_sel: int) -> Pair:
    byte = source_byte(word, op_sel)
    return _from_small(byte & 15, _FP4, scale), _from_small(byte >> 4, _FP4, scale)


for _opcode, _name, _signature, _meaning in (
    (573, "pk_fp4_f32", "b32 = f32, f32, f32, dst, op_sel", _pack_fp4),
    (574, "sr_pk_fp4_f32", "b32 = 2f32, u32, f32, dst, op_sel", _pack_fp4_randomly),
    (575, "pk_f32_fp4", "b64 = b32, f32, op_sel", partial(_wide_pair, _unpack_fp4)),
    (588, "pk_fp4_f16", "b32 = 2f16, f32, dst, op_sel", _pack_fp4_pair),
    (589, "pk_fp4_bf16", "b32 = 2bf16, f32, dst, op_sel", _pack_fp4_pair),
    (590, "sr_pk_fp4_f16", "b32 = 2f16, u32, f32, dst, op_sel", _pack_fp4_randomly),
    (591, "sr_pk_fp4_bf16", "b32 = 2bf16, u32, f32, dst, op_sel", _pack_fp4_randomly),
    (592, "pk_f16_fp4", "b32 = b32, f32, op_sel", partial(_narrow_pair, _unpack_fp4, TYPES["f16"])),
    (593, "pk_bf16_fp4", "b32 = b32, f32, op_sel", partial(_narrow_pair, _unpack_fp4, TYPES["bf16"])),
):
    _flags = f"{_FLAGS} byte_sel" if "pk_fp4" in _name else _FLAGS
    define("VOP3", _opcode, f"v_cvt_scalef32_{_name}", _signature, _meaning, archs=(_ARCH,), flags=_flags)

# -- fp6 and bf6: 32 in 6 dwords -----------------------------------------------------------------------------------


def _numbers(words: list[Value], type: Type) -> list[Value]:
    """The elements in dwords: one f32, or two f16 or bf16 (low first), in each."""
    if type is f32:
        return [word.bits(f32) for word in words]
    return [word.field(place, 16).resize(TYPES["u16"]).bits(type) for word in words for place in (0, 16)]


def _pack6(codes: list[Value]) -> list[Value]:
    """32 six-bit codes in 6 dwords, the first in the lowest bits: 16 codes fill 3 dwords."""
    words = []
    for half in (codes[:16], codes[16:]):
        low = high = half[0].const(0, u64)
        for i, code in enumerate(half):
            wide = code.resize(u64)
            if 6 * i < 64:
                low = low | (wide << (6 * i))
            if 6 * i + 6 > 64:
                high = high | (wide << (6 * i - 64) if 6 * i >= 64 else wide >> (64 - 6 * i))
        words += [low.resize(u32), (low >> 32).resize(u32), high.resize(u32)]
    return words


def _unpack6(words: list[Value]) -> list[Value]:
    codes = []
    for i in range(32):
        word, place = divmod(6 * i, 32)
        code = words[word] >> place
        if place > 26:
            code = code | (words[word + 1] << (32 - place))
        codes.append(code & 63)
    return codes


def _define_fp6(name: str, form: SmallFloat, opcodes: dict[str, int]) -> None:
    def interleave(first: list[Value], second: list[Value], scale: Value) -> list[Value]:
        both = chain.from_iterable(zip(_numbers(first, f32), _numbers(second, f32), strict=True))
        return _pack6([_to_small(x, form, scale) for x in both])

    def nearest(type: Type, words: list[Value], scale: Value) -> list[Value]:
        return _pack6([_to_small(x, form, scale) for x in _numbers(words, type)])

    def stochastic(type: Type, words: list[Value], random: Value, scale: Value) -> list[Value]:
        codes = []
        for x in _numbers(words, type):
            codes.append(_to_small(x, form, scale, random=random))
            random = prng_step(random)
        return _pack6(codes)

    def unpack(type: Type, words: list[Value], scale: Value) -> list[Value]:
        numbers = [_from_small(code, form, scale).to(type) for code in _unpack6(words)]
        if type is f32:
            return [x.bits(u32) for x in numbers]
        return [pack_halves(low, high) for low, high in zip(numbers[::2], numbers[1::2], strict=True)]

    def add(kind: str, signature: str, meaning: Callable[..., list[Value]]) -> None:
        define("VOP3", opcodes[kind], f"v_cvt_scalef32_{kind}", signature, meaning, archs=(_ARCH,), flags=_WIDE_FLAGS)

    add(f"2xpk16_{name}_f32", "b192 = b512, b512, f32", interleave)
    for type, bits in ((f32, 1024), (TYPES["f16"], 512), (TYPES["bf16"], 512)):
        if type is not f32:
            add(f"pk32_{name}_{type}", f"b192 = b{bits}, f32", partial(nearest, type))
        add(f"sr_pk32_{name}_{type}", f"b192 = b{bits}, u32, f32", partial(stochastic, type))
        add(f"pk32_{type}_{name}", f"b{bits} = b192, f32", partial(unpack, type))


_define_fp6(
    "fp6", BY_NAME["fp6"][_ARCH],
    {"2xpk16_fp6_f32": 594, "sr_pk32_fp6_f32": 596, "pk32_f32_fp6": 598, "pk32_fp6_f16": 600, "pk32_fp6_bf16": 601,
     "sr_pk32_fp6_f16": 604, "sr_pk32_fp6_bf16": 605, "pk32_f16_fp6": 608, "pk32_bf16_fp6": 609},
)  # fmt: skip
_define_fp6(
    "bf6", BY_NAME["bf6"][_ARCH],
    {"2xpk16_bf6_f32": 595, "sr_pk32_bf6_f32": 597, "pk32_f32_bf6": 599, "pk32_bf6_f16": 602, "pk32_bf6_bf16": 603,
     "sr_pk32_bf6_f16": 606, "sr_pk32_bf6_bf16": 607, "pk32_f16_bf6": 610, "pk32_bf16_bf6": 611},
)  # fmt: skip
