"""`load` and `store`: one verb each for every pair of places that tiles can move between."""

from __future__ import annotations

from typing import Any

from pykittens.asm.program import user_line
from pykittens.errors import BuildError

from ..global_tensor import GlobalTile
from ..register_vector import rv
from ..tiles import SharedView, rt, st
from ..trace import OpCall
from .global_to_register import global_to_register
from .global_to_shared import global_to_shared
from .operand_load import operand_load
from .register_to_global import register_to_global
from .register_to_shared import register_to_shared
from .shared_to_register import shared_to_register
from .staging import global_to_staging, staging, staging_to_shared
from .transposed_copy import transposed_copy


def load(destination: st | rt | rv | staging, source: GlobalTile | st | SharedView, **options: Any) -> OpCall:
    """``load(st, gl.tile(i, j))`` copies a window of a tensor into LDS; ``load(rt, st)`` reads LDS into registers,
    ``load(rt, gl.tile(i, j))`` and ``load(rv, gl.part(i))`` load f32 registers from global memory, and
    ``load(rt, gl.tile(i, j), edges=…)`` operands of 8 and 16 bits.

    From global memory, ``edges`` says what elements beyond the tensor's columns become: ``"zero"`` (default; any
    alignment), ``"any"`` (unspecified values of the tensor; 4-byte aligned rows, direct copies) or ``"inside"`` (the
    caller knows that all columns exist; likewise direct). Rows beyond the tensor are always 0. ``transposed=True``: the
    shared tile gets the transpose of a window that has its rows and columns exchanged.
    """
    if isinstance(destination, st) and isinstance(source, GlobalTile):
        copy = transposed_copy if options.pop("transposed", False) else global_to_shared
        return copy(destination, source, **options)
    if isinstance(destination, rt) and isinstance(source, (st, SharedView)):
        return shared_to_register(destination, source.whole if isinstance(source, st) else source, **options)
    if isinstance(destination, staging) and isinstance(source, GlobalTile):
        return global_to_staging(destination, source, **options)
    if isinstance(destination, rt) and isinstance(source, GlobalTile) and destination.dtype.bits < 32:
        return operand_load(destination, source, **options)
    if isinstance(destination, (rt, rv)) and isinstance(source, GlobalTile):
        return global_to_register(destination, source, **options)
    raise BuildError(
        "load-places", f"load has no path from {type(source).__name__} to {type(destination).__name__}",
        where=user_line(), fix="load(st, gl.tile(...)), load(rt, st), load(rt, gl.tile(...)) or load(rv, gl.part(...))",
    )  # fmt: skip


def store(destination: GlobalTile | st | SharedView, source: rt | staging, **options: Any) -> OpCall:
    """``store(gl.tile(i, j), rt)`` writes a register tile, rounded to the tensor's dtype, where the tensor exists.

    ``store(st, rt)`` writes one of the shared tile's own dtype to LDS, ``store(st, staging)`` one loaded for it.
    """
    if isinstance(destination, GlobalTile) and isinstance(source, rt):
        return register_to_global(destination, source, **options)
    if isinstance(destination, st) and isinstance(source, staging):
        return staging_to_shared(destination, source, **options)
    if isinstance(destination, (st, SharedView)) and isinstance(source, rt):
        view = destination.whole if isinstance(destination, st) else destination
        return register_to_shared(view, source, **options)
    raise BuildError(
        "store-places", f"store has no path from {type(source).__name__} to {type(destination).__name__}",
        where=user_line(), fix="store(gl.tile(...), rt) or store(st, rt)",
    )  # fmt: skip
