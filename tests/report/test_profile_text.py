"""The report in a terminal."""

from __future__ import annotations

import io

from rich.console import Console
from tests.report.profiled import gemm_prediction, plain_prediction

from pykittens.report.profile_text import bar, print_profile


def printed(prediction: object, width: int = 140) -> str:
    out = io.StringIO()
    print_profile(prediction, Console(file=out, width=width, highlight=False, markup=False))  # type: ignore[arg-type]
    return out.getvalue()


def test_all_is_there_and_called_modelled() -> None:
    p = gemm_prediction()
    text = printed(p)
    assert "modelled, not measured" in text
    for title in ("Summary", "Where the waves' time goes", "By phase", "Hottest lines"):
        assert f"{title} (modelled)" in text
    assert f"{p.tflops:,.1f} TFLOPS" in text
    assert f"{100 * p.stalls['s_barrier']:.1f} %" in text
    assert "gemm.py:" in text and all(guess.name in text for guess in p.guesses)


def test_without_lines_and_phases_there_are_no_empty_tables() -> None:
    text = printed(plain_prediction())
    assert "By phase" not in text and "Hottest lines" not in text and "Where the waves' time goes" in text


def test_it_fits_a_narrow_terminal() -> None:
    assert max(map(len, printed(gemm_prediction(), 60).splitlines())) <= 60


def test_bars() -> None:
    assert (bar(0), bar(1, 4), bar(0.5, 4), bar(1 / 32, 4), bar(0.53125, 4)) == ("", "████", "██", "▏", "██▏")
