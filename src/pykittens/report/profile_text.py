"""A prediction for a terminal: figures, where the waves' time goes, the hottest phases and lines, and the guesses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pykittens.model.prediction import Prediction, summary_rows

from .annotated import Spent, spent_by, spent_by_instructions, spent_by_phase

_REASONS, _LINES = 8, 12
_BAR = 24
_SMALLEST = 0.0005


def print_profile(prediction: Prediction, console: Any = None, order: str | None = None) -> None:
    """Print it by `rich`, on stdout unless a console is given. order: of the launch's tiles, where one is known."""
    from rich.console import Console

    out = console or Console(highlight=False, markup=False)
    p = prediction
    grid, block = (" x ".join(map(str, each)) for each in (p.grid, p.block))
    out.print(
        f"{p.kernel} on {p.device} ({p.arch}), grid {grid}, block {block}: every figure is modelled, not measured"
    )
    summary = summary_rows(p) + ([("grid order", order, "of the output's tiles")] if order else [])
    out.print(_table("Summary (modelled)", ("figure", "value", "note"), summary, right=(1,)))
    stalls = [
        (name, f"{100 * share:.1f} %", bar(share)) for name, share in list(p.stalls.items())[:_REASONS]
        if share >= _SMALLEST
    ]  # fmt: skip
    out.print(_table("Where the waves' time goes (modelled)", ("reason", "share", ""), stalls, right=(1,)))
    columns = ("share", "issuing", "waiting", "mostly for")
    phases = spent_by_phase(p)
    if any(each.name for each in phases):
        out.print(_table("By phase (modelled)", ("phase", *columns), _spent_rows(phases), right=(1, 2, 3)))
    lines = spent_by(p, p.instructions.line)
    if any(each.name for each in lines):
        rows = _spent_rows(lines)[:_LINES]
        out.print(_table("Hottest lines (modelled)", ("line", *columns), rows, right=(1, 2, 3)))
    else:
        rows = _spent_rows(spent_by_instructions(p, _LINES), sum(each.total for each in lines))
        out.print(_table("Hottest instructions (modelled)", ("instruction", *columns), rows, right=(1, 2, 3)))
    guesses = [(g.name, str(g.value), g.source, g.note) for g in p.guesses]
    out.print(_table("What this rests on and nobody measured", ("guess", "value", "source", "note"), guesses))


def bar(share: float, width: int = _BAR) -> str:
    """A share of 0 to 1 as a bar of eighths of characters."""
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _spent_rows(found: Sequence[Spent], total: float | None = None) -> list[tuple[str, ...]]:
    """Shares of ``total`` wave-clk, or of all that is found."""
    whole = total or sum(each.total for each in found) or 1.0
    return [
        (
            each.name or "(none)", f"{100 * each.total / whole:.1f} %", f"{100 * each.clk[0] / whole:.1f} %",
            f"{100 * each.waiting / whole:.1f} %", each.main_reason or "",
        )
        for each in found
    ]  # fmt: skip


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    for i, column in enumerate(columns):
        table.add_column(
            column, overflow="fold", style="bold" if i == 0 else "", justify="right" if i in right else "left"
        )
    for row in rows:
        table.add_row(*row)
    return table
