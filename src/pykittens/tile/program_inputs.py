"""The leaves that every kernel has: lane, wave, workgroup; and where their values come from at entry."""

from __future__ import annotations

from .expression import Expr, leaf

LANE: Expr = leaf("lane", uniform=False, bound=63)
WAVE: Expr = leaf("wave", bound=15)
WORKGROUP: tuple[Expr, Expr, Expr] = (leaf("workgroup", 0), leaf("workgroup", 1), leaf("workgroup", 2))
