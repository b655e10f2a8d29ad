"""Pieces of HTML that the report's sections are made of: text, tables, stacked bars, data for scripts, colours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from itertools import cycle
from typing import Any

from pykittens.model.cu import REASONS

from .annotated import ISSUING, Spent
from .annotated_timeline import WORK

WORK_COLOURS = dict(
    zip(WORK, ("#1f6fb2", "#e39a1f", "#2f9e6b", "#8457b8", "#8b98a7", "#c8403a", "#b9566f"), strict=True)
)
_PALETTE = (
    "#d5d9de", "#a9cdea", "#c4d3f2", "#b9c3cc", "#a5dcc3", "#cdb9e8", "#ee9a6c", "#e6746d", "#c96a9b", "#f3c6ce",
    "#8d6748", "#d8c65a", "#7fb5b0", "#b0a2d8",
)  # fmt: skip
REASON_COLOURS = dict(zip(REASONS, cycle(_PALETTE), strict=False))
ISSUING_COLOUR = "var(--issuing)"
SHARE_COLOURS = (ISSUING_COLOUR, *REASON_COLOURS.values())
MODELLED = '<span class="modelled">modelled</span>'


def percent(share: float) -> str:
    return f"{100 * share:.1f}\u202f%"


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str,
    numeric: Sequence[int] = (),
    html: bool = False,
) -> str:
    """A table; cells are text, or HTML where ``html`` says so. The first column heads its row."""
    head = "".join(f'<th scope="col"{_number(i, numeric)}>{escape(c)}</th>' for i, c in enumerate(columns))
    body = []
    for row in rows:
        cells = [cell if html else escape(cell) for cell in row]
        rest = "".join(f"<td{_number(i, numeric)}>{cell}</td>" for i, cell in enumerate(cells[1:], 1))
        body.append(f'<tr><th scope="row"{_number(0, numeric)}>{cells[0]}</th>{rest}</tr>')
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _number(column: int, numeric: Sequence[int]) -> str:
    return ' class="n"' if column in numeric else ""


def stacked_bar(clk: Sequence[float], whole: float, height: int = 14) -> str:
    """Wave-clk by `annotated.SHARES` as one bar; ``whole`` fills it."""
    names = (ISSUING, *REASONS)
    x, parts = 0.0, []
    for name, value, colour in zip(names, clk, SHARE_COLOURS, strict=True):
        if value <= 0 or whole <= 0:
            continue
        width = 100 * value / whole
        title = f"<title>{escape(name)}: {percent(value / whole)}</title>"
        parts.append(f'<rect x="{x:.3f}" width="{width:.3f}" height="1" style="fill:{colour}">{title}</rect>')
        x += width
    return (
        f'<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" height="{height}" role="img" '
        f'aria-label="{percent(x / 100)}">{"".join(parts)}</svg>'
    )


def spent_table(found: Sequence[Spent], whole: float, *, first: str, caption: str, link: bool = False) -> str:
    """Names with share, bar and the main reason for waiting; ``link``: names are source lines to jump to."""
    widest = max((each.total for each in found), default=1.0)
    rows = []
    for each in found:
        name = escape(each.name or "(none)")
        if link and each.name:
            name = f'<button type="button" class="link" data-line="{name}">{name}</button>'
        rows.append(
            (
                name, percent(each.total / whole), stacked_bar(each.clk.tolist(), widest),
                percent(float(each.clk[0]) / whole), percent(each.waiting / whole), escape(each.main_reason or "–"),
            )
        )  # fmt: skip
    columns = (first, "of the time", "", "issuing", "waiting", "waits mostly for")
    return table(columns, rows, caption=caption, numeric=(1, 3, 4), html=True)


def legend(colours: dict[str, str]) -> str:
    items = "".join(
        f'<li><span class="swatch" style="background:{c}"></span>{escape(n)}</li>' for n, c in colours.items()
    )
    return f'<ul class="legend">{items}</ul>'


def data(name: str, value: Any) -> str:
    """JSON for a script of the page, in a form that cannot end the element."""
    words = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{words}</script>'
