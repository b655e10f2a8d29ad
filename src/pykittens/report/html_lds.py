"""LDS accesses of a modelled workgroup: passes, degree, and which banks the worst phase asks for what."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pykittens.model.costs import LdsUse
from pykittens.model.prediction import Prediction

from .html_elements import table

_COLOURS = ("#ffffff", "#9cc7ea", "#f5b36b", "#e8794a", "#c9352c")
"""Of a bank by the dwords that it is asked for; the last one for all further numbers."""


def lds_section(p: Prediction) -> dict[str, str]:
    """The verdict, and the table of accesses: one row for each line, phase and instruction."""
    if not p.lds:
        return {"lds_verdict": "No LDS accesses in the first workgroup", "lds": ""}
    times = p.instructions
    rows: dict[tuple[str, str, str], list[LdsUse]] = {}
    for each in p.lds:
        name = times.text[each.op].partition(" ")[0]
        rows.setdefault((times.line[each.op] or "–", times.phase[each.op] or "–", name), []).append(each)
    cells = []
    for place, uses in rows.items():
        ran = sum(use.executions for use in uses)
        phases, passes = sum(use.phases for use in uses), sum(use.passes for use in uses)
        worst = max(uses, key=lambda use: max(use.worst_banks, default=0))
        figures = f"{ran:,}", f"{phases:,}", f"{passes:,}", f"{passes / phases:.2f}"
        cells.append((*map(escape, place), *figures, _bank_strip(worst.worst_banks)))
    extra = sum(each.passes - each.phases for each in p.lds)
    lost = f"{extra:,} passes are lost to bank conflicts" if extra else "No bank conflicts"
    columns = ("line", "phase", "instruction", "executed", "least passes", "passes", "degree", "banks")
    return {
        "lds_verdict": f"{lost} in the first workgroup",
        "lds": table(columns, cells, caption="LDS accesses (modelled)", numeric=(3, 4, 5, 6), html=True),
    }


def _bank_strip(dwords: Sequence[int]) -> str:
    """Dwords that each bank is asked for as a row of cells: white none, blue one, from orange to red more."""
    if not dwords:
        return "–"
    cells = "".join(
        f'<rect x="{bank * 5}" width="4.4" height="12" fill="{_COLOURS[min(count, len(_COLOURS) - 1)]}"/>'
        for bank, count in enumerate(dwords)
    )
    label = f"{len(dwords)} banks, at most {max(dwords)} dwords of one"
    return (
        f'<svg class="banks" viewBox="-0.5 -0.5 {5 * len(dwords)} 13" height="14" role="img" '
        f'aria-label="{label}"><title>{label}</title>{cells}</svg>'
    )
