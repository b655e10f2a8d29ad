"""Element types of tiles, with the NumPy dtype that stands for each in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from pykittens.errors import InputError


@dataclass(frozen=True)
class DType:
    """``bits`` per element in memory; ``numpy`` is the array dtype that launches accept for it."""

    name: str
    bits: int
    numpy: Any

    @property
    def bytes(self) -> int:
        return self.bits // 8

    def __repr__(self) -> str:
        return self.name


bf16 = DType("bf16", 16, np.dtype(ml_dtypes.bfloat16))
f16 = DType("f16", 16, np.dtype(np.float16))
f32 = DType("f32", 32, np.dtype(np.float32))

DTYPES = {t.name: t for t in (bf16, f16, f32)}


def get(name: str | DType) -> DType:
    """A dtype by name; an unknown one is an `InputError` that lists what there is."""
    if isinstance(name, DType):
        return name
    if name not in DTYPES:
        raise InputError("unknown-dtype", f"dtype {name!r} is not known", fix=f"use one of {', '.join(DTYPES)}")
    return DTYPES[name]
