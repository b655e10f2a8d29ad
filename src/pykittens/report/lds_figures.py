"""Pictures of LDS banks and phases (PNG): the paper's table 5 as lanes by phase, its figure 4 as banks under a swizzle.

matplotlib is an extra (``pykittens[figures]``) and loaded only here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pykittens.arch.lds_banks import BankReport
from pykittens.report.lds_text import PhaseRow, plain_name
from pykittens.report.picture import new_figure, save_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PHASE_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb7755", "#999999")
"""One colour a phase, told apart by colour-blind eyes too (after P. Tol's bright scheme)."""
FREE, WORST = "#dbe9f6", "#b2182b"
BANK_COLOURS, FAINT = "twilight", 0.55
SMALL, LABEL = 7, 8.5


@dataclass(frozen=True)
class LdsPanel:
    """One access to draw, and the banks of the tile that it reads or writes.

    title: over the panel. addresses: LDS byte address of each lane, int (64,). lane_bytes: bytes of each.
    tile_banks: bank of the first byte of each element, int (rows, cols). element_lanes: the lane whose address covers
    each element in this access, -1 for none, int (rows, cols).
    """

    title: str
    addresses: np.ndarray
    lane_bytes: int
    report: BankReport
    tile_banks: np.ndarray
    element_lanes: np.ndarray

    @property
    def banks(self) -> int:
        """Banks that the access is spread over."""
        return self.report.access.banks

    @property
    def lines(self) -> range:
        """Byte addresses of the LDS lines, one dword of every bank each, from the first to the last touched."""
        line = 4 * self.banks
        touched = [int(self.addresses[lane]) // line for phase in self.report.phases for lane in phase.lanes]
        return range(min(touched) * line, max(touched) * line + 1, line)


@dataclass(frozen=True)
class _Cell:
    """A coloured rectangle, with a frame of so many points."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    frame: str = "white"
    line: float = 0.5


def draw_phases(rows: Sequence[PhaseRow], title: str, path: str | Path) -> None:
    """Table 5: a strip of 64 lanes for each kind of access, coloured by the phase that serves them.

    Raises Unsupported without matplotlib and InputError where the file cannot be written.
    """
    figure = new_figure(11, 1.05 + 0.42 * len(rows))
    axes = figure.add_axes((0.16, 0.45 / figure.get_figheight(), 0.82, 1 - 0.9 / figure.get_figheight()))
    cells = []
    for y, row in enumerate(rows):
        phase_of = {lane: number for number, phase in enumerate(row.access.phases) for lane in phase}
        cells += [_Cell(lane, y, 1, 0.82, PHASE_COLOURS[phase_of[lane]], line=0.25) for lane in phase_of]
        for number, lanes in _runs(phase_of):
            _write(axes, lanes[0] + len(lanes) / 2, y + 0.41, number, 8, "white")
    _draw(axes, cells)
    axes.set(xlim=(0, 64), ylim=(len(rows), -0.1))
    _count(axes.xaxis, 64, 4)
    labels = [f"{plain_name(row)}\n{row.access.banks} banks, {row.known}" for row in rows]
    axes.set_yticks([y + 0.41 for y in range(len(rows))], labels, fontsize=SMALL)
    axes.set_xlabel("lane; the number in it is its phase", fontsize=LABEL)
    axes.set_title(title, fontsize=10, loc="left")
    _bare(axes)
    save_png(figure, path)


def draw_banks(panels: Sequence[LdsPanel], title: str, path: str | Path) -> None:
    """Figure 4: for each panel the tile coloured by bank, the LDS coloured by phase, and how often phases ask a bank.

    Raises Unsupported without matplotlib and InputError where the file cannot be written.
    """
    rows, cols = panels[0].tile_banks.shape
    lines = max(len(panel.lines) for panel in panels)
    heights = [max(1.6, 0.14 * rows), 0.5 + 0.3 * lines, 0.5 + 0.22 * len(panels[0].report.phases)]
    width, height = max(6.6, 0.16 * min(cols, 64)) * len(panels), sum(heights) + 2.2
    figure = new_figure(width, height)
    grid = figure.add_gridspec(
        3, len(panels), height_ratios=heights, left=1.1 / width, right=1 - 0.15 / width, top=1 - 0.95 / height,
        bottom=0.45 / height, hspace=0.5 / (sum(heights) / 3), wspace=1.2 * len(panels) / width,
    )  # fmt: skip
    figure.suptitle(title, x=0.2 / width, ha="left", y=1 - 0.12 / height, fontsize=11, va="top")
    key = figure.add_axes((1 - 2.3 / width, 1 - 0.42 / height, 2.1 / width, 0.14 / height))
    _draw_bank_colours(key, panels[0].banks)
    for column, panel in enumerate(panels):
        _draw_tile(figure.add_subplot(grid[0, column]), panel)
        _draw_lines(figure.add_subplot(grid[1, column]), panel)
        _draw_demand(figure.add_subplot(grid[2, column]), panel)
    save_png(figure, path)


def _draw_bank_colours(axes: Axes, banks: int) -> None:
    """The key of the tile's colours."""
    axes.imshow(np.arange(banks)[None], cmap=BANK_COLOURS, vmin=0, vmax=banks, aspect="auto", alpha=FAINT)
    shown = range(0, banks, banks // 4)
    axes.set_xticks(shown, [f"bank {bank}" for bank in shown], fontsize=SMALL)
    axes.set_yticks([])
    _bare(axes)


def _draw_tile(axes: Axes, panel: LdsPanel) -> None:
    """The tile by row and column: colour is the bank, and the lanes of phase 0 are outlined and numbered."""
    rows, cols = panel.tile_banks.shape
    extent = (0, cols, rows, 0)
    axes.imshow(
        panel.tile_banks, cmap=BANK_COLOURS, vmin=0, vmax=panel.banks, extent=extent, aspect="auto", alpha=FAINT
    )
    served = set(panel.report.phases[0].lanes)
    cells = []
    for row in range(rows):
        for lane, places in _runs(dict(enumerate(map(int, panel.element_lanes[row])))):
            if lane in served:
                cells.append(_Cell(places[0], row, len(places), 1, "none", "black", 1.1))
                _write(axes, places[0] + len(places) / 2, row + 0.5, lane, _font(len(places), cols))
    _draw(axes, cells)
    _count(axes.xaxis, cols, max(1, cols // 8))
    _count(axes.yaxis, rows, max(1, rows // 8))
    words = f"{panel.title}\nthe tile by row and column; colour: bank; outlined: the lanes of phase 0"
    axes.set_title(words, fontsize=LABEL, loc="left")
    _bare(axes)


def _draw_lines(axes: Axes, panel: LdsPanel) -> None:
    """The LDS in lines of one dword a bank: colour is the phase, the number the lane, a red frame a conflict."""
    cells, numbered = [], set()
    for number, phase in enumerate(panel.report.phases):
        for lane in phase.lanes:
            address = int(panel.addresses[lane])
            y, byte = divmod(address - panel.lines.start, panel.lines.step)
            x, width = byte / 4, panel.lane_bytes / 4
            dwords = range(address // 4, (address + panel.lane_bytes - 1) // 4 + 1)
            crowded = any(len(phase.dwords[dword % panel.banks]) > 1 for dword in dwords)
            frame = (WORST, 1.6) if crowded else ("white", 0.6)
            cells.append(_Cell(x, y, width, 0.9, PHASE_COLOURS[number], *frame))
            if width >= 1 and address not in numbered:
                numbered.add(address)
                _write(axes, x + width / 2, y + 0.45, lane, _font(width, panel.banks), "white")
    _draw(axes, cells)
    axes.set(xlim=(0, panel.banks), ylim=(len(panel.lines), -0.1))
    _count(axes.xaxis, panel.banks, 4)
    places = [y + 0.45 for y in range(len(panel.lines))]
    axes.set_yticks(places, [f"byte {start}" for start in panel.lines], fontsize=SMALL)
    words = "LDS, in each line a dword of every bank; colour: phase; number: lane; red: conflict"
    axes.set_title(words, fontsize=LABEL, loc="left")
    _bare(axes)


def _draw_demand(axes: Axes, panel: LdsPanel) -> None:
    """How many different dwords each phase asks of each bank: its passes are the most of them."""
    report = panel.report
    cells = []
    for y, phase in enumerate(report.phases):
        asked = {bank: len(dwords) for bank, dwords in phase.dwords.items()}
        cells += [_Cell(bank, y, 1, 0.9, WORST if count > 1 else FREE, line=0.4) for bank, count in asked.items()]
        for count, banks in _runs(asked):
            _write(axes, banks[0] + len(banks) / 2, y + 0.45, count, SMALL, "white" if count > 1 else "black")
    _draw(axes, cells)
    axes.set(xlim=(0, panel.banks), ylim=(len(report.phases), -0.1))
    _count(axes.xaxis, panel.banks, 4)
    labels = [f"phase {i}: {phase.passes} pass{'es' * (phase.passes > 1)}" for i, phase in enumerate(report.phases)]
    axes.set_yticks([y + 0.45 for y in range(len(labels))], labels, fontsize=SMALL)
    axes.set_xlabel("bank", fontsize=LABEL)
    ways = "no conflict" if report.degree == 1 else f"{report.degree}-way conflict"
    words = f"dwords that each phase asks of each bank: {ways}, {report.passes} passes ({report.known})"
    axes.set_title(words, fontsize=LABEL, loc="left")
    _bare(axes)


def _runs(values: dict[int, int]) -> Iterable[tuple[int, list[int]]]:
    """(value, places) of each unbroken run of places with one value."""
    order = sorted(values)
    groups = groupby(enumerate(order), key=lambda each: (values[each[1]], each[1] - each[0]))
    return ((value, [place for _, place in group]) for (value, _), group in groups)


def _font(width: float, whole: int) -> float:
    """A size at which a two-digit lane fits in so much of the axis."""
    return min(8.0, max(3.5, 190 * width / whole))


def _write(axes: Axes, x: float, y: float, number: int, size: float, colour: str = "black") -> None:
    axes.text(x, y, str(number), ha="center", va="center_baseline", fontsize=size, color=colour)


def _draw(axes: Axes, cells: Sequence[_Cell]) -> None:
    """All cells of an axis at once."""
    from matplotlib.collections import PolyCollection

    corners = []
    for cell in cells:
        # Red frames stay inside their cell, so that neighbours do not paint over them.
        inset = cell.line / 40 if cell.frame == WORST else 0.0
        left, top = cell.x + inset, cell.y + inset
        right, bottom = cell.x + cell.width - inset, cell.y + cell.height - inset
        corners.append(((left, top), (right, top), (right, bottom), (left, bottom)))
    axes.add_collection(
        PolyCollection(
            corners,
            facecolors=[cell.colour for cell in cells],
            edgecolors=[cell.frame for cell in cells],
            linewidths=[cell.line for cell in cells],
        )
    )


def _count(axis: Any, count: int, step: int) -> None:
    """Number the middles of the cells of an axis: 0, step, ..."""
    axis.set_ticks([i + 0.5 for i in range(0, count, step)], [str(i) for i in range(0, count, step)], fontsize=SMALL)


def _bare(axes: Axes) -> None:
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
