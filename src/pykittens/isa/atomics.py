"""The atomic operations that scalar, buffer, flat, global and scratch memory share, with their opcodes' order."""

from __future__ import annotations

from .types import TYPES, Type

INTEGER_ATOMICS = (
    "swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec",
)  # fmt: skip
"""In the order of their opcodes: 32-bit ones follow the family's base, 64-bit ones (``_x2``) that base plus 32.

``inc``: ``old >= data ? 0 : old + 1``. ``dec``: ``old == 0 or old > data ? data : old - 1``. ``cmpswap``: the data
operand is the new value, then the value to compare with. All compare unsigned but ``smin`` and ``smax``.
"""

FLOAT_ATOMICS = (
    (77, "add_f32", "add", "f32", 1),
    (78, "pk_add_f16", "add", "f16", 2),
    (79, "add_f64", "add", "f64", 1),
    (80, "min_f64", "min", "f64", 1),
    (81, "max_f64", "max", "f64", 1),
    (82, "pk_add_bf16", "add", "bf16", 2),
)
"""Opcode, name, operation, type and elements of the vector memory ones.

``min`` stores ``data < old ? data : old`` and ``max`` ``data > old ? data : old`` (manual), so NaNs and equal zeros
keep the old value.
"""


def integer_type(op: str, bits: int) -> Type:
    """The type that an integer atomic works on."""
    return TYPES[f"{'i' if op in ('smin', 'smax') else 'u'}{bits}"]
