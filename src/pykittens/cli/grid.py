"""``pk grid``: what orders of a GEMM's tiles do to the caches, which is best, and how the XCDs walk the output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pykittens.errors import InputError

if TYPE_CHECKING:
    from pykittens.grid_choice import Choice

_MANY, _FEW, _LARGE = 24, 4, 8192
"""Orders that are compared: many, but few for more workgroups than this, so that it takes seconds."""


def grid(
    m: Annotated[int, typer.Option("--m", "-m", help="Rows of C.", min=1)] = 8192,
    n: Annotated[int, typer.Option("--n", "-n", help="Columns of C.", min=1)] = 8192,
    k: Annotated[int, typer.Option("--k", "-k", help="The length that is summed over.", min=1)] = 8192,
    tile: Annotated[str, typer.Option("--tile", help="ROWSxCOLS of C that a workgroup computes.")] = "256x256",
    batch: Annotated[int, typer.Option("--batch", help="How many such products.", min=1)] = 1,
    size: Annotated[int, typer.Option("--bytes", help="Bytes of an element of A and B: 1, 2 or 4.")] = 2,
    window: Annotated[int, typer.Option("--window", help="Show this window height W.", min=1)] = 8,
    chunk: Annotated[int, typer.Option("--chunk", help="Show this chunk size C.", min=1)] = 64,
    arch: Annotated[str, typer.Option("--arch", help="The chip: gfx942 or gfx950.")] = "gfx950",
    device: Annotated[str, typer.Option("--device", help="The product; by default the chip's first.")] = "",
    png: Annotated[Path | None, typer.Option("--png", help="Draw which XCD computes which tile, over time.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Modelled hit rates and time of grid orders: row-major, XCDs alone, the joint order, and the best found."""
    from pykittens import arch as chips
    from pykittens.cli import output
    from pykittens.grid_choice import Choice, best_order, candidates, figures_of, searched
    from pykittens.model.grid_search import GemmGrid
    from pykittens.schedule.grid import Chiplet, RowMajor

    if size not in (1, 2, 4):
        raise InputError("element-bytes", f"elements of {size} bytes", fix="use 1, 2 or 4")
    product = chips.get(arch).device(device or None)
    shape = GemmGrid(m, n, k, _tile(tile), size, batch)
    tiles = shape.rows * shape.cols
    found = searched(shape, arch, product.name, _FEW if shape.workgroups > _LARGE else _MANY)
    alone = Chiplet(min(window, shape.rows), -(-tiles // product.xcds), product.xcds)
    joint = Chiplet(alone.window, min(chunk, alone.chunk), product.xcds)
    launch = best_order(m, n, k, shape.tile, arch, element_bytes=size, batch=batch, device=product.name)
    row_major = next(choice for choice in found if isinstance(choice.order, RowMajor))

    def choice(order: Chiplet | RowMajor) -> Choice:
        return Choice(order, figures_of(order, shape, arch, product.name))

    best = found[0]
    named = {
        "row-major": row_major, "XCD only": choice(alone), "joint": choice(joint), "best found": best,
        "at launch": choice(launch),
    }  # fmt: skip
    gain = row_major.figures.seconds / best.figures.seconds - 1
    count = 1 + sum(1 for _ in candidates(shape, product.xcds))
    figures: dict[str, Any] = {
        "arch": arch, "device": product.name, "modelled": True, "shape": [m, n, k], "tile": list(shape.tile),
        "batch": batch, "tiles": [shape.rows, shape.cols], "orders": [_row(name, c) for name, c in named.items()],
        "searched": count, "compared": len(found), "best_over_row_major": gain,
    }  # fmt: skip
    if png is not None:
        from pykittens.report.grid_figure import draw_orders

        orders = {_caption(name, each): each.order.tiles(shape.rows, shape.cols) for name, each in named.items()}
        title = f"{m} x {n} x {k} in tiles of {tile} on {product.name}: which XCD computes which tile"
        draw_orders(title, orders, shape.rows, shape.cols, product.xcds, product.cus, png)
        figures["png"] = str(png)
    if as_json:
        output.print_json(figures)
        return
    columns = ("order", "W", "C", "L2 hits", "LLC hits", "time", "TFLOPS", "bound by")
    rows = [_cells(row) for row in figures["orders"]]
    output.print_table(
        f"{m} x {n} x {k} in tiles of {tile} on {product.name}: modelled", columns, rows
    )  # fmt: skip
    print(
        f"best of {count} orders ({len(found)} were compared in full, the others cause more traffic): "
        f"{100 * gain:.1f} % over row-major (modelled)"
    )
    print("at launch: what a kernel takes that was given no order; --order of pk run and pk build sets one")
    if png is not None:
        print(f"picture: {png}")


def _tile(words: str) -> tuple[int, int]:
    rows, _, cols = words.partition("x")
    if not (rows.isdecimal() and cols.isdecimal() and int(rows) and int(cols)):
        raise InputError("tile", f"{words!r} is no tile", fix="write ROWSxCOLS, such as 256x256")
    return int(rows), int(cols)


def _row(name: str, choice: Choice) -> dict[str, Any]:
    rates = choice.figures.rates
    return {
        "order": name, "window": getattr(choice.order, "window", None), "chunk": getattr(choice.order, "chunk", None),
        "l2_hit": rates.l2_hit, "llc_hit": rates.llc_hit, "microseconds": choice.figures.seconds * 1e6,
        "tflops": choice.figures.tflops, "bound_by": choice.figures.bound,
    }  # fmt: skip


def _caption(name: str, choice: Choice) -> str:
    order = "" if name == str(choice.order) else f" ({choice.order})"
    l2, llc = (100 * rate for rate in (choice.figures.rates.l2_hit, choice.figures.rates.llc_hit))
    return f"{name}{order}\nL2 {l2:.0f} %, LLC {llc:.0f} %, modelled"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    window, chunk = (str(row[key] or "-") for key in ("window", "chunk"))
    hits = (f"{100 * row[key]:.1f} %" for key in ("l2_hit", "llc_hit"))
    return (
        row["order"],
        window,
        chunk,
        *hits,
        f"{row['microseconds']:,.0f} us",
        f"{row['tflops']:,.0f}",
        "MFMA" if row["bound_by"] == "matrix cores" else row["bound_by"],
    )
