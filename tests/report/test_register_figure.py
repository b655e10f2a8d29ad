"""The picture of a register map: its ranges in the right places, and the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import pytest

import pykittens as pk
from pykittens.report.register_figure import RegisterBar, draw_registers, tile_colour

pytest.importorskip("matplotlib", reason="pictures need the extra 'figures'")


def test_a_kernels_ranges_are_drawn(tmp_path: Path) -> None:
    exe = pk.compile(pk.kernels.gemm_split, tile="16x32")
    bars = [RegisterBar(*bar) for bar in exe.registers.bars()]
    assert sum(bar.count for bar in bars) == sum(life.tile.register_count for life in exe.registers.lives)
    assert all(bar.start <= bar.end for bar in bars)
    files = [tmp_path / name for name in ("first.png", "second.png")]
    for path in files:
        draw_registers(bars, exe.name, path)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].read_bytes().startswith(b"\x89PNG")


def test_both_files_of_registers(tmp_path: Path) -> None:
    bars = [RegisterBar("a", "v", 2, 32, 0, 9), RegisterBar("c", "a", 0, 64, 3, 5)]
    draw_registers(bars, "two", tmp_path / "two.png")
    assert (tmp_path / "two.png").stat().st_size > 1000


def test_each_tile_has_a_colour_of_its_own() -> None:
    assert len({tile_colour(index) for index in range(200)}) == 200
