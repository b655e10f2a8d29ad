"""The tile language: tiles of memory, LDS and registers, and the ops between them, traced from ordinary Python."""

from __future__ import annotations

from .dtypes import bf16, f16, f32
from .expression import cdiv, maximum, minimum, select
from .kernel import Build, Kernel, build, kernel
from .ops import barrier, load, mma_AB, mma_ABt, store, wait_for, zero
from .tiles import gl, rt, st
from .trace import current, loop, phase, require_equal, when
from .wave import lane, wave

__all__ = [
    "Build", "Kernel", "barrier", "bf16", "build", "cdiv", "current", "f16", "f32", "gl", "kernel", "lane", "load",
    "loop",
    "maximum", "minimum", "mma_AB", "mma_ABt", "phase", "require_equal", "rt", "select", "st", "store", "wait_for",
    "wave", "when", "zero",
]  # fmt: skip
