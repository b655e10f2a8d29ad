"""Pictures of banks and phases: drawn for every kind of access, the same bytes each time, clear errors otherwise."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from pykittens.arch import Arch, gfx950
from pykittens.arch.lds_banks import bank_report
from pykittens.errors import InputError, Unsupported
from pykittens.report.lds_figures import FREE, PHASE_COLOURS, WORST, LdsPanel, draw_banks, draw_phases
from pykittens.report.lds_text import phase_rows

LANE = np.arange(64)


def panel(stride: int) -> LdsPanel:
    """Reads of 16 bytes a lane, each lane a row of 8 two-byte elements."""
    report = bank_report(gfx950, "read", 16, stride * LANE)
    banks = (stride * LANE[:, None] + 2 * np.arange(8)) // 4 % 64
    return LdsPanel(f"rows {stride} bytes apart", stride * LANE, 16, report, banks, np.repeat(LANE[:, None], 8, axis=1))


def pixels(path: Path) -> np.ndarray:
    """(pixels, 3) bytes."""
    image = pytest.importorskip("matplotlib.image", reason="pictures need matplotlib").imread(path)
    return (image[..., :3].reshape(-1, 3) * 255).round().astype(int)


def has(found: np.ndarray, colour: str) -> bool:
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return bool((found == rgb).all(axis=1).any())


def test_phases_are_drawn_in_their_colours(arch: Arch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    path = tmp_path / "phases.png"
    draw_phases(phase_rows(arch), arch.name, path)
    assert all(has(pixels(path), colour) for colour in PHASE_COLOURS)
    first = path.read_bytes()
    draw_phases(phase_rows(arch), arch.name, path)
    assert path.read_bytes() == first


def test_conflicts_are_red_and_their_absence_is_not(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    for stride, crowded in ((16, False), (64, True)):
        path = tmp_path / f"{stride}.png"
        draw_banks([panel(stride)], "rows", path)
        found = pixels(path)
        assert (has(found, WORST), has(found, FREE)) == (crowded, not crowded)
        assert all(has(found, colour) for colour in PHASE_COLOURS[:4])


def test_panels_stand_side_by_side(tmp_path: Path) -> None:
    image = pytest.importorskip("matplotlib.image", reason="pictures need matplotlib")
    shapes = []
    for count in (1, 2):
        draw_banks([panel(16)] * count, "rows", tmp_path / "p.png")
        shapes.append(image.imread(tmp_path / "p.png").shape)
    assert shapes[1][:2] == (shapes[0][0], 2 * shapes[0][1])


def test_without_matplotlib_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(Unsupported, match=r"pictures need matplotlib.*pip install 'pykittens\[figures\]'"):
        draw_phases(phase_rows(gfx950), "x", tmp_path / "x.png")


def test_an_unwritable_file_is_an_input_error(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    with pytest.raises(InputError, match="cannot write there: No such file"):
        draw_phases(phase_rows(gfx950)[:1], "x", tmp_path / "none" / "x.png")
