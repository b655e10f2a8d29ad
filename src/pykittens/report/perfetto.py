"""A modelled run as a trace that ui.perfetto.dev and chrome://tracing load: Chrome's JSON trace event format.

A process is a SIMD; its threads are the matrix core and its waves, and a counter says how busy the core is. A wave's
slices are the phases of its schedule, and within them instructions and waiting. One microsecond of the trace is one
engine clk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from pykittens.model.cu import REASONS
from pykittens.model.prediction import Prediction

from .annotated_timeline import WORK, WaveSlices, matrix_core, phase_runs, steady_window, wave_slices

MAX_SLICES = 400_000
"""Slices of instructions and waiting that a trace holds; a longer run is cut off."""
# Numbers of processes and threads: Perfetto keeps 0 for the idle ones, and takes a thread's number to be its own.
_FIRST_PROCESS = 1
_FIRST_CORE_THREAD = 1
_FIRST_WAVE_THREAD = 10
_COUNTED_CLK = 256
"""Clk of which a counter's figure is the mean."""
# Names of Chrome's palette: MFMA, VALU, LDS, VMEM, scalar, s_waitcnt, s_barrier; waiting is grey.
_COLOURS = (
    "thread_state_runnable", "rail_response", "good", "rail_animation", "white", "bad", "terrible",
)  # fmt: skip
_WAITING = "grey"


def perfetto_trace(prediction: Prediction) -> str:
    """The trace as JSON text; the same prediction gives the same bytes."""
    waves = wave_slices(prediction)
    end, whole = _cut(waves), _whole(waves)
    window = steady_window(prediction)
    note = f"the first {end:,} of {whole:,} clk" if end < whole else "the whole workgroup"
    events = [*_names(prediction), *_cores(prediction, end), *_busy(prediction, end)]
    for each in waves:
        events += _wave(prediction, each.within(0, end))
    document = {
        "displayTimeUnit": "ns",
        "otherData": {
            "modelled": "every time here is modelled, nothing was measured", "unit": "1 us is 1 engine clk",
            "kernel": prediction.kernel, "device": f"{prediction.device} ({prediction.arch})", "extent": note,
            "clock": f"{prediction.clock.mhz:.0f} MHz ({prediction.clock.source})",
            "steady part": f"{window.first} to {window.last} clk: {window.words}",
        },
        "traceEvents": events,
    }  # fmt: skip
    return json.dumps(document, separators=(",", ":"))


def _whole(waves: list[WaveSlices]) -> int:
    """The clk at which the last wave ends."""
    return max((int((each.start + each.length).max()) for each in waves if len(each.start)), default=0)


def _cut(waves: list[WaveSlices]) -> int:
    """The clk up to which the trace goes."""
    if sum(len(each.start) for each in waves) <= MAX_SLICES:
        return _whole(waves)
    share = MAX_SLICES // len(waves)
    return min(int(each.start[share]) for each in waves if len(each.start) > share)


def _names(prediction: Prediction) -> Iterator[dict[str, Any]]:
    for simd in _simds(prediction):
        yield _meta("process_name", simd, 0, name=f"SIMD {simd}")
        yield _meta("process_sort_index", simd, 0, sort_index=simd)
        yield from _thread(simd, _FIRST_CORE_THREAD + simd, "matrix core")
    for number, wave in enumerate(prediction.waves):
        yield from _thread(wave.simd, _FIRST_WAVE_THREAD + number, f"wave {number}")


def _simds(prediction: Prediction) -> list[int]:
    return sorted({wave.simd for wave in prediction.waves})


def _thread(simd: int, tid: int, name: str) -> Iterator[dict[str, Any]]:
    yield _meta("thread_name", simd, tid, name=name)
    yield _meta("thread_sort_index", simd, tid, sort_index=tid)


def _meta(kind: str, simd: int, tid: int, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": _FIRST_PROCESS + simd, "tid": tid, "args": args}


def _slice(name: str, simd: int, tid: int, start: int, length: int, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": _FIRST_PROCESS + simd, "tid": tid, "ts": start, "dur": length, **more}


def _busy(prediction: Prediction, end: int) -> Iterator[dict[str, Any]]:
    """For how much of its time each matrix core works, in per cent."""
    for simd in _simds(prediction):
        start, length, _ = matrix_core(prediction, simd)
        if not len(start):
            continue
        # The clk worked until each edge; MFMAs of a core do not overlap.
        edges = np.arange(0, end + _COUNTED_CLK, _COUNTED_CLK)
        done = np.concatenate([[0], np.cumsum(length)])
        which = np.searchsorted(start, edges, side="right")
        last = np.maximum(which - 1, 0)
        worked = done[which] - np.where(which > 0, np.maximum(start[last] + length[last] - edges, 0), 0)
        shares = (100 * np.diff(worked) / _COUNTED_CLK).round(1)
        for at, share in zip(edges[:-1].tolist(), shares.tolist(), strict=True):
            yield {
                "ph": "C", "name": "matrix core busy, %", "pid": _FIRST_PROCESS + simd, "ts": at, "args": {"%": share}
            }  # fmt: skip


def _cores(prediction: Prediction, end: int) -> Iterator[dict[str, Any]]:
    """Stretches in which a matrix core works without a pause for one wave."""
    for simd in _simds(prediction):
        tid = _FIRST_CORE_THREAD + simd
        start, length, wave = (each.tolist() for each in matrix_core(prediction, simd))
        i = 0
        while i < len(start) and start[i] < end:
            first, stop = i, start[i] + length[i]
            while i + 1 < len(start) and wave[i + 1] == wave[first] and start[i + 1] <= stop:
                i += 1
                stop = start[i] + length[i]
            stretch = {"cname": _COLOURS[0], "args": {"MFMAs": i + 1 - first}}
            yield _slice(f"wave {wave[first]}", simd, tid, start[first], stop - start[first], **stretch)
            i += 1


def _wave(prediction: Prediction, slices: WaveSlices) -> Iterator[dict[str, Any]]:
    """Phases before what they hold: viewers nest slices by their order and extent."""
    times, simd, tid = prediction.instructions, slices.simd, _FIRST_WAVE_THREAD + slices.wave
    for start, stop, phase in phase_runs(prediction, slices):
        yield _slice(f"phase {phase}", simd, tid, start, stop - start, cat="phase")
    columns = (slices.start, slices.length, slices.op, slices.work, slices.reason)
    for start, length, op, work, reason in zip(*(each.tolist() for each in columns), strict=True):
        args: dict[str, Any] = {"instruction": times.text[op], "pc": f"{int(times.pc[op]):#x}"}
        if times.line[op]:
            args["line"] = times.line[op]
        name, kind, colour = (
            (times.text[op].partition(" ")[0], WORK[work], _COLOURS[work])
            if work >= 0
            else (f"waits: {REASONS[reason]}", "wait", _WAITING)
        )
        yield _slice(name, simd, tid, start, length, cat=kind, cname=colour, args=args)
