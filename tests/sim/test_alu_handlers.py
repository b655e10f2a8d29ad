"""Forms, binding and the code of ALU handlers on several kinds of CPU."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from pykittens.errors import Unsupported
from pykittens.isa import DEFINITIONS
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import Const, Reg, Special, a, exec_, s, v, vcc
from pykittens.sim import alu_code, alu_handlers
from pykittens.sim.bind import BadOperand, Bound
from pykittens.sim.engine import Target, engine, host
from pykittens.sim.forms import form_of
from pykittens.sim.mode import Mode, mode_register
from pykittens.sim.native_types import VECTOR_REGISTERS_AT, WaveHeader
from pykittens.sim.oracle import Wave

from ..isa.alu_cases import ACCUM_OFFSET, Cases
from ..isa.native_wave import context, run

ADD, MOVE, ADD_SCALAR = DEFINITIONS["v_add_f32"], DEFINITIONS["v_mov_b32"], DEFINITIONS["s_add_u32"]


def _add(d: Reg, x: object, y: object, encoding: str = "e32", **modifiers: object) -> Instruction:
    return Instruction(ADD, (d, x, y), modifiers, encoding)  # type: ignore[arg-type]


def _key(instruction: Instruction, mode: Mode | None = None) -> str:
    return form_of(instruction, "gfx950", mode or Mode()).key


# -- forms -------------------------------------------------------------------------------------------------------
def test_register_numbers_and_constants_share_a_form() -> None:
    assert _key(_add(v[0], v[1], v[2])) == _key(_add(v[9], v[9], v[255]))
    assert _key(_add(v[0], v[1], v[2])) == _key(_add(a[3], v[1], a[2]))
    assert _key(_add(v[0], s[1], v[2])) == _key(_add(v[0], vcc[0], v[2]))
    assert _key(_add(v[0], Const(1), v[2])) == _key(_add(v[0], Const(0x3F800000, "float"), v[2]))
    shift = DEFINITIONS["s_addk_i32"]
    assert _key(Instruction(shift, (s[0],), {"simm16": 5})) == _key(Instruction(shift, (s[1],), {"simm16": 65531}))


def test_kinds_and_modifiers_do_not() -> None:
    forms = [
        _add(v[0], v[1], v[2]), _add(v[0], s[1], v[2]), _add(v[0], Const(1), v[2]), _add(v[0], v[1], v[2], "e64"),
        _add(v[0], v[1], v[2], "e64", neg=(1, 0)), _add(v[0], v[1], v[2], "e64", clamp=True),
        _add(v[0], Special(253), v[2]), _add(v[0], Special(251), v[2]),
    ]  # fmt: skip
    assert len({_key(form) for form in forms}) == len(forms)


def test_only_what_matters_of_mode_is_in_a_form() -> None:
    add, move = _add(v[0], v[1], v[2]), Instruction(MOVE, (v[0], v[1]), {}, "e32")
    flushing = Mode(f32_denorm_flush_in=True)
    assert _key(add) != _key(add, flushing)
    assert _key(add) == _key(add, Mode(ieee=False, dx10_clamp=False, fp16_ovfl=True, f64_f16_denorm_flush_in=True))
    clamped = _add(v[0], v[1], v[2], "e64", clamp=True)
    assert _key(clamped) != _key(clamped, Mode(dx10_clamp=False))
    assert _key(move) == _key(move, flushing)
    assert _key(move) != _key(move, Mode(gpr_idx=8))
    scalar = Instruction(ADD_SCALAR, (s[0], s[1], s[2]))
    assert _key(scalar) == _key(scalar, Mode(f32_denorm_flush_in=True, gpr_idx=15))


def test_mode_from_registers() -> None:
    # FLOAT_MODE 0xF0, DX10_CLAMP and IEEE_MODE: what hipcc asks for.
    rsrc1 = 0xF0 << 12 | 1 << 21 | 1 << 23
    assert Mode.from_descriptor(rsrc1) == Mode()
    assert mode_register(rsrc1) == 0x3F0
    assert Mode.from_bits(0x10) == Mode(
        f32_denorm_flush_out=True, f64_f16_denorm_flush_in=True, f64_f16_denorm_flush_out=True, ieee=False,
        dx10_clamp=False,
    )  # fmt: skip
    assert Mode.from_bits(0x3F0 | 1 << 27, 0x9005).gpr_idx == 9
    assert Mode.from_bits(0x3F0, 0x9005).gpr_idx == 0
    assert Mode.from_bits(0x3F6 | 1 << 23 | 1 << 28) == Mode(round32=2, round64_16=1, fp16_ovfl=True, vskip=True)


# -- binding -----------------------------------------------------------------------------------------------------
def test_fields() -> None:
    bound = alu_handlers.bind(_add(a[7], Const(0xFFFFFFFE), v[255]), context("gfx950", Mode(), 100))
    assert bound.fields == (107, 0, 0xFFFFFFFE, 0, 255, 0)
    wide = Instruction(DEFINITIONS["v_add_f64"], (v[0:1], Const(0xC0000000, "float"), s[4:5]))
    assert alu_handlers.bind(wide, context("gfx950", Mode(), 0)).fields == (0, 0, 0, 0xC0000000, 4, 0)
    base = Instruction(DEFINITIONS["s_mov_b64"], (s[0:1], Special(235)))
    assert alu_handlers.bind(base, context("gfx950", Mode(), 0)).fields == (0, 0, 0, 1 << 16)
    immediate = Instruction(DEFINITIONS["s_movk_i32"], (s[3],), {"simm16": 0xFFFF})
    assert alu_handlers.bind(immediate, context("gfx950", Mode(), 0)).fields == (3, 0, 0xFFFFFFFF)


def test_operands_outside_the_files() -> None:
    where = context("gfx950", Mode(), 508)
    with pytest.raises(BadOperand, match="512"):
        alu_handlers.bind(_add(a[4], v[0], v[1]), where)
    with pytest.raises(BadOperand, match="128"):
        alu_handlers.bind(Instruction(DEFINITIONS["s_mov_b64"], (Reg("s", 127, 2), s[0:1])), where)
    with pytest.raises(BadOperand, match="needs 2"):
        alu_handlers.bind(Instruction(DEFINITIONS["s_mov_b64"], (s[0], s[0:1])), where)
    with pytest.raises(Unsupported, match="src_lds_direct"):
        alu_handlers.bind(_add(v[0], Special(254), v[1]), where)


def test_what_cannot_be_done_does_not_stop_the_rest() -> None:
    mode = Mode(round64_16=3)
    product = Instruction(DEFINITIONS["v_mul_f64"], (v[0:1], v[2:3], v[4:5]))
    copy = Instruction(DEFINITIONS["v_mov_b64"], (v[0:1], v[2:3]), {}, "e32")
    alu_handlers.compile_forms([form_of(product, "gfx950", mode), form_of(copy, "gfx950", mode)])
    where = context("gfx950", mode, 0)
    assert alu_handlers.bind(copy, where).handler
    with pytest.raises(Unsupported, match="v_mul_f64 toward zero"):
        alu_handlers.bind(product, where)
    assert alu_handlers.bind(product, context("gfx950", Mode(), 0)).handler


def test_threads_may_bind_at_once() -> None:
    cases = list(Cases(DEFINITIONS["v_xad_u32"], 9).instructions())
    found: list[set[int]] = [set() for _ in cases]

    def work() -> None:
        for i, (instruction, mode) in enumerate(cases):
            found[i].add(alu_handlers.bind(instruction, context("gfx950", mode, 0)).handler)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(handlers) == 1 for handlers in found)


_SCRIPT = """
from pykittens.isa import DEFINITIONS
from pykittens.isa.instruction import Instruction
from pykittens.isa.registers import v
from pykittens.sim import alu_handlers, bind, engine
from pykittens.sim.mode import Mode
compiled = []
compile = engine.Target.compile
engine.Target.compile = lambda self, ir: compiled.append(ir) or compile(self, ir)
add = Instruction(DEFINITIONS["v_add_u32"], (v[0], v[1], v[2]), {}, "e32")
assert alu_handlers.bind(add, bind.BindContext("gfx950", 0, Mode(), lambda pc: pc)).handler
print(len(compiled))
"""


def test_code_is_compiled_once_and_again_when_damaged(tmp_path: Path) -> None:
    def compilations() -> int:
        environment = dict(os.environ, PYKITTENS_CACHE=str(tmp_path))
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    assert compilations() == 1
    assert compilations() == 0
    for path in tmp_path.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-3])
    assert compilations() == 1


# -- code --------------------------------------------------------------------------------------------------------
def test_offsets_are_those_of_the_native_structure() -> None:
    assert WaveHeader.scc.offset == alu_code.SCC
    assert WaveHeader.mode.offset == alu_code.MODE
    assert VECTOR_REGISTERS_AT == alu_code.VGPR


_OTHER_CPUS = {"sse4": "+sse4.2,+popcnt", "avx2": "+avx2,+fma,+f16c,+popcnt,+bmi,+lzcnt"}
_REPRESENTATIVES = (
    "v_add_f32", "v_fma_f32", "v_fma_f64", "v_max_f16", "v_pk_fma_f16", "v_cmp_lt_f32", "v_addc_co_u32",
    "v_cndmask_b32", "v_cvt_f16_f32", "v_cvt_u32_f32", "v_exp_f32", "v_mad_u64_u32", "v_lshlrev_b64",
    "v_readfirstlane_b32", "v_writelane_b32", "v_mbcnt_lo_u32_b32", "v_div_scale_f32", "s_bcnt1_i32_b64",
    "v_cvt_pk_bf16_f32", "v_mul_hi_u32",
)  # fmt: skip


@pytest.mark.skipif(not host().is_x86, reason="these CPUs are x86")
@pytest.mark.parametrize("cpu", _OTHER_CPUS)
def test_older_cpus_give_the_same_bits(cpu: str) -> None:
    target = Target(host().triple, "x86-64", _OTHER_CPUS[cpu])
    if not all(host().has(feature[1:]) for feature in target.features.split(",")):
        pytest.skip(f"this CPU lacks {cpu}")
    cases = {name: Cases(DEFINITIONS[name], 3) for name in _REPRESENTATIVES}
    chosen = [(c, i, m) for c in cases.values() for i, m in list(c.instructions())[::3]]
    forms = {form.key: form for form in (form_of(i, "gfx950", m) for _, i, m in chosen)}
    symbols = {key: f"{cpu}_{number}" for number, key in enumerate(forms)}
    codes = [alu_code.form_code(form, symbols[key], target) for key, form in forms.items()]
    engine().add_object(target.compile(alu_code.module(codes, target)))
    for case, instruction, mode in chosen:
        handler = engine().address(symbols[form_of(instruction, "gfx950", mode).key])
        fields = alu_handlers.bind(instruction, context("gfx950", mode, ACCUM_OFFSET)).fields
        before = case.wave(instruction)
        want = before.copy()
        want.run(instruction, "gfx950", mode)
        assert _same(run(Bound(handler, fields), before), want), instruction


def _same(x: Wave, y: Wave) -> bool:
    return bool((x.sgpr == y.sgpr).all() and (x.vgpr == y.vgpr).all() and (x.scc, x.mode) == (y.scc, y.mode))


def test_indexed_registers() -> None:
    """s_set_gpr_idx moves the operands it names by M0[7:0], and never out of the file."""
    wave = Wave()
    wave.vgpr[:] = np.arange(512, dtype=np.uint32)[:, None]
    wave.sgpr[exec_.index : exec_.index + 2] = 0xFFFFFFFF
    add = Instruction(DEFINITIONS["v_add_u32"], (v[10], v[20], v[30]), {}, "e32")
    for gpr_idx, m0, row, value in (
        (1, 5, 10, 55),
        (2, 0xF005, 10, 55),
        (8, 7, 17, 50),
        (15, 1, 11, 52),
        (8, 255, 265, 50),
    ):
        mode = Mode(gpr_idx=gpr_idx)
        wave.sgpr[124] = m0
        want = wave.copy()
        want.run(add, "gfx950", mode)
        got = run(alu_handlers.bind(add, context("gfx950", mode, 256)), wave)
        assert _same(got, want)
        assert set(got.vgpr[row]) == {value}
    last = Instruction(DEFINITIONS["v_mov_b64"], (v[254:255], v[0:1]), {}, "e32")
    wave.sgpr[124] = 255
    mode = Mode(gpr_idx=9)
    high = run(alu_handlers.bind(last, context("gfx950", mode, 256)), wave)
    want = wave.copy()
    want.run(last, "gfx950", mode)
    assert _same(high, want)
