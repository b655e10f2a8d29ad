"""The tile language: tiles of memory, LDS and registers, and the ops between them, traced from ordinary Python."""

from __future__ import annotations

from .arguments import argument, at_launch, workspace
from .dtypes import bf16, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, f16, f32, i32
from .expression import cdiv, maximum, minimum, select
from .global_tensor import gl, scalar
from .kernel import Build, Kernel, build, kernel
from .ops import (
    arrive,
    barrier,
    load,
    load_scalar,
    mma_AB,
    mma_ABt,
    mma_AtB,
    mma_AtBt,
    read_arguments,
    staging,
    store,
    wait_for,
    zero,
)
from .register_vector import rv
from .tiles import rt, st
from .trace import block, current, loop, phase, require_equal, when
from .wave import lane, wave

__all__ = [
    "Build", "Kernel", "argument", "arrive", "at_launch", "barrier", "bf16", "block", "build", "cdiv", "current",
    "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "f16", "f32", "gl", "i32", "kernel", "lane", "load", "load_scalar",
    "loop", "maximum", "minimum", "mma_AB", "mma_ABt", "mma_AtB", "mma_AtBt", "phase", "read_arguments",
    "require_equal", "rt", "rv", "scalar", "select", "st", "staging", "store", "wait_for", "wave", "when", "workspace",
    "zero",
]  # fmt: skip
