"""The transcendental unit's functions: special cases of the ISA manual, and at most 1 ulp elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pykittens.isa import Instruction, Reg, lookup
from pykittens.isa.define import DEFINITIONS, Unit
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave

from .meaning_calls import bits, random_floats, run, same

RNG = np.random.default_rng(6)
INF, NAN = np.inf, np.nan
Long = np.longdouble
TURN = 2 * np.arctan2(Long(0), Long(-1))


def ulps(got: Any, exact: Any, type: Any) -> Any:
    """Errors in units of the last place of the exact result."""
    digits = np.finfo(type).nmant + 1
    exponent = np.frexp(exact.astype(np.float64))[1]
    place = np.ldexp(1.0, np.maximum(exponent - digits, int(np.finfo(type).minexp) - digits + 1))
    return np.abs(got.astype(Long) - exact) / place


def inputs() -> dict[str, Any]:
    exp = np.concatenate(
        [RNG.uniform(-125.9, 127.9, 30000), RNG.uniform(-1, 1, 20000), random_floats(RNG, np.float64, 5000, 30)]
    )
    log = np.concatenate(
        [
            np.exp2(RNG.uniform(-126, 127.9, 30000)),
            RNG.uniform(0.6, 1.6, 30000),
            1 + RNG.uniform(-1, 1, 5000) * 2.0**-12,
        ]
    )
    turns = np.concatenate(
        [RNG.uniform(-0.5, 0.5, 30000), RNG.uniform(-256, 256, 30000), random_floats(RNG, np.float64, 5000, 60)]
    )
    exp, turns = exp[(exp > -125.9) & (exp < 127.9)], turns[np.abs(turns) < 256]
    return {name: x.astype(np.float32) for name, x in (("exp", exp), ("log", log), ("sin", turns), ("cos", turns))}


EXACT = {
    "exp": np.exp2, "log": np.log2, "sin": lambda x: np.sin(TURN * (x - np.rint(x))),
    "cos": lambda x: np.cos(TURN * (x - np.rint(x))),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(EXACT))
def test_f32_functions_are_within_one_ulp(name: str) -> None:
    x = inputs()[name]
    exact = EXACT[name](x.astype(Long))
    # Zeros of the cosine are exact; next to them the reference's own argument is not.
    keep = np.abs(exact) > 1e-12
    assert (ulps(run(f"v_{name}_f32", x)[keep], exact[keep], np.float32) <= 1).all()


@pytest.mark.parametrize(("type", "reach"), [("f16", 13), ("f32", 126), ("f64", 1020)])
def test_reciprocal_roots_are_close_to_correctly_rounded(type: str, reach: int) -> None:
    dtype = np.dtype(f"f{int(type[1:]) // 8}").type
    x = np.abs(random_floats(RNG, dtype, 20000, reach))
    assert (ulps(run(f"v_rsq_{type}", x), 1 / np.sqrt(x.astype(Long)), dtype) < 0.52).all()


@pytest.mark.parametrize("name", sorted(EXACT))
def test_f16_functions_are_within_one_ulp(name: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    low, high = {"exp": (-24.0, 15.99), "log": (2.0**-24, 65504.0)}.get(name, (-256.0, 256.0))
    with np.errstate(invalid="ignore"):
        x = x[(x >= low) & (x <= high)]
    exact = EXACT[name](x.astype(Long))
    keep = np.abs(exact) > 1e-12
    assert (ulps(run(f"v_{name}_f16", x)[keep], exact[keep], np.float16) <= 1).all()


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        (
            "v_exp_f32",
            [
                (-INF, 0.0),
                (INF, INF),
                (NAN, NAN),
                (-0.0, 1.0),
                (0.0, 1.0),
                (128.0, INF),
                (127.0, 2.0**127),
                (-126.0, 2.0**-126),
                (1e30, INF),
                (-1e30, 0.0),
                (10.0, 1024.0),
            ],
        ),
        (
            "v_log_f32",
            [
                (0.0, -INF),
                (-0.0, -INF),
                (INF, INF),
                (-INF, NAN),
                (-1.0, NAN),
                (NAN, NAN),
                (1.0, 0.0),
                (8.0, 3.0),
                (2.0**-126, -126.0),
                (2.0**127, 127.0),
            ],
        ),
        ("v_rcp_f32", [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0), (NAN, NAN), (-2.0, -0.5)]),
        ("v_rcp_iflag_f32", [(0.0, INF), (-0.0, -INF), (4.0, 0.25)]),
        ("v_sqrt_f32", [(-0.0, -0.0), (0.0, 0.0), (-1.0, NAN), (-INF, NAN), (INF, INF), (4.0, 2.0), (NAN, NAN)]),
        ("v_rsq_f32", [(0.0, INF), (-0.0, -INF), (-1.0, NAN), (INF, 0.0), (4.0, 0.5), (-INF, NAN)]),
        (
            "v_sin_f32",
            [
                (0.0, 0.0),
                (-0.0, -0.0),
                (0.25, 1.0),
                (-0.25, -1.0),
                (0.5, 0.0),
                (1.75, -1.0),
                (256.25, 0.0),
                (-3.0e38, 0.0),
                (INF, NAN),
                (-INF, NAN),
                (NAN, NAN),
                (255.25, 1.0),
            ],
        ),
        (
            "v_cos_f32",
            [
                (0.0, 1.0),
                (-0.0, 1.0),
                (0.25, 0.0),
                (0.5, -1.0),
                (0.75, 0.0),
                (256.5, 1.0),
                (3.0e38, 1.0),
                (INF, NAN),
                (NAN, NAN),
                (-255.5, -1.0),
            ],
        ),
        ("v_exp_legacy_f32", [(3.0, 8.0), (-INF, 0.0)]),
        ("v_log_legacy_f32", [(8.0, 3.0), (0.0, -INF)]),
    ],
)
def test_special_cases(name: str, cases: list[tuple[float, float]]) -> None:
    same(run(name, np.array([x for x, _ in cases], np.float32)), np.array([y for _, y in cases], np.float32))


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("v_exp_f16", [(-INF, 0.0), (16.0, INF), (-24.0, 2.0**-24), (-25.5, 0.0), (1.0, 2.0)]),
        ("v_log_f16", [(0.0, -INF), (2.0**-24, -24.0), (-1.0, NAN), (INF, INF)]),
        ("v_rcp_f16", [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-2.0, -0.5)]),
        ("v_sqrt_f16", [(-1.0, NAN), (4.0, 2.0), (-0.0, -0.0)]),
        ("v_rsq_f16", [(0.0, INF), (-0.0, -INF), (4.0, 0.5), (-1.0, NAN)]),
        ("v_sin_f16", [(0.25, 1.0), (-0.0, -0.0), (INF, NAN), (65504.0, 0.0)]),
        ("v_cos_f16", [(0.5, -1.0), (65504.0, 1.0), (-INF, NAN)]),
    ],
)
def test_special_cases_of_f16(name: str, cases: list[tuple[float, float]]) -> None:
    same(run(name, np.array([x for x, _ in cases], np.float16)), np.array([y for _, y in cases], np.float16))


def test_f64_special_cases() -> None:
    x = np.array([0.0, -0.0, INF, -1.0, 4.0])
    same(run("v_rcp_f64", x), np.array([INF, -INF, 0.0, -1.0, 0.25]))
    same(run("v_sqrt_f64", x), np.array([0.0, -0.0, INF, NAN, 2.0]))
    same(run("v_rsq_f64", x), np.array([INF, -INF, 0.0, NAN, 0.5]))


@pytest.mark.parametrize(("name", "given", "wanted"), [
    ("v_exp_f32", -126.5, 0.0), ("v_exp_f32", -140.0, 0.0), ("v_rcp_f32", 2.0**127, 0.0), ("v_rcp_f32", -1e-40, -INF),
    ("v_log_f32", 1e-40, -INF), ("v_sqrt_f32", 1e-40, 0.0), ("v_rsq_f32", 1e-40, INF), ("v_sin_f32", 1e-40, 0.0),
])  # fmt: skip
def test_f32_denormals_are_flushed_whatever_mode_says(name: str, given: float, wanted: float) -> None:
    wave = Wave()
    wave.sgpr[126:128] = 0xFFFFFFFF
    wave.vgpr[1] = bits(np.float32(given))
    wave.run(Instruction(lookup(name), (Reg("v", 0), Reg("v", 1)), {}, "e32"), "gfx942", Mode())
    same(wave.vgpr[0].view(np.float32), np.full(64, wanted, np.float32))


def test_functions_of_the_transcendental_unit_are_marked() -> None:
    trans = [d for d in DEFINITIONS.values() if d.unit is Unit.TRANS]
    assert len(trans) == 3 * 3 + 4 * 2 + 2 + 1
    assert all(d.has("approximate") for d in trans)


def test_powers_of_two_are_exact_and_exp2_never_decreases() -> None:
    whole = np.arange(-126, 128, dtype=np.float32)
    same(run("v_exp_f32", whole), np.ldexp(np.float32(1), whole.astype(int)))
    same(run("v_log_f32", np.ldexp(np.float32(1), whole.astype(int))), whole)
    steps = np.sort(RNG.uniform(-3, 3, 50000).astype(np.float32))
    assert (np.diff(run("v_exp_f32", steps)) >= -np.spacing(np.float32(8))).all()
