"""The timeline's data: one iteration on one compute unit, wave by wave, for the page's canvas."""

from __future__ import annotations

from typing import Any

from pykittens.model.cu import REASONS
from pykittens.model.prediction import Prediction

from .annotated_timeline import WORK, matrix_core, phase_runs, steady_window, wave_slices
from .html_elements import REASON_COLOURS, WORK_COLOURS

MAX_SLICES = 60_000
"""Slices that the page draws; a longer stretch is cut off."""


def timeline_data(prediction: Prediction) -> dict[str, Any]:
    """What the timeline script draws; times in clk from the window's start.

    waves: for each ``slices`` as [start, length, state, op] and ``phases`` as [start, end, phase]; state is an index
    into ``states``: work first, then reasons for waiting. cores: by SIMD [start, length, wave] of MFMAs.
    """
    window, every = steady_window(prediction), wave_slices(prediction)
    chosen = [each.within(window.first, window.last) for each in every]
    share, last = MAX_SLICES // max(1, len(chosen)), window.last
    for each in chosen:
        if len(each.start) > share:
            last = min(last, int(each.start[share]))
    if last < window.last:
        chosen = [each.within(window.first, last) for each in every]
    waves: list[dict[str, Any]] = []
    for each in chosen:
        state = each.work.copy()
        state[each.work < 0] = len(WORK) + each.reason[each.work < 0]
        columns = (each.start - window.first, each.length, state, each.op)
        waves.append(
            {
                "wave": each.wave,
                "simd": each.simd,
                "slices": [list(row) for row in zip(*(c.tolist() for c in columns), strict=True)],
                "phases": [
                    [int(a) - window.first, int(b) - window.first, name] for a, b, name in phase_runs(prediction, each)
                ],
            }
        )
    cores: dict[str, list[list[int]]] = {}
    for simd in sorted({wave.simd for wave in prediction.waves}):
        rows = zip(*(each.tolist() for each in matrix_core(prediction, simd)), strict=True)
        cores[str(simd)] = [
            [max(0, start - window.first), min(start + length, last) - max(start, window.first), wave]
            for start, length, wave in rows
            if start < last and start + length > window.first
        ]
    used = sorted({row[2] for wave in waves for row in wave["slices"]})
    states = [*WORK_COLOURS.items(), *((f"waits: {name}", REASON_COLOURS[name]) for name in REASONS)]
    words = window.words if last == window.last else f"{window.words}, its first {last - window.first:,} clk"
    return {
        "clk": last - window.first, "first": window.first, "words": words, "waves": waves, "cores": cores,
        "states": [list(state) for state in states], "used": used,
    }  # fmt: skip
