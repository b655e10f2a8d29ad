"""The verbs of the tile language, one file per family; each op is defined once, reference and lowering side by side."""

from __future__ import annotations

from .arrive import arrive
from .flags import clear, poll, post
from .late_arguments import read_arguments
from .mma import mma_AB, mma_ABt, mma_AtB, mma_AtBt
from .move import load, store
from .scalar_load import load_scalar
from .staging import staging
from .sync import barrier, barriers_apart, priority, wait_for
from .zero import zero

__all__ = [
    "arrive",
    "barrier",
    "barriers_apart",
    "clear",
    "load",
    "load_scalar",
    "mma_AB",
    "mma_ABt",
    "mma_AtB",
    "mma_AtBt",
    "poll",
    "post",
    "priority",
    "read_arguments",
    "staging",
    "store",
    "wait_for",
    "zero",
]
