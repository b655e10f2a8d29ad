"""The scalar ALU instructions compute what plain-Python integers say, SCC, EXEC, M0 and MODE included."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tests.isa.scalar_reference import REFERENCE, State

from pykittens.isa import sop1, sop2, sopc, sopk, sopp
from pykittens.isa.define import DEFINITIONS, Definition, Operand
from pykittens.isa.numpy_evaluator import NumpyEvaluator
from pykittens.isa.types import Type, label
from pykittens.isa.value import Value

MODULES = (sop1, sop2, sopc, sopk, sopp)
SCALAR = {name: d for name, d in DEFINITIONS.items() if d.format.startswith("SOP")}
WORDS = (
    0, 1, 2, 5, 31, 32, 63, 0x0000FFFF, 0xFFFF0000, 0x00100004, 0x00200000, 0x00400003, 0x0021001F, 0x007F0010,
    0x12345678, 0xDEADBEEF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF,
)  # fmt: skip
LONGS = (
    0, 1, 0xF0, 0x80000000, 0xFFFFFFFF, 1 << 32, 1 << 63, (1 << 63) - 1, 0x0123456789ABCDEF, 0x8000000180000001,
    0xFFFFFFFF00000000, (1 << 64) - 2, (1 << 64) - 1,
)  # fmt: skip
SHORTS = (0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x1234, 0x5678)


def raw(type: Type, numbers: list[int]) -> np.ndarray[Any, Any]:
    """Unsigned integers as the evaluator's values of a type, one per case."""
    if type.kind == "m":
        return np.array(numbers, bool)
    return np.array(numbers, f"uint{type.bits}").view(f"{'int' if type.signed else 'uint'}{type.bits}")


def numbers_of(value: Value, cases: int) -> list[int]:
    """The values as unsigned integers."""
    if value.type.kind == "m":
        flags: list[int] = np.broadcast_to(value.raw, cases).astype(int).tolist()
        return flags
    unsigned = np.ascontiguousarray(np.broadcast_to(value.raw, cases)).view(f"uint{value.type.bits}")
    result: list[int] = unsigned.tolist()
    return result


def samples(operand: Operand) -> tuple[int, ...]:
    if operand.implicit == "simm16":
        return SHORTS
    if operand.implicit == "gpr_idx":
        return tuple(range(16))
    return {1: (0, 1), 32: WORDS, 64: LONGS}[operand.type.bits]


def names_of_sources(definition: Definition) -> list[tuple[str, Operand]]:
    explicit = iter("ab")
    renamed = {"dst": "old"}
    return [
        (renamed.get(o.implicit, o.implicit) if o.implicit else next(explicit), o)
        for o in definition.srcs
        if o.type is not label
    ]


def states(definition: Definition) -> list[State]:
    sources = names_of_sources(definition)
    choices = [samples(operand) for _, operand in sources]
    if len(choices) > 2 and all(len(c) > 2 for c in choices):
        # Three wide sources: all pairs of the first two, the rest in turn.
        rest = [itertools.cycle(c) for c in choices[2:]]
        rows = [(*pair, *(next(c) for c in rest)) for pair in itertools.product(*choices[:2])]
    else:
        rows = list(itertools.product(*choices))
    return [State(**{name: value for (name, _), value in zip(sources, row, strict=True)}) for row in rows]


def compute(definition: Definition, cases: list[State]) -> list[dict[str, int]]:
    """What the definition's meaning says, for all cases at once."""
    evaluator = NumpyEvaluator()
    values = [
        Value(evaluator, o.type, raw(o.type, [getattr(c, name) for c in cases]))
        for name, o in names_of_sources(definition)
    ]
    assert definition.meaning is not None
    result = definition.meaning(*values)
    results = result if isinstance(result, tuple) else (result,)
    names = [o.implicit or "d" for o in definition.dsts]
    if definition.has("conditional"):
        names = ["taken"]
    else:
        for operand, value in zip(definition.dsts, results, strict=True):
            assert value.type.bits == operand.type.bits, f"{definition.name} gives {value.type} for {operand.type}"
    columns = [numbers_of(value, len(cases)) for value in results]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_meaning_equals_integer_reference(name: str) -> None:
    definition = SCALAR[name]
    cases = states(definition)
    assert len(cases) > 1
    for case, got in zip(cases, compute(definition, cases), strict=True):
        assert got == REFERENCE[name](case), f"{name} of {case}"


def test_every_scalar_meaning_has_a_reference() -> None:
    assert {name for name, d in SCALAR.items() if d.meaning is not None} == set(REFERENCE)


def test_what_has_no_meaning_is_left_to_the_runtime_by_a_flag() -> None:
    acts = {
        "branch", "getpc", "ends", "barrier", "waitcnt", "nop", "sleep", "priority", "halt", "message", "trap", "hint",
        "hwreg_read", "hwreg_write", "relative_src", "relative_dst", "unsupported_in_sim",
    }  # fmt: skip
    without = [d for d in SCALAR.values() if d.meaning is None]
    assert len(without) > 30
    assert [d.name for d in without if not d.flags & acts] == []


def test_mode_switches_are_flagged_where_their_meaning_writes_mode() -> None:
    writes_mode = {d.name for d in SCALAR.values() if any(o.implicit == "mode" for o in d.dsts)}
    flagged = {d.name for d in SCALAR.values() if d.flags & {"gpr_idx", "vskip", "hwreg_write"}}
    assert writes_mode < flagged
    assert flagged - writes_mode == {"s_set_gpr_idx_mode"}


@pytest.mark.parametrize(
    ("name", "target", "saves"),
    [
        ("s_branch", "label", False),
        ("s_call_b64", "label", True),
        ("s_setpc_b64", "u64", False),
        ("s_swappc_b64", "u64", True),
    ],
)
def test_jumps_say_where_to_and_what_they_save(name: str, target: str, saves: bool) -> None:
    definition = SCALAR[name]
    assert definition.has("branch") and not definition.has("conditional")
    assert [o.type.name for o in definition.explicit_srcs] == [target]
    assert definition.has("indirect") == (target == "u64")
    assert definition.has("call") == saves == bool(definition.explicit_dsts)
    assert "pc" in [o.implicit for o in definition.dsts]


def test_saveexec_to_exec_itself_keeps_the_old_mask() -> None:
    # The destination is written after EXEC, so that the last write is the saved mask.
    for name in ("s_and_saveexec_b64", "s_orn1_saveexec_b64"):
        order = [o.implicit for o in SCALAR[name].dsts]
        assert order.index("exec") < order.index(None)


def test_the_long_forms_take_register_pairs() -> None:
    pairs = {
        "s_mov_b64": (2, 2),
        "s_lshl_b64": (2, 2, 1),
        "s_bfm_b64": (2, 1, 1),
        "s_bcnt1_i32_b64": (1, 2),
        "s_bitset1_b64": (2, 1),
    }
    for name, dwords in pairs.items():
        definition = SCALAR[name]
        assert tuple(o.dwords for o in definition.explicit_dsts + definition.explicit_srcs) == dwords
