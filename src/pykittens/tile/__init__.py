"""The tile language: tiles of memory, LDS and registers, and the ops between them, traced from ordinary Python."""

from __future__ import annotations

from .dtypes import bf16, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, f16, f32, i32
from .expression import cdiv, maximum, minimum, select
from .kernel import Build, Kernel, build, kernel
from .ops import barrier, load, mma_AB, mma_ABt, mma_AtB, mma_AtBt, store, wait_for, zero
from .tiles import gl, rt, st
from .trace import current, loop, phase, require_equal, when
from .wave import lane, wave

__all__ = [
    "Build", "Kernel", "barrier", "bf16", "build", "cdiv", "current", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "f16",
    "f32", "gl", "i32", "kernel", "lane", "load", "loop", "maximum", "minimum", "mma_AB", "mma_ABt", "mma_AtB",
    "mma_AtBt", "phase", "require_equal", "rt", "select", "st", "store", "wait_for", "wave", "when", "zero",
]  # fmt: skip
