"""What ``pk profile`` shows of a prediction: tables in the terminal, the HTML page and the Perfetto trace as files."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykittens.cli import kernel_commands as kc
from pykittens.errors import InputError

if TYPE_CHECKING:
    import inspect

    from pykittens.executable import Executable
    from pykittens.model.prediction import Prediction
    from pykittens.report.html_registers import RegisterFile
    from pykittens.sim.device import Kernel

_SOURCES = frozenset(
    (".py", ".s", ".asm", ".c", ".cc", ".cpp", ".cxx", ".cu", ".hip", ".h", ".hpp", ".cl", ".mlir", ".ll")
)
"""Endings of files that are shown beside the assembly: a line table may name any file."""
_MOST_SOURCE = 1 << 20


def parameters() -> list[inspect.Parameter]:
    """The options that choose what is shown."""
    return [
        kc.parameter("html", str, "", "--html", words="Write the report to this file: one page that needs no network."),
        kc.parameter(
            "trace", str, "", "--trace", words="Write a timeline for ui.perfetto.dev: FILE.json or FILE.json.gz."
        ),
        kc.json_parameter(),
    ]


def show(
    prediction: Prediction,
    values: dict[str, Any],
    kernel: Kernel,
    folders: Sequence[Path],
    exe: Executable | None = None,
    order: str | None = None,
) -> None:
    """Print the prediction and write the files that ``values`` ask for.

    folders: where source files lie. exe: what was built, if it was, for the names of its tiles. order: of the launch's
    tiles, where the kernel has one. Raises InputError for a file that cannot be written.
    """
    from pykittens.cli import output

    written: dict[str, str] = {}
    if values["html"]:
        from pykittens.report.html_page import profile_page

        page = profile_page(prediction, _registers(kernel, exe), _sources(prediction, folders), order)
        written["html"] = _write(values["html"], page.encode())
    if values["trace"]:
        from pykittens.report.perfetto import perfetto_trace

        trace = perfetto_trace(prediction).encode()
        # Viewers open compressed files as they are.
        written["trace"] = _write(
            values["trace"], gzip.compress(trace, mtime=0) if values["trace"].endswith(".gz") else trace
        )
    if values["as_json"]:
        output.print_json({**prediction.figures(), **({"launch_order": order} if order else {}), **written})
        return
    from pykittens.cli.console import TableConsole
    from pykittens.report.profile_text import print_profile

    print_profile(prediction, TableConsole(), order)
    for name, path in written.items():
        print(f"{name}: {path}")


def _write(path: str, data: bytes) -> str:
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise InputError("unwritable-file", f"cannot write the report: {error.strerror}", where=path) from None
    return path


def _registers(kernel: Kernel, exe: Executable | None) -> RegisterFile:
    from pykittens.report.html_registers import RegisterFile, TileRegisters

    descriptor = kernel.info.descriptor
    tiles = tuple(
        TileRegisters(
            life.tile.name,
            tuple((reg.file, reg.index, reg.count) for reg in life.tile.regs or ()),
            life.tile.description,
        )
        for life in (exe.registers.lives if exe is not None else ())
    )
    return RegisterFile(descriptor.vgprs, descriptor.accum_offset, tiles)


def _sources(prediction: Prediction, folders: Sequence[Path]) -> dict[str, str]:
    """Texts of the source files that are there, by their names in the line table."""
    found: dict[str, str] = {}
    for name in {place.rpartition(":")[0] for place in prediction.instructions.line if place}:
        for path in (folder / name for folder in folders):
            if path.suffix in _SOURCES and path.is_file() and path.stat().st_size <= _MOST_SOURCE:
                found[name] = path.read_text(encoding="utf-8", errors="replace")
                break
    return found
