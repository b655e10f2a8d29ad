"""MODE's other rounding modes against rational arithmetic, in NumPy and in native code."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pykittens.errors import Unsupported
from pykittens.isa import DEFINITIONS
from pykittens.isa.float_mode import DOWN, TOWARD_ZERO, UP
from pykittens.isa.instruction import Instruction
from pykittens.isa.numpy_evaluator import dtype_of
from pykittens.isa.registers import Reg, v
from pykittens.sim import alu_handlers
from pykittens.sim.mode import Mode
from pykittens.sim.oracle import Wave

from .alu_cases import bits_of
from .native_wave import context, run
from .rational_rounding import rounded

_EXACT: dict[str, Any] = {
    "v_add_f32": lambda a, b: a + b, "v_sub_f32": lambda a, b: a - b, "v_mul_f32": lambda a, b: a * b,
    "v_fma_f32": lambda a, b, c: a * b + c, "v_add_f16": lambda a, b: a + b, "v_mul_f16": lambda a, b: a * b,
    "v_fma_f16": lambda a, b, c: a * b + c, "v_cvt_f16_f32": lambda a: a, "v_cvt_f32_f64": lambda a: a,
    "v_cvt_f32_u32": lambda a: a, "v_cvt_f32_i32": lambda a: a,
}  # fmt: skip


@pytest.mark.parametrize("mode", (UP, DOWN, TOWARD_ZERO))
@pytest.mark.parametrize("name", _EXACT)
def test_one_rounding_in_the_right_direction(name: str, mode: int) -> None:
    d = DEFINITIONS[name]
    rng = np.random.default_rng([mode, *name.encode()])
    types = [o.type for o in d.explicit_srcs]
    words = [bits_of(rng, t.name, t.bits, 64) for t in types]
    wave = Wave()
    wave.sgpr[126:128] = 0xFFFFFFFF
    for i, word in enumerate(words):
        wave.vgpr[2 * i + 2] = word & np.uint64(0xFFFFFFFF)
        wave.vgpr[2 * i + 3] = word >> np.uint64(32)
    operands = (v[0], *(Reg("v", 2 * i + 2, o.dwords) for i, o in enumerate(d.explicit_srcs)))
    instruction = Instruction(d, operands, {}, "e32" if d.format in ("VOP1", "VOP2") else "")
    result = d.dsts[0].type
    setting = Mode(round32=mode) if result.bits == 32 else Mode(round64_16=mode)
    native = run(alu_handlers.bind(instruction, context("gfx950", setting, 256)), wave)
    wave.run(instruction, "gfx950", setting)
    assert (native.vgpr == wave.vgpr).all()
    got = wave.vgpr[0].astype(f"u{result.bits // 8}").view(dtype_of(result))
    inputs = [w.astype(f"u{t.bits // 8}").view(dtype_of(t)) for w, t in zip(words, types, strict=True)]
    checked = 0
    for lane, values in enumerate(zip(*inputs, strict=True)):
        if np.isfinite(values).all():
            exact = _EXACT[name](*(Fraction(x.item()) for x in values))
            assert got[lane] == rounded(exact, result.name, mode), (values, got[lane])
            checked += bool(exact)
    assert checked > 16


def test_zero_sums_are_negative_only_downward() -> None:
    wave = Wave()
    wave.sgpr[126:128] = 0xFFFFFFFF
    wave.vgpr[1], wave.vgpr[2], wave.vgpr[3] = 0x3F800000, 0xBF800000, 0
    for mode, operands, want in (
        (DOWN, (1, 2), 1 << 31), (UP, (1, 2), 0), (TOWARD_ZERO, (1, 2), 0), (DOWN, (3, 3), 0), (0, (1, 2), 0),
    ):  # fmt: skip
        add = Instruction(DEFINITIONS["v_add_f32"], (v[0], *(v[i] for i in operands)), {}, "e32")
        wave.run(add, "gfx950", Mode(round32=mode))
        assert wave.vgpr[0, 0] == want


@pytest.mark.parametrize("name", ("v_fma_f64", "v_cvt_scalef32_f32_fp8", "v_add_f64"))
def test_what_cannot_be_rounded_so_says_it(name: str) -> None:
    d = DEFINITIONS[name]
    operands = tuple(v[8 * i : 8 * i + o.dwords - 1] for i, o in enumerate(d.explicit_dsts + d.explicit_srcs))
    mode = Mode(round32=TOWARD_ZERO, round64_16=TOWARD_ZERO)
    with pytest.raises(Unsupported, match=f"cannot round {name} toward zero"):
        alu_handlers.bind(Instruction(d, operands), context("gfx950", mode, 256))


@pytest.mark.parametrize("name", ("v_max_f32", "v_mov_b32", "v_exp_f32", "v_rcp_f32"))
def test_what_does_not_round_is_as_ever(name: str) -> None:
    d = DEFINITIONS[name]
    operands = tuple(v[i] for i in range(len(d.explicit_dsts + d.explicit_srcs)))
    instruction = Instruction(d, operands, {}, "e32")
    wave = Wave()
    wave.sgpr[126:128] = 0xFFFFFFFF
    wave.vgpr[:8] = np.random.default_rng(0).integers(0, 1 << 32, (8, 64))
    directed, nearest = wave.copy(), wave.copy()
    directed.run(instruction, "gfx950", Mode(round32=UP))
    nearest.run(instruction, "gfx950", Mode())
    assert (directed.vgpr == nearest.vgpr).all()
