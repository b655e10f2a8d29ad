"""Reports on small kernels in assembly, run in checked mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.sim.assembled import kernel, pointers

from pykittens.check.findings import Finding, Report
from pykittens.checking import check_launch

ARCHS = ("gfx942", "gfx950")
WAVES = """
  v_lshrrev_b32 v20, 6, v0
  v_readfirstlane_b32 s20, v20
  v_and_b32 v21, 63, v0
  s_cmp_eq_u32 s20, 0
"""
"""s20: the wave's number. v21: the lane's. SCC: whether it is wave 0."""


def launched(
    body: str, arch: str = "gfx950", block: int = 128, grid: int = 1, args: Any = None, order: Any = None,
    overread: int = 0, outputs: Any = None, undefined: Any = (), limit: int = 1_000_000, **options: Any,
) -> Report:  # fmt: skip
    """What a checked run of a kernel that ends after ``body`` says; args: arrays, by default one of 4096 dwords."""
    arrays = [np.zeros(4096, np.uint32)] if args is None else args
    settings = {"lds_bytes": 32768, "vgprs": 64, **options}
    made = kernel(f"{body}\n  s_endpgm\n", pointers(len(arrays)), arch, overread, **settings)
    return check_launch(
        made, grid=grid, block=block, args=arrays, order=order, outputs=outputs, undefined=undefined,
        max_instructions=limit,
    )  # fmt: skip


def codes(*args: Any, **options: Any) -> list[str]:
    """The codes of the errors and warnings, each once, in alphabetical order."""
    return sorted({f.code for f in launched(*args, **options).findings if f.severity != "note"})


def only(report: Report, code: str) -> Finding:
    """The one finding of a code."""
    (finding,) = report.by_code(code)
    return finding
