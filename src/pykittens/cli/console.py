"""The console that tables are printed on: rich's, but a reader that has left is no exit status of 1."""

from __future__ import annotations

from rich.console import Console


class TableConsole(Console):
    """Leaves it to the command line what becomes of a broken pipe."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False)

    def on_broken_pipe(self) -> None:
        """Called by rich while it handles a BrokenPipeError."""
        raise BrokenPipeError
