"""Picture of a register map (PNG): registers across, the program's ops down, one colour a tile."""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import hsv_to_rgb
from dataclasses import dataclass
from pathlib import Path

from .picture import new_figure, save_png

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb7755", "#999999", "#882255", "#44aa99")
"""Told apart by colour-blind eyes too (after P. Tol's schemes); further tiles get hues far from each other."""
GOLDEN = 0.618
LETTER_REGISTERS = 2
"""Registers that are as wide as a letter; longer names of tiles stand upright."""
GAP = 8
"""Registers of white between the VGPRs and the AGPRs."""


@dataclass(frozen=True)
class RegisterBar:
    """One range of a tile: ``count`` registers of file ``v`` or ``a`` from ``first``, alive from op ``start`` to
    ``end``.
    """

    name: str
    file: str
    first: int
    count: int
    start: int
    end: int


def tile_colour(index: int) -> str:
    """The colour of the ``index``-th tile as ``#rrggbb``; no two of some hundred tiles have the same."""
    if index < len(COLOURS):
        return COLOURS[index]
    more = index - len(COLOURS)
    channels = hsv_to_rgb(GOLDEN * more % 1, 0.45 + 0.15 * (more % 3), 0.85 - 0.1 * (more // 3 % 3))
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)


def draw_registers(bars: Sequence[RegisterBar], title: str, path: Path) -> None:
    """Draw the ranges into a PNG file.

    Raises Unsupported without matplotlib and InputError where the file cannot be written.
    """
    figure = new_figure(10, 6, layout="constrained")
    from matplotlib.patches import Rectangle

    vgprs = max((bar.first + bar.count for bar in bars if bar.file == "v"), default=0)
    agprs = max((bar.first + bar.count for bar in bars if bar.file == "a"), default=0)
    last = max((bar.end for bar in bars), default=0) + 1
    axes = figure.add_subplot()
    names = list(dict.fromkeys(bar.name for bar in bars))
    for bar in bars:
        left = bar.first + (vgprs + GAP if bar.file == "a" else 0)
        height = bar.end - bar.start + 1
        colour = tile_colour(names.index(bar.name))
        axes.add_patch(
            Rectangle((left, bar.start), bar.count, height, facecolor=colour, edgecolor="white", linewidth=0.6)
        )
        upright = bar.count < LETTER_REGISTERS * len(bar.name)
        axes.text(
            left + bar.count / 2, bar.start + height / 2, bar.name, ha="center", va="center", fontsize=6,
            rotation=90 if upright else 0,
        )  # fmt: skip
    axes.set_xlim(0, vgprs + GAP + agprs if agprs else max(vgprs, 1))
    axes.set_ylim(last, 0)
    ticks = list(range(0, vgprs + 1, 32))
    accumulators = list(range(0, agprs + 1, 32)) if agprs else []
    axes.set_xticks(
        [*ticks, *(vgprs + GAP + n for n in accumulators)],
        [*(f"v{n}" for n in ticks), *(f"a{n}" for n in accumulators)],
        fontsize=7,
    )
    axes.set_ylabel("ops of the program")
    axes.set_title(title, fontsize=9)
    save_png(figure, path)
