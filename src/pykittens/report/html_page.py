"""The report as one self-contained HTML page: no network, no outside files, the same bytes for the same prediction."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files

from pykittens.model.prediction import Prediction, summary_rows

from .annotated import SHARES, spent_by, spent_by_instruction, spent_by_instructions, spent_by_phase
from .html_code import assembly_pane, source_pane
from .html_elements import MODELLED, SHARE_COLOURS, data, legend, percent, spent_table, stacked_bar, table
from .html_grid import grid_data
from .html_lds import lds_section
from .html_registers import RegisterFile, register_section
from .html_timeline import timeline_data

_LINES = 20
_SMALLEST = 0.0005
_CHOOSE = "Choose a line to mark its instructions, an instruction to mark its line; arrow keys and Enter do it too."
_NO_LINES = "The code object has no line table, so there is no source to show."
_SCRIPTS = ("code_panes.js", "timeline.js", "grid.js")


def profile_page(
    prediction: Prediction,
    registers: RegisterFile,
    sources: Mapping[str, str] | None = None,
    order: str | None = None,
) -> str:
    """The page.

    registers: the kernel's vector registers, with tiles where they are known. sources: texts of source files by the
    names that the line table has. order: what the order of the launch's tiles is called, where one is known.
    """
    p = prediction
    size, block = (" × ".join(map(str, each)) for each in (p.grid, p.block))
    name, device = escape(p.kernel), escape(p.device)
    parts = {
        "title": f"{name} on {device}, modelled",
        "heading": f"{name} on {device}",
        "where": f"{p.arch}, grid {size} workgroups, block {block} work-items",
        "guess_count": str(len(p.guesses)),
        "css": _asset("profile_page.css"),
        "scripts": "\n".join(map(_asset, _SCRIPTS)),
        "summary": _summary(p),
        "stalls": _stalls(p),
        "registers": register_section(p, registers),
        "guesses": _guesses(p),
    }
    for section in (_timeline(p), _code(p, sources or {}), lds_section(p), _grid(p, order)):
        parts["data"] = parts.get("data", "") + section.pop("data", "")
        parts |= section
    first, *pieces = _asset("profile_page.html").split("{{")
    return first + "".join(parts[key] + rest for key, _, rest in (each.partition("}}") for each in pieces)) + "\n"


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip()


def _summary(p: Prediction) -> str:
    cards = [
        f'<div><dt>{escape(name)} {MODELLED}</dt><dd class="value">{escape(value)}</dd>'
        f'<dd class="note">{escape(note)}</dd></div>'
        for name, value, note in summary_rows(p)
    ]
    return f'<dl class="cards">{"".join(cards)}</dl>'


def _timeline(p: Prediction) -> dict[str, str]:
    timeline, others = timeline_data(p), p.dispatch.slots - 1
    return {
        "window": escape(timeline["words"]),
        "others": f" {others} more workgroups share the unit and are not drawn." if others else "",
        "wave_count": str(len(p.waves)),
        "states": legend(dict(timeline["states"][i] for i in timeline["used"])),
        "data": data("timeline-data", timeline),
    }


def _stalls(p: Prediction) -> str:
    clk = spent_by_instruction(p)
    whole = float(clk.sum()) or 1.0
    largest = max(p.stalls.values(), default=1.0)
    rows = [
        (escape(name), percent(share), stacked_bar([share if each == name else 0.0 for each in SHARES], largest))
        for name, share in p.stalls.items()
        if share >= _SMALLEST
    ]
    reasons = table(("reason", "of the time", ""), rows, caption="By reason (modelled)", numeric=(1,), html=True)
    phases, lines = spent_by_phase(p), spent_by(p, p.instructions.line)[:_LINES]
    by_phase = ""
    by_line = spent_table(
        spent_by_instructions(p, _LINES), whole, first="instruction", caption="By instruction (modelled)"
    )  # fmt: skip
    if any(each.name for each in phases):
        by_phase = spent_table(phases, whole, first="phase", caption="By phase (modelled)")
    if any(each.name for each in lines):
        by_line = spent_table(lines, whole, first="line", caption="By source line (modelled)", link=True)
    used = {name: colour for name, colour in zip(SHARES, SHARE_COLOURS, strict=True) if p.stalls.get(name, 0) > 0}
    total = stacked_bar(clk.sum(axis=0).tolist(), whole, 22)
    return f'{total}{legend(used)}<div class="two"><div>{reasons}</div><div>{by_phase}</div></div>{by_line}'


def _code(p: Prediction, sources: Mapping[str, str]) -> dict[str, str]:
    source = source_pane(p, sources)
    pane = f'<div class="pane" id="source-pane" role="region" aria-label="Source" tabindex="0">{source}</div>'
    return {
        "code_words": _CHOOSE if source else _NO_LINES,
        "single": "" if source else " single",
        "source": pane if source else "",
        "assembly": assembly_pane(p),
    }


def _grid(p: Prediction, order: str | None) -> dict[str, str]:
    grid, d = grid_data(p), p.dispatch
    rounds = "1 round" if d.rounds == 1 else f"{d.rounds:,} rounds"
    dispatch = (
        f"{d.workgroups:,} workgroups in {rounds}; the last is {percent(d.tail)} full. "
        f"{percent(p.l2_hit)} of what loads ask for is in the L2, {percent(p.llc_hit)} of what is not is in the "
        "memory-side cache."
    )
    return {
        "grid_words": (f"Their order is <code>{escape(order)}</code>. " if order else "") + escape(grid["words"]),
        "grid_count": str(len(grid["row"])),
        "xcds": legend({f"XCD {i}": colour for i, colour in enumerate(grid["colours"])}),
        "dispatch": dispatch,
        "data": data("grid-data", grid),
    }


def _guesses(p: Prediction) -> str:
    rows = [(g.name, str(g.value), g.source, g.note) for g in p.guesses]
    return table(("what", "value", "source", "note"), rows, caption="Guesses")
