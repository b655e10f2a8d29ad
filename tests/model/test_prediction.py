"""Predictions of whole launches: our GEMM's hit rates and times, their consistency, and what they say of themselves."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pykittens as pk
from pykittens.errors import InputError
from pykittens.schedule.grid import RowMajor

SIZE = 1024


@cache
def gemm(arch: str = "gfx950") -> Any:
    return pk.compile(pk.kernels.gemm, arch, order=RowMajor())


@cache
def prediction(size: int = SIZE, arch: str = "gfx950", device: str | None = None) -> Any:
    return pk.predict(gemm(arch), *[(size, size)] * 3, device=device)


def test_figures_agree_with_each_other() -> None:
    p = prediction()
    assert p.flops == 2 * SIZE**3
    assert p.tflops == pytest.approx(p.flops / p.seconds / 1e12)
    assert 0.99 < sum(p.stalls.values()) < 1.01
    assert 0 < p.mfma_utilisation <= p.loop.utilisation <= 1
    assert p.cycles_per_iteration == p.loop.cycles >= p.loop.mfma_clk
    assert p.hbm_written_bytes == SIZE * SIZE * 2
    assert p.clock.low_mhz < p.clock.mhz < p.clock.high_mhz


def test_time_of_parts_adds_up() -> None:
    p = prediction()
    whole = p.instructions.issue_clk.sum() + p.instructions.stall_clk.sum()
    for by in (p.instructions.phase, p.instructions.line):
        assert sum(a + b for a, b in p.instructions.total(by).values()) == whole
    assert {"00", "01", "10", "11"} <= set(p.instructions.phase)
    assert any(line and line.startswith("gemm.py:") for line in p.instructions.line) or any(p.instructions.line)


def test_matrix_cycles_are_at_least_the_passes() -> None:
    """256 x 256 x K on one unit takes K / 64 steps of 2048 clk on its matrix cores."""
    p = prediction()
    assert p.cycles * p.mfma_utilisation / p.dispatch.fill == pytest.approx(SIZE / 64 * 2048, rel=0.02)


def test_bytes_asked_for() -> None:
    """Every workgroup asks for its rows of A and columns of B once; three tiles are fetched twice at the end."""
    p = prediction()
    once = (SIZE // 256) ** 2 * 2 * 256 * SIZE * 2
    assert once <= p.requested_bytes <= once * (1 + 4 / (SIZE / 64))


def test_same_input_same_prediction() -> None:
    again = pk.predict(gemm(), *[(SIZE, SIZE)] * 3)
    assert json.dumps(again.figures()) == json.dumps(prediction().figures())
    assert all((a.issued == b.issued).all() for a, b in zip(again.waves, prediction().waves, strict=True))


def test_tensors_stay_as_they_are() -> None:
    a, b = (np.ones((SIZE, SIZE), ml_dtypes.bfloat16) for _ in range(2))
    c = np.full((SIZE, SIZE), 7, ml_dtypes.bfloat16)
    found = pk.predict(gemm(), a, b, c)
    assert (c == 7).all()
    assert found.cycles == prediction().cycles


def test_text_says_that_it_is_modelled_and_what_it_guesses() -> None:
    text = str(prediction())
    assert "modelled, not measured" in text
    assert "measured" not in text.replace("not measured", "").replace("nobody measured", "").split("guesses")[0]
    for guess in prediction().guesses:
        assert guess.name in text
        assert guess.source in ("guess", "fitted", "published")


def test_guesses_follow_what_was_executed() -> None:
    names = {guess.name for guess in prediction().guesses}
    assert {"clock", "launch", "memory.l2_achieved_gbps"} - names <= {"memory.l2_achieved_gbps"}
    assert "issue.trans_clk" not in names


def test_workgroups_that_do_not_do_the_same_are_a_guess() -> None:
    """Groups of very uneven sizes leave most workgroups nothing to do."""
    exe = pk.compile(pk.kernels.gemm_grouped, "gfx950")
    names = []
    for starts in ([0, 1024, 1024, 1024, 1024], [0, 1024]):
        tensors = [(1024, 128), (len(starts) - 1, 256, 128), (1024, 256), np.array(starts, np.int32)]
        names.append({guess.name for guess in pk.predict(exe, *tensors).guesses})
    assert names[0] - names[1] == {"unlike workgroups"}


def test_empty_workgroups_before_the_busy_ones_cost_little() -> None:
    """A unit that is free takes the next one: 96 busy tiles take about the same time wherever the empty ones are."""
    exe = pk.compile(pk.kernels.gemm_grouped, "gfx950")
    A, B, C = (np.zeros(shape, ml_dtypes.bfloat16) for shape in ((3072, 1024), (4, 2048, 1024), (3072, 2048)))
    last, first = (
        pk.predict(exe, A, B, C, np.array(starts, np.int32)).seconds
        for starts in ([0, 0, 0, 0, 3072], [0, 3072, 3072, 3072, 3072])
    )
    assert 0.5 < last / first < 2


def test_devices_of_one_chip_differ() -> None:
    assert prediction(arch="gfx942", device="MI325X").tflops > prediction(arch="gfx942", device="MI300X").tflops


def test_larger_problems_use_the_chip_better() -> None:
    assert prediction(2048).tflops > 2 * prediction(1024).tflops


def test_any_code_object(tmp_path: Any) -> None:
    path = tmp_path / "gemm.co"
    path.write_bytes(gemm().code_object)
    arrays = [np.zeros((SIZE, SIZE), ml_dtypes.bfloat16) for _ in range(3)]
    launch = gemm().launch_arguments(*arrays)
    found = pk.predict(path, **launch)
    assert found.cycles == prediction().cycles


@pytest.mark.parametrize(
    ("arguments", "options"),
    [([(8, 8)], {}), ([(8, 8), (8, 8), (8, 8)], {"grid": 1}), ([(0, 8), (0, 8), (0, 0)], {})],
)
def test_what_cannot_be_predicted(arguments: list[tuple[int, int]], options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        pk.predict(gemm(), *arguments, **options)


def test_a_code_object_needs_a_launch() -> None:
    with pytest.raises(InputError, match="grid="):
        pk.predict(gemm().code_object)


def test_waits_by_phase_line_and_reason_add_up() -> None:
    p = prediction()
    figures = p.figures()
    for by in ("phases", "lines"):
        for each in figures[by].values():
            assert sum(each["waits"].values()) == each["wait_clk"]
        whole = sum(each["issue_clk"] + each["wait_clk"] for each in figures[by].values())
        for name, share in p.stalls.items():
            clk = sum(each["waits"].get(name, 0) for each in figures[by].values())
            assert name == "issuing" or clk == pytest.approx(share * whole)
