"""When things happen, and where a workgroup goes: grid orders and schedules."""

from __future__ import annotations

from . import grid

__all__ = ["grid"]
