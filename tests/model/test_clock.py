"""The clock by what the device does: its ends, its order, and the facts that it must return."""

from __future__ import annotations

import pytest

from pykittens.arch import get
from pykittens.isa import lookup
from pykittens.isa.instruction import Instruction
from pykittens.model.clock import FITTED, TYPE_CLOCK, Activity, clock, seconds_at
from pykittens.model.matrix_work import NO_MATRIX_WORK, MatrixWork, matrix_work

MI355X, MI300X = get("gfx950").device("MI355X"), get("gfx942").device("MI300X")


def mhz(matrix: float, loads: float = 0.0, side: int = 16, name: str = "bf16") -> float:
    return clock(MI355X, Activity(matrix, loads, MatrixWork(1.0, side, name))).mhz


def test_ends_of_the_line() -> None:
    assert mhz(0.0) == pytest.approx(MI355X.peak_clock_mhz)
    assert mhz(1.0) == pytest.approx(FITTED.mhz_16)
    assert mhz(1.0, side=32) == pytest.approx(FITTED.mhz_32)


@pytest.mark.parametrize("name", sorted(TYPE_CLOCK))
def test_types_differ_as_measured(name: str) -> None:
    assert mhz(1.0, name=name) == pytest.approx(FITTED.mhz_16 * TYPE_CLOCK[name])


def test_more_work_lowers_the_clock() -> None:
    steps = [mhz(0.1 * i) for i in range(11)]
    assert steps == sorted(steps, reverse=True)
    assert mhz(0.5, 0.5) < mhz(0.5)


def test_loads_count_as_fitted() -> None:
    assert mhz(0.5, 0.4) == pytest.approx(mhz(0.5 + FITTED.load_power * 0.4))


def test_same_power_at_every_point() -> None:
    """Clock cubed times what is switched, and what always is, stays the same."""
    rate = (MI355X.peak_clock_mhz / FITTED.mhz_16) ** 3 - 1
    assert [mhz(u) ** 3 * (1 + rate * u) for u in (0.25, 0.5, 0.75)] == pytest.approx([MI355X.peak_clock_mhz**3] * 3)


def test_measured_clock_of_another_device() -> None:
    """Of a GEMM of 256 x 256 tiles, which loads 64 KiB in 4096 clk of MFMAs."""
    found = clock(MI300X, Activity(0.94, 0.94 * 65536 / 4096 / 64, MatrixWork(1.0, 16, "bf16")))
    assert found.mhz == pytest.approx(MI300X.matrix_clock_mhz)
    assert found.source == MI300X.fact("matrix_clock_mhz").source
    assert found.low_mhz < found.mhz < found.high_mhz <= MI300X.peak_clock_mhz


def test_seconds_are_cycles_at_the_clock_and_the_launch() -> None:
    at = clock(MI355X, Activity(0.0, 0.0, NO_MATRIX_WORK))
    assert "MFMA" not in at.note
    start = get("gfx950").latency.kernel_start_us
    assert seconds_at(2400e6, at, get("gfx950")) == pytest.approx(1 + start * 1e-6)


def test_matrix_work_by_side_and_type() -> None:
    def instruction(name: str, **modifiers: object) -> Instruction:
        return Instruction(lookup(name), modifiers=modifiers)

    add = instruction("v_add_f32")
    bf16, half = instruction("v_mfma_f32_16x16x32_bf16"), instruction("v_mfma_f32_32x32x16_f16")
    found = matrix_work([(bf16, 3.0), (half, 1.0), (add, 9.0)])
    assert found == MatrixWork(3 * 2.0 * 16 * 16 * 32 + 2.0 * 32 * 32 * 16, 16, "bf16")
    assert matrix_work([(bf16, 1.0), (half, 2.0)]).side == 32
    assert matrix_work([(instruction("v_mfma_f32_16x16x128_f8f6f4", cbsz=4), 1.0)]).type == "fp4"
    assert matrix_work([(instruction("v_mfma_f32_16x16x128_f8f6f4"), 1.0)]).type == "fp8"
    assert matrix_work([(add, 1.0)]) == NO_MATRIX_WORK
