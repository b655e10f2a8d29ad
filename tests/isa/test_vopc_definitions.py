"""VOPC meanings: every condition of every type, classes of floats, and the forms that set EXEC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pykittens.isa import DEFINITIONS, Instruction, Reg, lookup
from pykittens.isa.registers import vcc
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave

from .meaning_calls import F32_EDGES, pairs, run

Condition = Callable[[Any, Any], Any]
_ORDERED: dict[str, Condition] = {
    "f": lambda a, b: np.zeros(a.shape, bool), "lt": np.less, "eq": np.equal, "le": np.less_equal, "gt": np.greater,
    "lg": lambda a, b: (a < b) | (a > b), "ge": np.greater_equal, "o": lambda a, b: (a == a) & (b == b),
}  # fmt: skip
_NEGATED = {"tru": "f", "nlt": "lt", "neq": "eq", "nle": "le", "ngt": "gt", "nlg": "lg", "nge": "ge", "u": "o"}
_INTEGER: dict[str, Condition] = {
    "f": lambda a, b: np.zeros(a.shape, bool), "lt": np.less, "eq": np.equal, "le": np.less_equal, "gt": np.greater,
    "ne": np.not_equal, "ge": np.greater_equal, "t": lambda a, b: np.ones(a.shape, bool),
}  # fmt: skip
EDGES = {
    "f16": np.array([0, 0x8000, 1, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0xFD01], np.uint16).view(np.float16),
    "f32": F32_EDGES.view(np.float32),
    "f64": np.array([0.0, -0.0, 1.0, -1.5, 5e-324, np.inf, -np.inf, np.nan]),
}  # fmt: skip
for _bits in (16, 32, 64):
    _raw = np.array([0, 1, 2, (1 << (_bits - 1)) - 1, 1 << (_bits - 1), (1 << _bits) - 1], np.uint64)
    EDGES[f"u{_bits}"] = _raw.astype(f"u{_bits // 8}")
    EDGES[f"i{_bits}"] = EDGES[f"u{_bits}"].view(f"i{_bits // 8}")


@pytest.mark.parametrize("type", sorted(EDGES))
def test_every_condition_compares_as_numpy_does(type: str) -> None:
    a, b = pairs(EDGES[type])
    conditions = dict(_INTEGER)
    if type[0] == "f":
        conditions = dict(_ORDERED) | {name: lambda x, y, _of=_ORDERED[of]: ~_of(x, y) for name, of in _NEGATED.items()}
        assert len(conditions) == 16
    for name, reference in conditions.items():
        result = run(f"v_cmp_{name}_{type}", a, b)
        np.testing.assert_array_equal(np.broadcast_to(result, a.shape), reference(a, b), err_msg=name)


def float_class(bits: int, width: int, mantissa: int) -> int:
    """The bit number of a float's class, as the manual counts them."""
    magnitude, negative = bits & ((1 << (width - 1)) - 1), bits >> (width - 1)
    infinity = ((1 << (width - 1 - mantissa)) - 1) << mantissa
    if magnitude > infinity:
        return 1 if bits >> (mantissa - 1) & 1 else 0
    if magnitude == infinity:
        return 2 if negative else 9
    if magnitude >> mantissa:
        return 3 if negative else 8
    if magnitude:
        return 4 if negative else 7
    return 5 if negative else 6


@pytest.mark.parametrize(("type", "width", "mantissa"), [("f16", 16, 10), ("f32", 32, 23), ("f64", 64, 52)])
def test_classes_are_told_apart(type: str, width: int, mantissa: int) -> None:
    infinity = ((1 << (width - 1 - mantissa)) - 1) << mantissa
    positive = [0, 1, (1 << mantissa) - 1, 1 << mantissa, infinity - 1, infinity, infinity + 1,
                infinity | 1 << (mantissa - 1)]  # fmt: skip
    bits = positive + [p | 1 << (width - 1) for p in positive]
    numbers = np.array(bits, np.uint64).astype(f"u{width // 8}").view(f"f{width // 8}")
    seen = set()
    for place in range(10):
        got = run(f"v_cmp_class_{type}", numbers, np.full(len(bits), 1 << place, np.uint32))
        wanted = [float_class(b, width, mantissa) == place for b in bits]
        np.testing.assert_array_equal(got, wanted)
        seen |= {place} if any(wanted) else set()
    assert seen == set(range(10))


@pytest.mark.parametrize("encoding", ["e32", "e64"])
def test_cmpx_sets_exec_and_its_mask_and_lanes_that_are_off_give_zero(encoding: str) -> None:
    wave = Wave()
    wave.vgpr[1], wave.vgpr[2] = np.arange(64), 10
    before = 0xFFFF_0000_0000_5555
    wave.sgpr[126:128] = [before & 0xFFFFFFFF, before >> 32]
    mask = vcc if encoding == "e32" else Reg("s", 8, 2)
    instruction = Instruction(lookup("v_cmpx_ge_u32"), (mask, Reg("v", 1), Reg("v", 2)), {}, encoding)
    wave.run(instruction, "gfx942", Mode())
    wanted = before & ~0x3FF
    for index in (mask.index, 126):
        assert int(wave.sgpr[index]) | int(wave.sgpr[index + 1]) << 32 == wanted


def test_all_comparisons_exist_with_their_opcodes() -> None:
    names = [d for d in DEFINITIONS.values() if d.format == "VOPC"]
    assert len(names) == 6 + 2 * (16 * 3 + 8 * 6)
    assert lookup("v_cmp_neq_f32").opcode == 77
    assert lookup("v_cmpx_t_u64").opcode == 255
