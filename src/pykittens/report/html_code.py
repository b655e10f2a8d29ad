"""The two panes of code: source lines and instructions side by side, each with its share of the waves' time."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from pykittens.model.cu import REASONS
from pykittens.model.prediction import Prediction

from .annotated import AnnotatedFile, annotated_files, executed_stretches, spent_by_instruction
from .html_elements import percent

_LINE_HEAT, _INSTRUCTION_HEAT = 0.12, 0.02
"""Share of the time at which a source line (an instruction) is as dark as it gets."""

_COLUMNS = '<div class="columns"><span>time</span><span>clk</span><span>line</span>source</div>'


def source_pane(prediction: Prediction, sources: Mapping[str, str]) -> str:
    """Every file that instructions came from; "" where the code object has no line table."""
    files = annotated_files(prediction, sources)
    whole = sum(each.total for each in files) or 1.0
    times = prediction.instructions
    clk = spent_by_instruction(prediction).sum(axis=1) / np.maximum(times.executed, 1)
    return _COLUMNS * bool(files) + "".join(_file(each, whole, clk) for each in files)


def _file(file: AnnotatedFile, whole: float, clk: np.ndarray) -> str:
    """``clk``: of one execution of each instruction."""
    rows = []
    for line in file.lines:
        share = line.spent.total / whole
        attributes = f' data-line="{escape(file.name)}:{line.number}"'
        if line.ops:
            attributes += (
                f' tabindex="-1" role="button" aria-pressed="false" class="hot" style="{_heat(share, _LINE_HEAT)}"'
            )
            attributes += f' title="{escape(_why(line.spent.main_reason, len(line.ops)))}"'
        once = f"{clk[list(line.ops)].sum():,.0f}" if line.spent.total else ""
        figure = percent(share) if share >= 0.0005 else ("·" if line.ops else "")
        rows.append(
            f"<div{attributes}><span>{figure}</span><span>{once}</span>"
            f"<span>{line.number}</span>"
            f"<code>{escape(line.text)}</code></div>"
        )
    missing = "" if file.found else " <small>(the file was not found: lines with time only)</small>"
    return f'<h4>{escape(file.name)}{missing}</h4><div class="listing source">{"".join(rows)}</div>'


def _why(reason: str | None, count: int) -> str:
    return f"{count} instructions{f', waits mostly for: {reason}' if reason else ''}"


def _heat(share: float, most: float) -> str:
    return f"--heat:{min(1.0, share / most):.2f}"


_COLD = _heat(0.0, _LINE_HEAT)


def assembly_pane(prediction: Prediction) -> str:
    """The instructions that the modelled workgroups executed, with what was left out between them told."""
    times, clk = prediction.instructions, spent_by_instruction(prediction)
    whole = float(clk.sum()) or 1.0
    rows, shown, phase = [], 0, None
    loop = prediction.loop
    for first, last in executed_stretches(prediction):
        if first > shown:
            rows.append(_skipped(first - shown))
        for op in range(first, last):
            if times.phase[op] != phase:
                phase = times.phase[op]
                if phase is not None:
                    rows.append(f'<div class="mark">phase {escape(phase)}</div>')
            if loop is not None and op == loop.first:
                rows.append('<div class="mark loop">hot loop begins</div>')
            rows.append(_instruction(prediction, op, clk[op].tolist(), whole))
            if loop is not None and op == loop.last:
                rows.append('<div class="mark loop">hot loop ends</div>')
        shown = last
    if shown < len(times.text):
        rows.append(_skipped(len(times.text) - shown))
    return f'<div class="listing assembly">{"".join(rows)}</div>'


def _instruction(prediction: Prediction, op: int, clk: list[float], whole: float) -> str:
    times = prediction.instructions
    ran = int(times.executed[op])
    share = sum(clk) / whole
    issue, wait = (clk[0] / ran, sum(clk[1:]) / ran) if ran else (0.0, 0.0)
    reasons = [f"{name} {value / ran:,.0f}" for name, value in zip(REASONS, clk[1:], strict=True) if value >= ran > 0]
    title = f"{ran:,} times: issues {issue:,.0f} clk, waits {wait:,.0f}"
    title += f" ({', '.join(reasons)})" if reasons else ""
    line = f' data-of="{escape(times.line[op] or "")}"' if times.line[op] else ""
    heat = _heat(share, _INSTRUCTION_HEAT)
    style = f' style="{heat}"' if heat != _COLD else ""
    return (  # a long kernel has thousands of these: what is the same for all of them is the script's to add
        f'<div id="i{op}"{line}{style} title="{escape(title)}">'
        f"<span>{percent(share) if share >= 0.0005 else '·'}</span>"
        f"<span>{issue + wait:,.0f}</span><span>{int(times.pc[op]):x}</span>"
        f"<code>{escape(times.text[op])}</code></div>"
    )


def _skipped(count: int) -> str:
    return f'<div class="mark">{count:,} instructions that were not executed</div>'
