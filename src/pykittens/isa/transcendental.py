"""Reciprocals and roots of the transcendental unit, the same on every host."""

from __future__ import annotations

from .types import f64
from .value import Value


def reciprocal(x: Value) -> Value:
    """1/x, correctly rounded."""
    return x.const(1.0) / x


def root(x: Value) -> Value:
    """The square root, correctly rounded; NaN below zero, -0 for -0."""
    return x.sqrt()


def reciprocal_root(x: Value) -> Value:
    """1/sqrt(x) through the next wider type; infinity with the sign of a zero."""
    wide = x.to(f64)
    return (wide.const(1.0) / wide.sqrt()).to(x.type)
