"""When things happen, and where a workgroup goes: schedules and grid orders."""

from __future__ import annotations

from . import grid
from .interleave import Interleave
from .ping_pong import PingPong
from .specialize import Specialize

__all__ = ["Interleave", "PingPong", "Specialize", "grid"]
