"""Cube map coordinates: the face that a direction points to, its coordinates there, and twice its major axis."""

from __future__ import annotations

from .value import Value


def _by_axis(x: Value, y: Value, z: Value, on_x: Value, on_y: Value, on_z: Value) -> Value:
    """What holds for the longest axis; z wins over y, and y over x."""
    z_longest = (abs(z) >= abs(x)) & (abs(z) >= abs(y))
    return z_longest.select(on_z, (abs(y) >= abs(x)).select(on_y, on_x))


def face(x: Value, y: Value, z: Value) -> Value:
    """0.0 to 5.0: +x, -x, +y, -y, +z, -z."""
    faces = [(axis < 0.0).select(x.const(2.0 * i + 1.0), 2.0 * i) for i, axis in enumerate((x, y, z))]
    return _by_axis(x, y, z, *faces)


def s_coordinate(x: Value, y: Value, z: Value) -> Value:
    return _by_axis(x, y, z, (x < 0.0).select(z, -z), x, (z < 0.0).select(-x, x))


def t_coordinate(x: Value, y: Value, z: Value) -> Value:
    return _by_axis(x, y, z, -y, (y < 0.0).select(-z, z), -y)


def major_axis(x: Value, y: Value, z: Value) -> Value:
    """Twice the longest coordinate, with its sign."""
    return _by_axis(x, y, z, x, y, z) * 2.0
