"""Pictures: matplotlib's figures, made and written as PNG files in one way.

matplotlib is an extra (``pykittens[figures]``) and loaded only here and where something is drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykittens.errors import InputError, Unsupported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150


def new_figure(width: float, height: float, **options: Any) -> Figure:
    """An empty figure of so many inches. Raises `Unsupported` without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise Unsupported(
            "no-matplotlib", "pictures need matplotlib, which is not installed", fix="pip install 'pykittens[figures]'"
        ) from None
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white", **options)
    FigureCanvasAgg(figure)
    return figure


def save_png(figure: Figure, path: str | Path) -> None:
    """Write the figure; the same picture is the same bytes.

    Raises InputError for other kinds of pictures, and where the file cannot be written.
    """
    if Path(path).suffix.lower() not in ("", ".png"):
        raise InputError("picture-kind", "pictures are PNG files", where=str(path), fix="name it .png")
    # Without the library's version in it.
    metadata: dict[str, Any] = {"Software": None}
    try:
        figure.savefig(path, format="png", metadata=metadata)
    except OSError as error:
        raise InputError("unwritable", f"cannot write there: {error.strerror}", where=str(path)) from None
