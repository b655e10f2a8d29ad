"""Every primitive that instruction meanings use gives the same bits in NumPy and in code, for several kinds of CPU."""

from __future__ import annotations

import ctypes
import io
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from pykittens.isa.exact_float import fma64, narrow_to_bf16, narrow_to_f16
from pykittens.isa.llvm_evaluator import LlvmEvaluator, Raw
from pykittens.isa.numpy_evaluator import NumpyEvaluator, dtype_of
from pykittens.isa.types import TYPES, Type, bf16, f16, f32, f64, i32, u1, u8, u16, u32, u64, u128
from pykittens.isa.value import Value, concat
from pykittens.sim.engine import Target, engine, host

from .alu_cases import bits_of
from .rational_rounding import rounded

FLOATS = (f16, bf16, f32, f64)
INTEGERS = tuple(TYPES[name] for name in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"))

Operation = tuple[str, tuple[Type, ...], Callable[..., Value]]


def _float_operations(t: Type) -> list[Operation]:
    found: list[Operation] = [
        ("add", (t, t), lambda a, b: a + b), ("sub", (t, t), lambda a, b: a - b), ("mul", (t, t), lambda a, b: a * b),
        ("div", (t, t), lambda a, b: a / b), ("min", (t, t), Value.min), ("max", (t, t), Value.max),
        ("fma", (t, t, t), Value.fma), ("sqrt", (t,), Value.sqrt), ("rint", (t,), Value.rint),
        ("trunc", (t,), Value.trunc), ("floor", (t,), Value.floor), ("ceil", (t,), Value.ceil),
        ("neg", (t,), lambda a: -a), ("abs", (t,), abs), ("isnan", (t,), Value.isnan), ("isinf", (t,), Value.isinf),
        ("quiet", (t,), Value.quiet), ("constant", (t,), lambda a: a + 0.1), ("eq", (t, t), lambda a, b: a == b),
        ("ne", (t, t), lambda a, b: a != b), ("lt", (t, t), lambda a, b: a < b), ("le", (t, t), lambda a, b: a <= b),
        ("gt", (t, t), lambda a, b: a > b), ("ge", (t, t), lambda a, b: a >= b),
        ("chain", (t, t, t), lambda a, b, c: (a * b + c).max(a).fma(b, -c)),
    ]  # fmt: skip
    return found + [(f"to {x}", (t,), lambda a, x=x: a.to(x)) for x in (*FLOATS, *INTEGERS) if x is not t]


def _integer_operations(t: Type) -> list[Operation]:
    last = t.bits - 1
    found: list[Operation] = [
        ("add", (t, t), lambda a, b: a + b), ("sub", (t, t), lambda a, b: a - b), ("mul", (t, t), lambda a, b: a * b),
        ("and", (t, t), lambda a, b: a & b), ("or", (t, t), lambda a, b: a | b), ("xor", (t, t), lambda a, b: a ^ b),
        ("shl", (t, t), lambda a, b: a << (b & last)), ("shr", (t, t), lambda a, b: a >> (b & last)),
        ("min", (t, t), Value.min), ("max", (t, t), Value.max), ("mulhi", (t, t), Value.mulhi),
        ("not", (t,), lambda a: ~a), ("neg", (t,), lambda a: -a), ("abs", (t,), abs), ("clz", (t,), Value.clz),
        ("ctz", (t,), Value.ctz), ("popcount", (t,), Value.popcount), ("bitreverse", (t,), Value.bitreverse),
        ("eq", (t, t), lambda a, b: a == b), ("ne", (t, t), lambda a, b: a != b), ("lt", (t, t), lambda a, b: a < b),
        ("le", (t, t), lambda a, b: a <= b), ("gt", (t, t), lambda a, b: a > b), ("ge", (t, t), lambda a, b: a >= b),
        ("field", (t,), lambda a: a.field(3, 4)), ("sext", (t,), lambda a: a.sext(5)),
        ("low bit", (t,), lambda a: a.resize(u1)),
    ]  # fmt: skip
    if not t.signed:
        found.append(("udiv", (t, t), Value.udiv))
    found += [(f"resize {x}", (t,), lambda a, x=x: a.resize(x)) for x in INTEGERS if x is not t]
    return found + [(f"to {x}", (t,), lambda a, x=x: a.to(x)) for x in (f16, f32, f64)]


def _wide(a: Value, b: Value) -> Value:
    """The carry out of a 128-bit multiply-add and more, in 64 bits."""
    product = a.resize(u128) * b.resize(u128) + a.resize(u128) - 1
    return ((product >> 60) ^ (product << 3) | (a.resize(u128) & 7)).max(b.resize(u128)).resize(u64)


def _lane_operations() -> list[Operation]:
    reversed_lanes = tuple(range(63, -1, -1))
    return [
        ("select", (u32, u32), lambda a, b: (a < b).select(a, b)), ("ballot", (u32,), lambda a: (a > 99).ballot()),
        ("mask lanes", (u32,), lambda a: concat(a, a).lane(5).mask_lanes().select(a, 7)),
        ("lane", (u32, u32), lambda a, b: a.lane(b.lane(3))),
        ("with lane", (u32,), lambda a: a.with_lane(70, a.lane(1))),
        ("shuffle", (f32,), lambda a: a.shuffle(reversed_lanes)), ("spread", (u16,), lambda a: a.lane(9).lanes()),
        ("two sources", (u8, u8), lambda a, b: a.shuffle(tuple(range(32, 96)), b)),
        ("lane ids", (u32,), lambda a: Value(a.ev, u32, a.ev.lane_ids()) + a), ("u128", (u64, u64), _wide),
        ("u1", (u32, u32), lambda a, b: ((a < b) ^ (a == 1)) | ~(b > 5) & (a < 9)),
        ("u1 to f32", (u32,), lambda a: (a > 9).resize(u32).to(f32)),
    ]  # fmt: skip


GROUPS: dict[str, list[Operation]] = {
    **{t.name: _float_operations(t) for t in FLOATS},
    **{t.name: _integer_operations(t) for t in INTEGERS},
    "lanes": _lane_operations(),
}


def _targets() -> dict[str, Target]:
    """This CPU, and with an x86 one its poorer relatives."""
    found = {"host": host()}
    if host().is_x86:
        found["sse4"] = Target(host().triple, "x86-64", "+sse4.2,+popcnt")
        if host().has("avx2") and host().fma and host().f16:
            found["avx2"] = Target(host().triple, "x86-64", "+avx2,+fma,+f16c,+popcnt,+bmi,+lzcnt")
    return found


TARGETS = _targets()


def _function(name: str, operation: Operation, target: Target) -> tuple[str, dict[str, None], Value]:
    """IR of ``void (out, in...)`` over rows of 64 elements, and the result for its type."""
    ev = LlvmEvaluator(lazy=False, host_fma=target.fma, host_f16=target.f16, wide_masks=target.wide_masks)
    _, types, function = operation
    arguments = [
        Value(ev, t, Raw(ev.block.emit(f"load {ev.spell(t, True)}, ptr %a{i}, align 64"), True))
        for i, t in enumerate(types)
    ]
    result = function(*arguments)
    stored = result.resize(u8) if result.type is u1 else result
    line = f"store {ev.spell(stored.type, stored.raw.lanes)} {stored.raw.name}, ptr %out, align 64"
    parameters = ", ".join(["ptr %out", *(f"ptr %a{i}" for i in range(len(types)))])
    text = "\n  ".join([*ev.block.lines, line, "ret void"])
    return f"define void @{name}({parameters}) {{\n  {text}\n}}\n", ev.block.declarations, result


def _inputs(types: tuple[Type, ...], seed: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    words = [bits_of(rng, t.name, t.bits, 64) for t in types]
    return [w.astype(f"u{t.bits // 8}").view(dtype_of(t)) for w, t in zip(words, types, strict=True)]


def _bits(raw: Any, type: Type) -> np.ndarray[Any, Any]:
    array = np.atleast_1d(np.asarray(raw, dtype_of(type)))
    return array.astype(np.uint8) if type is u1 else array.view(f"u{type.bits // 8}")


def _undefined(blob: bytes) -> set[str]:
    """What an object takes from libraries (where objects are ELF)."""
    if blob[:4] != b"\x7fELF":
        return set()
    symbols = ELFFile(io.BytesIO(blob)).get_section_by_name(".symtab").iter_symbols()
    return {s.name for s in symbols if s["st_shndx"] == "SHN_UNDEF" and s.name} - {"memcpy", "memset"}


@pytest.mark.parametrize("target_name", TARGETS)
@pytest.mark.parametrize("group", GROUPS)
def test_same_bits(group: str, target_name: str) -> None:
    operations, target = GROUPS[group], TARGETS[target_name]
    texts, declarations, results = [], {}, []
    for i, operation in enumerate(operations):
        text, needed, result = _function(f"probe_{group}_{target_name}_{i}", operation, target)
        texts.append(text)
        declarations |= needed
        results.append(result)
    blob = target.compile("\n".join([*texts, *declarations]))
    # Without the instruction, f64 fma is the C library's, which is exact by the C standard.
    assert _undefined(blob) <= (set() if target.fma else {"fma"}), "the results of libraries differ"
    engine().add_object(blob)
    for i, ((name, types, function), result) in enumerate(zip(operations, results, strict=True)):
        address = engine().address(f"probe_{group}_{target_name}_{i}")
        native = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (1 + len(types)))(address)
        for seed in range(8):
            inputs = _inputs(types, seed)
            want = function(*(Value(NumpyEvaluator(), t, a) for t, a in zip(types, inputs, strict=True)))
            assert want.type is result.type
            storage = [np.zeros(640, np.uint8) for _ in (None, *inputs)]
            rows = [s[-s.ctypes.data % 64 :] for s in storage]
            for row, a in zip(rows[1:], inputs, strict=True):
                row[: a.nbytes] = a.view(np.uint8)
            native(*(row.ctypes.data for row in rows))
            expected = _bits(want.raw, want.type)
            got = rows[0][: expected.nbytes].view(expected.dtype)
            for lane in np.flatnonzero(got != expected)[:1]:
                given = [hex(_bits(a, t)[lane % 64]) for a, t in zip(inputs, types, strict=True)]
                pytest.fail(f"{name} of {given} is {got[lane]:#x} in code, {expected[lane]:#x} in NumPy")


# -- the exact helpers against rational arithmetic ------------------------------------------------------------------
def test_narrowing_rounds_once() -> None:
    rng = np.random.default_rng(1)
    f64s = bits_of(rng, "f64", 64, 4000).view(np.float64)
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    ties = (halves[:-1] + halves[1:]) / 2
    f64s = f64s[np.isfinite(f64s)]
    values = np.concatenate([f64s, f64s * 2.0**-130, ties, ties * (1 + 2.0**-52), ties * (1 - 2.0**-53)])
    values = values[abs(values) < 1e30]
    f16s, bf16s = narrow_to_f16(values), narrow_to_bf16(values)
    for i in rng.integers(0, values.size, 3000):
        exact = Fraction(float(values[i]))
        assert float(f16s[i]) == rounded(exact, "f16"), values[i]
        want = rounded(exact, "bf16")
        assert int(bf16s[i]) & 0x7FFF == int(np.float32(want).view(np.uint32)) >> 16 & 0x7FFF, values[i]


def test_fma_of_f64_rounds_once() -> None:
    rng = np.random.default_rng(2)
    operands = [bits_of(rng, "f64", 64, 3000).view(np.float64) for _ in range(3)]
    for a, b, c in zip(*operands, strict=True):
        if np.isfinite([a, b, c]).all():
            exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
            assert fma64(a, b, c) == rounded(exact, "f64"), (a, b, c)
    assert math.copysign(1.0, fma64(-0.0, 1.0, -0.0)) == -1.0
    assert math.copysign(1.0, fma64(1.0, 1.0, -1.0)) == 1.0
    assert fma64(math.inf, 1.0, 1.0) == math.inf
    assert fma64(1e308, 10.0, -math.inf) == -math.inf


@pytest.mark.parametrize("type", (f16, f32), ids=str)
def test_fma_of_small_floats_rounds_once(type: Type) -> None:
    ev = NumpyEvaluator()
    for seed in range(20):
        a, b, c = _inputs((type, type, type), 100 + seed)
        got = ev.fma(type, a, b, c)
        for x, y, z, w in zip(a, b, c, got, strict=True):
            if np.isfinite([x, y, z]).all():
                exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
                assert float(w) == rounded(exact, type.name), (x, y, z)


# -- the lazy evaluator ------------------------------------------------------------------------------------------------
def _lazy() -> tuple[LlvmEvaluator, list[Value]]:
    ev = LlvmEvaluator(lazy=True, host_fma=True, host_f16=True, wide_masks=True)
    return ev, [Value(ev, f32, Raw(f"%x{i}", True)) for i in range(2)]


def test_lazy_code_tests_what_may_be_nan() -> None:
    ev, (a, b) = _lazy()
    (a + b).fma(a, b)
    assert ev.gives_up() is None, "nobody looks at the result's bits"
    ((a + b).fma(a, b) > 1.0).resize(u32)
    assert ev.gives_up() is None, "comparing does not show a NaN's bits"
    (a + b).bits(u32)
    assert ev.gives_up() is not None


def test_lazy_code_does_not_test_what_is_loaded() -> None:
    ev, (a, b) = _lazy()
    (-a).bits(u32)
    (a < b).select(a, b).bits(u32)
    assert ev.gives_up() is None
    a.max(b).bits(u32)
    assert ev.gives_up() is not None, "the maximum of a NaN is left to the code that is not lazy"


def test_mixing_types_is_an_error() -> None:
    ev = NumpyEvaluator()
    with pytest.raises(TypeError, match="do not mix"):
        Value(ev, f32, ev.const(f32, 1)) + Value(ev, i32, ev.const(i32, 1))
    with pytest.raises(TypeError, match="16 bits"):
        Value(ev, f16, ev.const(f16, 1)).bits(u32)
